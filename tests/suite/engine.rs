//! The engine on what sources can do wrong: sockets that vanish, answers in the wrong order, garbage, a clock that steps back.

use stallscope::diagnose::{Level, Verdict};
use stallscope::engine::{Engine, Planned};
use stallscope::model::{Counters, Event, Moment, ProbeTarget, SurveyReport};
use stallscope::wire::{HostId, Socket, Timer, encode_socket};

use super::directions::STALL;
use super::sim::{Do, RECEIVER, SENDER, Sim, run};
use super::vectors::{Change, HZ_250, R, S, end, receiver, sender};

fn messages_of(sockets: &[Socket]) -> Vec<u8> {
    let mut run = Vec::new();
    for socket in sockets {
        encode_socket(&mut run, socket);
    }
    run
}

fn survey(engine: &mut Engine, at: u64, sockets: &[Socket]) {
    survey_of(engine, HostId::default(), at, sockets);
}

fn survey_of(engine: &mut Engine, host: HostId, at: u64, sockets: &[Socket]) {
    engine.feed_from(host, Event::SurveyBegin { at: Moment(at), wall_us: Some(1) });
    engine.feed_from(host, Event::Run(&messages_of(sockets)));
    engine.feed_from(host, Event::SurveyEnd { at: Moment(at + 3_000), report: &SurveyReport::default() });
}

/// What the namespace has counted of ACKs that a delayed-ACK timer sent.
fn count(engine: &mut Engine, at: u64, delayed_acks: u64) {
    let counters = Counters { delayed_acks: Some(delayed_acks), ..Counters::default() };
    engine.feed(Event::Counters { at: Moment(at), counters });
}

/// An engine that has seen the stall in one survey, and its plan.
fn surveyed() -> (Engine, Planned) {
    let mut engine = Engine::new(10_000);
    survey(&mut engine, 1_000_000, &[sender(), receiver()]);
    let plan = engine.plan(Moment(1_010_000), 100);
    assert_eq!(plan.len(), 1, "the stall's shape is a candidate");
    (engine, plan[0])
}

fn answer(engine: &mut Engine, at: u64, planned: &Planned, answers: &[u8]) {
    engine.feed(Event::Probe { at: Moment(at), target: planned.target, answers });
}

fn verdict(engine: &Engine) -> Option<(Verdict, Option<Level>)> {
    let id = engine.connections().next()?;
    engine.finding(id).map(|finding| (finding.verdict, finding.level))
}

/// An error message, as for a socket that is not there: `ENOENT`.
fn not_found() -> Vec<u8> {
    let mut message = 36_u32.to_ne_bytes().to_vec();
    message.extend_from_slice(&2_u16.to_ne_bytes());
    message.resize(16, 0);
    message.extend_from_slice(&(-2_i32).to_ne_bytes());
    message.resize(36, 0);
    message
}

#[test]
fn the_plan_asks_for_the_sender_first_and_by_cookie() {
    let (_, planned) = surveyed();
    assert_eq!((planned.target.first.0, planned.target.second.map(|cookie| cookie.0)), (S, Some(R)));
    assert_eq!((planned.first.cookie.0, planned.second.map(|socket| socket.cookie.0)), (S, Some(R)));
}

#[test]
fn a_consistent_probe_is_a_look_and_a_moving_sender_is_none() {
    let (mut engine, planned) = surveyed();
    let moved = sender().with("segs_in", 151);
    answer(&mut engine, 1_010_000, &planned, &messages_of(&[sender(), receiver(), moved]));
    let id = engine.connections().next().expect("a connection");
    let direction = |engine: &Engine| {
        engine.track(id).expect("watched").directions.each_ref().map(|one| one.open().map(|hold| hold.samples))
    };
    assert_eq!(direction(&engine).into_iter().flatten().sum::<u32>(), 1, "the survey's own look");
    answer(&mut engine, 1_020_000, &planned, &messages_of(&[sender(), receiver(), sender()]));
    assert_eq!(direction(&engine).into_iter().flatten().sum::<u32>(), 2);
    assert_eq!(engine.probes(), 2);
}

