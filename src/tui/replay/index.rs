//! What a whole file holds: its length, when something stalled, changes of verdicts, marks. Pure.

use rustc_hash::FxHashMap;

use crate::diagnose::{Severity, Verdict};
use crate::engine::Engine;
use crate::model::{ConnectionId, Moment};

use super::super::build::row;
use super::super::text;
use super::super::view::Row;
use crate::source::file::Unit;

/// Least recorded time between two comparisons of verdicts, µs: finer than a second, coarser than a hold.
const COMPARED_EVERY_US: u64 = 100_000;

/// Most changes and marks that are kept: nobody goes through more one by one.
const PLACES_MAX: usize = 100_000;

/// A moment worth going to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// When.
    pub at: Moment,
    /// What happened, in a few words.
    pub what: String,
    /// Whether the user set it.
    pub is_mark: bool,
}

/// What a file holds, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The first moment at which sockets were looked at.
    pub first: Moment,
    /// The last moment.
    pub last: Moment,
    /// Whether the file was read to its end.
    pub complete: bool,
    /// A moment, and the same on the wall clock, µs since 1970.
    pub wall: Option<(Moment, i64)>,
    /// Changes of verdicts, and marks, in their order.
    pub places: Vec<Place>,
    /// From when to when something was stalled.
    pub stalls: Vec<(Moment, Moment)>,
    /// What the file cannot tell, and what was damaged.
    pub limits: Vec<String>,
}

impl Index {
    /// The nearest place after or before a moment.
    pub fn place(&self, from: Moment, forward: bool) -> Option<&Place> {
        if forward {
            self.places.iter().find(|place| place.at > from)
        } else {
            self.places.iter().rev().find(|place| place.at < from)
        }
    }

    /// A moment on the wall clock, µs since 1970.
    pub fn wall_us(&self, at: Moment) -> Option<i64> {
        let (known, wall_us) = self.wall?;
        let distance = |us: u64| i64::try_from(us).ok();
        if at >= known {
            wall_us.checked_add(distance(at.since(known))?)
        } else {
            wall_us.checked_sub(distance(known.since(at))?)
        }
    }

    /// The moment of a time of the wall clock; the first one for times before it.
    pub fn at_wall(&self, wall_us: i64) -> Option<Moment> {
        let (known, at_known) = self.wall?;
        let distance = wall_us.checked_sub(at_known)?;
        let us = distance.unsigned_abs();
        Some(if distance < 0 { known.before(us) } else { known.after(us) })
    }
}

/// Makes an index while a file is read.
#[derive(Debug, Default)]
pub struct Indexer {
    index: Index,
    began: bool,
    known: FxHashMap<ConnectionId, (Verdict, bool)>,
    compared: Option<Moment>,
    stalled: bool,
}

impl Indexer {
    /// Takes a unit that the engine has seen, which was at `at`.
    pub fn take(&mut self, at: Moment, unit: &Unit, engine: &Engine) {
        if let (Unit::Survey(Some(wall_us)), None) = (unit, self.index.wall) {
            self.index.wall = Some((at, *wall_us));
        }
        if let Unit::Mark(word) = unit {
            self.place(at, format!("mark: {}", text::clean(word)), true);
        }
        if unit.is_look() {
            if !std::mem::replace(&mut self.began, true) {
                self.index.first = at;
            }
            let rested = self.compared.is_none_or(|compared| at.since(compared) >= COMPARED_EVERY_US);
            if rested || matches!(unit, Unit::Survey(_)) {
                self.compare(at, engine);
            }
        }
        self.index.last = self.index.last.max(at);
    }

    /// The index so far.
    pub fn index(&self) -> &Index {
        &self.index
    }

    fn place(&mut self, at: Moment, what: String, is_mark: bool) {
        if self.index.places.len() < PLACES_MAX {
            self.index.places.push(Place { at, what, is_mark });
        }
    }

    fn compare(&mut self, at: Moment, engine: &Engine) {
        self.compared = Some(at);
        let now = engine.now();
        let rows: Vec<Row> = engine.tracked().filter_map(|id| row(engine, id)).collect();
        let mut changes: Vec<&Row> = rows.iter().filter(|row| self.differs(row, now)).collect();
        changes.sort_unstable_by_key(|row| (std::cmp::Reverse(row.severity()), row.since, row.id));
        if let Some(first) = changes.first() {
            let more = changes.len() - 1;
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            self.place(at, format!("{}{more}", tell(first, now)), false);
        }
        self.stall(at, rows.iter().any(|row| row.is_stalled(now)));
    }

    /// Whether a verdict changed, began or ended; it is the one known from then on.
    fn differs(&mut self, row: &Row, now: Moment) -> bool {
        let this = (row.verdict, row.ended(now).is_some());
        let before = self.known.insert(row.id, this);
        match before {
            Some(before) => before != this && (row.severity() > Severity::None || before.0.severity() > Severity::None),
            None => row.severity() > Severity::None,
        }
    }

    fn stall(&mut self, at: Moment, stalled: bool) {
        match self.index.stalls.last_mut() {
            Some((_, until)) if self.stalled => *until = at,
            _ if stalled => self.index.stalls.push((at, at)),
            _ => {}
        }
        self.stalled = stalled;
    }
}

/// A change in a few words.
fn tell(row: &Row, now: Moment) -> String {
    let over = if row.ended(now).is_some() { " over" } else { "" };
    let [s, r] = [&row.sender, &row.receiver].map(|end| text::address(end.ip, end.port));
    format!("{}{over}: {s} to {r}", row.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_strictly_before_and_after() {
        let place = |at| Place { at: Moment(at), what: at.to_string(), is_mark: false };
        let index = Index { places: vec![place(5), place(9)], ..Index::default() };
        let at = |from, forward| index.place(Moment(from), forward).map(|place| place.at.0);
        assert_eq!([at(0, true), at(5, true), at(9, true)], [Some(5), Some(9), None]);
        assert_eq!([at(10, false), at(9, false), at(5, false)], [Some(9), Some(5), None]);
    }

    #[test]
    fn the_wall_clock_is_reckoned_from_one_reading_in_both_directions() {
        let index = Index { wall: Some((Moment(1_000), 50_000)), ..Index::default() };
        assert_eq!([0, 1_000, 2_000].map(|at| index.wall_us(Moment(at))), [Some(49_000), Some(50_000), Some(51_000)]);
        assert_eq!(index.at_wall(52_500), Some(Moment(3_500)));
        assert_eq!(index.at_wall(0), Some(Moment(0)));
        assert_eq!(Index::default().wall_us(Moment(7)), None);
        let extreme = Index { wall: Some((Moment(0), i64::MAX)), ..Index::default() };
        assert_eq!(extreme.wall_us(Moment(u64::MAX)), None);
        assert_eq!(extreme.at_wall(-2), None);
    }
}
