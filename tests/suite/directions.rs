//! One direction over time: what holds amount to, by how they end.

use stallscope::diagnose::{Cause, Direction, Ending, Level, Severity, Tick, Verdict};
use stallscope::wire::Timer;

use super::sim::{CLOSELY, Do, RECEIVER, SENDER, Sees, Sim, Watching, play, watch};
use super::vectors::HZ_250;

/// A request in two writes and its reply.
#[derive(Clone, Copy)]
pub struct Round {
    /// From the first part's arrival to the ACK that lets the second go, µs.
    held_us: u64,
    /// One way, µs.
    delay_us: u64,
    /// The receiver's timer ends it; else its reply.
    by_timer: bool,
    /// The receiver reads the first part at once; else after the second has come.
    reads_first: bool,
    /// The receiver reads at all.
    reads: bool,
}

pub const STALL: Round = Round { held_us: 41_000, delay_us: 20, by_timer: true, reads_first: true, reads: true };

impl Round {
    /// What happens, from `at` on; answers when it is over.
    fn script(self, at: u64, script: &mut Vec<(u64, Do)>) -> u64 {
        let arrived = at + self.delay_us;
        let acked = arrived + self.held_us;
        let back = acked + self.delay_us;
        let rest = back + self.delay_us;
        script.extend([(at, Do::Send(SENDER, 10)), (at, Do::Hold(SENDER, 10)), (arrived, Do::Arrive(SENDER, 10))]);
        if self.reads_first {
            script.push((arrived, Do::Read(RECEIVER)));
        }
        if self.by_timer {
            script.extend([(acked, Do::Ack(RECEIVER)), (back, Do::Acked(SENDER))]);
        } else {
            script.extend([
                (acked, Do::Send(RECEIVER, 20)),
                (back, Do::Arrive(RECEIVER, 20)),
                (back, Do::Read(SENDER)),
                (back, Do::AckedByData(SENDER)),
            ]);
        }
        script.extend([(back, Do::Release(SENDER)), (rest, Do::Arrive(SENDER, 10))]);
        if self.reads {
            script.push((rest, Do::Read(RECEIVER)));
        }
        // The held part acknowledges the reply, where there was one; the final reply acknowledges the held part.
        if !self.by_timer {
            script.push((rest, Do::AckedByData(RECEIVER)));
        }
        let replied = rest + self.delay_us;
        script.extend([
            (rest, Do::Send(RECEIVER, 20)),
            (replied, Do::Arrive(RECEIVER, 20)),
            (replied, Do::Read(SENDER)),
            (replied, Do::AckedByData(SENDER)),
        ]);
        // The reply is acknowledged by the sender's timer or its next request; here by a pure ACK that comes at once.
        let done = replied + self.delay_us;
        script.extend([(replied, Do::Ack(SENDER)), (done, Do::Acked(RECEIVER))]);
        done
    }

    pub fn times(self, n: usize, pause_us: u64) -> Vec<(u64, Do)> {
        let mut script = Vec::new();
        let mut at = 3_000;
        for _ in 0..n {
            at = self.script(at, &mut script) + pause_us;
        }
        script
    }
}

fn verdict_of(round: Round, n: usize, pause_us: u64, watching: Watching) -> Option<(Verdict, Level)> {
    played(round, n, pause_us, watching).verdict()
}

fn played(round: Round, n: usize, pause_us: u64, watching: Watching) -> Direction {
    play(&mut Sim::new(HZ_250), &round.times(n, pause_us), watching)
}

const PROVEN: Option<(Verdict, Level)> = Some((Verdict::NagleDelayedAck, Level::Proven));

#[test]
fn the_stall_is_proven_and_measured() {
    let direction = played(STALL, 20, 500, CLOSELY);
    assert_eq!(direction.verdict(), PROVEN);
    let lengths = direction.lengths(Verdict::NagleDelayedAck);
    assert!((18..=20).contains(&lengths.count), "{} holds", lengths.count);
    let p50 = lengths.percentile_ms(50).expect("holds");
    assert!((36..=46).contains(&p50), "p50 {p50} ms");
    assert!(lengths.total_us as f64 > 0.8 * direction.watched_us as f64, "{lengths:?} of {}", direction.watched_us);
}

#[test]
fn one_stall_alone_is_proven_when_it_was_met_twice() {
    assert_eq!(verdict_of(STALL, 1, 0, CLOSELY), PROVEN);
}

