//! From events to verdicts: the one path that live watching and replay share.
//!
//! **Architecture invariant:** pure. Time comes in with the events; what to look at next goes out as a plan that the caller
//! carries out.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnose::{Candidates, Class, Direction, Finding, Interest, Reading, Severity, Subject, Tick, Track};
use crate::model::{
    Connection, ConnectionId, Counters, Event, Host, HostClock, Moment, Notes, Owners, ProbeTarget, Side, SurveyReport,
    Table,
};
use crate::wire::{Cookie, HostId, Message, Socket, TcpInfo, messages};

mod hosts;
mod probe;

pub use hosts::HostState;

use hosts::Hosts;

/// Connections that are gone and stay listed for what they did.
const REMEMBERED: usize = 1_000;

/// How long a connection that was probed and never looked odd is remembered as such, µs. A turn of probes is shorter, so that
/// on a host where everything moves only those whose turn it is are remembered.
const BLANK_STAYS_US: u64 = 10_000_000;

/// Holders of sockets that are gone are forgotten once there are so many of them, and more than of sockets that are there.
const OWNERS_SPARED: usize = 1_024;

/// Sockets of one survey that the tick is measured on: enough values, and no cost at 40 000 sockets.
const TICK_SAMPLES: u32 = 512;

/// A look that the plan asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// Who to ask.
    pub target: ProbeTarget,
    /// The end asked first.
    pub first: Socket,
    /// The end asked second, when it is visible.
    pub second: Option<Socket>,
    /// Whether both directions are of interest: the second end is asked again after the first.
    pub both: bool,
}

/// Everything known about the connections of one host, or of several.
#[derive(Clone, Debug)]
pub struct Engine {
    table: Table,
    tracks: FxHashMap<ConnectionId, Box<Track>>,
    candidates: Candidates,
    hosts: Hosts,
    notes: Notes,
    began: Option<Moment>,
    now: Moment,
    started_wall_us: Option<i64>,
    surveys: u64,
    probes: u64,
    last_report: SurveyReport,
}

impl Engine {
    /// An engine that has seen nothing yet, and looks at candidates every `probe_interval_us`.
    pub fn new(probe_interval_us: u64) -> Self {
        Self {
            table: Table::default(),
            tracks: FxHashMap::default(),
            candidates: Candidates::new(probe_interval_us),
            hosts: Hosts::new(),
            notes: Notes::default(),
            began: None,
            now: Moment(0),
            started_wall_us: None,
            surveys: 0,
            probes: 0,
            last_report: SurveyReport::default(),
        }
    }

    /// Takes what the only source saw.
    pub fn feed(&mut self, event: Event<'_>) {
        self.feed_from(HostId::default(), event);
    }

    /// Takes what was seen on one of several hosts. A survey comes whole, from its beginning to its end, and moments are on one
    /// clock, as well as [`Engine::relate`] told.
    pub fn feed_from(&mut self, host: HostId, event: Event<'_>) {
        match event {
            Event::Host(told) => {
                let state = self.hosts.at(host);
                state.meter.set_clock(told.tick_us);
                state.host = told.clone();
            }
            Event::SurveyBegin { at, wall_us } => self.begin_survey(host, at, wall_us),
            Event::Run(run) => self.take_run(host, run),
            Event::SurveyEnd { at, report } => self.end_survey(host, at, report),
            Event::Probe { at, target, answers } => self.take_probe(host, at, target, answers),
            Event::Counters { at, counters } => self.count(host, at, counters),
            Event::Owners(owners) => self.hosts.at(host).owners.extend(owners.iter().cloned()),
            Event::Mark { at, .. } => self.advance(at),
        }
    }

    /// Tells how the clocks of several hosts relate. The moments of the events are on one clock already.
    pub fn relate(&mut self, clocks: &[HostClock]) {
        for (host, clock) in (0..).map(HostId).zip(clocks) {
            self.hosts.at(host).clock = *clock;
        }
    }

    fn count(&mut self, host: HostId, at: Moment, counters: Counters) {
        self.advance(at);
        let state = self.hosts.at(host);
        let first = state.counters.map_or((at, counters), |[first, _]| first);
        state.counters = Some([first, (at, counters)]);
        let Some(delayed_acks) = counters.delayed_acks else { return };
        let none_since = state.timer_acks.observe(at, delayed_acks);
        for track in self.tracks.values_mut() {
            for side in [Side::A, Side::B] {
                if track.ends[side.other() as usize].is_some_and(|r| r.host == host) {
                    track.directions[side as usize].count_timer_acks(delayed_acks, none_since);
                }
            }
        }
    }

