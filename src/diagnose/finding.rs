//! A finding: a verdict on one direction of a connection, with everything that a person needs to believe it.

use crate::model::{Moment, Opener, Owners, Side};
use crate::wire::Socket;

use super::advice::{Advice, Runtime, advise};
use super::cut::Cut;
use super::direction::{Direction, Exhibit};
use super::fact::{Answer, Fact, Test};
use super::hold::{Cause, Ending};
use super::rules;
use super::tick::Tick;
use super::track::Track;
use super::verdict::{Level, Severity, Verdict};
use super::words::{could_also_be, summary, unknown};

/// A connection as the engine knows it at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Both ends, the latest reading of each; `None` for one that cannot be seen.
    pub ends: [Option<&'a Socket>; 2],
    /// Who opened it.
    pub opener: Opener,
    /// What close watching told, when it was watched closely.
    pub track: Option<&'a Track>,
    /// `busy_time` that each end gained over all surveys, µs; `None` before a second survey or Linux 4.10.
    pub busy_us: [Option<u64>; 2],
    /// Whether any data moved; `None` before a second survey.
    pub moved: Option<bool>,
}

impl Subject<'_> {
    /// Verdict, level and the side that sends in the direction that it speaks of.
    pub fn judge(&self) -> (Side, Verdict, Option<Level>) {
        if let Some((side, verdict, level)) = self.track.and_then(Track::verdict) {
            return (side, verdict, Some(level));
        }
        let verdict = if self.is_idle() { Verdict::Idle } else { Verdict::Healthy };
        (self.first_side(), verdict, None)
    }

    /// What the holds of a direction amount to.
    pub fn figures(&self, sender: Side, verdict: Verdict, now: Moment) -> HoldFigures {
        let direction = self.track.map(|track| &track.directions[sender as usize]);
        let hold = direction.map_or_else(HoldFigures::default, |direction| figures(direction, verdict, now));
        HoldFigures { busy_ms: self.busy_us[sender as usize].map(|us| us as f64 / 1e3), ..hold }
    }

    /// The end that opened, else the one that is visible.
    fn first_side(&self) -> Side {
        match (self.opener.side(), self.ends) {
            (Some(side), _) => side,
            (None, [None, _]) => Side::B,
            (None, _) => Side::A,
        }
    }

    /// Nothing moved between surveys; with one survey alone, nothing for a second.
    fn is_idle(&self) -> bool {
        const QUIET_MS: u32 = 1_000;
        if let Some(moved) = self.moved {
            return !moved;
        }
        let quiet = |socket: &Socket| {
            let info = socket.info.as_ref();
            let age = |ms: Option<u32>| ms.is_none_or(|ms| ms >= QUIET_MS);
            info.is_some_and(|info| age(info.last_data_sent()) && age(info.last_data_recv()))
        };
        self.ends.iter().flatten().all(|socket| quiet(socket))
    }
}

/// One end of a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingEnd {
    /// The socket, as it stood in the evidence; `None` when the end is remote.
    pub socket: Option<Socket>,
    /// Its address.
    pub ip: std::net::IpAddr,
    /// Its port.
    pub port: u16,
    /// The name of the host that its socket was seen on, where there are several.
    pub host: Option<String>,
    /// Who holds it.
    pub owners: Owners,
}

/// What the holds amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HoldFigures {
    /// Holds that were seen, the one that lasts among them.
    pub observed: u64,
    /// Holds that R's delayed-ACK timer ended.
    pub released_by_timer: u64,
    /// Holds that R's answer ended.
    pub released_by_reply: u64,
    /// Median length of those that ended, ms.
    pub p50_ms: Option<u32>,
    /// 90th percentile, ms.
    pub p90_ms: Option<u32>,
    /// The longest, ms.
    pub max_ms: Option<f64>,
    /// All together, ms, the one that lasts among them.
    pub held_ms: f64,
    /// `held_ms` as a share of the time over which the connection was watched closely; `None` when it never was.
    pub share: Option<f64>,
    /// The time of close watching, ms.
    pub watched_ms: f64,
    /// S's `busy_time` gained between the first survey and the last, ms: misses nothing, but counts every wait.
    pub busy_ms: Option<f64>,
    /// Age of the hold that lasts, ms.
    pub age_ms: Option<f64>,
    /// Time since the latest hold ended, ms; `None` while one lasts, or where the end of none was seen.
    pub over_ms: Option<f64>,
}