#[test]
fn each_tick_rate_proves_it() {
    for (hz, held_us) in [(100, 40_000), (250, 41_000), (1_000, 40_200)] {
        let tick = Tick { us: 1_000_000 / hz };
        let script = Round { held_us, ..STALL }.times(20, 500);
        let direction = play(&mut Sim::new(tick), &script, CLOSELY);
        assert_eq!(direction.verdict(), PROVEN, "HZ {hz}");
        let blind = Watching { believed: Some(Tick::COARSEST), ..CLOSELY };
        let direction = play(&mut Sim::new(tick), &script, blind);
        assert_eq!(direction.verdict(), PROVEN, "HZ {hz}, not known");
    }
}

#[test]
fn a_reply_that_ends_the_hold_is_not_the_timer() {
    for held_us in [10_000, 15_000, 25_000, 30_000, 39_000] {
        let round = Round { held_us, by_timer: false, ..STALL };
        let verdict = verdict_of(round, 20, 500, CLOSELY);
        assert_eq!(verdict.map(|(verdict, _)| verdict), Some(Verdict::ReleasedByReply), "{held_us} µs");
    }
}

#[test]
fn an_acknowledgement_sooner_or_later_than_the_timer_fires_is_not_the_timer() {
    // With an `ato` of 40 ms: one that something else made the receiver send, and one that was lost once. Looks 10 ms apart
    // cannot tell 60 ms from 50.
    for held_us in [16_000, 24_000, 80_000, 150_000] {
        let direction = played(Round { held_us, ..STALL }, 20, 500, CLOSELY);
        let verdict = direction.verdict().map(|(verdict, _)| verdict);
        assert_ne!(verdict, Some(Verdict::NagleDelayedAck), "{held_us} µs: {:?}", direction.verdict());
        assert_eq!(direction.log.count(Cause::Nagle, Ending::Timer), 0, "{held_us} µs");
    }
}

#[test]
fn holds_of_a_tick_are_the_coming_and_going_of_data() {
    for held_us in [100, 1_000, 3_000] {
        let direction = played(Round { held_us, by_timer: false, ..STALL }, 100, 500, CLOSELY);
        let worst = direction.verdict().map(|(verdict, _)| verdict.severity());
        assert!(worst <= Some(Severity::Note), "{held_us} µs: {:?}", direction.verdict());
    }
}

#[test]
fn more_replies_than_timers_are_no_stall() {
    let mut script = Vec::new();
    let mut at = 3_000;
    for n in 0..20 {
        let round = if n % 5 == 0 { STALL } else { Round { held_us: 25_000, by_timer: false, ..STALL } };
        at = round.script(at, &mut script) + 500;
    }
    let verdict = play(&mut Sim::new(HZ_250), &script, CLOSELY).verdict();
    assert_eq!(verdict.map(|(verdict, _)| verdict), Some(Verdict::ReleasedByReply));
}

#[test]
fn an_acknowledgement_sent_at_once_is_a_round_trip() {
    let round = Round { held_us: 0, delay_us: 40_000, ..STALL };
    let mut sim = Sim::new(HZ_250);
    for end in [SENDER, RECEIVER] {
        sim.apply(Do::Set(end, "min_rtt", 80_000));
        sim.apply(Do::Set(end, "rtt", 80_000));
    }
    let verdict = play(&mut sim, &round.times(10, 5_000), CLOSELY).verdict();
    assert_eq!(verdict.map(|(verdict, _)| verdict), Some(Verdict::RttBoundNagle));
}

/// Segments of a stream over 20 ms RTT, each held for the one before; the ACKs leave and take so long as told, µs, and the
/// program reads when the segment comes or when it is acknowledged.
fn stream(acks: &[(u64, u64)], reads_late: bool) -> Vec<(u64, Do)> {
    let mut script = vec![(3_000, Do::Send(SENDER, 10))];
    let mut at = 3_000;
    for (leaves_after, takes) in acks {
        let (arrived, acked) = (at + 10_000, at + 10_000 + leaves_after);
        let back = acked + takes;
        script.extend([
            (at, Do::Hold(SENDER, 10)),
            (arrived, Do::Arrive(SENDER, 10)),
            (if reads_late { acked } else { arrived }, Do::Read(RECEIVER)),
            (acked, Do::Ack(RECEIVER)),
            (back, Do::Acked(SENDER)),
            (back, Do::Release(SENDER)),
        ]);
        at = back;
    }
    script
}