#[test]
fn a_socket_that_vanishes_in_a_probe_is_noted_and_nothing_is_concluded() {
    let (mut engine, planned) = surveyed();
    let before = verdict(&engine);
    for answers in [
        [messages_of(&[sender()]), not_found(), messages_of(&[sender()])].concat(),
        [not_found(), messages_of(&[receiver()]), not_found()].concat(),
        [not_found(), not_found(), not_found()].concat(),
    ] {
        answer(&mut engine, 1_010_000, &planned, &answers);
    }
    assert_eq!(verdict(&engine), before);
    assert!(engine.notes().lines().any(|note| note.contains("vanished") && note.contains('3')), "{:?}", engine.notes());
}

#[test]
fn answers_in_the_wrong_order_or_of_other_sockets_are_no_look() {
    let (mut engine, planned) = surveyed();
    let before = verdict(&engine);
    let other = end(0x77, "127.0.0.1:80", "0.0.0.0:0");
    for answers in [
        messages_of(&[receiver(), sender(), receiver()]),
        messages_of(&[other, other, other]),
        messages_of(&[sender(), other, sender()]),
        messages_of(&[sender()]),
        messages_of(&[sender(), receiver(), sender(), receiver(), sender(), receiver(), sender()]),
        Vec::new(),
    ] {
        answer(&mut engine, 1_010_000, &planned, &answers);
    }
    assert_eq!(verdict(&engine).map(|(verdict, _)| verdict), before.map(|(verdict, _)| verdict));
    assert!(verdict(&engine).is_some_and(|(_, level)| level < Some(Level::Proven)));
}

#[test]
fn garbage_is_counted_and_never_taken_for_an_empty_table() {
    let (mut engine, planned) = surveyed();
    answer(&mut engine, 1_010_000, &planned, &[0xff; 50]);
    engine.feed(Event::SurveyBegin { at: Moment(2_000_000), wall_us: None });
    engine.feed(Event::Run(&[7; 33]));
    let report = SurveyReport { truncated_reads: 1, overflows: 2, interrupted: true, ..SurveyReport::default() };
    engine.feed(Event::SurveyEnd { at: Moment(2_003_000), report: &report });
    let notes: Vec<_> = engine.notes().lines().collect();
    for wanted in ["not a whole netlink message", "cut off", "ENOBUFS", "NLM_F_DUMP_INTR"] {
        assert!(notes.iter().any(|note| note.contains(wanted)), "{wanted} in {notes:?}");
    }
    assert_eq!(engine.table().socket_count(), 2, "an incomplete survey forgets nobody");
}

#[test]
fn sockets_are_gone_after_two_complete_surveys_and_their_stall_is_remembered() {
    let (mut engine, _) = surveyed();
    survey(&mut engine, 2_000_000, &[]);
    assert_eq!(engine.table().socket_count(), 2, "one dump alone proves nothing");
    survey(&mut engine, 3_000_000, &[]);
    assert_eq!(engine.table().socket_count(), 0);
    let id = engine.connections().next().expect("remembered");
    assert!(engine.finding(id).is_some_and(|finding| finding.gone.is_some()));
}

#[test]
fn a_clock_that_steps_back_and_counters_that_reset_are_survived() {
    let (mut engine, planned) = surveyed();
    survey(&mut engine, 500_000, &[sender().with("busy_time", 0), receiver()]);
    answer(&mut engine, 400_000, &planned, &messages_of(&[sender(), receiver(), sender()]));
    let counters = |n| Counters { delayed_acks: Some(n), ..Counters::default() };
    engine.feed(Event::Counters { at: Moment(10), counters: counters(50) });
    engine.feed(Event::Counters { at: Moment(5), counters: counters(3) });
    assert!(engine.watched_us() < 10_000_000, "{}", engine.watched_us());
    let id = engine.connections().next().expect("a connection");
    let finding = engine.finding(id).expect("a finding");
    assert!(finding.hold.held_ms < 1_000.0, "{:?}", finding.hold);
    assert!(finding.level < Some(Level::Proven));
}

