//! Every rule on field vectors, at and around each of its thresholds.

use stallscope::diagnose::rules::{NagleView, Shape, shape};
use stallscope::diagnose::{Cut, Tick};
use stallscope::wire::{Socket, TcpState, Timer};

use super::vectors::{Change, HZ_250, cut, receiver, sender, shape_of, view};

const STALL: NagleView = NagleView { aged: true, paired: true, unread: false, timer_seen: false };

fn is_nagle(s: &Socket) -> bool {
    view(s, &receiver()).is_some()
}

fn is_paired(s: &Socket, r: &Socket) -> bool {
    view(s, r).is_some_and(|view| view.paired)
}

#[test]
fn the_stall_is_nagles_shape_old_enough_and_paired() {
    assert_eq!(view(&sender(), &receiver()), Some(STALL));
}

#[test]
fn what_is_held_is_more_than_nothing_and_less_than_a_segment() {
    let held = |bytes: u32| sender().with("notsent_bytes", bytes.into()).queues(0, bytes + 10);
    assert_eq!(shape_of(&held(0), &receiver()), None);
    assert!(is_nagle(&held(1)));
    assert!(is_nagle(&held(32_767)));
    assert!(!is_nagle(&held(32_768)));
}

#[test]
fn exactly_one_segment_is_in_flight() {
    assert!(!is_nagle(&sender().with("unacked", 0)));
    assert!(!is_nagle(&sender().with("unacked", 2)));
}

#[test]
fn only_the_retransmission_timer_runs() {
    for timer in [Timer::NONE, Timer::KEEPALIVE, Timer::TIME_WAIT, Timer::PROBE, Timer::DELAYED_ACK] {
        assert!(!is_nagle(&sender().timer(timer)), "{}", timer.name());
    }
}

#[test]
fn any_sign_of_loss_rules_the_stall_out() {
    for name in ["retrans", "lost", "sacked", "backoff", "retransmits", "probes", "ca_state"] {
        assert!(!is_nagle(&sender().with(name, 1)), "{name}");
    }
    // What was lost long ago does not.
    assert!(is_nagle(&sender().all(&[("total_retrans", 5), ("bytes_retrans", 50)])));
}

#[test]
fn the_windows_have_room() {
    assert!(is_nagle(&sender().with("snd_wnd", 20)));
    assert!(!is_nagle(&sender().with("snd_wnd", 19)));
    assert!(is_nagle(&sender().with("snd_cwnd", 2)));
    assert!(!is_nagle(&sender().with("snd_cwnd", 1)));
}

#[test]
fn the_sender_can_still_send_and_the_receiver_still_receive() {
    for (state, holds) in [
        (TcpState::ESTABLISHED, true),
        (TcpState::CLOSE_WAIT, true),
        (TcpState::FIN_WAIT1, false),
        (TcpState::FIN_WAIT2, false),
        (TcpState(9), false),
    ] {
        assert_eq!(is_nagle(&sender().state(state)), holds, "{}", state.name());
    }
    for (state, holds) in [
        (TcpState::ESTABLISHED, true),
        (TcpState::FIN_WAIT1, true),
        (TcpState::FIN_WAIT2, true),
        (TcpState::CLOSE_WAIT, false),
        (TcpState::TIME_WAIT, false),
    ] {
        assert_eq!(is_paired(&sender(), &receiver().state(state)), holds, "{}", state.name());
    }
}

#[test]
fn it_waits_twelve_milliseconds_longer_than_the_round_trip() {
    let aged = |ms: u64, min_rtt: u64| {
        let s = sender().all(&[("last_data_sent", ms), ("min_rtt", min_rtt)]);
        view(&s, &receiver().with("min_rtt", 0)).expect("Nagle's shape").aged
    };
    assert!(aged(12, 0) && !aged(11, 0));
    assert!(aged(32, 20_000) && !aged(31, 20_000));
    // Where the sender measured no round trip, it says all ones, and the receiver's is taken.
    assert!(aged(12, u32::MAX.into()));
}

#[test]
fn a_short_ato_shortens_the_wait_that_tells() {
    let aged = |ato: u64, ms: u64, tick: Tick| {
        let (s, r) = (sender().all(&[("last_data_sent", ms), ("min_rtt", 0)]), receiver().with("ato", ato));
        let cut = Cut { tick, ..cut(&s, &r) };
        matches!(shape(&cut), Some(Shape::Nagle(NagleView { aged: true, .. })))
    };
    let hz_1000 = Tick { us: 1_000 };
    assert!(aged(23_999, 12, hz_1000) && aged(16_000, 8, hz_1000) && !aged(16_000, 7, hz_1000));
    // Never under one tick, and from 24 ms on as usual.
    assert!(aged(4_000, 4, HZ_250) && !aged(4_000, 3, HZ_250));
    assert!(aged(24_000, 12, hz_1000) && !aged(24_000, 11, hz_1000));
}

