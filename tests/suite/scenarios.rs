//! The scenarios: each is played in namespaces of its own, checked against the kernel and the clients' clocks, watched, and
//! judged.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stallscope::lab::{self, Ends, Options, Outcome, Running, Serving, Stop, Traffic};

use super::judge::{Played, Score, judge, median_ms};
use super::link::Joined;
use super::netns::{Room, ip, isolated, skipped, sysctl};
use super::observe::{Check, Observer};
use super::scenario::{Latency, Scenario, Shown, Side, folder};
use super::shape::{self, Shape};
use super::sys;

/// Where a run leaves its score, when the table asks for it.
pub const SCORE: &str = "STALLSCOPE_TEST_SCORE";
/// Traffic never runs longer than this.
const TRAFFIC_LIMIT: Duration = Duration::from_secs(75);
/// How long the kernel's view is sampled.
const SHAPE_TIME: Duration = Duration::from_millis(1_500);
/// How often a scenario is played for its traffic to be what the file says.
const ATTEMPTS: u32 = 3;
/// Traffic before anything is looked at: the first requests of a connection are fast.
const WARM_UP: Duration = Duration::from_millis(300);

macro_rules! scenarios {
    ($($name:ident)*) => {
        /// The names of all scenarios, which are those of their files and of their tests.
        pub const ALL: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            isolated(concat!("scenarios::", stringify!($name)), || run(stringify!($name)));
        })*
    };
}

include!("list.rs");

