//! `receiver-window`: R's window is too small for what S has; R's program does not read fast enough.

use crate::wire::Timer;

use super::super::fact::{Test, nothing};

/// How long it must last before it is more than a reader that paused, µs.
pub const LASTING_US: u64 = 50_000;

/// What S must look like.
pub static TESTS: &[Test] = &[
    Test {
        fact: "data is held back with nothing in flight",
        holds: |cut| Some(cut.notsent()? > 0 && cut.s_info()?.unacked()? == 0),
        sender: |cut| Some(format!("notsent {} B, unacked {}", cut.notsent()?, cut.s_info()?.unacked()?)),
        receiver: |cut| Some(format!("rqueue {} B not read", cut.r?.rqueue)),
    },
    Test {
        fact: "the zero-window probe timer runs",
        holds: |cut| Some(cut.s.timer == Timer::PROBE),
        sender: |cut| Some(format!("timer {}, backoff {}", cut.s.timer.name(), cut.s_info()?.backoff()?)),
        receiver: nothing,
    },
    Test {
        fact: "the window is smaller than what is queued",
        holds: |cut| {
            let info = cut.s_info()?;
            // Before 5.4 the window is not sent: a probe that was repeated, or a receiver with unread data, stands for it.
            let unread = cut.r.is_some_and(|r| r.rqueue > 0);
            Some(info.snd_wnd().map_or(info.backoff()? > 0 || unread, |window| window < cut.s.wqueue))
        },
        sender: |cut| match cut.s_info()?.snd_wnd() {
            Some(window) => Some(format!("snd_wnd {window} for {} B queued", cut.s.wqueue)),
            None => Some("snd_wnd not sent by this kernel".to_owned()),
        },
        receiver: |cut| Some(format!("rcv_wnd {}", cut.r_info()?.rcv_wnd()?)),
    },
];

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &["a receive buffer set too small (SO_RCVBUF) under a program that does read"];
