//! All sockets by identity, with the connections that they make: of one network namespace, or of several hosts.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::wire::{Cookie, Endpoint, HostId, Socket, TcpState};

use super::connection::{Connection, ConnectionId, Opener, Side, opened_by_counts};
use super::growth::Growth;
use super::time::Moment;

mod hosts;

/// A dump is not a snapshot: a stable socket can be missed by one. Only after this many complete surveys without it is a
/// socket taken to be gone.
const SURVEYS_UNTIL_GONE: u8 = 2;

/// A socket as last surveyed, and what it gained since the survey before.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The latest survey's reading.
    pub socket: Socket,
    /// When that survey began.
    pub at: Moment,
    /// What was gained since the reading before; `None` on a first reading and after a reset.
    pub growth: Option<Growth>,
    /// `busy_time` gained over all surveys so far, µs.
    pub busy_us: u64,
    /// Whether any data moved in either direction over all surveys so far.
    pub moved: bool,
    /// Readings so far; saturates.
    pub readings: u16,
    /// The connection that this socket is an end of.
    pub connection: ConnectionId,
    /// Which end.
    pub side: Side,
    /// Whether the byte counts ever told that this end opened the connection.
    opened: Option<bool>,
    survey: u32,
    missed: u8,
}

/// Addresses and ports as one end sees them, and the host that it is on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Tuple {
    host: HostId,
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
}

impl Tuple {
    fn of(socket: &Socket) -> Self {
        let plain = |end: Endpoint| (end.ip, end.port);
        Self { host: socket.host, local: plain(socket.local), remote: plain(socket.remote) }
    }

    fn seen_from_the_other_end(self) -> Self {
        Self { local: self.remote, remote: self.local, ..self }
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

/// Where the surveys of one host stand.
#[derive(Clone, Copy, Debug, Default)]
struct Surveys {
    number: u32,
    began: Moment,
    /// Time between the latest two, µs.
    period_us: u64,
}

/// The sockets and connections of one namespace, or of several hosts.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<Option<Entry>>,
    free_entries: Vec<u32>,
    by_cookie: FxHashMap<(HostId, Cookie), u32>,
    by_tuple: FxHashMap<Tuple, u32>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    listening: FxHashSet<(HostId, u16)>,
    /// By host.
    surveys: Vec<Surveys>,
    /// The host whose survey is in progress, or was the latest.
    host: HostId,
    began: Moment,
    /// Sockets that two sources show, of which one is left out.
    doubled: FxHashSet<(HostId, Cookie)>,
    /// Sockets whose peer could be one of several on other hosts.
    ambiguous: FxHashSet<(HostId, Cookie)>,
}

impl std::fmt::Debug for Tuple {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {:?}", self.host.0, self.local, self.remote)
    }
}

impl Table {
    /// Begins a survey of a host: sockets that follow belong to it.
    pub fn begin_survey(&mut self, host: HostId, at: Moment) {
        let place = usize::from(host.0);
        if self.surveys.len() <= place {
            self.surveys.resize(place + 1, Surveys::default());
        }
        let surveys = &mut self.surveys[place];
        let period_us = if surveys.number == 0 { 0 } else { at.since(surveys.began) };
        *surveys = Surveys { number: surveys.number.wrapping_add(1), began: at, period_us };
        (self.host, self.began) = (host, at);
        self.listening.retain(|(other, _)| *other != host);
    }

    /// The number of the survey in progress, of its host.
    fn survey(&self) -> u32 {
        self.surveys.get(usize::from(self.host.0)).map_or(0, |surveys| surveys.number)
    }

    /// Takes one socket of the survey in progress. A socket that the dump listed before is ignored.
    pub fn survey_socket(&mut self, socket: &Socket) {
        if socket.state == TcpState::LISTEN {
            self.listening.insert((socket.host, socket.local.port));
            return;
        }
        if socket.state == TcpState::TIME_WAIT {
            return;
        }
        match self.by_cookie.get(&(socket.host, socket.cookie)).copied() {
            Some(index) => self.update(index, socket),
            None if self.is_double(socket) => {
                self.doubled.insert((socket.host, socket.cookie));
            }
            None => self.insert(socket),
        }
    }

