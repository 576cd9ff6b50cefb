//! What a first pass over a file tells: whose it is, when it was taken, and how the counts of its sockets went.

use std::net::IpAddr;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::super::{FileSource, SourceError, Timing};
use super::offset::Counts;
use crate::model::{Event, Host, Moment, READ_WITHIN_US};
use crate::wire::{Cookie, Endpoint, Message, Socket, messages};

/// Changes of counts that are kept of one socket, and of all sockets of one file: 4096 give the offset to within a
/// millisecond, and 400 000 take 20 MB.
const CHANGES_EACH: usize = 4_096;
const CHANGES_ALL: usize = 400_000;

/// Both addresses and ports, as one end sees them.
pub(super) type Ends = [(IpAddr, u16); 2];

/// How the counts of one socket went.
#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) counts: Vec<Counts>,
    /// A count went back: this is not one connection.
    pub(super) broken: bool,
}

impl Series {
    /// Whether data moved in both directions.
    pub(super) fn grew(&self) -> bool {
        let ends = self.counts.first().zip(self.counts.last());
        !self.broken && ends.is_some_and(|(first, last)| last.received > first.received && last.acked > first.acked)
    }

    /// Takes a reading; answers whether it is one more to keep.
    fn take(&mut self, now: Counts, room: bool) -> bool {
        let Some(last) = self.counts.last_mut() else {
            if room {
                self.counts.push(now);
            }
            return room;
        };
        self.broken |= now.received < last.received || now.acked < last.acked || now.sent < last.sent;
        if (now.sent, now.received, now.acked) == (last.sent, last.received, last.acked) {
            last.until = last.until.max(now.until);
            return false;
        }
        let room = room && self.counts.len() < CHANGES_EACH && !self.broken;
        if room {
            self.counts.push(now);
        }
        room
    }
}

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Census {
    pub(super) host: Host,
    /// By addresses and cookie, loopback left out.
    pub(super) series: FxHashMap<(Ends, Cookie), Series>,
    /// The cookie seen with these addresses; `None` where there were several.
    pub(super) cookies: FxHashMap<Ends, Option<Cookie>>,
    pub(super) first: Option<Moment>,
    pub(super) last: Moment,
    /// A moment, and the same on the wall clock, µs since 1970.
    pub(super) wall: Option<(Moment, i64)>,
    /// The moments are a clock's, not a convention.
    pub(super) timed: bool,
    changes: usize,
    began: Moment,
    /// What the survey in progress read: when it ends is when it was read at the latest.
    pending: Vec<Read>,
}

impl Census {
    /// Reads a whole file.
    ///
    /// # Errors
    /// It cannot be read, or holds no socket.
    pub(super) fn of(path: &Path) -> Result<Self, SourceError> {
        let mut source = FileSource::open(path)?;
        let mut census = Self::default();
        while source.next(&mut |event| census.take(event))? {}
        census.timed = source.provenance().timing == Timing::Clock;
        Ok(census)
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Host(host) => self.host = host.clone(),
            Event::SurveyBegin { at, wall_us } => {
                self.advance(at);
                self.began = at;
                self.wall = self.wall.or(wall_us.map(|wall_us| (at, wall_us)));
                self.pending.clear();
            }
            Event::Run(run) => self.pending.extend(sockets(run).filter_map(|socket| Read::of(&socket))),
            Event::SurveyEnd { at, .. } => {
                self.advance(at);
                let mut pending = std::mem::take(&mut self.pending);
                for read in pending.drain(..) {
                    self.take_read(&read, self.began, at);
                }
                self.pending = pending;
            }
            Event::Probe { at, answers, .. } => {
                self.advance(at);
                for read in sockets(answers).filter_map(|socket| Read::of(&socket)) {
                    self.take_read(&read, at, at.after(READ_WITHIN_US));
                }
            }
            Event::Counters { at, .. } | Event::Mark { at, .. } => self.advance(at),
            Event::Owners(_) => {}
        }
    }

    fn advance(&mut self, at: Moment) {
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
    }

    /// A reading that was made somewhere between two moments.
    fn take_read(&mut self, read: &Read, from: Moment, until: Moment) {
        let Read { ends, cookie, sent, received, acked } = *read;
        let now = Counts { by: until.0, until: from.0, sent, received, acked };
        self.cookies.entry(ends).or_insert(Some(cookie)).take_if(|known| *known != cookie);
        let room = self.changes < CHANGES_ALL;
        self.changes += usize::from(self.series.entry((ends, cookie)).or_default().take(now, room));
    }

    /// The one series with these addresses, unless they were used by several.
    pub(super) fn only(&self, ends: &Ends) -> Option<&Series> {
        let cookie = (*self.cookies.get(ends)?)?;
        self.series.get(&(*ends, cookie)).filter(|series| !series.broken)
    }
}

fn sockets(run: &[u8]) -> impl Iterator<Item = Socket> {
    messages(run).filter_map(|message| match message {
        Message::Socket { socket, .. } => Some(socket),
        _ => None,
    })
}

/// What one reading tells of a socket.
#[derive(Clone, Copy, Debug)]
struct Read {
    ends: Ends,
    cookie: Cookie,
    sent: Option<u64>,
    received: u64,
    acked: u64,
}

impl Read {
    /// `None` on loopback, which no other host shares, and before Linux 4.1.
    fn of(socket: &Socket) -> Option<Self> {
        if socket.local.ip.is_loopback() || socket.remote.ip.is_loopback() {
            return None;
        }
        let info = socket.info.as_ref()?;
        let plain = |end: Endpoint| (end.ip, end.port);
        Some(Self {
            ends: [plain(socket.local), plain(socket.remote)],
            cookie: socket.cookie,
            sent: info.bytes_sent().zip(info.bytes_retrans()).and_then(|(sent, again)| sent.checked_sub(again)),
            received: info.bytes_received()?,
            acked: info.bytes_acked()?.saturating_sub(1),
        })
    }
}

/// The same, as the other end sees them.
pub(super) fn mirrored([local, remote]: Ends) -> Ends {
    [remote, local]
}