impl HoldFigures {
    /// Holds per second of close watching; `None` where that was too short to tell a rate.
    pub fn rate(&self) -> Option<f64> {
        const SHORTEST_MS: f64 = 200.0;
        (self.watched_ms >= SHORTEST_MS).then(|| self.observed as f64 * 1e3 / self.watched_ms)
    }
}

/// A verdict on one direction of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub verdict: Verdict,
    /// How sure that is; `None` for healthy and idle connections.
    pub level: Option<Level>,
    /// One sentence.
    pub summary: String,
    /// The end that holds data back.
    pub sender: FindingEnd,
    /// Its peer.
    pub receiver: FindingEnd,
    /// Who opened the connection: `Some(true)` for the sender.
    pub sender_opened: Option<bool>,
    /// What the holds cost.
    pub hold: HoldFigures,
    /// The facts, with both ends' numbers.
    pub evidence: Vec<Fact>,
    /// What else could explain them.
    pub could_also_be: Vec<String>,
    /// What cannot be known here, and what would tell.
    pub unknown: Vec<String>,
    /// What to change.
    pub advice: Vec<Advice>,
    /// When the connection was found to be gone.
    pub gone: Option<Moment>,
}

impl Finding {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.verdict.severity()
    }

    /// How long ago the latest hold ended, ms, where that is long enough to say that it seems to be over.
    pub fn over_ms(&self) -> Option<f64> {
        /// Longer than most pauses between two requests.
        const OVER_MS: f64 = 1_000.0;
        self.hold.over_ms.filter(|ms| *ms >= OVER_MS && self.gone.is_none())
    }

    /// Whether both ends were seen, on two hosts.
    pub(super) fn is_across(&self) -> bool {
        let hosts = self.sender.socket.zip(self.receiver.socket);
        hosts.is_some_and(|(sender, receiver)| sender.host != receiver.host)
    }

    /// Fills in who holds both ends, and the advice that depends on it.
    pub fn set_owners(&mut self, owners: &dyn Fn(&Socket) -> Owners) {
        for end in [&mut self.sender, &mut self.receiver] {
            if let Some(socket) = &end.socket {
                end.owners = owners(socket);
            }
        }
        let held = self.sender.socket.and_then(|socket| socket.info?.notsent_bytes());
        self.advice = advise(self.verdict, runtime_of(&self.sender.owners), held);
    }

    /// Builds the finding of a connection, worst direction. `owners` tells who holds a socket. `None` when not even one
    /// end is known.
    pub fn of(subject: &Subject<'_>, now: Moment, tick: Tick, owners: &dyn Fn(&Socket) -> Owners) -> Option<Self> {
        let (side, verdict, level) = subject.judge();
        Self::of_direction(subject, (side, verdict, level), now, tick, owners)
    }

    /// The findings of both directions, where each has one of its own; else the one of the connection.
    pub fn all_of(subject: &Subject<'_>, now: Moment, tick: Tick, owners: &dyn Fn(&Socket) -> Owners) -> Vec<Self> {
        let mut found = Vec::new();
        for side in [Side::A, Side::B] {
            let judged = subject.track.and_then(|track| track.directions[side as usize].verdict());
            if let Some((verdict, level)) = judged {
                found.extend(Self::of_direction(subject, (side, verdict, Some(level)), now, tick, owners));
            }
        }
        if found.is_empty() {
            found.extend(Self::of(subject, now, tick, owners));
        }
        found
    }

    fn of_direction(
        subject: &Subject<'_>,
        (side, verdict, level): (Side, Verdict, Option<Level>),
        now: Moment,
        tick: Tick,
        owners: &dyn Fn(&Socket) -> Owners,
    ) -> Option<Self> {
        let direction = subject.track.map(|track| &track.directions[side as usize]);
        let exhibit = direction.and_then(|direction| direction.exhibit_of(verdict));
        let (s, r) = match exhibit {
            Some(exhibit) => (Some(&exhibit.s), exhibit.r.as_ref()),
            None => (subject.ends[side as usize], subject.ends[side.other() as usize]),
        };
        // An end that the exhibit is without may be known from another host's readings.
        let shown = [s.or(subject.ends[side as usize]), r.or(subject.ends[side.other() as usize])];
        let sender = end_of(shown[0], shown[1], owners)?;
        let receiver = end_of(shown[1], shown[0], owners)?;
        let hold = subject.figures(side, verdict, now);
        let s_opened = subject.opener.side().map(|opener| opener == side);
        let held = exhibit.and_then(|exhibit| exhibit.s.info?.notsent_bytes());
        let runtime = runtime_of(&sender.owners);
        let unwatched = direction.is_some_and(|direction| direction.watched_us == 0);
        let facts = |exhibit: &Exhibit| evidence(exhibit, verdict, s_opened, tick, unwatched);
        let mut finding = Self {
            verdict,
            level,
            summary: String::new(),
            sender,
            receiver,
            sender_opened: s_opened,
            hold,
            evidence: exhibit.map(facts).unwrap_or_default(),
            could_also_be: could_also_be(verdict).iter().map(|text| (*text).to_owned()).collect(),
            unknown: Vec::new(),
            advice: advise(verdict, runtime, held),
            gone: subject.track.and_then(|track| track.gone),
        };
        if let Some(direction) = direction {
            finding.evidence.extend(history(direction, verdict, s.is_some() && r.is_some()));
            if matches!(verdict, Verdict::NagleDelayedAck | Verdict::ReleasedByReply) {
                finding.evidence.extend(direction.counted());
            }
        }
        finding.unknown = unknown(&finding, direction);
        finding.summary = summary(&finding, held, direction);
        Some(finding)
    }
}

