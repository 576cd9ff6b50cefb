//! What was found, in words: text for a person, Markdown for a ticket, JSON for a program.
//!
//! **Architecture invariant:** pure. Reads the engine, writes strings; decides nothing that `diagnose` has not decided.

mod json;
mod markdown;
mod plot;
mod select;
mod style;
mod text;
mod trial_data;
mod trial_text;
mod words;

use crate::diagnose::{Finding, Level, Severity, Tick, Verdict};
use crate::engine::{Engine, HostState};
use crate::model::{Counters, Host, HostClock, Owners};

pub use json::to_json;
pub use markdown::{finding_to_markdown, to_markdown};
pub use plot::Charset;
pub use select::{ConnectionEnd, matching};
pub use style::Paint;
pub use text::to_text;
pub use trial_data::{LAB_SCHEMA, trials_to_csv, trials_to_json};
pub use trial_text::{trials_to_text, unexpected};
pub use words::{clean, clock_words, count};

/// How the tick is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSource {
    /// From the sockets' own numbers.
    Measured,
    /// From the resolution of the host's coarse clock.
    Clock,
    /// Nothing told it: the coarsest in use.
    Assumed,
}

impl TickSource {
    /// The word of the output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Clock => "clock",
            Self::Assumed => "assumed",
        }
    }
}

/// One of several hosts that a report is about.
#[derive(Clone, Debug)]
pub struct ReportHost {
    /// The file that shows it.
    pub file: String,
    /// The host, as its file tells.
    pub host: Host,
    /// The kernel's tick.
    pub tick: Tick,
    /// Its clock, against that of the first.
    pub clock: HostClock,
}

/// Everything that a report says.
#[derive(Clone, Debug)]
pub struct Report {
    /// The host; the first of several.
    pub host: Host,
    /// All hosts, where there are several.
    pub hosts: Vec<ReportHost>,
    /// The kernel's tick.
    pub tick: Tick,
    /// How the tick is known.
    pub tick_source: TickSource,
    /// Wall-clock time of the first survey, µs since 1970.
    pub started_wall_us: Option<i64>,
    /// Time watched, µs.
    pub duration_us: u64,
    /// Surveys made.
    pub surveys: u64,
    /// Probes answered.
    pub probes: u64,
    /// What was survived.
    pub notes: Vec<String>,
    /// Sockets known at the end.
    pub sockets: usize,
    /// Connections known at the end.
    pub connections: usize,
    /// Of those, with both ends visible.
    pub paired: usize,
    /// Growth of the counters while watching.
    pub counters: Counters,
    /// The filter, empty for none.
    pub filter: String,
    /// Connections that matched it.
    pub matched: usize,
    /// Of the connections that matched, those in which nothing moved.
    pub idle: usize,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
}

/// Which connections a report is about.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The filter.
    pub filter: &'a crate::filter::Filter,
    /// Its text.
    pub filter_text: &'a str,
    /// Healthy and idle connections too.
    pub all: bool,
}

impl Report {
    /// Builds the report from what the engine knows now.
    pub fn of(engine: &Engine, selection: &Selection<'_>) -> Self {
        let matched = matching(engine, selection.filter);
        let mut findings = Vec::new();
        let mut idle = 0;
        for id in &matched {
            let Some((_, verdict, _)) = engine.subject(*id).map(|subject| subject.judge()) else { continue };
            idle += usize::from(verdict == Verdict::Idle);
            if selection.all || verdict.severity() > Severity::None {
                findings.extend(engine.findings(*id));
            }
        }
        sort(&mut findings);
        let table = engine.table();
        let tick_source = match (engine.measured_tick(), engine.host().tick_us) {
            (Some(_), _) => TickSource::Measured,
            (None, Some(_)) => TickSource::Clock,
            (None, None) => TickSource::Assumed,
        };
        Self {
            host: engine.host().clone(),
            hosts: Vec::new(),
            tick: engine.tick(),
            tick_source,
            started_wall_us: engine.started_wall_us(),
            duration_us: engine.watched_us(),
            surveys: engine.surveys(),
            probes: engine.probes(),
            notes: engine.notes().lines().chain(hosts_notes(engine)).collect(),
            sockets: table.socket_count(),
            connections: table.connection_count(),
            paired: table.connections().filter(|connection| connection.is_paired()).count(),
            counters: growth(engine),
            filter: selection.filter_text.to_owned(),
            matched: matched.len(),
            idle,
            findings,
        }
    }

    /// The inodes of all sockets that the findings show.
    pub fn inodes(&self) -> rustc_hash::FxHashSet<u32> {
        let ends = self.findings.iter().flat_map(|finding| [&finding.sender, &finding.receiver]);
        ends.filter_map(|end| end.socket.map(|socket| socket.inode)).collect()
    }

    /// Fills in who holds the sockets.
    pub fn name_owners(&mut self, engine: &Engine) {
        for finding in &mut self.findings {
            finding.set_owners(&|socket| engine.owners(socket));
        }
    }

    /// Says what the report was made from when that is no live host: where it came from, what such a source cannot tell, and
    /// what in it was damaged. What it cannot tell stands with each finding too.
    /// `limits` are those of each host's file.
    pub fn came_from(&mut self, origin: &str, limits: &[Vec<&str>], damage: Vec<String>) {
        self.notes.insert(0, origin.to_owned());
        add_new(&mut self.notes, limits.iter().flatten());
        self.notes.extend(damage);
        for finding in &mut self.findings {
            let sockets = [&finding.sender.socket, &finding.receiver.socket].map(|socket| socket.map(|end| end.host));
            for host in sockets.into_iter().flatten() {
                add_new(&mut finding.unknown, limits.get(usize::from(host.0)).into_iter().flatten());
            }
        }
    }