#[test]
fn all_that_is_in_flight_has_arrived_and_is_not_acknowledged() {
    assert!(!is_paired(&sender(), &receiver().with("bytes_received", 1_009)), "I3: a byte is missing");
    assert!(!is_paired(&sender(), &receiver().with("bytes_received", 1_000)), "I3: the segment was lost");
    assert!(!is_paired(&sender(), &receiver().with("bytes_received", 1_020)), "I3: more arrived than was sent");
    let s_accepted = sender().with("bytes_acked", 1_000);
    let (s, r) = (s_accepted, receiver());
    let by = |s_opened| shape(&Cut { s_opened, ..cut(&s, &r) });
    assert_eq!(by(Some(false)), Some(Shape::Nagle(STALL)));
    assert_eq!(by(None), Some(Shape::Nagle(STALL)), "either end may have opened");
    assert!(matches!(by(Some(true)), Some(Shape::Nagle(NagleView { paired: false, .. }))), "one byte too many");
}

#[test]
fn more_than_the_receivers_segment_would_be_acknowledged_at_once() {
    let flight = |bytes: u32| {
        let s = sender().queues(0, bytes + 10).all(&[("bytes_sent", (1_000 + bytes).into())]);
        is_paired(&s, &receiver().with("bytes_received", (1_000 + bytes).into()))
    };
    assert!(flight(536) && !flight(537));
}

#[test]
fn no_acknowledgement_is_on_its_way() {
    let at = |ms: u64, min_rtt: u64, quiet: Option<bool>, tick: Tick| {
        let s = sender().with("min_rtt", min_rtt);
        let r = receiver().all(&[("last_data_recv", ms), ("last_data_sent", 1_000)]);
        matches!(shape(&Cut { quiet, tick, ..cut(&s, &r) }), Some(Shape::Nagle(NagleView { paired: true, .. })))
    };
    let hz_100 = Tick { us: 10_000 };
    assert!(at(8, 0, None, HZ_250) && !at(7, 0, None, HZ_250));
    assert!(at(28, 20_000, None, HZ_250) && !at(27, 20_000, None, HZ_250));
    assert!(at(20, 0, None, hz_100) && !at(19, 0, None, hz_100), "two ticks at 100 Hz");
    // The segment counts of both ends tell it at any age, and against any age.
    assert!(at(0, 80_000, Some(true), HZ_250));
    assert!(!at(0, 0, Some(false), HZ_250) && !at(60, 0, Some(false), HZ_250));
}

#[test]
fn the_receiver_has_not_answered() {
    let answered = |sent: u64, unacked: u64| {
        !is_paired(
            &sender(),
            &receiver().all(&[("last_data_sent", sent), ("last_data_recv", 20), ("unacked", unacked)]),
        )
    };
    assert!(!answered(21, 0));
    assert!(!answered(20, 0), "in the same tick, and acknowledged: it was before");
    assert!(answered(20, 1), "in the same tick, and on its way");
    assert!(answered(16, 0) && answered(16, 1));
    assert!(
        answered(21, 1),
        "an older answer is still on its way, and can bring the acknowledgement when it is sent again"
    );
    assert!(!is_paired(&sender(), &receiver().queues(0, 1)), "it has something to send");
}

#[test]
fn what_the_kernel_did_not_send_never_proves() {
    // Before 4.6 nothing is known of what is held; before 5.4 the window is not sent and 4.1 gave the byte counts.
    assert_eq!(shape_of(&sender().cut_to(144), &receiver()), None);
    assert_eq!(view(&sender().cut_to(224), &receiver()), Some(STALL));
    for len in [0, 52, 55, 104, 120, 135] {
        assert!(!is_paired(&sender(), &receiver().cut_to(len)), "{len} bytes of the receiver's tcp_info");
    }
    let (s, mut r) = (sender(), receiver());
    r.info = None;
    assert!(!is_paired(&s, &r));
    let alone = shape(&Cut { r: None, ..cut(&s, &s) });
    assert_eq!(alone, Some(Shape::Nagle(NagleView { aged: true, ..NagleView::default() })));
}

#[test]
fn unread_data_and_the_kernels_own_timer_are_told() {
    assert!(view(&sender(), &receiver().queues(1, 0)).is_some_and(|view| view.unread && view.paired));
    assert!(view(&sender(), &receiver().timer(Timer::DELAYED_ACK)).is_some_and(|view| view.timer_seen));
    // The timer alone is no stall: it runs for every delayed ACK.
    let lost = receiver().timer(Timer::DELAYED_ACK).with("bytes_received", 1_000);
    assert!(view(&sender(), &lost).is_some_and(|view| !view.timer_seen && !view.paired));
}

/// Corked: nothing in flight, 20 bytes held, the probe timer runs.
fn corked() -> Socket {
    let held = sender().timer(Timer::PROBE).queues(0, 20);
    held.all(&[("unacked", 0), ("notsent_bytes", 20), ("bytes_sent", 1_000), ("bytes_acked", 1_001)])
}

