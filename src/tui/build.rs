//! From the engine to a [`View`]. Runs on the producer's thread.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::diagnose::{Direction, HoldFigures, Severity, Track, Verdict};
use crate::engine::{Engine, HostState};
use crate::filter::Filter;
use crate::model::{ConnectionId, Host, Moment, Owner, Owners, Side};
use crate::report::clock_words;
use crate::wire::{Endpoint, HostId, Socket, TcpInfo};

use super::detail;
use super::text;
use super::view::{Figures, Head, Name, Names, Row, RowEnd, View};

/// Rows with findings that are brought up to date between surveys.
const LIVE_ROWS: usize = 1_000;

/// Seconds over which the header's "held per second" is averaged.
const HELD_OVER_S: usize = 3;

/// Makes views, and keeps what is shared between them.
#[derive(Debug, Default)]
pub struct Builder {
    rows: Arc<Vec<Row>>,
    /// Places in `rows` that have a finding.
    live: Vec<u32>,
    /// Stalls that the filter hides: the header counts them too.
    hidden: Vec<Row>,
    names: Arc<Names>,
    host: Arc<Host>,
    notes: Arc<Vec<String>>,
    generation: u64,
    surveys: u64,
    surveyed: Option<Moment>,
    delayed_acks: Option<(Moment, u64)>,
    delayed_acks_per_s: Option<f64>,
    filter: Filter,
    filter_text: String,
    selected: Option<ConnectionId>,
    trouble: Option<String>,
}

impl Builder {
    /// Shows only what passes this filter.
    pub fn set_filter(&mut self, filter: Filter, text: String) {
        self.filter = filter;
        self.filter_text = text;
        // Forces the rows to be built anew.
        self.surveys = 0;
    }

    /// The filter in force.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Forgets what came after the moment that another engine goes back to.
    pub fn rewind(&mut self) {
        self.surveys = u64::MAX;
        self.surveyed = None;
        self.delayed_acks = None;
        self.delayed_acks_per_s = None;
        self.names = Arc::default();
    }

    /// Gives every detail of that connection.
    pub fn select(&mut self, id: Option<ConnectionId>) {
        self.selected = id;
    }

    /// Takes why nothing could be seen at all; `None` after a survey that was made.
    pub fn set_trouble(&mut self, trouble: Option<String>) {
        self.trouble = trouble;
    }

    /// Takes who holds which sockets.
    pub fn learn(&mut self, host: HostId, owners: &[(u32, Owners)]) {
        let names = Arc::make_mut(&mut self.names);
        for (inode, owners) in owners {
            let first = match owners {
                Owners::Known(processes) => processes.first(),
                Owners::NotLooked | Owners::Unreadable | Owners::Nobody => None,
            };
            names.insert((host, *inode), first.map(name));
        }
    }

    /// The inodes of this host's sockets whose holders nobody looked up yet. Forgets those of sockets that are gone.
    pub fn unnamed(&mut self, engine: &Engine) -> FxHashSet<u32> {
        let sockets = || engine.table().entries().map(|entry| (entry.socket.host, entry.socket.inode));
        let holders = || sockets().filter(|(_, inode)| *inode != 0);
        if self.names.len() > 2 * engine.table().socket_count() + 64 {
            let present: FxHashSet<_> = holders().collect();
            Arc::make_mut(&mut self.names).retain(|holder, _| present.contains(holder));
        }
        holders().filter(|holder| !self.names.contains_key(holder)).map(|(_, inode)| inode).collect()
    }

    /// Makes a view of the engine as it is now.
    pub fn view(&mut self, engine: &Engine, period: Duration) -> View {
        if engine.surveys() == self.surveys {
            self.refresh(engine);
        } else {
            self.take_survey(engine);
        }
        let detail = self.selected.and_then(|id| detail::of(engine, id)).map(Arc::new);
        View {
            generation: self.generation,
            head: self.head(engine, period),
            rows: Arc::clone(&self.rows),
            names: Arc::clone(&self.names),
            detail,
            filter: self.filter_text.clone(),
            notes: Arc::clone(&self.notes),
            ..View::default()
        }
    }

    /// Whether anything changes between two surveys: a hold lasts, or one just ended.
    pub fn is_live(&self, now: Moment) -> bool {
        self.live.iter().filter_map(|place| self.rows.get(*place as usize)).any(|row| row.is_fresh(now))
    }

