//! `held-unread`: Nagle's shape at S, but R's program has not read what arrived: it is busy, stopped, or polls.
//!
//! A receiver that peeks (`MSG_PEEK`) or waits for more (`SO_RCVLOWAT`) leaves the data unread too, and is truly stalled: it
//! is told by reading everything the moment the rest arrives.

use super::super::fact::{Test, nothing};

/// Holds in a row, each read at once after its release, that tell a peeking receiver from one that polls. A receiver that
/// polls on its own schedule is met with everything read within one probe interval by chance at most every other time.
pub const DRAINS_THAT_TELL: u32 = 8;

/// How soon after the release R's program must have read everything to have waited for the rest, µs: two ticks at 250 Hz.
pub const DRAIN_AT_ONCE_US: u64 = 8_000;

/// Of the holds of a receiver that waits for the rest, one in so many may be read later: programs get scheduled away.
pub const LATE_DRAINS_ALLOWED: u64 = 4;

/// Holds that tell a receiver that does not read from one that was scheduled away once.
pub const HOLDS_THAT_TELL: u64 = 3;

/// They must fill one part in so many of the watched time: on a busy host every program is scheduled away now and then.
pub const SHARE_THAT_TELLS: u64 = 10;

/// What tells it from the stall.
pub static TESTS: &[Test] = &[Test {
    fact: "the receiving program has not read what arrived",
    holds: |cut| Some(cut.r?.rqueue > 0),
    sender: nothing,
    receiver: |cut| Some(format!("rqueue {}", cut.r?.rqueue)),
}];

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &[
    "a stall behind a receiver that peeks or waits for a minimum (MSG_PEEK, SO_RCVLOWAT), when seen too briefly to tell",
];