#[test]
fn every_file_is_in_the_list() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of scenarios")
        .map(|entry| entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut listed = ALL.to_vec();
    listed.sort_unstable();
    assert_eq!(files, listed, "tests/suite/list.rs and fixtures/scenarios must name the same scenarios");
    for name in listed {
        Scenario::load(name).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Runs a scenario in this process's namespaces; fails when anything is wrong.
fn run(name: &str) {
    let score = play(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    if let Some(path) = std::env::var_os(SCORE) {
        std::fs::write(path, serde_json::to_vec(&score).expect("plain data")).expect("the table's folder");
        return;
    }
    if let Some(reason) = &score.skipped {
        skipped(name, reason);
    }
    assert!(score.wrong.is_empty(), "{name}: got {:?}: {}", score.got, score.wrong.join("; "));
}

/// Plays a scenario until the traffic was what its file says; outside the table, until the figures are close to the clients' as
/// well. A busy machine makes something else of either now and then; it must not do so every time. A stall that is not there is
/// wrong at once, whatever the machine did.
fn play(name: &str) -> Result<Score, String> {
    let for_table = std::env::var_os(SCORE).is_some();
    for left in (0..ATTEMPTS).rev() {
        let (mut score, mut amiss) = attempt(name)?;
        if for_table {
            score.wrong.append(&mut score.inexact);
        }
        amiss.append(&mut score.inexact);
        if amiss.is_empty() || score.false_stalls() > 0 || left == 0 {
            score.wrong.append(&mut amiss);
            return Ok(score);
        }
        eprintln!("{name}: played again: {}", amiss.join("; "));
    }
    Err(format!("{name} was not played"))
}

/// Plays a scenario once; answers the score, and how the traffic differed from what the file says.
fn attempt(name: &str) -> Result<(Score, Vec<String>), String> {
    let mut scenario = Scenario::load(name)?;
    scenario.traffic.iter_mut().for_each(|traffic| choose_congestion(traffic, &scenario.congestion));
    let skip = |reason: String| Score {
        scenario: name.to_owned(),
        about: scenario.about.clone(),
        skipped: Some(reason),
        ..Score::default()
    };
    let joined = match prepare(&scenario) {
        Ok(joined) => joined,
        Err(reason) => return Ok((skip(reason), Vec::new())),
    };
    let stop = Stop::after(TRAFFIC_LIMIT);
    let started: Result<Vec<_>, _> =
        scenario.traffic.iter().map(|traffic| Pair::start(traffic, &joined, &stop)).collect();
    let pairs = match started {
        Ok(pairs) => pairs,
        Err(error) if error.operation == "set" => return Ok((skip(error.to_string()), Vec::new())),
        Err(error) => return Err(error.to_string()),
    };
    thread::sleep(WARM_UP);
    let began = Instant::now();
    let sampling = start_sampling(&scenario, &joined, &pairs);
    let observed = Check.observe(joined.watched(scenario.seen), scenario.watch);
    let mut amiss = check_shapes(&scenario, sampling)?;
    let played: Vec<Played<'_>> =
        scenario.traffic.iter().zip(pairs).map(|(traffic, pair)| pair.stop(traffic, &mut amiss)).collect();
    amiss.extend(scenario.latency.iter().filter_map(|latency| wrong_latency(latency, &played, began)));
    amiss.extend(wrong_losses(&scenario, &joined));
    Ok((judge(name, &scenario, &played, &observed?), amiss))
}

/// Makes the link and the settings. The error is why the system cannot.
fn prepare(scenario: &Scenario) -> Result<Joined, String> {
    let joined = Joined::new(&scenario.link, scenario.seen)?;
    for room in [&joined.client, &joined.server] {
        let settings = scenario.sysctl.clone();
        room.run(move || settings.iter().try_for_each(|(name, value)| sysctl(name, value)))?;
    }
    if let Some(attributes) = scenario.route.clone() {
        let change = format!(
            "route replace local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1 {attributes}"
        );
        joined.client.run(move || ip(&change))?;
    }
    Ok(joined)
}

/// Sets the congestion control of each socket: a namespace's own may only be one that the host allows everybody.
fn choose_congestion(traffic: &mut Traffic, name: &str) {
    let set = |options: &mut Options| options.congestion = Some(name.to_owned());
    set(&mut traffic.client.options);
    set(&mut traffic.server.options);
    if let Some(upstream) = &mut traffic.server.upstream {
        set(&mut upstream.client.options);
        set(&mut upstream.server.options);
    }
}

/// Traffic whose two ends may be in different rooms.
/// Traffic that flows between two rooms.
pub struct Pair {
    serving: Serving,
    running: Running,
}

impl Pair {
    pub fn start(traffic: &Traffic, joined: &Joined, stop: &Stop) -> Result<Self, lab::LabError> {
        let places = joined.places(traffic.family);
        let (theirs, until) = (traffic.clone(), stop.clone());
        let serving = joined.server.run(move || lab::serve(&theirs, places.listen, Some(sys::set_option), &until))?;
        let address = SocketAddr::new(places.connect, serving.address().port());
        let (ours, until) = (traffic.clone(), stop.clone());
        let running =
            joined.client.run(move || lab::connect(&ours, address, places.bind, Some(sys::set_option), &until))?;
        Ok(Self { serving, running })
    }

    fn ends(&self) -> Vec<Ends> {
        [self.running.ends(), self.serving.ends()].concat()
    }

    pub fn wait_for(&self, requests: u64) -> bool {
        self.running.wait_for(requests)
    }

    pub fn stop<'a>(self, traffic: &'a Traffic, wrong: &mut Vec<String>) -> Played<'a> {
        let ends = self.ends();
        let Outcome { clients, errors } = self.running.stop();
        wrong.extend(errors);
        wrong.extend(self.serving.finish());
        Played { traffic, ends, clients }
    }
}

/// Samples of one socket, being taken.
type Sampling = JoinHandle<Result<Shape, String>>;

/// Samples the sockets of all shapes while they are watched. `None` where a shape has no connection.
fn start_sampling(scenario: &Scenario, joined: &Joined, pairs: &[Pair]) -> Vec<Option<Sampling>> {
    let start = |shown: &Shown| {
        let ends = shown_ends(scenario, shown, pairs)?;
        // The room's own thread is the watch's; one that it starts is in the same namespace.
        Some(room(joined, shown.end).run(move || thread::spawn(move || sample(ends))))
    };
    scenario.shape.iter().map(start).collect()
}

fn check_shapes(scenario: &Scenario, sampling: Vec<Option<Sampling>>) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for (shown, sampling) in scenario.shape.iter().zip(sampling) {
        match sampling {
            Some(sampling) => {
                let shape = sampling.join().map_err(|_| "the sampling thread panicked")??;
                wrong.extend(wrong_shape(shown, &shape));
            }
            None => wrong.push("there is no connection for a shape".to_owned()),
        }
    }
    Ok(wrong)
}

