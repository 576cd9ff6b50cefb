//! `nagle-delayed-ack`: S holds a small write until its last one is acknowledged; R holds the acknowledgement.

use crate::wire::{TcpState, Timer};

use super::super::cut::Cut;
use super::super::fact::{Test, nothing};
use super::SMALL_WRITE_HELD;

/// What a wait must exceed the round trip by before the round trip does not explain it, µs: three ticks at 250 Hz.
pub const ABOVE_ROUND_TRIP_US: u64 = 12_000;

/// What S must look like.
pub static SENDER: &[Test] = &[
    SMALL_WRITE_HELD,
    Test {
        fact: "exactly one segment is unacknowledged",
        holds: |cut| Some(cut.s_info()?.unacked()? == 1),
        sender: |cut| Some(format!("unacked {}", cut.s_info()?.unacked()?)),
        receiver: nothing,
    },
    Test {
        fact: "the sender's retransmission timer runs, no probe and no cork",
        holds: |cut| Some(cut.s.timer == Timer::RETRANSMIT),
        sender: |cut| Some(format!("timer {}", cut.s.timer.name())),
        receiver: nothing,
    },
    Test {
        fact: "nothing is lost or retransmitted",
        holds: no_loss,
        sender: |cut| {
            let info = cut.s_info()?;
            Some(format!("retrans {} lost {} backoff {}", info.retrans()?, info.lost()?, info.backoff()?))
        },
        receiver: nothing,
    },
    Test {
        fact: "the receiver's window has room",
        holds: |cut| Some(cut.s_info()?.snd_wnd()? >= cut.s.wqueue),
        sender: |cut| Some(format!("snd_wnd {} for {} B queued", cut.s_info()?.snd_wnd()?, cut.s.wqueue)),
        receiver: nothing,
    },
    Test {
        fact: "the congestion window has room",
        holds: |cut| Some(cut.s_info()?.snd_cwnd()? > 1),
        sender: |cut| Some(format!("cwnd {}", cut.s_info()?.snd_cwnd()?)),
        receiver: nothing,
    },
];

/// How old it must be.
pub static AGE: &[Test] = &[Test {
    fact: "it has waited longer than the round trip takes",
    holds: |cut| Some(cut.s_age_us()? >= cut.min_rtt_us() + ABOVE_ROUND_TRIP_US.min(short_wait(cut))),
    sender: |cut| {
        Some(format!("last sent {} ms ago, min_rtt {:.3} ms", cut.s_age_us()? / 1000, cut.min_rtt_us() as f64 / 1e3))
    },
    receiver: nothing,
}];

/// What R must look like. Each must hold: an unknown here means that the two ends do not prove anything.
pub static RECEIVER: &[Test] = &[
    Test {
        fact: "the receiver's connection is open",
        holds: |cut| Some(matches!(cut.r?.state, TcpState::ESTABLISHED | TcpState::FIN_WAIT1 | TcpState::FIN_WAIT2)),
        sender: nothing,
        receiver: |cut| Some(cut.r?.state.name().to_owned()),
    },
    Test {
        fact: "all that was sent has arrived, and its acknowledgement has not come back",
        holds: |cut| {
            let arrived = cut.all_arrived_unacknowledged()?;
            Some(arrived && cut.s.in_flight()? <= cut.r_info()?.rcv_mss()?)
        },
        sender: |cut| Some(format!("{} B in flight, {} acked", cut.s.in_flight()?, cut.s_info()?.bytes_acked()?)),
        receiver: |cut| Some(format!("{} B received", cut.r_info()?.bytes_received()?)),
    },
    Test {
        fact: "no acknowledgement is on its way",
        // What the counters tell goes before what the age suggests: a network may take far longer than its shortest round trip.
        holds: |cut| Some(cut.quiet.unwrap_or(cut.r_age_us()? >= cut.settle_us())),
        sender: |cut| Some(format!("segs_in {}", cut.s_info()?.segs_in()?)),
        receiver: |cut| {
            Some(format!("segs_out {}, last received {} ms ago", cut.r_info()?.segs_out()?, cut.r_age_us()? / 1000))
        },
    },
    Test {
        fact: "the receiver has not answered, and has nothing to send",
        holds: |cut| {
            let info = cut.r_info()?;
            Some(info.unacked()? == 0 && cut.r?.wqueue == 0 && info.last_data_sent()? >= info.last_data_recv()?)
        },
        sender: nothing,
        receiver: |cut| {
            let info = cut.r_info()?;
            let (unacked, queued) = (info.unacked()?, cut.r?.wqueue);
            Some(format!("last sent {} ms ago, unacked {unacked}, {queued} B queued", cut.r_sent_age_us()? / 1000))
        },
    },
];

/// What tells that R's application waits for the rest.
pub static READ: &[Test] = &[Test {
    fact: "the receiving program has read it and waits for the rest",
    holds: |cut| Some(cut.r?.rqueue == 0),
    sender: nothing,
    receiver: |cut| Some(format!("rqueue {}", cut.r?.rqueue)),
}];

/// What makes it certain, where the kernel tells.
pub static TIMER: &[Test] = &[Test {
    fact: "the receiver's kernel reports its delayed-ACK timer",
    // Kernels before 7.x have no code for it, and later ones show a retransmission or keepalive timer first: its absence says
    // nothing.
    holds: |cut| (cut.r?.timer == Timer::DELAYED_ACK).then_some(true),
    sender: nothing,
    receiver: |cut| {
        let r = cut.r?;
        Some(match r.timer {
            Timer::DELAYED_ACK => format!("timer delack, {} ms left", r.expires_ms),
            other => format!("timer {}", other.name()),
        })
    },
}];

/// What else can look like this, to be said with every finding.
pub static COULD_ALSO_BE: &[&str] = &[
    "a receiver that computes on the first part alone looks the same while it does; then a fix saves less than the hold",
    "a serial server with a pipelined request waiting behind the first one",
];

fn no_loss(cut: &Cut<'_>) -> Option<bool> {
    let info = cut.s_info()?;
    let segments = info.retrans()? + info.lost()? + info.sacked()?;
    let counts = info.backoff()? | info.retransmits()? | info.probes()? | info.ca_state()?;
    Some(segments == 0 && counts == 0)
}

/// Where R's `ato` is short, so is the wait that tells.
fn short_wait(cut: &Cut<'_>) -> u64 {
    cut.proof_age_us()
}
