//! `rtt-bound-nagle`: Nagle waits one round trip for the acknowledgement, and R sends it at once. No timer is waited for.

/// What a hold may exceed the round trip by and still be explained by it, µs: three ticks at 250 Hz.
pub const ROUND_TRIP_SLACK_US: u64 = 12_000;

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &["a network whose delay changes by more than a few milliseconds"];
