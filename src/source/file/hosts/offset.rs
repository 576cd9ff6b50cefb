//! The offset between two hosts' clocks, from the byte counts of the connections between them.
//!
//! A byte is not received before it is sent, and not seen acknowledged before it is received. Counts only rise. So each byte
//! that was sent after one reading and had arrived by another bounds the offset from one side, and the other direction, or the
//! acknowledgement, bounds it from the other. What remains open is the round trip and the time between readings.

/// Contradictions up to this are taken for readings that came late or clocks that drifted, and widen the result, µs: 50 ppm
/// over 100 s. Beyond it, the connection does not tell.
pub(super) const TOLERATED_US: i64 = 5_000;

/// Of this many bounds the tightest is left out: a reading that was scheduled away between its clock and its answer gives a
/// bound that is too tight, and leaving out a true one costs little.
const ONE_LATE_OF: usize = 50;

/// The counts of one end, and from when to when they were so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// They were so by this moment, µs.
    pub(super) by: u64,
    /// They were still so at this moment, µs.
    pub(super) until: u64,
    /// Bytes sent, without what was sent again; `None` before Linux 4.19.
    pub(super) sent: Option<u64>,
    /// Bytes received.
    pub(super) received: u64,
    /// Bytes acknowledged, less the SYN that may be counted among them.
    pub(super) acked: u64,
}

/// Bounds of how much later the second end's clock is than the first's, µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) low: Option<i64>,
    pub(super) high: Option<i64>,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoEstimate {
    /// No connection was seen to move data in both directions at both ends.
    NoGrowth,
    /// The connections contradict one another, or themselves.
    Contradiction,
}

/// An estimate of the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    /// The second clock less the first, µs.
    pub(super) offset_us: i64,
    /// How far that can be wrong, µs.
    pub(super) uncertainty_us: u64,
    /// The connections that it is from.
    pub(super) connections: usize,
    /// Connections that told something else, and were left out.
    pub(super) left_out: usize,
}

/// What one connection tells.
pub(super) fn bounds(first: &[Counts], second: &[Counts]) -> Bounds {
    let least = |one: Option<i64>, other: Option<i64>| one.into_iter().chain(other).min();
    let forward = [
        delay(first, |end| end.sent, second, |end| Some(end.received)),
        delay(first, |end| Some(end.received), second, |end| Some(end.acked)),
    ];
    let back = [
        delay(second, |end| end.sent, first, |end| Some(end.received)),
        delay(second, |end| Some(end.received), first, |end| Some(end.acked)),
    ];
    Bounds { low: least(back[0], back[1]).map(|delay| -delay), high: least(forward[0], forward[1]) }
}

/// The shortest time from a cause on one clock to its effect on the other: from when the cause was last below a count to when
/// the effect had reached it. Counts that the cause was not seen to reach tell nothing.
fn delay(
    cause: &[Counts],
    count: impl Fn(&Counts) -> Option<u64>,
    effect: &[Counts],
    reached: impl Fn(&Counts) -> Option<u64>,
) -> Option<i64> {
    let most = count(cause.last()?)?;
    let mut below = 0;
    let mut delays = Vec::new();
    for after in effect {
        let n = reached(after)?;
        while cause.get(below + 1).and_then(&count).is_some_and(|next| next < n) {
            below += 1;
        }
        if n <= most && count(&cause[below])? < n {
            delays.push(i64::try_from(after.by).ok()? - i64::try_from(cause[below].until).ok()?);
        }
    }
    delays.sort_unstable();
    delays.get(delays.len() / ONE_LATE_OF).copied()
}

/// What all connections between two hosts tell together: the offsets that most of them allow.
pub(super) fn estimate(all: &[Bounds]) -> Result<Estimate, NoEstimate> {
    let told = all.iter().filter(|bounds| bounds.low.is_some() || bounds.high.is_some());
    let (mut intervals, mut broken) = (Vec::new(), 0);
    for bounds in told {
        let (low, high) = (bounds.low.unwrap_or(i64::MIN / 4), bounds.high.unwrap_or(i64::MAX / 4));
        if low - high > TOLERATED_US {
            broken += 1;
        } else {
            intervals.push((low.min(high), low.max(high)));
        }
    }
    if intervals.is_empty() {
        return Err(if broken > 0 { NoEstimate::Contradiction } else { NoEstimate::NoGrowth });
    }
    let offset = most_allowed(&intervals);
    let allows = |(low, high): &&(i64, i64)| offset + TOLERATED_US >= *low && offset - TOLERATED_US <= *high;
    let agreeing: Vec<_> = intervals.iter().filter(allows).collect();
    let all = intervals.len() + broken;
    if agreeing.len() * 3 < all * 2 {
        return Err(NoEstimate::Contradiction);
    }
    let low = agreeing.iter().map(|interval| interval.0).max().unwrap_or(i64::MIN / 4);
    let high = agreeing.iter().map(|interval| interval.1).min().unwrap_or(i64::MAX / 4);
    if low <= i64::MIN / 4 || high >= i64::MAX / 4 {
        return Err(NoEstimate::NoGrowth);
    }
    let width = low.abs_diff(high);
    Ok(Estimate {
        offset_us: low + (high - low) / 2,
        // Where they contradict one another, either may be wrong by all of it.
        uncertainty_us: if low <= high { width.div_ceil(2) } else { width },
        connections: agreeing.len(),
        left_out: all - agreeing.len(),
    })
}

