//! From sockets to surveys: where one snapshot ends, when each was taken, and the messages that the kernel would have sent.

use rustc_hash::FxHashSet;

use crate::model::{Event, Moment, Owners, SurveyReport};
use crate::source::file::grouping::FIRST;
use crate::source::file::provenance::{Provenance, SourceKind, Timing};
use crate::wire::{Cookie, TcpState, encode_socket};

use super::record::Found;
use super::stamp::{DAY_US, Stamp};

/// Bytes of messages that are handed on at once.
const RUN_TARGET: usize = 64 << 10;

/// Owners that are handed on at once.
const OWNERS_TARGET: usize = 1024;

/// Sockets of one snapshot by which a repetition is told; past them, none is looked for.
const SEEN_MAX: usize = 1 << 20;

/// µs between snapshots of which only the order is known.
const STEP_US: u64 = 1_000_000;

/// Collects sockets into surveys.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is one thing that held for all sockets so far.
pub(super) struct Surveys {
    open: bool,
    seen: FxHashSet<Cookie>,
    run: Vec<u8>,
    owners: Vec<(u32, Owners)>,
    /// The first stamp since the last boundary.
    stamp: Option<Stamp>,
    /// The stamp by which the lines that follow are dated.
    current: Option<Stamp>,
    first_us: Option<i64>,
    last_us: Option<i64>,
    last_at: Option<Moment>,
    timed: bool,
    wall: bool,
    cookies: bool,
    numeric: bool,
}

impl Default for Surveys {
    fn default() -> Self {
        Self {
            open: false,
            seen: FxHashSet::default(),
            run: Vec::new(),
            owners: Vec::new(),
            stamp: None,
            current: None,
            first_us: None,
            last_us: None,
            last_at: None,
            timed: true,
            wall: true,
            cookies: true,
            numeric: true,
        }
    }
}

impl Surveys {
    /// A time was read; one that stands alone or before a header dates the snapshot that follows.
    pub(super) fn stamp(&mut self, stamp: Stamp, heads: bool) {
        self.current = Some(stamp);
        if heads || (!self.open && self.stamp.is_none()) {
            self.stamp = Some(stamp);
        }
    }

    /// Adds a socket; one that was there already begins another snapshot.
    pub(super) fn add(&mut self, found: Found, sink: &mut dyn FnMut(Event<'_>)) {
        let socket = &found.socket;
        let repeated = socket.state != TcpState::LISTEN && self.seen.contains(&socket.cookie);
        if repeated {
            let current = self.current;
            self.boundary(sink);
            self.stamp = current;
        }
        if !self.open {
            self.begin(sink);
        }
        if self.seen.len() < SEEN_MAX {
            self.seen.insert(socket.cookie);
        }
        self.cookies &= found.has_cookie;
        self.numeric &= found.numeric;
        encode_socket(&mut self.run, socket);
        if let Some(owners) = found.owners.filter(|owners| !owners.is_empty()) {
            self.owners.push((socket.inode, Owners::Known(owners)));
        }
        if self.run.len() >= RUN_TARGET || self.owners.len() >= OWNERS_TARGET {
            self.flush(sink);
        }
    }

    fn begin(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let stamp = self.stamp.take();
        let us = stamp.map(|stamp| self.unrolled(stamp));
        self.timed &= us.is_some();
        let first = us.map(|us| *self.first_us.get_or_insert(us));
        let counted = self.last_at.map_or(FIRST, |last| last.after(STEP_US));
        let at = match us.zip(first) {
            Some((us, first)) => FIRST.after(u64::try_from(us.saturating_sub(first)).unwrap_or(0)),
            None => counted,
        };
        // Two snapshots that bear the same second are still one after the other.
        let at = self.last_at.map_or(at, |last| at.max(last.after(1)));
        let wall_us = stamp.filter(|stamp| stamp.utc && stamp.dated).map(|stamp| stamp.us);
        self.wall &= wall_us.is_some();
        self.last_at = Some(at);
        self.open = true;
        sink(Event::SurveyBegin { at, wall_us });
    }

    /// The time of a stamp, a day on for each midnight that was passed.
    fn unrolled(&mut self, stamp: Stamp) -> i64 {
        let mut us = stamp.us;
        if let Some(last) = self.last_us.filter(|_| !stamp.dated) {
            // A step back of more than half a day is midnight; of less, the clock or the order of the paste.
            us = us.saturating_add(last.div_euclid(DAY_US).saturating_mul(DAY_US));
            if last.saturating_sub(us) > DAY_US / 2 {
                us = us.saturating_add(DAY_US);
            }
        }
        self.last_us = Some(us);
        us
    }

    fn flush(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if !self.run.is_empty() {
            sink(Event::Run(&self.run));
            self.run.clear();
        }
        if !self.owners.is_empty() {
            sink(Event::Owners(&self.owners));
            self.owners.clear();
        }
    }

    /// Ends the snapshot, if one is open.
    pub(super) fn boundary(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        self.flush(sink);
        self.seen.clear();
        sink(Event::SurveyEnd { at: self.last_at.unwrap_or_default(), report: &SurveyReport::default() });
    }

    pub(super) fn provenance(&self) -> Provenance {
        Provenance {
            kind: SourceKind::Text,
            surveys: 0,
            cookies: self.cookies,
            absent_is_certain: false,
            timing: if self.timed { Timing::Clock } else { Timing::OrderOnly },
            wall: self.wall,
            numeric: self.numeric,
        }
    }
}
