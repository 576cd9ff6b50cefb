//! Connections that could be one, behind an address translation: no addresses match, and the byte counts do. They are named and
//! never taken for a pair.

use super::census::{Census, Ends, Series, mirrored};
use super::offset::{Bounds, bounds};

/// Connections of each file that are compared, those with most changes first: all with all is 65 536 comparisons.
const COMPARED: usize = 256;

/// Changes of counts that both must have shown: fewer could agree by chance.
const LEAST_CHANGES: usize = 4;

/// The bounds of the offset that two ends of one connection give are closer together than this, µs: surveys a second apart at
/// both ends, and a long round trip.
const CLOSE_US: i64 = 3_000_000;

/// One end of a connection, and its counts.
pub(super) type Lone<'a> = (Ends, &'a Series);

/// Two connections that could be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) first: Ends,
    pub(super) second: Ends,
}

/// Connections with one end in a file and none in any other that could belong together, each in one pair only.
pub(super) fn candidates([ours, theirs]: &[Vec<Lone<'_>>; 2]) -> Vec<Candidate> {
    let mut pairs = Vec::new();
    for (a, one) in ours {
        for (b, other) in theirs {
            if could_be_one(one, other) {
                pairs.push(Candidate { first: *a, second: *b });
            }
        }
    }
    let unique = |pair: &&Candidate| {
        let shares = |other: &&Candidate| other.first == pair.first || other.second == pair.second;
        pairs.iter().filter(shares).count() == 1
    };
    pairs.iter().filter(unique).copied().collect()
}

/// Connections of a file that move data, and whose other end is in none of all the files.
pub(super) fn lone<'a>(this: &'a Census, all: &[Census]) -> Vec<Lone<'a>> {
    let here = this.series.iter().filter(|(_, series)| series.grew() && series.counts.len() >= LEAST_CHANGES);
    let alone = here.filter(|((ends, _), _)| {
        let peer = mirrored(*ends);
        !all.iter().any(|census| census.cookies.contains_key(&peer)) && this.only(ends).is_some()
    });
    let mut alone: Vec<_> = alone.map(|((ends, _), series)| (*ends, series)).collect();
    alone.sort_unstable_by_key(|(ends, series)| (std::cmp::Reverse(series.counts.len()), *ends));
    alone.truncate(COMPARED);
    alone
}

/// Whether what each sent is what the other received, in both directions, step by step, at times that one offset explains.
fn could_be_one(one: &Series, other: &Series) -> bool {
    let covers = |s: &Series, r: &Series| {
        let reached = |count: fn(&super::offset::Counts) -> u64, series: &Series| {
            let ends = series.counts.first().zip(series.counts.last());
            ends.map_or((0, 0), |(first, last)| (count(first), count(last)))
        };
        let (acked, received) = (reached(|end| end.acked, s), reached(|end| end.received, r));
        acked.0 <= received.1 && received.0 <= acked.1 && shares(s, r)
    };
    if !covers(one, other) || !covers(other, one) {
        return false;
    }
    let Bounds { low: Some(low), high: Some(high) } = bounds(&one.counts, &other.counts) else { return false };
    low <= high && high - low < CLOSE_US
}

/// Whether most of the counts that R went through are counts that S went through as well.
fn shares(s: &Series, r: &Series) -> bool {
    let went: rustc_hash::FxHashSet<u64> =
        s.counts.iter().flat_map(|end| [Some(end.acked), end.sent, end.acked.checked_add(1)]).flatten().collect();
    let received: rustc_hash::FxHashSet<u64> = r.counts.iter().map(|end| end.received).collect();
    let known = received.iter().filter(|count| went.contains(count)).count();
    known >= LEAST_CHANGES.min(received.len()) && known * 2 >= received.len()
}