    /// Names the hosts that the report is about, by the files that show them.
    pub fn tell_hosts(&mut self, engine: &Engine, files: impl Iterator<Item = String>) {
        let told = |(state, file): (&HostState, String)| ReportHost {
            file,
            host: state.host.clone(),
            tick: state.tick(),
            clock: state.clock,
        };
        self.hosts = engine.hosts().iter().zip(files).map(told).collect();
    }

    /// The surest stall; `None` when there is none.
    pub fn surest_stall(&self) -> Option<Level> {
        self.stalls().filter_map(|finding| finding.level).max()
    }

    /// The findings that are stalls.
    pub fn stalls(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity() == Severity::Stall)
    }

    /// The last line: what it all comes to.
    pub fn conclusion(&self) -> String {
        let watched = if self.surveys < 2 && self.probes == 0 {
            "seen in one survey".to_owned()
        } else {
            format!("watched for {:.1}s", self.duration_us as f64 / 1e6)
        };
        let which = if self.filter.is_empty() { "" } else { " matching" };
        format!("{}{which} {watched}: {}", words::count(self.matched, "connection"), self.outcome())
    }

    fn outcome(&self) -> String {
        let mut parts = Vec::new();
        let stalls = self.stalls().count();
        if stalls == 0 {
            parts.push("no stall".to_owned());
        } else {
            let of = |level: Level| self.stalls().filter(|finding| finding.level == Some(level)).count();
            let levels = Level::ALL.iter().rev().map(|level| (of(*level), level.as_str()));
            let levels: Vec<_> = levels.filter(|(n, _)| *n > 0).map(|(n, level)| format!("{n} {level}")).collect();
            parts.push(format!("{} ({})", words::count(stalls, "stall"), levels.join(", ")));
        }
        for (severity, word) in [(Severity::Limit, "limit"), (Severity::Note, "note")] {
            let n = self.findings.iter().filter(|finding| finding.severity() == severity).count();
            if n > 0 {
                parts.push(words::count(n, word));
            }
        }
        if self.matched == 0 && self.connections > 0 {
            parts.push(format!("none of {} matches the filter", words::count(self.connections, "connection")));
        } else if self.idle == self.matched && self.matched > 0 {
            parts.push("all of them idle".to_owned());
        }
        parts.join(", ")
    }
}

fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let rank = |finding: &Finding| (finding.severity(), finding.level);
        let place = |finding: &Finding| (finding.verdict, finding.sender.ip, finding.sender.port);
        rank(b).cmp(&rank(a)).then(b.hold.held_ms.total_cmp(&a.hold.held_ms)).then_with(|| place(a).cmp(&place(b)))
    });
}

/// What several files showed twice, or ambiguously.
fn hosts_notes(engine: &Engine) -> impl Iterator<Item = String> {
    let (doubled, ambiguous) = (engine.table().doubled(), engine.table().ambiguous());
    let doubled = (doubled > 0).then(|| format!("{} in two files, counted once", words::count(doubled, "socket")));
    let ambiguous = (ambiguous > 0).then(|| {
        let sockets = words::count(ambiguous, "socket");
        format!("{sockets} could be paired with sockets of several other hosts by address: none was taken")
    });
    doubled.into_iter().chain(ambiguous)
}

fn growth(engine: &Engine) -> Counters {
    let Some([(_, first), (_, last)]) = engine.counters() else { return Counters::default() };
    let grew = |first: Option<u64>, last: Option<u64>| last?.checked_sub(first?);
    Counters {
        delayed_acks: grew(first.delayed_acks, last.delayed_acks),
        delayed_ack_locked: grew(first.delayed_ack_locked, last.delayed_ack_locked),
        auto_corking: grew(first.auto_corking, last.auto_corking),
    }
}

/// One of several hosts in words: its name, kernel and tick, the file that shows it, and its clock.
fn host_words(shown: &ReportHost) -> String {
    let known = |text: &str| if text.is_empty() { "unknown".to_owned() } else { clean(text) };
    let netns = shown.host.netns.map_or_else(String::new, |inode| format!(" net:[{inode}]"));
    format!(
        "{}{netns}, Linux {}, HZ {}, in {}: {}",
        known(&shown.host.hostname),
        known(&shown.host.kernel),
        shown.tick.hz(),
        clean(&shown.file),
        clock_words(shown.clock)
    )
}

/// Who holds an end, as one phrase: never blank.
pub(crate) fn owners_phrase(end: &crate::diagnose::FindingEnd) -> String {
    if end.socket.is_none() {
        return "on another host or in another namespace".to_owned();
    }
    let on = end.host.as_ref().map_or_else(String::new, |host| format!("{}: ", clean(host)));
    on + &match &end.owners {
        Owners::Known(owners) => {
            let names = owners.iter().map(|owner| format!("{}[{}] fd {}", clean(&owner.comm), owner.pid, owner.fd));
            names.collect::<Vec<_>>().join(", ")
        }
        Owners::Unreadable => "unknown (other user)".to_owned(),
        Owners::Nobody => "no process here (orphaned, or in another PID namespace)".to_owned(),
        Owners::NotLooked => "not looked up".to_owned(),
    }
}

/// Adds the words that are not there yet.
fn add_new<'a>(words: &mut Vec<String>, more: impl Iterator<Item = &'a &'a str>) {
    for word in more {
        if !words.iter().any(|known| known == word) {
            words.push((*word).to_owned());
        }
    }
}
