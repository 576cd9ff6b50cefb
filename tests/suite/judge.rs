//! Compares what was found with what is right, and with what the clients measured.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stallscope::lab::{Ends, Measured, Traffic};

use super::link::Seen;
use super::observe::{Found, Observed};
use super::scenario::{Compare, Finding, Level, Scenario, Side};

/// The verdict that the project is about.
const STALL: &str = "nagle-delayed-ack";
/// How far the median hold may be from what the client measured: a tick at HZ=250, in ms. Both are measured in ticks, and
/// the sum of two roundings is what a tolerance has to cover.
const TICK_MS: f64 = 4.0;
/// How far the number of holds may be from the requests that stalled.
const COUNT_SHARE: f64 = 0.05;
/// Holds that may be missing or cut at the two edges of the time watched.
const COUNT_EDGE: f64 = 3.0;

/// Some traffic with the connections it made and what its clients measured.
pub struct Played<'a> {
    pub traffic: &'a Traffic,
    pub ends: Vec<Ends>,
    pub clients: Vec<Measured>,
}

/// How one run of a scenario went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub scenario: String,
    pub about: String,
    pub expected: String,
    pub got: Vec<String>,
    /// Why it was not run, or not judged.
    pub skipped: Option<String>,
    /// Findings that were not made, or not as surely as required.
    pub missed: u32,
    pub false_suspected: u32,
    pub false_paired: u32,
    pub false_proven: u32,
    /// Other stalls and limits that are not there.
    pub false_other: u32,
    /// Median hold found and median by the client, ms.
    pub holds_ms: Option<(f64, f64)>,
    /// Holds found and requests that stalled by the client's clock.
    pub holds_count: Option<(u64, u64)>,
    /// Everything that is wrong, in words.
    pub wrong: Vec<String>,
    /// Figures that are too far from the client's, in words.
    pub inexact: Vec<String>,
}

/// A finding that is to be made about one connection.
struct Due<'a> {
    finding: &'a Finding,
    ends: Ends,
    client: Option<&'a Measured>,
}

impl Due<'_> {
    fn is_about(&self, found: &Found) -> bool {
        let (sender, receiver) = match self.finding.from {
            Side::Client => (self.ends.client, self.ends.server),
            Side::Server => (self.ends.server, self.ends.client),
        };
        found.verdict == self.finding.verdict && found.sender == sender && found.receiver == receiver
    }

    fn covers(&self, found: &Found, seen: Seen) -> bool {
        self.is_about(found) && found.level <= Some(self.most(seen))
    }

    /// The highest level that may be claimed: from one end alone nothing more than a suspicion, unless the file says so.
    fn most(&self, seen: Seen) -> Level {
        let usual = if seen == Seen::Both { Level::Confirmed } else { Level::Suspected };
        self.finding.at_most.unwrap_or(usual)
    }
}

/// Judges one run.
pub fn judge(name: &str, scenario: &Scenario, played: &[Played<'_>], observed: &Observed) -> Score {
    let mut score = Score {
        scenario: name.to_owned(),
        about: scenario.about.clone(),
        expected: expected(scenario),
        got: observed.findings.iter().filter(|found| counts(found)).map(words).collect(),
        ..Score::default()
    };
    let right = due(&scenario.right, played);
    let allowed = due(&scenario.allowed, played);
    for due in &right {
        score.require(due, observed);
    }
    for found in observed.findings.iter().filter(|found| counts(found)) {
        if !right.iter().chain(&allowed).any(|due| due.covers(found, scenario.seen)) {
            score.reject(found);
        }
    }
    score
}

fn due<'a>(findings: &'a [Finding], played: &'a [Played<'_>]) -> Vec<Due<'a>> {
    let mut all = Vec::new();
    for finding in findings {
        for play in played.iter().filter(|play| finding.traffic.as_ref().is_none_or(|name| *name == play.traffic.name))
        {
            let ends = play.ends.iter().filter(|ends| ends.leg == finding.leg);
            all.extend(ends.map(|&ends| Due {
                finding,
                ends,
                client: play.clients.iter().find(|client| client.ends == ends).or(play.clients.first()),
            }));
        }
    }
    all
}

/// Notes and healthy connections are not held against a diagnosis.
fn counts(found: &Found) -> bool {
    matches!(found.severity.as_str(), "stall" | "limit")
}

fn words(found: &Found) -> String {
    let level = found.level.map_or("", Level::name);
    format!("{} {level} {} → {}", found.verdict, found.sender, found.receiver)
}

fn expected(scenario: &Scenario) -> String {
    let list: Vec<String> = scenario
        .right
        .iter()
        .map(|right| {
            let from = if right.from == Side::Client { "client" } else { "server" };
            let level = right.level.map_or("", Level::name);
            format!("{} {level} from the {from}", right.verdict)
        })
        .collect();
    if list.is_empty() { "no stall".to_owned() } else { list.join("; ") }
}

impl Score {
    /// Stalls that were found and are not there.
    pub fn false_stalls(&self) -> u32 {
        self.false_suspected + self.false_paired + self.false_proven
    }

    fn require(&mut self, due: &Due<'_>, observed: &Observed) {
        let Finding { verdict, level, .. } = due.finding;
        let Some(found) = observed.findings.iter().find(|found| due.is_about(found)) else {
            self.missed += 1;
            return self.wrong.push(format!("missed: {verdict} of {} → {}", due.ends.client, due.ends.server));
        };
        if found.level < *level {
            self.missed += 1;
            self.wrong.push(format!("not sure enough: {}, required {}", words(found), level.map_or("", Level::name)));
        }
        if let (Some(compare), Some(client)) = (&due.finding.compare, due.client) {
            self.compare(found, compare, client, observed);
        }
    }

