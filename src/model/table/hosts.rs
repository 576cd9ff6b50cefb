//! Several hosts in one table: which ends of different hosts are one connection, and which sockets are one socket seen twice.

use crate::wire::{HostId, Socket};

use super::{Connection, Entry, Side, Table, Tuple};

/// A socket that its host's latest surveys could have listed and did not, or whose file has ended, is not what another host
/// sees now: it is taken to be there for two survey periods and this much longer, µs.
const LASTS_US: u64 = 5_000_000;

impl Table {
    /// How many sockets were shown by two sources, and left out once.
    pub fn doubled(&self) -> usize {
        self.doubled.len()
    }

    /// How many sockets have several peers on other hosts to choose from, so that none was taken.
    pub fn ambiguous(&self) -> usize {
        self.ambiguous.len()
    }

    /// Whether the ends of a connection are on different hosts.
    pub fn is_across(&self, connection: &Connection) -> bool {
        let host = |side| self.end(connection, side).map(|entry| entry.socket.host);
        matches!((host(Side::A), host(Side::B)), (Some(a), Some(b)) if a != b)
    }

    /// Whether another source shows the same socket: the kernel's cookie, the file's inode and the addresses are the same. A
    /// socket without inode, as in texts that do not name it, could be one of another host that uses the same addresses. Where
    /// the other source has ended, this one takes its place.
    pub(super) fn is_double(&mut self, socket: &Socket) -> bool {
        if self.surveys.len() < 2 || socket.inode == 0 {
            return false;
        }
        let this = (socket.cookie, socket.inode);
        let twin = self.elsewhere(Tuple::of(socket)).find(|entry| (entry.socket.cookie, entry.socket.inode) == this);
        let Some((lasts, key)) = twin.map(|twin| (self.lasts(twin), (twin.socket.host, twin.socket.cookie))) else {
            return false;
        };
        if !lasts && let Some(&index) = self.by_cookie.get(&key) {
            self.remove(index as usize);
        }
        lasts
    }

    /// Finds peers on other hosts for the sockets of the survey that ends. Both ends on one host go before: they were found
    /// when they came.
    pub(super) fn join_hosts(&mut self) {
        if self.surveys.len() < 2 {
            return;
        }
        let survey = self.survey();
        for index in 0..self.entries.len() {
            let Some(entry) = &self.entries[index] else { continue };
            if entry.socket.host == self.host && entry.survey == survey && self.is_alone(entry) {
                self.join_host(index);
            }
        }
    }

    fn join_host(&mut self, index: usize) {
        let Some(entry) = &self.entries[index] else { return };
        let (socket, left) = (entry.socket, (entry.connection, entry.side));
        if socket.local.ip.is_loopback() || socket.remote.ip.is_loopback() {
            return;
        }
        let mirrored = Tuple::of(&socket).seen_from_the_other_end();
        let mut peers = self.elsewhere(mirrored).filter(|peer| self.is_alone(peer) && self.lasts(peer));
        let (first, second) = (peers.next(), peers.next());
        let Some(joined) = first.map(|peer| (peer.connection, peer.side.other())) else { return };
        let several = second.is_some();
        drop(peers);
        if several {
            self.ambiguous.insert((socket.host, socket.cookie));
            return;
        }
        self.leave(left.0, left.1);
        if let Some(connection) = self.connection_mut(joined.0) {
            connection.ends[joined.1 as usize] = u32::try_from(index).ok();
        }
        if let Some(entry) = &mut self.entries[index] {
            (entry.connection, entry.side) = joined;
        }
    }

    /// The sockets of the other hosts with these addresses.
    fn elsewhere(&self, tuple: Tuple) -> impl Iterator<Item = &Entry> {
        let hosts = (0..u16::try_from(self.surveys.len()).unwrap_or(u16::MAX)).map(HostId);
        let others = hosts.filter(move |host| *host != tuple.host);
        others.filter_map(move |host| {
            let index = *self.by_tuple.get(&Tuple { host, ..tuple })?;
            self.entries.get(index as usize)?.as_ref()
        })
    }

    fn is_alone(&self, entry: &Entry) -> bool {
        self.connection(entry.connection).is_some_and(|connection| !connection.is_paired())
    }

    fn lasts(&self, entry: &Entry) -> bool {
        let period_us = self.surveys.get(usize::from(entry.socket.host.0)).map_or(0, |surveys| surveys.period_us);
        self.began.since(entry.at) <= period_us.saturating_mul(2).saturating_add(LASTS_US)
    }
}
