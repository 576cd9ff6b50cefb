//! `pacing`: the application asked for a rate (`SO_MAX_PACING_RATE`), and the data waits its turn.

use crate::wire::Timer;

use super::super::fact::{Test, nothing};

/// `sk_max_pacing_rate` when nobody set one: all ones, in 64 or (before 4.20) 32 bits.
const UNLIMITED: [u64; 2] = [u64::MAX, u32::MAX as u64];

/// What S must look like.
pub static TESTS: &[Test] = &[
    Test {
        fact: "data is held back with nothing in flight",
        holds: |cut| Some(cut.notsent()? > 0 && cut.s_info()?.unacked()? == 0),
        sender: |cut| Some(format!("notsent {} B, unacked {}", cut.notsent()?, cut.s_info()?.unacked()?)),
        receiver: nothing,
    },
    Test {
        fact: "the timer of held data runs",
        holds: |cut| Some(cut.s.timer == Timer::PROBE),
        sender: |cut| Some(format!("timer {}", cut.s.timer.name())),
        receiver: nothing,
    },
    Test {
        fact: "the program set a ceiling to the sending rate",
        holds: |cut| Some(!UNLIMITED.contains(&cut.s_info()?.max_pacing_rate()?)),
        sender: |cut| Some(format!("max_pacing_rate {} B/s", cut.s_info()?.max_pacing_rate()?)),
        receiver: nothing,
    },
];

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &["a forgotten cork on a connection that is paced as well"];
