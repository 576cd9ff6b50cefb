//! `rtt-bound-nagle`: Nagle waits one round trip for the acknowledgement, and R sends it at once. No timer is waited for.

use super::super::fact::{Test, nothing};

/// What a hold may exceed the round trip by and still be explained by it, µs: three ticks at 250 Hz.
pub const ROUND_TRIP_SLACK_US: u64 = 12_000;

/// What tells it where nobody saw the hold end. A stall mixes waits with immediate acknowledgements, so that its `rttvar` is of
/// the size of its `rtt`.
pub static TESTS: &[Test] = &[
    Test {
        fact: "it has waited no longer than the round trip takes",
        holds: |cut| {
            let min_rtt = cut.min_rtt_us();
            Some(min_rtt >= cut.tick.times(1) && cut.s_age_us()? <= min_rtt + ROUND_TRIP_SLACK_US)
        },
        sender: |cut| {
            let min_rtt = cut.min_rtt_us() as f64 / 1e3;
            Some(format!("last sent {} ms ago, min_rtt {min_rtt:.3} ms", cut.s_age_us()? / 1000))
        },
        receiver: nothing,
    },
    Test {
        fact: "every segment takes about one round trip: no acknowledgement is delayed",
        holds: |cut| {
            let info = cut.s_info()?;
            let (rtt, var) = (u64::from(info.rtt()?), u64::from(info.rttvar()?));
            Some(rtt <= cut.min_rtt_us() + ROUND_TRIP_SLACK_US && var * 2 < rtt)
        },
        sender: |cut| {
            let info = cut.s_info()?;
            let ms = |us: u32| f64::from(us) / 1e3;
            Some(format!("rtt {:.1} ms ± {:.1} ms", ms(info.rtt()?), ms(info.rttvar()?)))
        },
        receiver: nothing,
    },
];

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &["a network whose delay changes by more than a few milliseconds"];
