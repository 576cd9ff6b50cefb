//! `loss-recovery`: a segment was lost, and S waits for its retransmission timeout.

use crate::wire::Socket;

use super::super::fact::{Test, nothing};

/// `TCP_CA_Loss` (`include/uapi/linux/tcp.h`).
const CA_LOSS: u8 = 4;

/// Whether S is recovering from a timeout. Fast recovery is left out: it costs a round trip, not a timer.
pub fn is_timeout(s: &Socket) -> bool {
    s.info.as_ref().is_some_and(|info| {
        let in_flight = info.unacked().unwrap_or(0) > 0;
        // Text of ss has no ca_state. `backoff` also counts probes of a closed window, and then nothing is in flight.
        let again = [info.retransmits(), info.backoff()].into_iter().flatten().any(|count| count > 0);
        in_flight && (info.ca_state() == Some(CA_LOSS) || again)
    })
}

/// What S must look like.
pub static TESTS: &[Test] = &[
    Test {
        fact: "a retransmission timeout is being recovered from",
        holds: |cut| Some(is_timeout(cut.s)),
        sender: |cut| {
            let info = cut.s_info()?;
            let (state, lost) = (info.ca_state()?, info.lost()?);
            Some(format!(
                "ca_state {state}, retransmits {}, backoff {}, lost {lost}",
                info.retransmits()?,
                info.backoff()?
            ))
        },
        receiver: nothing,
    },
    Test {
        fact: "segments were sent again",
        holds: |cut| Some(cut.s_info()?.total_retrans()? > 0),
        sender: |cut| Some(format!("retransmitted {} so far", cut.s_info()?.total_retrans()?)),
        receiver: |cut| Some(format!("{} B received", cut.r_info()?.bytes_received()?)),
    },
];

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &["a peer that vanished without closing the connection"];