#[test]
fn a_survey_of_one_host_says_nothing_of_another_hosts_connections() {
    // A cork of 5 ms that a survey of the first host meets; the second host's surveys come while it is long over.
    let mut sim = Sim::new(HZ_250);
    let mut engine = Engine::new(10_000);
    let ends = |sim: &Sim| [sim.socket(SENDER), sim.socket(RECEIVER)];
    sim.apply(Do::Hold(SENDER, 20));
    sim.apply(Do::Timer(SENDER, Timer::PROBE));
    sim.now += 4_000;
    let began = sim.now;
    survey_of(&mut engine, HostId(0), began, &ends(&sim));
    for ms in [300, 500, 900] {
        survey_of(&mut engine, HostId(1), began + ms * 1_000, &[]);
    }
    sim.apply(Do::Release(SENDER));
    sim.apply(Do::Timer(SENDER, Timer::NONE));
    sim.apply(Do::Arrive(SENDER, 20));
    sim.apply(Do::Read(RECEIVER));
    sim.apply(Do::Ack(RECEIVER));
    sim.apply(Do::Acked(SENDER));
    sim.now = began + 1_000_000;
    survey_of(&mut engine, HostId(0), sim.now, &ends(&sim));
    assert_eq!(verdict(&engine), Some((Verdict::Healthy, None)));
}

#[test]
fn a_receiver_alone_is_held_against_the_timers_that_fired_since_it_was_watched() {
    // Watching begins with the first probe, between two readings of the counter.
    let watched = |timers_fired: u64| {
        let mut sim = Sim::new(HZ_250);
        let mut engine = Engine::new(10_000);
        count(&mut engine, sim.now, 7);
        let r = sim.socket(RECEIVER);
        survey(&mut engine, sim.now, &[r]);
        let target = ProbeTarget { first: r.cookie, second: None };
        run(&mut sim, &STALL.times(20, 500), 10_000, |sim| {
            let answers = messages_of(&[sim.socket(RECEIVER)]);
            engine.feed(Event::Probe { at: Moment(sim.now), target, answers: &answers });
        });
        count(&mut engine, sim.now, 7 + timers_fired);
        verdict(&engine).expect("a connection")
    };
    assert_eq!(watched(20), (Verdict::NagleDelayedAck, Some(Level::Suspected)));
    assert_eq!(watched(0), (Verdict::Healthy, None));
}

#[test]
fn what_the_kernel_counted_no_timer_for_is_no_stall() {
    // The same numbers of both ends, as sockets that were late for another reason might show them.
    let watched = |timers_fired: u64| {
        let mut sim = Sim::new(HZ_250);
        let mut engine = Engine::new(10_000);
        let ends = |sim: &Sim| [sim.socket(SENDER), sim.socket(RECEIVER), sim.socket(SENDER)];
        count(&mut engine, sim.now, 7);
        survey(&mut engine, sim.now, &ends(&sim)[..2]);
        let [s, r, _] = ends(&sim).map(|socket| socket.cookie);
        let target = ProbeTarget { first: s, second: Some(r) };
        run(&mut sim, &STALL.times(10, 500), 10_000, |sim| {
            engine.feed(Event::Probe { at: Moment(sim.now), target, answers: &messages_of(&ends(sim)) });
        });
        count(&mut engine, sim.now, 7 + timers_fired);
        verdict(&engine).expect("a connection")
    };
    assert_eq!(watched(10), (Verdict::NagleDelayedAck, Some(Level::Proven)));
    assert_eq!(watched(0), (Verdict::Healthy, None));
}

#[test]
fn the_same_socket_listed_twice_in_a_dump_counts_once() {
    let mut engine = Engine::new(10_000);
    survey(&mut engine, 1_000_000, &[sender(), receiver(), sender(), receiver()]);
    assert_eq!((engine.table().socket_count(), engine.table().connection_count()), (2, 1));
}