/// Of the bounds themselves, the offset that most intervals allow.
fn most_allowed(intervals: &[(i64, i64)]) -> i64 {
    let sorted = |bounds: &mut dyn Iterator<Item = i64>| {
        let mut sorted: Vec<i64> = bounds.collect();
        sorted.sort_unstable();
        sorted
    };
    let begins = sorted(&mut intervals.iter().map(|interval| interval.0 - TOLERATED_US));
    let ends = sorted(&mut intervals.iter().map(|interval| interval.1 + TOLERATED_US));
    let allowing = |offset: &i64| {
        let (begun, ended) =
            (begins.partition_point(|begin| begin <= offset), ends.partition_point(|end| end < offset));
        begun - ended
    };
    intervals.iter().flat_map(|(low, high)| [*low, *high]).max_by_key(allowing).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ends of a connection that moves 100 bytes each way every 44 ms over a line that takes `way_us`, each read every
    /// 10 ms, with the second clock ahead by `offset_us` and gaining `ppm`.
    fn play(offset_us: i64, way_us: u64, ppm: i64) -> [Vec<Counts>; 2] {
        const REQUESTS: u64 = 100;
        let done = |at: i64, late: u64| {
            let passed = at - 1_000_000 - i64::try_from(late).unwrap();
            u64::try_from(passed.div_euclid(44_000) + 1).unwrap_or(0).min(REQUESTS) * 100
        };
        let mut ends = [Vec::new(), Vec::new()];
        for tick in 0..600_u64 {
            for (end, counts) in ends.iter_mut().enumerate() {
                let at = i64::try_from(tick * 10_000 + tick * 37 % 900 + end as u64 * 4_300).unwrap();
                let late = |ways: u64| done(at, ways * way_us + 10);
                // The first sends at once, the second when that has come.
                let now = if end == 0 { [done(at, 0), late(2), late(2)] } else { [late(1), late(1), late(3)] };
                let clock = if end == 0 { at } else { at + offset_us + at * ppm / 1_000_000 };
                push(counts, u64::try_from(clock).unwrap(), now);
            }
        }
        ends
    }

    fn push(counts: &mut Vec<Counts>, at: u64, [sent, received, acked]: [u64; 3]) {
        match counts.last_mut() {
            Some(last) if (last.sent, last.received, last.acked) == (Some(sent), received, acked) => last.until = at,
            _ => counts.push(Counts { by: at, until: at, sent: Some(sent), received, acked }),
        }
    }

    fn estimated(offset_us: i64, way_us: u64) -> Estimate {
        let [first, second] = play(offset_us, way_us, 0);
        estimate(&[bounds(&first, &second)]).expect("an estimate")
    }

    #[test]
    fn the_offset_lies_within_its_uncertainty() {
        for offset_us in [0, 7, 3_200_000, 3_600_000_000] {
            for way_us in [20, 500, 10_000, 40_000] {
                let found = estimated(offset_us, way_us);
                let off = found.offset_us.abs_diff(offset_us);
                assert!(off <= found.uncertainty_us, "{offset_us} over {way_us}: {found:?}");
                assert!(found.uncertainty_us <= way_us + 6_000, "{offset_us} over {way_us}: {found:?}");
            }
        }
    }

    #[test]
    fn an_older_kernel_that_does_not_count_what_it_sent_is_bounded_by_what_was_acknowledged() {
        let [mut first, mut second] = play(50_000, 500, 0);
        first.iter_mut().chain(&mut second).for_each(|counts| counts.sent = None);
        let found = estimate(&[bounds(&first, &second)]).expect("an estimate");
        assert!(found.offset_us.abs_diff(50_000) <= found.uncertainty_us, "{found:?}");
    }

    #[test]
    fn drift_widens_and_much_of_it_is_a_contradiction() {
        let drifting = |ppm| {
            let [first, second] = play(0, 20, ppm);
            estimate(&[bounds(&first, &second)])
        };
        let little = drifting(200).expect("an estimate");
        assert!(little.uncertainty_us >= 600, "{little:?}");
        assert_eq!(drifting(20_000), Err(NoEstimate::Contradiction));
    }

    #[test]
    fn a_connection_that_contradicts_most_others_is_left_out() {
        let of = |low, high| Bounds { low: Some(low), high: Some(high) };
        let found = estimate(&[of(0, 10_000), of(2_000, 12_000), of(900_000, 910_000)]).expect("an estimate");
        assert_eq!((found.offset_us, found.uncertainty_us), (6_000, 4_000));
        assert_eq!((found.connections, found.left_out), (2, 1));
        assert_eq!(estimate(&[of(0, 10_000), of(900_000, 910_000)]), Err(NoEstimate::Contradiction));
        assert_eq!(estimate(&[of(900_000, 0)]), Err(NoEstimate::Contradiction));
    }

    #[test]
    fn one_side_alone_is_no_estimate_and_two_one_sided_connections_are_one() {
        let low = Bounds { low: Some(-5), high: None };
        let high = Bounds { low: None, high: Some(5) };
        assert_eq!(estimate(&[low]), Err(NoEstimate::NoGrowth));
        assert_eq!(estimate(&[Bounds::default()]), Err(NoEstimate::NoGrowth));
        assert_eq!(estimate(&[]), Err(NoEstimate::NoGrowth));
        assert_eq!(estimate(&[low, high]).map(|found| (found.offset_us, found.uncertainty_us)), Ok((0, 5)));
    }

    #[test]
    fn idle_connections_and_counts_beyond_what_the_other_end_was_seen_to_reach_tell_nothing() {
        let counts = |by, n| Counts { by, until: by, sent: Some(n), received: n, acked: n };
        assert_eq!(bounds(&[counts(1, 5)], &[counts(9, 5)]), Bounds::default());
        assert_eq!(bounds(&[], &[counts(9, 5)]), Bounds::default());
        // A FIN is counted where it is received, and not where it is sent.
        let fin = [counts(1, 5), Counts { received: 6, ..counts(2, 5) }];
        assert_eq!(bounds(&[counts(7, 5)], &fin).high, None);
    }
}
