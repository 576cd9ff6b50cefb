//! Several files as one picture: which clock is how far from which, from a first pass over all of them.

mod candidates;
mod census;
mod offset;

use std::collections::VecDeque;
use std::path::PathBuf;

use super::SourceError;
use super::grouping::FIRST;
use crate::model::{ClockSource, HostClock};
use crate::wire::HostId;

use census::{Census, Ends, mirrored};
use offset::{Bounds, Estimate, NoEstimate, TOLERATED_US, bounds, estimate};

/// Candidates that are named in words, for each two files.
const NAMED: usize = 5;

/// How the files of a picture relate.
#[derive(Clone, Debug, Default)]
pub(super) struct Relation {
    /// The clock of each.
    pub(super) clocks: Vec<HostClock>,
    /// What is added to the moments of each, µs.
    pub(super) shifts: Vec<i64>,
    /// What was found out, and what was not.
    pub(super) notes: Vec<String>,
}

impl Relation {
    /// Reads all files and relates them.
    ///
    /// # Errors
    /// One of them cannot be read, or holds no socket.
    pub(super) fn of(paths: &[PathBuf]) -> Result<Self, SourceError> {
        let censuses = paths.iter().map(|path| Census::of(path)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let mut relating = Relating::new(&censuses, &names);
        relating.estimate_all();
        relating.guess_the_rest();
        relating.look_for_translation();
        Ok(relating.finish())
    }
}

struct Relating<'a> {
    censuses: &'a [Census],
    names: &'a [String],
    /// How much later each clock is than the first, µs.
    offsets: Vec<Option<i64>>,
    clocks: Vec<HostClock>,
    notes: Vec<String>,
}

impl<'a> Relating<'a> {
    fn new(censuses: &'a [Census], names: &'a [String]) -> Self {
        let clocks = vec![HostClock::default(); censuses.len()];
        Self { censuses, names, offsets: vec![None; censuses.len()], clocks, notes: Vec::new() }
    }

    /// Goes from each clock that is related to all that can be related to it.
    fn estimate_all(&mut self) {
        let mut queue = VecDeque::from([0]);
        self.offsets[0] = Some(0);
        self.clocks[0] = HostClock::reference(HostId(0));
        while let Some(from) = queue.pop_front() {
            for to in 0..self.censuses.len() {
                if self.offsets[to].is_none() && self.relate(from, to) {
                    queue.push_back(to);
                }
            }
        }
    }

    /// Relates a clock to one that is related already; answers whether that could be done.
    fn relate(&mut self, from: usize, to: usize) -> bool {
        let (Some(base_us), Some(base_unsure_us)) = (self.offsets[from], self.clocks[from].uncertainty_us) else {
            return false;
        };
        let found = self.between(from, to);
        let (offset_us, unsure_us, source) = match (self.same_boot(from, to), found) {
            (Some(exact), Ok(found)) if contradicts(exact, found) => {
                (found.offset_us, found.uncertainty_us, ClockSource::ByteCounts)
            }
            (Some(exact), _) => (exact, 0, ClockSource::SameBoot),
            (None, Ok(found)) => {
                if found.left_out > 0 {
                    self.notes.push(format!(
                        "{}: {} of {} connections shared with {} contradict the others, and did not count for the clocks' offset",
                        self.names[to], found.left_out, found.left_out + found.connections, self.names[from]
                    ));
                }
                (found.offset_us, found.uncertainty_us, ClockSource::ByteCounts)
            }
            (None, Err(NoEstimate::Contradiction)) => {
                self.notes.push(format!(
                    "{} and {} share connections whose byte counts contradict one another: one of the clocks was set or drifts, or \
                     addresses were used again",
                    self.names[from], self.names[to]
                ));
                return false;
            }
            (None, Err(NoEstimate::NoGrowth)) => return false,
        };
        self.offsets[to] = base_us.checked_add(offset_us);
        let uncertainty_us = base_unsure_us.checked_add(unsure_us);
        self.clocks[to] = HostClock { source, ahead_us: None, uncertainty_us, group: self.clocks[from].group };
        true
    }

    /// What the connections between two files tell.
    fn between(&self, from: usize, to: usize) -> Result<Estimate, NoEstimate> {
        let (one, other) = (&self.censuses[from], &self.censuses[to]);
        if !one.timed || !other.timed {
            return Err(NoEstimate::NoGrowth);
        }
        let shared = one.cookies.keys().filter_map(|ends: &Ends| {
            let pair = (one.only(ends)?, other.only(&mirrored(*ends))?);
            Some(bounds(&pair.0.counts, &pair.1.counts))
        });
        estimate(&shared.collect::<Vec<Bounds>>())
    }