fn room(joined: &Joined, end: Side) -> &Room {
    if end == Side::Client { &joined.client } else { &joined.server }
}

fn shown_ends(scenario: &Scenario, shown: &Shown, pairs: &[Pair]) -> Option<(SocketAddr, SocketAddr)> {
    let mut named = scenario.traffic.iter().zip(pairs);
    let (_, pair) = named.find(|(traffic, _)| shown.traffic.as_ref().is_none_or(|name| *name == traffic.name))?;
    let ends = pair.ends().into_iter().find(|ends| ends.leg == shown.leg)?;
    Some(if shown.end == Side::Client { (ends.client, ends.server) } else { (ends.server, ends.client) })
}

fn sample(ends: (SocketAddr, SocketAddr)) -> Result<Shape, String> {
    let shapes = shape::sample(&[ends], SHAPE_TIME).map_err(|error| format!("SOCK_DIAG: {error}"))?;
    let found = shapes.into_iter().next().filter(|shape| shape.samples > 0);
    found.ok_or_else(|| format!("the socket {ends:?} is not there"))
}

fn wrong_shape(shown: &Shown, shape: &Shape) -> Vec<String> {
    [
        ("stalled", shown.stalled, shape.share(shape.stalled)),
        ("corked", shown.corked, shape.share(shape.corked)),
        ("unread", shown.unread, shape.share(shape.unread)),
        ("empty", shown.empty, shape.share(shape.empty)),
        ("age_ms", shown.age_ms, shape.age_ms()),
        ("oldest_ms", shown.oldest_ms, shape.ages.iter().max().copied().map_or(0.0, f64::from)),
        ("retransmitted", shown.retransmitted, f64::from(shape.retransmitted)),
    ]
    .into_iter()
    .filter_map(|(what, bounds, value)| {
        let (least, most) = bounds?;
        let outside = value < least || value > most;
        outside.then(|| format!("{what} at the {:?} is {value:.2}, not {least} to {most}: {shape:?}", shown.end))
    })
    .collect()
}

fn wrong_latency(latency: &Latency, played: &[Played<'_>], from: Instant) -> Option<String> {
    let matching = |play: &&Played<'_>| latency.traffic.as_ref().is_none_or(|name| *name == play.traffic.name);
    let samples = played.iter().filter(matching).flat_map(|play| &play.clients).flat_map(|client| &client.samples);
    let all: Vec<Duration> = samples.filter(|sample| sample.started >= from).map(|sample| sample.took).collect();
    let slow: Vec<Duration> = all.iter().copied().filter(|took| *took > latency.above).collect();
    let share = slow.len() as f64 / all.len().max(1) as f64;
    if latency.share.is_some_and(|(least, most)| share < least || share > most) {
        return Some(format!("{share:.2} of {} requests took more than {:?}", all.len(), latency.above));
    }
    let Some(median) = median_ms(&slow) else {
        return Some("no request was measured".to_owned());
    };
    let (least, most) = (latency.least.as_secs_f64() * 1e3, latency.most.as_secs_f64() * 1e3);
    (median < least || median > most)
        .then(|| format!("the client's median is {median:.2} ms of {} requests, not {least} to {most}", slow.len()))
}

fn wrong_losses(scenario: &Scenario, joined: &Joined) -> Option<String> {
    let lost = joined.relay.as_ref().map_or(0, super::relay::Relay::dropped);
    (lost < scenario.lost).then(|| format!("the link lost {lost} packets, not {}", scenario.lost))
}