fn streamed(acks: &[(u64, u64)], reads_late: bool, watching: Watching) -> Option<Verdict> {
    let mut sim = Sim::new(HZ_250);
    for end in [SENDER, RECEIVER] {
        sim.apply(Do::Set(end, "min_rtt", 20_000));
        sim.apply(Do::Set(end, "rtt", 24_000));
    }
    play(&mut sim, &stream(acks, reads_late), watching).verdict().map(|(verdict, _)| verdict)
}

#[test]
fn a_network_that_is_late_with_an_acknowledgement_is_not_the_timer() {
    for takes in [10_000, 30_000, 50_000, 60_000, 90_000] {
        let mut acks = [(20, 10_000); 12];
        acks[5] = (20, takes);
        acks[9] = (20, takes);
        for every_us in [4_000, 10_000, 25_000] {
            let watching = Watching { every_us, ..CLOSELY };
            let found = streamed(&acks, false, watching);
            assert_ne!(
                found,
                Some(Verdict::NagleDelayedAck),
                "two of twelve take {takes} µs, looked at every {every_us} µs"
            );
            let found = streamed(&[(20, takes); 12], false, watching);
            assert_ne!(found, Some(Verdict::NagleDelayedAck), "all take {takes} µs, looked at every {every_us} µs");
        }
    }
}

#[test]
fn a_program_that_reads_late_is_not_the_timer() {
    // R acknowledges when its program reads, 12 to 30 ms after the data came.
    for late in [12_000, 20_000] {
        assert_eq!(streamed(&[(late, 10_000); 12], true, CLOSELY), Some(Verdict::RttBoundNagle), "{late} µs late");
    }
    assert_eq!(streamed(&[(32_000, 10_000); 12], true, CLOSELY), Some(Verdict::HeldUnread));
}

#[test]
fn a_timer_now_and_then_is_not_what_a_stream_waits_for() {
    let with = |round_trips: usize| {
        let mut acks = vec![(20, 10_000); round_trips];
        acks.insert(round_trips / 2, (41_000, 10_000));
        streamed(&acks, false, CLOSELY)
    };
    assert_eq!(with(20), Some(Verdict::RttBoundNagle));
    assert_eq!(with(7), Some(Verdict::NagleDelayedAck), "as with a pingpong threshold of eight");
}

#[test]
fn a_stall_that_begins_after_long_is_not_outweighed_by_what_was_before() {
    let mut script = Vec::new();
    let mut at = 3_000;
    for n in 0..1_000 {
        let round = if n < 600 { Round { held_us: 12_000, by_timer: false, ..STALL } } else { STALL };
        at = round.script(at, &mut script) + 500;
    }
    let verdict_at = |rounds: usize| {
        let part: Vec<_> = script[..script.len() * rounds / 1_000].to_vec();
        play(&mut Sim::new(HZ_250), &part, CLOSELY).verdict().map(|(verdict, _)| verdict)
    };
    assert_eq!(verdict_at(600), Some(Verdict::ReleasedByReply));
    assert_eq!(verdict_at(800), Some(Verdict::NagleDelayedAck), "200 timers after 600 replies");
}

#[test]
fn the_stall_is_proven_again_soon_after_an_acknowledgement_was_lost() {
    let delay_us = 10_000;
    let round = Round { delay_us, ..STALL };
    let mut script = round.times(8, 1_000);
    let at = script.last().map_or(0, |(at, _)| *at) + 1_000;
    // R's ACK after 41 ms is lost; S sends again.
    script.extend([
        (at, Do::Send(SENDER, 10)),
        (at, Do::Hold(SENDER, 10)),
        (at + 10_000, Do::Arrive(SENDER, 10)),
        (at + 10_000, Do::Read(RECEIVER)),
        (at + 51_000, Do::Ack(RECEIVER)),
        (at + 260_000, Do::Timeout(SENDER)),
        (at + 260_000, Do::Retransmit(SENDER)),
        (at + 270_000, Do::Ack(RECEIVER)),
        (at + 280_000, Do::Acked(SENDER)),
        (at + 280_000, Do::Release(SENDER)),
        (at + 290_000, Do::Arrive(SENDER, 10)),
        (at + 290_000, Do::Read(RECEIVER)),
        (at + 290_000, Do::Send(RECEIVER, 20)),
        (at + 300_000, Do::Arrive(RECEIVER, 20)),
        (at + 300_000, Do::AckedByData(SENDER)),
        (at + 300_000, Do::Ack(SENDER)),
        (at + 310_000, Do::Acked(RECEIVER)),
    ]);
    let prepared = || {
        let mut sim = Sim::new(HZ_250);
        for end in [SENDER, RECEIVER] {
            sim.apply(Do::Set(end, "min_rtt", delay_us * 2));
            sim.apply(Do::Set(end, "rtt", delay_us * 2 + 20_000));
        }
        sim
    };
    let before = play(&mut prepared(), &script, CLOSELY).log.proofs;
    let mut next = at + 311_000;
    for _ in 0..8 {
        next = round.script(next, &mut script) + 1_000;
    }
    let after = play(&mut prepared(), &script, CLOSELY).log.proofs;
    assert!(after >= before + 6, "{before} proofs before, {after} after eight more stalls");
}

