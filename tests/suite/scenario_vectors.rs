//! What each well-known situation looks like at one instant, and what must be seen in it.

use stallscope::diagnose::rules::{NagleView, Shape};
use stallscope::wire::{Socket, Timer};

use super::vectors::{Change, receiver, sender, shape_of};

/// What one look at both ends gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    Stall,
    Unread,
    /// Nagle's shape that proves nothing.
    Unproven,
    Cork,
    Pacing,
    Window,
    Loss,
}

impl Seen {
    fn of(s: &Socket, r: &Socket) -> Self {
        match shape_of(s, r) {
            None => Self::Nothing,
            Some(Shape::Nagle(NagleView { paired: true, aged: true, unread: false, .. })) => Self::Stall,
            Some(Shape::Nagle(NagleView { paired: true, unread: true, .. })) => Self::Unread,
            Some(Shape::Nagle(_)) => Self::Unproven,
            Some(Shape::Cork) => Self::Cork,
            Some(Shape::Pacing) => Self::Pacing,
            Some(Shape::Window) => Self::Window,
            Some(Shape::Loss) => Self::Loss,
        }
    }
}

type Fields = &'static [(&'static str, u64)];

/// Situation; S: timer, unread and queued bytes, fields; R: unread bytes, fields; what is to be seen.
type Row = (&'static str, (u8, u32, Fields), (u32, Fields), Seen);

const IDLE: Fields = &[("unacked", 0), ("notsent_bytes", 0), ("bytes_acked", 1_011)];

/// Changes to the pair in mid-stall.
const ROWS: &[Row] = &[
    ("write-write-read", (1, 20, &[]), (0, &[]), Seen::Stall),
    ("a large second write on loopback", (1, 32_010, &[("notsent_bytes", 32_000)]), (0, &[]), Seen::Stall),
    ("the server thinks, ato has grown", (1, 20, &[]), (0, &[("ato", 52_000)]), Seen::Stall),
    ("TCP_NODELAY: two segments in flight", (1, 20, &[("unacked", 2), ("notsent_bytes", 0)]), (0, &[]), Seen::Nothing),
    ("one write", (1, 10, &[("notsent_bytes", 0)]), (0, &[]), Seen::Nothing),
    ("forgotten cork", (4, 20, &[("unacked", 0), ("notsent_bytes", 20), ("bytes_acked", 1_011)]), (0, &[]), Seen::Cork),
    (
        "SO_MAX_PACING_RATE",
        (4, 20, &[("unacked", 0), ("notsent_bytes", 20), ("bytes_acked", 1_011), ("max_pacing_rate", 1_000)]),
        (0, &[]),
        Seen::Pacing,
    ),
    (
        "zero window",
        (4, 90_000, &[("unacked", 0), ("notsent_bytes", 90_000), ("snd_wnd", 0), ("backoff", 2)]),
        (65_000, &[("ato", 80_000)]),
        Seen::Window,
    ),
    (
        "the receiver polls",
        (1, 20, &[("last_data_sent", 80)]),
        (10, &[("last_data_recv", 80), ("last_data_sent", 84), ("ato", 80_000)]),
        Seen::Unread,
    ),
    ("the receiver peeks", (1, 20, &[]), (10, &[]), Seen::Unread),
    (
        "healthy over 20 ms",
        (1, 10, &[("notsent_bytes", 0), ("min_rtt", 20_000)]),
        (0, &[("min_rtt", 20_000)]),
        Seen::Nothing,
    ),
    (
        "Nagle stream over 80 ms: the ACK travels",
        (1, 20, &[("min_rtt", 80_000), ("last_data_sent", 60)]),
        (0, &[("min_rtt", 80_000), ("last_data_recv", 20), ("segs_out", 150)]),
        Seen::Unproven,
    ),
    (
        "write-write-read over 20 ms",
        (1, 20, &[("min_rtt", 20_000), ("last_data_sent", 44)]),
        (0, &[("min_rtt", 20_000), ("last_data_recv", 32), ("last_data_sent", 60)]),
        Seen::Stall,
    ),
    ("the request was lost", (1, 20, &[("last_data_sent", 100)]), (0, &[("bytes_received", 1_000)]), Seen::Unproven),
    (
        "the reply was lost",
        (1, 20, &[("last_data_sent", 100)]),
        (0, &[("unacked", 1), ("last_data_sent", 16)]),
        Seen::Unproven,
    ),
    ("recovering from a timeout", (1, 20, &[("ca_state", 4), ("retransmits", 1)]), (0, &[]), Seen::Loss),
    (
        "bulk",
        (1, 900_000, &[("unacked", 12), ("notsent_bytes", 500_000), ("last_data_sent", 0)]),
        (0, &[]),
        Seen::Nothing,
    ),
    ("idle", (0, 0, IDLE), (0, &[]), Seen::Nothing),
    ("idle with keepalive", (2, 0, IDLE), (0, &[]), Seen::Nothing),
    ("peer stopped: everything acknowledged", (0, 0, IDLE), (20, &[]), Seen::Nothing),
    (
        "one-byte writes",
        (1, 2, &[("notsent_bytes", 1), ("last_data_sent", 4)]),
        (1, &[("last_data_recv", 4)]),
        Seen::Unproven,
    ),
    ("header and a segment and a half", (1, 20, &[("unacked", 2)]), (0, &[]), Seen::Nothing),
    (
        "short delay by the route",
        (1, 20, &[("last_data_sent", 8)]),
        (0, &[("last_data_recv", 8), ("last_data_sent", 12), ("ato", 8_000)]),
        Seen::Stall,
    ),
];

#[test]
fn each_situation_looks_like_what_it_is() {
    let mut wrong = Vec::new();
    for (name, (timer, wqueue, s), (rqueue, r), wanted) in ROWS {
        let s = sender().timer(Timer(*timer)).queues(0, *wqueue).all(s);
        let r = receiver().queues(*rqueue, 0).all(r);
        let seen = Seen::of(&s, &r);
        if seen != *wanted {
            wrong.push(format!("{name}: {seen:?}, not {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_other_direction_of_a_stall_shows_nothing() {
    assert_eq!(Seen::of(&receiver(), &sender()), Seen::Nothing);
}