    fn take_survey(&mut self, engine: &Engine) {
        self.surveys = engine.surveys();
        self.generation += 1;
        self.host = Arc::new(engine.host().clone());
        self.notes = Arc::new(engine.notes().lines().collect());
        if self.trouble.is_none() {
            self.surveyed = Some(engine.now());
        }
        self.count_delayed_acks(engine);
        let shown = crate::report::matching(engine, &self.filter);
        self.hidden = hidden_stalls(engine, &shown);
        // Nearly all have a row: growing on the way would leave room for twice as many.
        let mut rows = Vec::with_capacity(shown.len());
        rows.extend(shown.into_iter().filter_map(|id| row(engine, id)));
        let places = (0u32..).zip(&rows).filter(|(_, row)| row.severity() > Severity::None);
        self.live = places.map(|(place, _)| place).take(LIVE_ROWS).collect();
        self.rows = Arc::new(rows);
    }

    /// Between surveys only rows with findings change: probes look at these.
    fn refresh(&mut self, engine: &Engine) {
        for hidden in &mut self.hidden {
            if let Some(new) = row(engine, hidden.id) {
                *hidden = new;
            }
        }
        if self.live.is_empty() {
            return;
        }
        let rows = Arc::make_mut(&mut self.rows);
        for place in &self.live {
            let Some(old) = rows.get_mut(*place as usize) else { continue };
            if let Some(new) = row(engine, old.id) {
                *old = new;
            }
        }
    }

    fn count_delayed_acks(&mut self, engine: &Engine) {
        let Some([_, (at, counters)]) = engine.counters() else { return };
        let Some(count) = counters.delayed_acks else { return };
        if let Some((before, earlier)) = self.delayed_acks {
            let us = at.since(before);
            if us == 0 {
                return;
            }
            self.delayed_acks_per_s = count.checked_sub(earlier).map(|n| n as f64 * 1e6 / us as f64);
        }
        self.delayed_acks = Some((*at, count));
    }

    fn head(&self, engine: &Engine, period: Duration) -> Head {
        let now = engine.now();
        let stalls = self.rows.iter().chain(&self.hidden).filter(|row| row.severity() == Severity::Stall);
        let hidden = self.hidden.iter().filter(|row| row.is_stalled(now)).count();
        let watched_s = engine.watched_us() / 1_000_000;
        let held: u32 = stalls.clone().filter_map(Row::strip).map(|strip| lately(&strip[..])).sum();
        Head {
            host: Arc::clone(&self.host),
            others: engine.hosts().iter().skip(1).map(beside).collect(),
            now,
            surveys: engine.surveys(),
            surveyed: self.surveyed,
            period,
            stretched: false,
            sockets: engine.table().socket_count(),
            connections: engine.table().connection_count(),
            stalled: stalls.filter(|row| row.is_stalled(now)).count(),
            hidden,
            held_ms_per_s: f64::from(held) / watched_s.clamp(1, HELD_OVER_S as u64) as f64,
            delayed_acks_per_s: self.delayed_acks_per_s,
            probed: engine.candidate_count(),
            trouble: self.trouble.clone().or_else(|| partial(engine)),
        }
    }
}

/// A process's name, shared where nothing in it must be made safe.
fn name(owner: &Owner) -> Name {
    let comm = match text::clean(&owner.comm) {
        Cow::Borrowed(_) => Arc::clone(&owner.comm),
        Cow::Owned(clean) => clean.into(),
    };
    Name { comm, pid: owner.pid }
}

/// Another host of the picture, and its clock.
fn beside(state: &HostState) -> String {
    let name = if state.host.hostname.is_empty() { "an unknown host" } else { &state.host.hostname };
    format!("{} ({})", text::clean(name), clock_words(state.clock))
}

/// The stalls that are not shown.
fn hidden_stalls(engine: &Engine, shown: &[ConnectionId]) -> Vec<Row> {
    if shown.len() == engine.connections().count() {
        return Vec::new();
    }
    let shown: FxHashSet<_> = shown.iter().collect();
    let hidden = engine.connections().filter(|id| !shown.contains(id));
    let stalled = hidden.filter(|id| engine.track(*id).is_some_and(Track::is_stalled));
    stalled.take(LIVE_ROWS).filter_map(|id| row(engine, id)).collect()
}

