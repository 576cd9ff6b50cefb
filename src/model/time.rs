//! Points in time on a source's own monotonic clock.

/// A point in time, in microseconds since an arbitrary start that all events of one source share.
///
/// Differences saturate: a clock that steps back gives a span of zero, never a huge one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// Microseconds from `earlier` to this moment; 0 when `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This moment, moved back by `us` microseconds.
    #[must_use]
    pub fn before(self, us: u64) -> Self {
        Self(self.0.saturating_sub(us))
    }

    /// This moment, moved on by `us` microseconds.
    #[must_use]
    pub fn after(self, us: u64) -> Self {
        Self(self.0.saturating_add(us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_steps_back_gives_a_span_of_zero() {
        assert_eq!(Moment(5).since(Moment(9)), 0);
        assert_eq!(Moment(5).before(9), Moment(0));
        assert_eq!(Moment(u64::MAX).after(1), Moment(u64::MAX));
    }
}