    fn reject(&mut self, found: &Found) {
        self.wrong.push(format!("wrong: {}", words(found)));
        match found.level {
            _ if found.verdict != STALL => self.false_other += 1,
            Some(Level::Proven | Level::Confirmed) => self.false_proven += 1,
            Some(Level::Paired) => self.false_paired += 1,
            Some(Level::Suspected) | None => self.false_suspected += 1,
        }
    }

    fn compare(&mut self, found: &Found, compare: &Compare, client: &Measured, observed: &Observed) {
        let stalled = stalled(client, compare.above, observed.began, observed.ended);
        let (Some(median), Some(ours)) = (median_ms(&stalled), found.p50_ms) else {
            return self.inexact.push("nothing to compare: no request stalled, or no hold was measured".to_owned());
        };
        let theirs = median - compare.beside.as_secs_f64() * 1e3;
        self.holds_ms = Some((ours, theirs));
        if (ours - theirs).abs() > TICK_MS {
            self.inexact.push(format!("the median hold is {ours:.1} ms, by the client's clock {theirs:.1} ms"));
        }
        let count = stalled.len() as u64 * u64::from(compare.holds);
        self.holds_count = Some((found.holds, count));
        if (found.holds as f64 - count as f64).abs() > (count as f64 * COUNT_SHARE).max(COUNT_EDGE) {
            self.inexact.push(format!("{} holds were counted, {count} requests stalled", found.holds));
        }
    }
}

/// What requests took that ran wholly between two instants and longer than `above`.
pub fn stalled(client: &Measured, above: Duration, from: Instant, to: Instant) -> Vec<Duration> {
    let inside = client.samples.iter().filter(|sample| sample.started >= from && sample.started + sample.took <= to);
    inside.map(|sample| sample.took).filter(|took| *took > above).collect()
}

/// The median in milliseconds.
pub fn median_ms(times: &[Duration]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).map(|time| time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use stallscope::lab::Sample;

    use super::*;

    fn scenario(text: &str) -> Scenario {
        toml::from_str(&format!("about = ''\ntraffic = [{{name = 'x'}}]\n{text}")).expect("a scenario")
    }

    fn found(level: Level, from: u16, to: u16) -> Found {
        let at = |port| ([127, 0, 0, 1], port).into();
        Found {
            verdict: STALL.to_owned(),
            level: Some(level),
            severity: "stall".to_owned(),
            sender: at(from),
            receiver: at(to),
            holds: 20,
            released_by_timer: 20,
            released_by_reply: 0,
            p50_ms: Some(44.0),
        }
    }

    /// One client on port 1, whose 20 requests took 44 ms each, against a server on port 2.
    fn scored(text: &str, findings: Vec<Found>) -> Score {
        let scenario = scenario(text);
        let began = Instant::now();
        let took = Duration::from_millis(44);
        let samples = (0..20).map(|index| Sample { started: began + took * index, took }).collect();
        let ends = Ends { leg: 0, client: ([127, 0, 0, 1], 1).into(), server: ([127, 0, 0, 1], 2).into() };
        let clients = vec![Measured { ends, samples }];
        let played = [Played { traffic: &scenario.traffic[0], ends: vec![ends], clients }];
        judge("x", &scenario, &played, &Observed { findings, began, ended: began + Duration::from_secs(1) })
    }

    const RIGHT: &str = "[[right]]\nverdict = 'nagle-delayed-ack'\nfrom = 'client'\nlevel = 'proven'\ncompare = {}";

    #[test]
    fn a_right_finding_has_nothing_wrong() {
        let score = scored(RIGHT, vec![found(Level::Proven, 1, 2)]);
        assert_eq!((score.wrong, score.inexact), (vec![], vec![]));
        assert_eq!((score.holds_ms, score.holds_count), (Some((44.0, 44.0)), Some((20, 20))));
    }

    #[test]
    fn a_missing_weak_or_turned_finding_is_missed() {
        assert_eq!(scored(RIGHT, vec![]).missed, 1);
        assert_eq!(scored(RIGHT, vec![found(Level::Paired, 1, 2)]).missed, 1);
        let turned = scored(RIGHT, vec![found(Level::Proven, 2, 1)]);
        assert_eq!((turned.missed, turned.false_proven), (1, 1));
    }

    #[test]
    fn a_finding_where_none_is_right_counts_at_its_level() {
        let score =
            scored("", vec![found(Level::Suspected, 1, 2), found(Level::Paired, 1, 2), found(Level::Confirmed, 1, 2)]);
        assert_eq!((score.false_suspected, score.false_paired, score.false_proven), (1, 1, 1));
    }

    #[test]
    fn one_end_alone_may_not_be_called_proven() {
        let text = "seen = 'client'\n[[right]]\nverdict = 'nagle-delayed-ack'\nfrom = 'client'\nlevel = 'suspected'";
        assert_eq!(scored(text, vec![found(Level::Suspected, 1, 2)]).wrong, Vec::<String>::new());
        assert_eq!(scored(text, vec![found(Level::Proven, 1, 2)]).false_proven, 1);
    }

    #[test]
    fn holds_of_another_length_or_number_are_wrong() {
        let mut short = found(Level::Proven, 1, 2);
        short.p50_ms = Some(30.0);
        short.holds = 5;
        assert_eq!(scored(RIGHT, vec![short]).inexact.len(), 2);
    }
}