    /// Ends the survey: forgets sockets that complete surveys no longer list, and tells who opened what.
    pub fn end_survey(&mut self, complete: bool) {
        let survey = self.survey();
        for index in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[index] else { continue };
            if entry.socket.host != self.host || entry.survey == survey {
                continue;
            }
            entry.missed += u8::from(complete);
            if entry.missed >= SURVEYS_UNTIL_GONE {
                self.remove(index);
            }
        }
        self.join_hosts();
        self.find_openers();
    }

    fn update(&mut self, index: u32, socket: &Socket) {
        let survey = self.survey();
        let Some(entry) = self.entries.get_mut(index as usize).and_then(Option::as_mut) else { return };
        if entry.survey == survey {
            return;
        }
        let growth = Growth::between(&entry.socket, socket, self.began.since(entry.at));
        entry.growth = growth;
        entry.busy_us += growth.and_then(|growth| growth.busy_us).unwrap_or(0);
        entry.moved |= growth.is_some_and(|growth| growth.has_data());
        entry.socket = *socket;
        entry.at = self.began;
        entry.readings = entry.readings.saturating_add(1);
        entry.survey = survey;
        entry.missed = 0;
        entry.opened = entry.opened.or_else(|| opened_by_counts(socket));
    }

    fn insert(&mut self, socket: &Socket) {
        let index = self.free_entries.pop().unwrap_or_else(|| {
            self.entries.push(None);
            index_of(self.entries.len() - 1)
        });
        let tuple = Tuple::of(socket);
        let (connection, side) = self.join(tuple, index);
        self.entries[index as usize] = Some(Entry {
            socket: *socket,
            at: self.began,
            growth: None,
            busy_us: 0,
            moved: false,
            readings: 1,
            connection,
            side,
            opened: opened_by_counts(socket),
            survey: self.survey(),
            missed: 0,
        });
        self.by_cookie.insert((socket.host, socket.cookie), index);
        self.by_tuple.insert(tuple, index);
    }

    /// Finds the connection whose one visible end is the peer of `tuple`, or makes a new one.
    fn join(&mut self, tuple: Tuple, index: u32) -> (ConnectionId, Side) {
        let peer = self.by_tuple.get(&tuple.seen_from_the_other_end()).copied();
        if let Some(peer) = peer.and_then(|peer| self.entries[peer as usize].as_ref()) {
            let (id, side) = (peer.connection, peer.side.other());
            if let Some(connection) = self.connection_mut(id)
                && connection.ends[side as usize].is_none()
            {
                connection.ends[side as usize] = Some(index);
                return (id, side);
            }
        }
        (self.new_connection(index), Side::A)
    }

    fn new_connection(&mut self, index: u32) -> ConnectionId {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, connection: None });
            index_of(self.slots.len() - 1)
        });
        let id = ConnectionId { index: slot, generation: self.slots[slot as usize].generation };
        self.slots[slot as usize].connection =
            Some(Connection { id, first_seen: self.began, opener: Opener::Unknown, ends: [Some(index), None] });
        id
    }

    fn remove(&mut self, index: usize) {
        let Some(entry) = self.entries[index].take() else { return };
        let number = index_of(index);
        self.free_entries.push(number);
        let key = (entry.socket.host, entry.socket.cookie);
        if self.by_cookie.get(&key) == Some(&number) {
            self.by_cookie.remove(&key);
        }
        let tuple = Tuple::of(&entry.socket);
        if self.by_tuple.get(&tuple) == Some(&number) {
            self.by_tuple.remove(&tuple);
        }
        self.leave(entry.connection, entry.side);
    }

    fn leave(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connection_mut(id) else { return };
        connection.ends[side as usize] = None;
        if connection.ends.iter().all(Option::is_none) {
            let slot = &mut self.slots[id.index as usize];
            slot.connection = None;
            slot.generation = slot.generation.wrapping_add(1);
            self.free_slots.push(id.index);
        }
    }

    fn find_openers(&mut self) {
        for slot in 0..self.slots.len() {
            let Some(connection) = self.slots[slot].connection else { continue };
            if !matches!(connection.opener, Opener::ByteCounts(_)) {
                let opener = self.opener_of(&connection);
                if let Some(connection) = &mut self.slots[slot].connection {
                    connection.opener = opener;
                }
            }
        }
    }

    fn opener_of(&self, connection: &Connection) -> Opener {
        for side in [Side::A, Side::B] {
            match self.end(connection, side).and_then(|entry| entry.opened) {
                Some(true) => return Opener::ByteCounts(side),
                Some(false) => return Opener::ByteCounts(side.other()),
                None => {}
            }
        }
        let Some(entry) = self.end(connection, Side::A).or_else(|| self.end(connection, Side::B)) else {
            return Opener::Unknown;
        };
        let peer = self.end(connection, entry.side.other());
        let here = self.listening.contains(&(entry.socket.host, entry.socket.local.port));
        let there = peer.is_some_and(|peer| self.listening.contains(&(peer.socket.host, peer.socket.local.port)));
        match (here, there) {
            (true, false) => Opener::ListeningPort(entry.side.other()),
            (false, true) => Opener::ListeningPort(entry.side),
            _ => Opener::Unknown,
        }
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(id.index as usize)?;
        slot.connection.as_mut().filter(|connection| connection.id == id)
    }

    /// The connection of that identity, while it lasts.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.slots.get(id.index as usize)?.connection.as_ref().filter(|connection| connection.id == id)
    }

    /// One end of a connection, when it is visible.
    pub fn end(&self, connection: &Connection, side: Side) -> Option<&Entry> {
        let index = connection.ends[side as usize]?;
        self.entries.get(index as usize)?.as_ref()
    }

    /// The socket of that identity, as last surveyed.
    pub fn socket(&self, host: HostId, cookie: Cookie) -> Option<&Entry> {
        let index = *self.by_cookie.get(&(host, cookie))?;
        self.entries.get(index as usize)?.as_ref()
    }

    /// All connections, in no particular order.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().filter_map(|slot| slot.connection.as_ref())
    }

    /// All sockets, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// How many sockets are known.
    pub fn socket_count(&self) -> usize {
        self.by_cookie.len()
    }

    /// How many connections are known.
    pub fn connection_count(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }

    /// Whether anything on that host listens on that port.
    pub fn is_listening(&self, host: HostId, port: u16) -> bool {
        self.listening.contains(&(host, port))
    }
}

/// Slots are numbered in 32 bits: a table of four thousand million sockets would not fit in memory.
fn index_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