#[test]
fn a_stall_behind_a_round_trip_is_proven_too() {
    for delay_us in [1_000, 10_000, 40_000] {
        let mut sim = Sim::new(HZ_250);
        for end in [SENDER, RECEIVER] {
            sim.apply(Do::Set(end, "min_rtt", delay_us * 2));
            sim.apply(Do::Set(end, "rtt", delay_us * 2 + 20_000));
        }
        let direction = play(&mut sim, &Round { delay_us, ..STALL }.times(10, 5_000), CLOSELY);
        assert_eq!(direction.verdict(), PROVEN, "{delay_us} µs one way");
    }
}

/// The first part is lost, and sent again after 204 ms.
fn lost_request() -> Vec<(u64, Do)> {
    vec![
        (3_000, Do::Send(SENDER, 10)),
        (3_000, Do::Hold(SENDER, 10)),
        (207_000, Do::Timeout(SENDER)),
        (207_000, Do::Retransmit(SENDER)),
        (207_020, Do::Arrive(SENDER, 10)),
        (207_020, Do::Read(RECEIVER)),
        (207_020, Do::Ack(RECEIVER)),
        (207_040, Do::Acked(SENDER)),
        (207_040, Do::Release(SENDER)),
        (207_060, Do::Arrive(SENDER, 10)),
        (207_060, Do::Read(RECEIVER)),
        (207_060, Do::Send(RECEIVER, 20)),
        (207_080, Do::Arrive(RECEIVER, 20)),
        (207_080, Do::AckedByData(SENDER)),
        (207_080, Do::Ack(SENDER)),
        (207_100, Do::Acked(RECEIVER)),
    ]
}

#[test]
fn a_lost_segment_is_loss_and_never_a_stall() {
    let direction = play(&mut Sim::new(HZ_250), &lost_request(), CLOSELY);
    assert_eq!(direction.verdict().map(|(verdict, _)| verdict), Some(Verdict::LossRecovery));
    assert_eq!(direction.log.count(Cause::Nagle, Ending::Timer), 0);
    assert!(direction.lengths(Verdict::LossRecovery).max_us >= 190_000);
}

#[test]
fn a_lost_acknowledgement_is_not_the_timer() {
    // R's ACK after 40 ms is lost; S sends again after 204 ms, which R acknowledges at once.
    let script = [
        (3_000, Do::Send(SENDER, 10)),
        (3_000, Do::Hold(SENDER, 10)),
        (3_020, Do::Arrive(SENDER, 10)),
        (3_020, Do::Read(RECEIVER)),
        (44_000, Do::Ack(RECEIVER)),
        (207_000, Do::Timeout(SENDER)),
        (207_000, Do::Retransmit(SENDER)),
        (207_020, Do::Ack(RECEIVER)),
        (207_040, Do::Acked(SENDER)),
        (207_040, Do::Release(SENDER)),
        (207_060, Do::Arrive(SENDER, 10)),
        (207_060, Do::Read(RECEIVER)),
    ];
    let direction = play(&mut Sim::new(HZ_250), &script, CLOSELY);
    assert_eq!(direction.verdict().map(|(verdict, _)| verdict), Some(Verdict::LossRecovery));
}

