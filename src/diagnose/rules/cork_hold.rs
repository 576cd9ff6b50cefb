//! `cork-hold`: data waits in `TCP_CORK` or `MSG_MORE` with nothing in flight, until the 200 ms probe timer pushes it.

use crate::wire::Timer;

use super::super::fact::{Test, nothing};
use super::SMALL_WRITE_HELD;

/// How long a hold must last before it is more than a cork that is about to be pulled, µs.
pub const LASTING_US: u64 = 50_000;

/// What S must look like.
pub static TESTS: &[Test] = &[
    SMALL_WRITE_HELD,
    Test {
        fact: "nothing is in flight: no acknowledgement is waited for",
        holds: |cut| Some(cut.s_info()?.unacked()? == 0),
        sender: |cut| Some(format!("unacked {}", cut.s_info()?.unacked()?)),
        receiver: |cut| Some(format!("{} B received", cut.r_info()?.bytes_received()?)),
    },
    Test {
        fact: "the timer that pushes corked data runs",
        holds: |cut| Some(cut.s.timer == Timer::PROBE),
        sender: |cut| Some(format!("timer {}, {} ms left", cut.s.timer.name(), cut.s.expires_ms)),
        receiver: nothing,
    },
    Test {
        fact: "the receiver's window has room",
        holds: |cut| {
            let room = cut.s_info()?.snd_wnd().map(|window| window >= cut.s.wqueue);
            // Before 5.4 the window is not sent; a probe that had to be repeated tells that it is closed.
            Some(room.unwrap_or(true) && cut.s_info()?.backoff()? == 0)
        },
        sender: |cut| {
            let info = cut.s_info()?;
            Some(match info.snd_wnd() {
                Some(window) => format!("snd_wnd {window} for {} B queued", cut.s.wqueue),
                None => format!("backoff {}", info.backoff()?),
            })
        },
        receiver: |cut| Some(format!("rqueue {}", cut.r?.rqueue)),
    },
];

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &["MSG_MORE on the last write of a message, which corks just the same"];