    /// The offset of two files of one boot, whose moments are on one monotonic clock.
    fn same_boot(&self, from: usize, to: usize) -> Option<i64> {
        let (one, other) = (&self.censuses[from].host, &self.censuses[to].host);
        let same = one.boot_id.is_some() && one.boot_id == other.boot_id;
        let zero = |us: Option<u64>| us.filter(|_| same).and_then(|us| i64::try_from(us).ok());
        zero(one.monotonic_us)?.checked_sub(zero(other.monotonic_us)?)
    }

    /// What no connection relates goes by the clocks on the wall; without those, files begin together.
    fn guess_the_rest(&mut self) {
        for to in 0..self.censuses.len() {
            if self.offsets[to].is_none() {
                let by_wall =
                    self.wall_zero(0).zip(self.wall_zero(to)).and_then(|(first, this)| first.checked_sub(this));
                let begin = |census: &Census| i64::try_from(census.first.unwrap_or_default().0).unwrap_or(0);
                let together = begin(&self.censuses[to]) - begin(&self.censuses[0]);
                let source = if by_wall.is_some() { ClockSource::WallClock } else { ClockSource::Unknown };
                self.offsets[to] = Some(by_wall.unwrap_or(together));
                let group = HostId(u16::try_from(to).unwrap_or(u16::MAX));
                self.clocks[to] = HostClock { source, ahead_us: None, uncertainty_us: None, group };
            }
            let ahead_us = self.ahead_us(to);
            self.clocks[to].ahead_us = ahead_us;
        }
    }

    /// What the wall clock showed at moment zero, µs.
    fn wall_zero(&self, of: usize) -> Option<i64> {
        let (at, wall_us) = self.censuses[of].wall?;
        wall_us.checked_sub(i64::try_from(at.0).ok()?)
    }

    /// How much more the clock on the wall showed than the first host's at the same instant, µs.
    fn ahead_us(&self, of: usize) -> Option<i64> {
        let walls = self.wall_zero(of)?.checked_sub(self.wall_zero(0)?)?;
        walls.checked_add(self.offsets[of]?)
    }

    /// Names what could be one connection although the addresses do not match.
    fn look_for_translation(&mut self) {
        for first in 0..self.censuses.len() {
            for second in first + 1..self.censuses.len() {
                self.look_between(first, second);
            }
        }
    }

    fn look_between(&mut self, first: usize, second: usize) {
        let (one, other) = (&self.censuses[first], &self.censuses[second]);
        let shares = one.cookies.keys().any(|ends| other.cookies.contains_key(&mirrored(*ends)));
        let lone = [one, other].map(|census| candidates::lone(census, self.censuses));
        if shares || lone.iter().any(Vec::is_empty) {
            return;
        }
        let names = (&self.names[first], &self.names[second]);
        let found = candidates::candidates(&lone);
        let mut notes = vec![format!(
            "no connection has one end in {} and the other in {} by address and port: pairing by address failed, as behind NAT, a \
             proxy or redaction",
            names.0, names.1
        )];
        for pair in found.iter().take(NAMED) {
            notes.push(format!(
                "could be one connection, by byte counts alone: {} in {} and {} in {}; it was not taken for one",
                way(pair.first),
                names.0,
                way(pair.second),
                names.1
            ));
        }
        if found.len() > NAMED {
            notes.push(format!("{} more could be one by byte counts alone", found.len() - NAMED));
        }
        if found.is_empty() {
            notes.push("byte counts suggest no pair either".to_owned());
        }
        self.notes.extend(notes);
    }

    fn finish(self) -> Relation {
        let offsets: Vec<i64> = self.offsets.iter().map(|offset| offset.unwrap_or(0)).collect();
        // The earliest moment of all becomes no less than this: what began before it has a place on the clock too.
        let first_moment = i64::try_from(FIRST.0).unwrap_or(0);
        let firsts = self.censuses.iter().map(|census| i64::try_from(census.first.unwrap_or_default().0).unwrap_or(0));
        let short = offsets.iter().zip(firsts).map(|(offset, first)| offset.saturating_sub(first)).max().unwrap_or(0);
        let shifts =
            offsets.iter().map(|offset| short.max(0).saturating_add(first_moment).saturating_sub(*offset)).collect();
        Relation { clocks: self.clocks, shifts, notes: self.notes }
    }
}

/// Whether byte counts rule an offset out.
fn contradicts(offset_us: i64, found: Estimate) -> bool {
    let tolerated = found.uncertainty_us.saturating_add(TOLERATED_US.unsigned_abs());
    found.offset_us.abs_diff(offset_us) > tolerated
}

fn way([local, remote]: Ends) -> String {
    let end = |(ip, port)| crate::wire::Endpoint { ip, port };
    format!("{} to {}", end(local), end(remote))
}
