//! Latencies in a few figures.

use std::time::Duration;

use super::run::Sample;

/// The latencies of some requests, ms. Empty without requests: a percentile of nothing is not zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many requests.
    pub requests: usize,
    /// The first three, in order: the first request on a connection is usually fast.
    pub first_ms: Vec<f64>,
    /// The median.
    pub p50_ms: Option<f64>,
    /// 9 of 10 requests took at most this.
    pub p90_ms: Option<f64>,
    /// 99 of 100 requests took at most this.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// All together.
    pub total_ms: f64,
}

impl Summary {
    /// Sums up requests in the order in which they were made.
    pub fn of(samples: &[Sample]) -> Self {
        let times: Vec<Duration> = samples.iter().map(|sample| sample.took).collect();
        let mut sorted = times.clone();
        sorted.sort_unstable();
        Self {
            requests: times.len(),
            first_ms: times.iter().take(3).copied().map(millis).collect(),
            p50_ms: percentile(&sorted, 50),
            p90_ms: percentile(&sorted, 90),
            p99_ms: percentile(&sorted, 99),
            max_ms: sorted.last().copied().map(millis),
            total_ms: millis(times.iter().sum()),
        }
    }
}

/// The smallest value that `percent` of all values do not exceed (nearest rank).
fn percentile(sorted: &[Duration], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().map(millis)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn summary(millis: impl IntoIterator<Item = u64>) -> Summary {
        let started = Instant::now();
        let sample = |took| Sample { started, took: Duration::from_millis(took) };
        Summary::of(&millis.into_iter().map(sample).collect::<Vec<_>>())
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred = summary((1..=100).rev());
        assert_eq!(hundred.first_ms, [100.0, 99.0, 98.0]);
        assert_eq!((hundred.p50_ms, hundred.p90_ms), (Some(50.0), Some(90.0)));
        assert_eq!((hundred.p99_ms, hundred.max_ms), (Some(99.0), Some(100.0)));
        assert_eq!((hundred.requests, hundred.total_ms), (100, 5050.0));
    }

    #[test]
    fn few_requests_and_none_have_no_made_up_figures() {
        let one = summary([7]);
        assert_eq!((one.p50_ms, one.p99_ms, one.max_ms), (Some(7.0), Some(7.0), Some(7.0)));
        assert_eq!(summary([]), Summary::default());
    }
}