    fn advance(&mut self, at: Moment) {
        self.began.get_or_insert(at);
        self.now = self.now.max(at);
    }

    fn begin_survey(&mut self, host: HostId, at: Moment, wall_us: Option<i64>) {
        self.advance(at);
        let state = self.hosts.at(host);
        state.survey_began = at;
        state.tick_samples = 0;
        self.started_wall_us = self.started_wall_us.or(wall_us);
        self.table.begin_survey(host, at);
    }

    fn take_run(&mut self, host: HostId, run: &[u8]) {
        let state = self.hosts.at(host);
        for message in messages(run) {
            match message {
                Message::Socket { mut socket, defect, .. } => {
                    socket.host = host;
                    self.table.survey_socket(&socket);
                    if state.tick_samples < TICK_SAMPLES {
                        state.tick_samples += 1;
                        state.meter.observe(&socket);
                    }
                    if let Some(defect) = defect {
                        self.notes.defect(defect);
                    }
                }
                Message::Malformed(defect) => self.notes.defect(defect),
                Message::Done { .. } | Message::Error { .. } | Message::Other { .. } => {}
            }
        }
    }

    fn end_survey(&mut self, host: HostId, at: Moment, report: &SurveyReport) {
        self.advance(at);
        self.surveys += 1;
        self.notes.survey(report);
        self.last_report = report.clone();
        self.table.end_survey(report.is_complete());
        self.find_candidates(host, at);
        self.retire();
        self.forget_owners(host);
        self.candidates.expire(self.hosts.of(host).survey_began);
    }

    fn find_candidates(&mut self, host: HostId, until: Moment) {
        let began = self.hosts.of(host).survey_began;
        let mut found = Vec::new();
        for connection in self.table.connections() {
            let interest = crate::diagnose::interest_of(&self.table, connection, self.tick_of(connection));
            if interest.any() && self.has_end_on(host, connection) {
                found.push((connection.id, interest));
            }
        }
        for (id, interest) in found {
            self.candidates.add(id, interest, began);
            self.look_at_survey(host, id, interest, until);
        }
    }

    fn has_end_on(&self, host: HostId, connection: &Connection) -> bool {
        let mut ends = [Side::A, Side::B].into_iter().filter_map(|side| self.table.end(connection, side));
        ends.any(|end| end.socket.host == host)
    }

    /// A survey's own readings count as a look where no probe looked lately: all there is without probes.
    fn look_at_survey(&mut self, host: HostId, id: ConnectionId, interest: Interest, until: Moment) {
        if interest.class == Class::Active && !self.tracks.contains_key(&id) {
            // It merely moves data: there is nothing to remember.
            return;
        }
        let at = self.hosts.of(host).survey_began;
        let Some(connection) = self.table.connection(id).copied() else { return };
        let (tick, uncertainty_us) = (self.tick_of(&connection), self.uncertainty_us(&connection));
        let across = self.table.is_across(&connection);
        // What this survey did not list is of another moment, or of another host's.
        let ends = [Side::A, Side::B]
            .map(|side| self.table.end(&connection, side).filter(|end| end.socket.host == host && end.at == at));
        let counted = self.hosts.of(host).delayed_acks();
        let track = self.tracks.entry(id).or_insert_with(|| Box::new(Track::new(connection.first_seen, counted)));
        track.opener = connection.opener;
        for side in [Side::A, Side::B] {
            let Some(s) = ends[side as usize] else { continue };
            if track.was_read_lately(side, at) {
                continue;
            }
            if across {
                let reading = Reading { from: at, until, socket: &s.socket };
                track.look_across(side, reading, uncertainty_us, tick);
            } else if interest.sender[side as usize] {
                track.look(at, side, &s.socket, ends[side.other() as usize].map(|r| &r.socket), tick, false);
            }
        }
    }

    /// Keeps what connections that are gone did, where it matters.
    fn retire(&mut self) {
        let (table, now) = (&self.table, self.now);
        for (id, track) in &mut self.tracks {
            if track.gone.is_none() && table.connection(*id).is_none() {
                track.gone = Some(now);
                self.candidates.remove(*id);
            }
        }
        let matters =
            |track: &Track| track.verdict().is_some_and(|(_, verdict, _)| verdict.severity() > Severity::Note);
        let stale = |track: &Track| {
            let lately = track.probed.is_some_and(|probed| now.since(probed) <= BLANK_STAYS_US);
            !lately && track.directions.iter().all(Direction::is_blank)
        };
        self.tracks.retain(|_, track| if track.gone.is_some() { matters(track) } else { !stale(track) });
        self.forget_oldest();
    }