/// Milliseconds of the last whole seconds of a strip.
fn lately(strip: &[u16]) -> u32 {
    strip.iter().rev().skip(1).take(HELD_OVER_S).map(|ms| u32::from(*ms)).sum()
}

/// What the latest survey lacks.
fn partial(engine: &Engine) -> Option<String> {
    let report = engine.last_report();
    if report.is_complete() {
        return None;
    }
    let why = report.failures.first().map(|text| text.lines().next().unwrap_or_default().to_owned());
    let why = why.or_else(|| (report.overflows > 0).then(|| "the receive queue overflowed (ENOBUFS)".to_owned()));
    let why = why.or_else(|| (report.truncated_reads > 0).then(|| "a read was cut off (MSG_TRUNC)".to_owned()));
    Some(format!("survey not whole: {}", why.unwrap_or_else(|| "the table changed meanwhile".to_owned())))
}

/// The row of a connection; `None` when not even one end is known.
pub(super) fn row(engine: &Engine, id: ConnectionId) -> Option<Row> {
    let subject = engine.subject(id)?;
    let (side, verdict, level) = subject.judge();
    let [s, r] = [side, side.other()].map(|side| subject.ends[side as usize]);
    let direction = subject.track.map(|track| &track.directions[side as usize]);
    let since = subject.track.map(|track| track.since);
    let since = since.or_else(|| engine.table().connection(id).map(|connection| connection.first_seen));
    let info = s.and_then(|socket| socket.info.as_ref());
    let plain = Row {
        id,
        since: since.unwrap_or_default(),
        sender: end(s, r.map(|socket| socket.remote))?,
        receiver: end(r, s.map(|socket| socket.remote))?,
        verdict,
        level,
        held: info.and_then(TcpInfo::notsent_bytes),
        unacked: info.and_then(TcpInfo::unacked),
        ato_us: r.and_then(|socket| socket.info?.ato()),
        min_rtt_us: [s, r].into_iter().flatten().find_map(min_rtt),
        gone: subject.track.and_then(|track| track.gone),
        figures: None,
    };
    match direction {
        Some(direction) if verdict.severity() > Severity::None => {
            let figures = subject.figures(side, verdict, engine.now());
            Some(with_finding(&plain, direction, &figures, verdict, engine.now()))
        }
        _ => Some(plain),
    }
}

/// `min_rtt`, µs; the kernel's "none yet" is absent.
pub(super) fn min_rtt(socket: &Socket) -> Option<u32> {
    socket.info?.min_rtt().filter(|us| *us != u32::MAX)
}

fn end(this: Option<&Socket>, seen_by_other: Option<Endpoint>) -> Option<RowEnd> {
    let endpoint = this.map(|socket| socket.local).or(seen_by_other)?;
    Some(RowEnd {
        ip: endpoint.ip,
        port: endpoint.port,
        host: this.map_or_else(HostId::default, |socket| socket.host),
        inode: this.map(|socket| socket.inode),
        uid: this.map(|socket| socket.uid),
    })
}

fn with_finding(row: &Row, direction: &Direction, figures: &HoldFigures, verdict: Verdict, now: Moment) -> Row {
    let open = direction.open_of(verdict);
    let shown = direction.exhibit_of(verdict).and_then(|exhibit| exhibit.s.info);
    let last = direction.log.recent().next_back();
    Row {
        held: open.map(|hold| hold.bytes).or(last.map(|hold| hold.bytes)).or(row.held),
        unacked: shown.and_then(|info| info.unacked()).or(row.unacked),
        figures: Some(Box::new(Figures {
            age_us: open.filter(|_| row.gone.is_none()).map(|hold| hold.age_us(now)),
            rate: figures.rate(),
            share: figures.share,
            last_held: last.map(|hold| hold.started.after(hold.length_us)),
            strip: direction.log.strip(now).map(|ms| u16::try_from(ms).unwrap_or(u16::MAX)),
        })),
        ..row.clone()
    }
}

/// Which side of a connection a finding's sender is.
pub(super) fn side_of(ends: [Option<&Socket>; 2], sender: (std::net::IpAddr, u16)) -> Side {
    let is = |endpoint: Endpoint| (endpoint.ip, endpoint.port) == sender;
    let is_a = match ends {
        [Some(a), _] => is(a.local),
        [None, Some(b)] => is(b.remote),
        [None, None] => true,
    };
    if is_a { Side::A } else { Side::B }
}