fn all_read() -> Socket {
    receiver().with("bytes_received", 1_000)
}

#[test]
fn a_cork_holds_with_nothing_in_flight_and_room_in_the_window() {
    let shape = |s: Socket| shape_of(&s, &all_read());
    assert_eq!(shape(corked()), Some(Shape::Cork));
    assert_eq!(shape(corked().with("notsent_bytes", 32_767).queues(0, 32_767)), Some(Shape::Cork));
    assert_eq!(shape(corked().with("notsent_bytes", 32_768).queues(0, 32_768)), None);
    assert_eq!(shape(corked().with("unacked", 1)), None);
    assert_eq!(shape(corked().timer(Timer::NONE)), None);
    assert_eq!(shape(corked().with("backoff", 1)), None);
    assert_eq!(shape(corked().with("snd_wnd", 20)), Some(Shape::Cork));
}

#[test]
fn a_window_smaller_than_what_is_queued_is_the_receivers() {
    let shape = |s: Socket| shape_of(&s, &all_read());
    assert_eq!(shape(corked().with("snd_wnd", 19)), Some(Shape::Window));
    assert_eq!(shape(corked().with("snd_wnd", 0).with("backoff", 3)), Some(Shape::Window));
    let bulk = corked().with("notsent_bytes", 1 << 20).queues(0, 1 << 20).with("snd_wnd", 0);
    assert_eq!(shape(bulk), Some(Shape::Window));
    assert_eq!(shape(bulk.timer(Timer::RETRANSMIT)), None);
    assert_eq!(shape(bulk.with("unacked", 1)), None);
    // Before 5.4 the window is not sent: repeated probes or unread data stand for it.
    let old = corked().cut_to(224);
    assert_eq!(shape(old), Some(Shape::Cork));
    assert_eq!(shape(old.with("backoff", 1)), Some(Shape::Window));
    assert_eq!(shape_of(&old, &all_read().queues(5, 0)), Some(Shape::Window));
}

#[test]
fn a_finite_rate_is_pacing() {
    let shape = |rate: u64| shape_of(&corked().with("max_pacing_rate", rate), &all_read());
    assert_eq!(shape(10_000), Some(Shape::Pacing));
    assert_eq!(shape(u64::MAX - 1), Some(Shape::Pacing));
    assert_eq!(shape(u64::MAX), Some(Shape::Cork));
    assert_eq!(shape(u32::MAX.into()), Some(Shape::Cork), "unlimited before 4.20");
    assert_eq!(
        shape_of(&corked().with("max_pacing_rate", 10_000).with("snd_wnd", 0), &all_read()),
        Some(Shape::Window)
    );
    assert_eq!(shape_of(&corked().with("max_pacing_rate", 10_000).timer(Timer::NONE), &all_read()), None);
}

#[test]
fn a_retransmission_timeout_is_loss() {
    let shape = |s: Socket| shape_of(&s, &receiver());
    let plain = sender().with("notsent_bytes", 0).queues(0, 10);
    assert_eq!(shape(plain), None);
    assert_eq!(shape(plain.with("ca_state", 4)), Some(Shape::Loss));
    assert_eq!(shape(plain.with("ca_state", 3)), None, "fast recovery costs a round trip and no timer");
    assert_eq!(shape(plain.with("retransmits", 1)), Some(Shape::Loss));
    assert_eq!(shape(sender().with("retransmits", 1)), Some(Shape::Loss));
    assert_eq!(shape(plain.with("retransmits", 1).with("unacked", 0)), None, "nothing is in flight");
}

#[test]
fn the_thresholds_follow_ato_round_trip_and_tick() {
    let with = |ato: u64, rtt: u64, min_rtt: u64, tick: u32| {
        let s = sender().with("min_rtt", min_rtt);
        let r = receiver().all(&[("ato", ato), ("rtt", rtt)]);
        let cut = Cut { tick: Tick { us: tick }, ..cut(&s, &r) };
        [cut.settle_us(), cut.proof_age_us(), cut.shortest_delay_us(), cut.longest_delay_us()]
    };
    assert_eq!(with(40_000, 300, 0, 4_000), [8_000, 12_000, 36_000, 48_000]);
    assert_eq!(with(40_000, 300, 0, 1_000), [8_000, 12_000, 39_000, 42_000]);
    assert_eq!(with(40_000, 300, 0, 10_000), [20_000, 20_000, 30_000, 60_000]);
    assert_eq!(with(40_000, 90_000, 80_000, 4_000), [88_000, 12_000, 36_000, 178_000]);
    assert_eq!(with(8_000, 300, 0, 1_000), [4_000, 4_000, 7_000, 42_000]);
    assert_eq!(with(0, 300, 0, 4_000), [8_000, 12_000, 36_000, 48_000], "no ato yet");
}