    /// Forgets who held sockets that are gone, when these are the more.
    fn forget_owners(&mut self, host: HostId) {
        let owners = &mut self.hosts.at(host).owners;
        if owners.len() <= 2 * self.table.socket_count() + OWNERS_SPARED {
            return;
        }
        let ends = self.tracks.values().flat_map(|track| track.ends.iter().flatten());
        let sockets = self.table.entries().map(|entry| &entry.socket).chain(ends);
        let kept: FxHashSet<u32> = sockets.filter(|socket| socket.host == host).map(|socket| socket.inode).collect();
        owners.retain(|inode, _| kept.contains(inode));
    }

    fn forget_oldest(&mut self) {
        let mut gone: Vec<_> = self.tracks.iter().filter_map(|(id, track)| Some((track.gone?, *id))).collect();
        if gone.len() > REMEMBERED {
            gone.sort_unstable();
            for (_, id) in &gone[..gone.len() - REMEMBERED] {
                self.tracks.remove(id);
            }
        }
    }

    /// When the next planned look is due, with `room` connections in one turn.
    pub fn next_look(&self, room: usize) -> Option<Moment> {
        self.candidates.next_due(room)
    }

    /// The looks that are due now.
    pub fn plan(&mut self, now: Moment, room: usize) -> Vec<Planned> {
        let due = self.candidates.take_due(now, room);
        due.into_iter().filter_map(|(id, interest)| self.planned(id, interest)).collect()
    }

    fn planned(&self, id: ConnectionId, interest: Interest) -> Option<Planned> {
        let connection = self.table.connection(id)?;
        let end = |side| self.table.end(connection, side).map(|entry| entry.socket);
        let sender = if interest.sender[0] { Side::A } else { Side::B };
        let (first, second) = match (end(sender), end(sender.other())) {
            (Some(first), second) => (first, second),
            (None, second) => (second?, None),
        };
        let target = ProbeTarget { first: first.cookie, second: second.map(|socket| socket.cookie) };
        Some(Planned { target, first, second, both: second.is_some() && interest.both() })
    }

    /// How many connections are looked at closely.
    pub fn candidate_count(&self) -> usize {
        self.candidates.len()
    }

    /// Looks at a connection whatever it does.
    pub fn pin(&mut self, id: ConnectionId) {
        self.candidates.pin(id, self.now);
    }

    /// Ends [`Engine::pin`].
    pub fn unpin(&mut self, id: ConnectionId) {
        self.candidates.unpin(id);
    }

    /// The sockets and connections.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The host, as the source told; the first of several.
    pub fn host(&self) -> &Host {
        &self.hosts.of(HostId::default()).host
    }

    /// All hosts, in the order of their numbers.
    pub fn hosts(&self) -> &[HostState] {
        self.hosts.all()
    }

    /// The tick to reckon with; the first host's.
    pub fn tick(&self) -> Tick {
        self.hosts.of(HostId::default()).tick()
    }

    /// The tick to reckon with where both ends of a connection are looked at: the coarser.
    fn tick_of(&self, connection: &Connection) -> Tick {
        let ends = [Side::A, Side::B].map(|side| self.table.end(connection, side));
        self.coarser_tick(ends.map(|end| end.map(|entry| &entry.socket)))
    }

    fn coarser_tick(&self, ends: [Option<&Socket>; 2]) -> Tick {
        let ticks = ends.into_iter().flatten().map(|socket| self.hosts.of(socket.host).tick());
        ticks.max().unwrap_or_else(|| self.tick())
    }

    /// How far apart the moments of both ends can be from what they seem, µs; `None` when it is not known.
    fn uncertainty_us(&self, connection: &Connection) -> Option<u64> {
        let clock = |side| Some(self.hosts.of(self.table.end(connection, side)?.socket.host).clock);
        clock(Side::A)?.between(clock(Side::B)?)
    }

    /// The tick as the sockets' own numbers show it, once there are enough; the first host's.
    pub fn measured_tick(&self) -> Option<Tick> {
        self.hosts.of(HostId::default()).measured_tick()
    }