/// Held with nothing in flight for `held_us`, then let go.
fn corked(held_us: u64) -> Vec<(u64, Do)> {
    vec![
        (3_000, Do::Hold(SENDER, 20)),
        (3_000, Do::Timer(SENDER, Timer::PROBE)),
        (3_000 + held_us, Do::Release(SENDER)),
        (3_020 + held_us, Do::Arrive(SENDER, 20)),
        (3_020 + held_us, Do::Read(RECEIVER)),
        (3_020 + held_us, Do::Send(RECEIVER, 20)),
        (3_040 + held_us, Do::Arrive(RECEIVER, 20)),
        (3_040 + held_us, Do::AckedByData(SENDER)),
    ]
}

#[test]
fn a_cork_that_is_forgotten_is_told_from_one_that_is_pulled() {
    let verdict = |held_us, prepare: &[Do]| {
        let mut sim = Sim::new(HZ_250);
        for what in prepare {
            sim.apply(*what);
        }
        play(&mut sim, &corked(held_us), CLOSELY).verdict()
    };
    assert_eq!(verdict(204_000, &[]), Some((Verdict::CorkHold, Level::Proven)));
    assert_eq!(verdict(60_000, &[]), Some((Verdict::CorkHold, Level::Proven)));
    assert_eq!(verdict(30_000, &[]), None, "pulled before 50 ms");
    let paced = verdict(204_000, &[Do::Set(SENDER, "max_pacing_rate", 100)]);
    assert_eq!(paced.map(|(verdict, _)| verdict), Some(Verdict::Pacing));
    let closed = verdict(204_000, &[Do::Set(SENDER, "snd_wnd", 0)]);
    assert_eq!(closed.map(|(verdict, _)| verdict), Some(Verdict::ReceiverWindow));
}

#[test]
fn a_receiver_that_does_not_read_is_no_stall() {
    let round = Round { reads_first: false, reads: false, by_timer: true, ..STALL };
    let mut sim = Sim::new(HZ_250);
    sim.apply(Do::Set(RECEIVER, "ato", 80_000));
    let verdict = play(&mut sim, &Round { held_us: 80_000, ..round }.times(10, 500), CLOSELY).verdict();
    assert_eq!(verdict.map(|(verdict, _)| verdict), Some(Verdict::HeldUnread));
}

#[test]
fn a_receiver_that_was_scheduled_away_twice_is_no_slow_reader() {
    let round = Round { held_us: 80_000, reads_first: false, reads: false, ..STALL };
    let verdict = |n| {
        let mut sim = Sim::new(HZ_250);
        sim.apply(Do::Set(RECEIVER, "ato", 80_000));
        play(&mut sim, &round.times(n, 500), CLOSELY).verdict().map(|(verdict, _)| verdict)
    };
    assert_eq!((verdict(2), verdict(3)), (None, Some(Verdict::HeldUnread)));
}

#[test]
fn a_receiver_that_peeks_is_stalled_once_it_has_shown_it_often_enough() {
    let round = Round { reads_first: false, ..STALL };
    let few = verdict_of(round, 5, 500, CLOSELY);
    assert_eq!(few.map(|(verdict, _)| verdict), Some(Verdict::HeldUnread));
    let many = verdict_of(round, 30, 500, CLOSELY);
    assert_eq!(many.map(|(verdict, _)| verdict), Some(Verdict::NagleDelayedAck));
}

#[test]
fn one_stall_in_eight_requests_is_found_among_single_writes() {
    for thresh in [2, 3, 8] {
        let mut script = Vec::new();
        let mut at = 3_000;
        for n in 0..10 * thresh {
            let fast = Round { held_us: 40, by_timer: true, ..STALL };
            let round = if n % thresh == thresh - 1 { STALL } else { fast };
            at = round.script(at, &mut script) + 200;
        }
        let direction = play(&mut Sim::new(HZ_250), &script, CLOSELY);
        assert_eq!(direction.verdict(), PROVEN, "one request in {thresh}");
    }
}

#[test]
fn a_shorter_delay_is_a_stall_when_it_is_looked_at_often_enough() {
    for (ato, held_us, every_us) in [(20_000, 20_500, 4_000), (16_000, 16_500, 4_000), (8_000, 10_000, 2_000)] {
        let mut sim = Sim::new(HZ_250);
        sim.apply(Do::Set(RECEIVER, "ato", ato));
        let direction = play(&mut sim, &Round { held_us, ..STALL }.times(40, 500), Watching { every_us, ..CLOSELY });
        let verdict = direction.verdict().map(|(verdict, _)| verdict);
        assert_eq!(verdict, Some(Verdict::NagleDelayedAck), "ato {ato} µs: {:?}", direction.log);
    }
}

