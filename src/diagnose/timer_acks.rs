//! What the namespace's count of delayed acknowledgements rules out.
//!
//! The kernel counts each ACK that a delayed-ACK timer sends (`tcp_delack_timer_handler`, `LINUX_MIB_DELAYEDACKS`). While the
//! count stands still, no hold whose receiver is in that namespace was ended by the timer, whatever its length suggests: a
//! network or a program that was late made it.

use crate::model::Moment;

/// Follows the count.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimerAcks {
    latest: Option<Reading>,
    before: Option<Reading>,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Moment,
    count: u64,
}

impl TimerAcks {
    /// Takes a reading of `DelayedACKs`. Answers since when no hold that was seen to end can have been ended by a timer; `None`
    /// when timers have fired.
    ///
    /// A hold is seen to end a little after the timer fired, possibly on the other side of a reading: the count must have stood
    /// still for one reading longer than the answer says.
    pub fn observe(&mut self, at: Moment, count: u64) -> Option<Moment> {
        let before = std::mem::replace(&mut self.before, self.latest);
        self.latest = Some(Reading { at, count });
        let since = self.before?;
        let stood_still = before.unwrap_or(since).count == count;
        stood_still.then_some(since.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_stands_still_rules_timers_out_since_the_reading_before() {
        let mut acks = TimerAcks::default();
        let mut observe = |ms: u64, count| acks.observe(Moment(ms * 1000), count).map(|since| since.0 / 1000);
        assert_eq!(observe(0, 7), None, "one reading shows no growth");
        assert_eq!(observe(1_000, 7), Some(0));
        assert_eq!(observe(2_000, 9), None);
        assert_eq!(observe(3_000, 9), None, "a hold ended by the ninth may be seen to end only now");
        assert_eq!(observe(4_000, 9), Some(3_000));
        assert_eq!(observe(5_000, 10), None);
    }
}