/// Tells a program's runtime from the first process that holds its socket.
fn runtime_of(owners: &Owners) -> Runtime {
    let Owners::Known(processes) = owners else { return Runtime::Other };
    let names = processes.iter().flat_map(|owner| owner.exe.as_deref().into_iter().chain([&*owner.comm]));
    names.map(Runtime::of_name).find(|runtime| *runtime != Runtime::Other).unwrap_or(Runtime::Other)
}

fn end_of(this: Option<&Socket>, other: Option<&Socket>, owners: &dyn Fn(&Socket) -> Owners) -> Option<FindingEnd> {
    let end = this.map(|socket| socket.local).or_else(|| other.map(|socket| socket.remote))?;
    Some(FindingEnd {
        socket: this.copied(),
        ip: end.ip,
        port: end.port,
        host: None,
        owners: this.map_or(Owners::NotLooked, owners),
    })
}

fn figures(direction: &Direction, verdict: Verdict, now: Moment) -> HoldFigures {
    let lengths = match verdict {
        Verdict::NagleDelayedAck if direction.receiver_side.tells() => direction.receiver_side.rounds.clone(),
        _ => direction.lengths(verdict),
    };
    let open = direction.open_of(verdict);
    let open_us = open.map_or(0, |hold| hold.age_us(hold.last_seen));
    let held_us = lengths.total_us + open_us;
    let glimpses = direction.log.glimpses;
    let timer = direction.log.merged(Cause::Nagle, &[Ending::Timer, Ending::TimerDrained, Ending::TimerUnread]).count;
    let is_nagle = !matches!(verdict, Verdict::CorkHold | Verdict::Pacing | Verdict::ReceiverWindow);
    let seen_only = if is_nagle { glimpses.paired + glimpses.unread + glimpses.aged + glimpses.round_trip } else { 0 };
    HoldFigures {
        observed: lengths.count + seen_only + u64::from(open.is_some()),
        released_by_timer: if !is_nagle {
            0
        } else if timer == 0 {
            direction.receiver_side.rounds.count
        } else {
            timer
        },
        released_by_reply: if is_nagle { direction.log.count(Cause::Nagle, Ending::Reply) } else { 0 },
        p50_ms: lengths.percentile_ms(50),
        p90_ms: lengths.percentile_ms(90),
        max_ms: (lengths.count > 0).then_some(lengths.max_us as f64 / 1e3),
        held_ms: held_us as f64 / 1e3,
        share: (direction.watched_us > 0).then(|| (held_us as f64 / direction.watched_us as f64).min(1.0)),
        watched_ms: direction.watched_us as f64 / 1e3,
        busy_ms: None,
        age_ms: open.map(|hold| hold.age_us(now) as f64 / 1e3),
        over_ms: direction.last_end().filter(|_| open.is_none()).map(|end| now.since(end) as f64 / 1e3),
    }
}