#[test]
fn the_senders_end_alone_gives_a_suspicion_and_no_more() {
    let watching = Watching { sees: Sees::SenderOnly, ..CLOSELY };
    let suspected = Some((Verdict::NagleDelayedAck, Level::Suspected));
    assert_eq!(verdict_of(STALL, 20, 500, watching), suspected);
    let reply = verdict_of(Round { held_us: 25_000, by_timer: false, ..STALL }, 20, 500, watching);
    assert_eq!(reply.map(|(verdict, _)| verdict), Some(Verdict::ReleasedByReply));
    let lost = play(&mut Sim::new(HZ_250), &lost_request(), watching).verdict();
    assert_eq!(lost.map(|(verdict, _)| verdict), Some(Verdict::LossRecovery));
}

#[test]
fn the_receivers_end_alone_gives_a_suspicion_after_some_rounds() {
    let watching = Watching { sees: Sees::ReceiverOnly, ..CLOSELY };
    let suspected = Some((Verdict::NagleDelayedAck, Level::Suspected));
    assert_eq!(verdict_of(STALL, 20, 500, watching), suspected);
    assert_eq!(verdict_of(STALL, 2, 500, watching), None);
    assert_eq!(verdict_of(Round { held_us: 25_000, by_timer: false, ..STALL }, 20, 500, watching), None);
    assert_eq!(verdict_of(Round { held_us: 40, ..STALL }, 100, 5_000, watching), None);
}

#[test]
fn looks_too_far_apart_pair_a_hold_and_do_not_prove_it() {
    let watching = Watching { every_us: 250_000, ..CLOSELY };
    let direction = played(STALL, 200, 300, watching);
    assert_eq!(direction.verdict(), Some((Verdict::NagleDelayedAck, Level::Paired)));
    assert_eq!(direction.watched_us, 0);
}

#[test]
fn the_kernels_own_timer_confirms() {
    let mut script = STALL.times(10, 500);
    let arrivals: Vec<_> =
        script.iter().filter(|(_, what)| matches!(what, Do::Arrive(SENDER, _))).map(|(at, _)| *at).collect();
    script.extend(arrivals.iter().map(|at| (*at, Do::Timer(RECEIVER, Timer::DELAYED_ACK))));
    script.sort_by_key(|(at, _)| *at);
    let verdict = play(&mut Sim::new(HZ_250), &script, CLOSELY).verdict();
    assert_eq!(verdict, Some((Verdict::NagleDelayedAck, Level::Confirmed)));
}

#[test]
fn a_clock_that_steps_back_invents_nothing() {
    let mut sim = Sim::new(HZ_250);
    let mut direction = Direction::default();
    watch(&mut sim, &STALL.times(5, 500), CLOSELY, &mut direction);
    let before = (direction.watched_us, direction.lengths(Verdict::NagleDelayedAck).total_us);
    let mut earlier = Sim::new(HZ_250);
    earlier.now = 100_000;
    watch(&mut earlier, &[(0, Do::Set(SENDER, "rtt", 1))], CLOSELY, &mut direction);
    assert_eq!(direction.verdict(), PROVEN);
    assert_eq!(direction.lengths(Verdict::NagleDelayedAck).total_us, before.1);
    assert!(direction.watched_us - before.0 <= 100_000);
}

#[test]
fn counters_that_begin_anew_end_the_hold_without_a_proof() {
    let mut sim = Sim::new(HZ_250);
    let mut direction = Direction::default();
    let half = [
        (3_000, Do::Send(SENDER, 10)),
        (3_000, Do::Hold(SENDER, 10)),
        (3_020, Do::Arrive(SENDER, 10)),
        (3_020, Do::Read(RECEIVER)),
    ];
    watch(&mut sim, &half, CLOSELY, &mut direction);
    let mut fresh = Sim::new(HZ_250);
    fresh.now = sim.now + 10_000;
    watch(&mut fresh, &[], CLOSELY, &mut direction);
    assert!(direction.open().is_none());
    assert_eq!(direction.log.proofs, 0);
    assert!(direction.verdict().is_none_or(|(_, level)| level < Level::Proven), "{:?}", direction.verdict());
}