    /// The latest moment that any event brought.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// How long the source has been watched, µs.
    pub fn watched_us(&self) -> u64 {
        self.began.map_or(0, |began| self.now.since(began))
    }

    /// Wall-clock time of the first survey, µs since 1970.
    pub fn started_wall_us(&self) -> Option<i64> {
        self.started_wall_us
    }

    /// Surveys that ended.
    pub fn surveys(&self) -> u64 {
        self.surveys
    }

    /// Probes that were answered.
    pub fn probes(&self) -> u64 {
        self.probes
    }

    /// How the latest survey went.
    pub fn last_report(&self) -> &SurveyReport {
        &self.last_report
    }

    /// The first and the latest counters, of the first host.
    pub fn counters(&self) -> Option<&[(Moment, Counters); 2]> {
        self.hosts.of(HostId::default()).counters()
    }

    /// Everything that was survived.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Counts something that the caller survived.
    pub fn note(&mut self, what: &str) {
        self.notes.count(what);
    }

    /// Everybody who is known to hold a socket, by its host and inode.
    pub fn known_owners(&self) -> impl Iterator<Item = ((HostId, u32), &Owners)> {
        self.hosts.owners()
    }

    /// Who holds a socket.
    pub fn owners(&self, socket: &Socket) -> Owners {
        self.hosts.of(socket.host).owners.get(&socket.inode).cloned().unwrap_or_default()
    }

    /// What close watching told of a connection.
    pub fn track(&self, id: ConnectionId) -> Option<&Track> {
        self.tracks.get(&id).map(|track| &**track)
    }

    /// The connections that ever looked odd and are there, or are gone and worth remembering.
    pub fn tracked(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.tracks.keys().copied()
    }

    /// Every connection that is there, and those that are gone and worth remembering.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        let gone = self.tracks.iter().filter(|(_, track)| track.gone.is_some()).map(|(id, _)| *id);
        self.table.connections().map(|connection| connection.id).chain(gone)
    }

    /// A connection as it is known now.
    pub fn subject(&self, id: ConnectionId) -> Option<Subject<'_>> {
        let track = self.track(id);
        if let Some(connection) = self.table.connection(id) {
            return Some(self.present(connection, track));
        }
        let track = track?;
        let ends = [track.ends[0].as_ref(), track.ends[1].as_ref()];
        Some(Subject { ends, opener: track.opener, track: Some(track), busy_us: [None; 2], moved: Some(true) })
    }

    fn present<'a>(&'a self, connection: &Connection, track: Option<&'a Track>) -> Subject<'a> {
        let entries = [Side::A, Side::B].map(|side| self.table.end(connection, side));
        let grown = entries.iter().flatten().any(|entry| entry.readings > 1);
        let moved = entries.iter().flatten().any(|entry| entry.moved);
        let busy = |entry: &crate::model::Entry| {
            let known = entry.socket.info.as_ref().and_then(TcpInfo::busy_time).is_some();
            (entry.readings > 1 && known).then_some(entry.busy_us)
        };
        Subject {
            ends: entries.map(|entry| entry.map(|entry| &entry.socket)),
            opener: connection.opener,
            track,
            busy_us: entries.map(|entry| entry.and_then(busy)),
            moved: grown.then_some(moved),
        }
    }

    /// The finding of a connection: its worse direction.
    pub fn finding(&self, id: ConnectionId) -> Option<Finding> {
        let subject = self.subject(id)?;
        let tick = self.coarser_tick(subject.ends);
        Finding::of(&subject, self.now, tick, &|socket| self.owners(socket)).map(|finding| self.placed(finding))
    }

    /// The findings of a connection: one for each direction that has one of its own.
    pub fn findings(&self, id: ConnectionId) -> Vec<Finding> {
        let Some(subject) = self.subject(id) else { return Vec::new() };
        let tick = self.coarser_tick(subject.ends);
        let findings = Finding::all_of(&subject, self.now, tick, &|socket| self.owners(socket));
        findings.into_iter().map(|finding| self.placed(finding)).collect()
    }

    /// The finding with the names of the hosts, where there are several.
    fn placed(&self, mut finding: Finding) -> Finding {
        if self.hosts.all().len() > 1 {
            for end in [&mut finding.sender, &mut finding.receiver] {
                end.host = end.socket.map(|socket| self.hosts.name(socket.host));
            }
        }
        finding
    }
}