/// The tests of a verdict, in the order in which a person follows them. Where both ends are seen, R's own numbers take the
/// place of what S's age alone suggests. `unwatched`: no close look told how holds end.
fn tests(verdict: Verdict, both_ends: bool, unwatched: bool) -> Vec<&'static Test> {
    use rules::nagle_delayed_ack as nagle;
    let groups: &[&'static [Test]] = match verdict {
        Verdict::NagleDelayedAck if both_ends => &[nagle::SENDER, nagle::RECEIVER, nagle::READ, nagle::TIMER],
        Verdict::ReleasedByReply if both_ends => &[nagle::SENDER, nagle::RECEIVER],
        Verdict::NagleDelayedAck | Verdict::ReleasedByReply => &[nagle::SENDER, nagle::AGE],
        Verdict::RttBoundNagle if unwatched => &[nagle::SENDER, rules::rtt_bound_nagle::TESTS],
        Verdict::RttBoundNagle => &[nagle::SENDER],
        Verdict::HeldUnread => &[nagle::SENDER, nagle::RECEIVER, rules::held_unread::TESTS],
        Verdict::CorkHold => &[rules::cork_hold::TESTS],
        Verdict::Pacing => &[rules::pacing::TESTS],
        Verdict::ReceiverWindow => &[rules::receiver_window::TESTS],
        Verdict::LossRecovery => &[rules::loss_recovery::TESTS],
        Verdict::Healthy | Verdict::Idle => &[],
    };
    groups.iter().flat_map(|group| group.iter()).collect()
}

fn evidence(exhibit: &Exhibit, verdict: Verdict, s_opened: Option<bool>, tick: Tick, unwatched: bool) -> Vec<Fact> {
    let Exhibit { s, r, quiet, r_lag_us, .. } = exhibit;
    let cut = Cut { s, r: r.as_ref(), s_opened, quiet: *quiet, r_lag_us: *r_lag_us, tick };
    tests(verdict, cut.r.is_some(), unwatched).into_iter().map(|test| test.word(&cut)).collect()
}

/// Facts that no single look shows.
fn history(direction: &Direction, verdict: Verdict, both_ends: bool) -> Vec<Fact> {
    if !matches!(verdict, Verdict::NagleDelayedAck | Verdict::ReleasedByReply | Verdict::HeldUnread) {
        return Vec::new();
    }
    let timer = direction.log.merged(Cause::Nagle, &[Ending::Timer, Ending::TimerDrained, Ending::TimerUnread]).count;
    let reply = direction.log.count(Cause::Nagle, Ending::Reply);
    let proofs = direction.log.proofs;
    let rounds = direction.receiver_side.rounds.count;
    let fact = |fact: &str, receiver: String, answer: Answer| Fact {
        fact: fact.to_owned(),
        sender: None,
        receiver: Some(receiver),
        answer,
    };
    let known = |holds: bool, looked: bool| match (holds, looked) {
        (true, _) => Answer::Yes,
        (false, true) => Answer::No,
        (false, false) => Answer::Unknown,
    };
    if direction.receiver_side.tells() {
        return vec![fact(
            "small data came, nothing for about 40 ms, a pure ACK went out, and more data came at once",
            format!("{rounds} rounds"),
            Answer::Yes,
        )];
    }
    if !both_ends {
        return vec![Fact {
            fact: "a pure ACK ended most holds, after longer than the round trip takes".to_owned(),
            sender: Some(format!("{timer} by a pure ACK, {reply} by a reply")),
            receiver: None,
            answer: known(timer > reply, timer + reply > 0),
        }];
    }
    let looked = timer + reply > 0;
    vec![
        fact(
            "the same hold was met at least twice, then ended by a pure ACK",
            if proofs == 1 { "1 hold".to_owned() } else { format!("{proofs} holds") },
            known(proofs > 0, looked),
        ),
        fact(
            "the timer ended most holds, not the receiver's answer",
            format!("{timer} by timer, {reply} by reply"),
            known(timer > reply, looked),
        ),
    ]
}
