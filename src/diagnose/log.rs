//! Holds that ended, counted and measured.

use std::collections::VecDeque;

use crate::model::Moment;

use super::hold::{Cause, Ending, OpenHold};

/// Ended holds that are kept one by one, for charts.
const KEPT: usize = 256;

/// Lengths are counted by the millisecond up to this one; longer ones share the last place.
const LONGEST_MS: usize = 1_000;

/// Seconds of the strip.
pub const STRIP_SECONDS: usize = 60;

/// One hold that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedHold {
    /// When it began.
    pub started: Moment,
    /// How long it lasted, µs.
    pub length_us: u64,
    /// What it waited for.
    pub cause: Cause,
    /// What ended it.
    pub ending: Ending,
    /// The most bytes that it held.
    pub bytes: u32,
    /// Whether two looks at both ends met it.
    pub seen_twice: bool,
    /// Whether R's kernel reported its delayed-ACK timer meanwhile.
    pub timer_seen: bool,
}

impl EndedHold {
    fn is_proof(&self) -> bool {
        self.seen_twice && self.ending == Ending::Timer
    }
}

/// Ended holds of one kind: how many, and how long.
#[derive(Clone, Debug, Default)]
pub struct Lengths {
    by_ms: Vec<u32>,
    /// How many.
    pub count: u64,
    /// The longest, µs.
    pub max_us: u64,
    /// All together, µs.
    pub total_us: u64,
}

impl Lengths {
    /// Counts one.
    pub fn add(&mut self, length_us: u64) {
        let ms = place(length_us);
        if self.by_ms.len() <= ms {
            self.by_ms.resize(ms + 1, 0);
        }
        self.by_ms[ms] = self.by_ms[ms].saturating_add(1);
        self.count += 1;
        self.max_us = self.max_us.max(length_us);
        self.total_us += length_us;
    }

    /// Adds all of `other`'s.
    pub fn merge(&mut self, other: &Self) {
        if self.by_ms.len() < other.by_ms.len() {
            self.by_ms.resize(other.by_ms.len(), 0);
        }
        for (mine, theirs) in self.by_ms.iter_mut().zip(&other.by_ms) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count += other.count;
        self.max_us = self.max_us.max(other.max_us);
        self.total_us += other.total_us;
    }

    /// Takes one away that was counted before.
    fn remove(&mut self, length_us: u64) {
        let Some(place) = self.by_ms.get_mut(place(length_us)) else { return };
        *place = place.saturating_sub(1);
        self.count = self.count.saturating_sub(1);
        self.total_us = self.total_us.saturating_sub(length_us);
        if length_us == self.max_us {
            let longest = self.by_ms.iter().rposition(|n| *n > 0).unwrap_or(0);
            self.max_us = u64::try_from(longest).unwrap_or(0) * 1000;
        }
    }

    /// The length that `percent` of the holds do not exceed, ms; `None` when there are none.
    pub fn percentile_ms(&self, percent: u32) -> Option<u32> {
        let wanted = (self.count * u64::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        let place = self.by_ms.iter().position(|n| {
            seen += u64::from(*n);
            seen >= wanted
        })?;
        u32::try_from(place).ok()
    }

    /// How many holds lasted `ms` milliseconds, for each `ms` from 0 up to the longest counted.
    pub fn by_ms(&self) -> &[u32] {
        &self.by_ms
    }
}

/// Where a length is counted: milliseconds, rounded to the nearest.
fn place(length_us: u64) -> usize {
    usize::try_from((length_us + 500) / 1000).unwrap_or(LONGEST_MS).min(LONGEST_MS)
}

/// Holds that were seen and whose end was not: all that surveys without probes can give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glimpses {
    /// Both ends fitted together, and R's program had read what came.
    pub paired: u64,
    /// Both ends fitted together, and R's program had not read it.
    pub unread: u64,
    /// Only S was seen, waiting longer than the round trip takes.
    pub aged: u64,
    /// S was seen to wait no longer than the round trip that all its segments take.
    pub round_trip: u64,
}

impl Glimpses {
    /// Counts a hold whose end was not seen.
    pub fn count(&mut self, hold: &OpenHold) {
        if hold.paired > hold.unread {
            self.paired += 1;
        } else if hold.paired > 0 {
            self.unread += 1;
        } else if hold.aged > 0 {
            self.aged += 1;
        } else if hold.is_round_trip() {
            self.round_trip += 1;
        }
    }
}

/// All ended holds of one direction.
#[derive(Clone, Debug, Default)]
pub struct HoldLog {
    recent: VecDeque<EndedHold>,
    kinds: Vec<(Cause, Ending, Lengths)>,
    /// Holds ended by the timer that two looks at both ends had met: the proofs.
    pub proofs: u64,
    /// Holds in which R's kernel reported its delayed-ACK timer.
    pub timer_seen: u64,
    /// Holds whose end nobody saw, by what was seen of them.
    pub glimpses: Glimpses,
    strip: VecDeque<(u64, u32)>,
}

impl HoldLog {
    /// Takes one.
    pub fn add(&mut self, hold: EndedHold) {
        self.proofs += u64::from(hold.is_proof());
        self.timer_seen += u64::from(hold.timer_seen);
        self.lengths_of(hold.cause, hold.ending).add(hold.length_us);
        if hold.ending != Ending::Brief {
            self.note(hold);
        }
    }

    fn lengths_of(&mut self, cause: Cause, ending: Ending) -> &mut Lengths {
        let found = self.kinds.iter().position(|kind| (kind.0, kind.1) == (cause, ending));
        let place = found.unwrap_or_else(|| {
            self.kinds.push((cause, ending, Lengths::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[place].2
    }

    /// No delayed-ACK timer has fired: what seemed to be ended by one since then was not.
    pub fn refute_timers(&mut self, since: Moment) {
        let ended_since = |hold: &EndedHold| hold.started.after(hold.length_us) > since;
        let first = self.recent.iter().rposition(|hold| !ended_since(hold)).map_or(0, |last_before| last_before + 1);
        for place in first..self.recent.len() {
            let hold = self.recent[place];
            if !hold.ending.is_timer() {
                continue;
            }
            self.proofs = self.proofs.saturating_sub(hold.is_proof().into());
            self.timer_seen = self.timer_seen.saturating_sub(hold.timer_seen.into());
            self.lengths_of(hold.cause, hold.ending).remove(hold.length_us);
            self.lengths_of(hold.cause, Ending::Unexplained).add(hold.length_us);
            self.recent[place].ending = Ending::Unexplained;
        }
    }

    fn note(&mut self, hold: EndedHold) {
        if self.recent.len() == KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(hold);
        let second = hold.started.after(hold.length_us).0 / 1_000_000;
        let ms = u32::try_from(hold.length_us / 1000).unwrap_or(u32::MAX);
        match self.strip.back_mut() {
            Some((last, sum)) if *last == second => *sum = sum.saturating_add(ms),
            _ => self.strip.push_back((second, ms)),
        }
        if self.strip.len() > STRIP_SECONDS {
            self.strip.pop_front();
        }
    }

    /// How many holds of that cause ended so.
    pub fn count(&self, cause: Cause, ending: Ending) -> u64 {
        self.of(cause, ending).map_or(0, |lengths| lengths.count)
    }

    /// How many of the latest holds are of that cause and ended so, brief ones left out.
    pub fn count_recent(&self, cause: Cause, endings: &[Ending]) -> u64 {
        let counts = |hold: &&EndedHold| hold.cause == cause && endings.contains(&hold.ending);
        self.recent.iter().filter(counts).count().try_into().unwrap_or(u64::MAX)
    }

    /// The lengths of the holds of that cause that ended so.
    pub fn of(&self, cause: Cause, ending: Ending) -> Option<&Lengths> {
        self.kinds.iter().find(|kind| (kind.0, kind.1) == (cause, ending)).map(|kind| &kind.2)
    }

    /// The lengths of all holds of that cause with one of these endings.
    pub fn merged(&self, cause: Cause, endings: &[Ending]) -> Lengths {
        let mut all = Lengths::default();
        for (of, ending, lengths) in &self.kinds {
            if *of == cause && endings.contains(ending) {
                all.merge(lengths);
            }
        }
        all
    }

    /// The latest ended holds, oldest first, at most 256, brief ones left out.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &EndedHold> {
        self.recent.iter()
    }

    /// Milliseconds held in each of the last 60 seconds up to `now`, oldest first.
    pub fn strip(&self, now: Moment) -> [u32; STRIP_SECONDS] {
        let mut strip = [0; STRIP_SECONDS];
        let now = now.0 / 1_000_000;
        for (second, ms) in &self.strip {
            let back = usize::try_from(now.saturating_sub(*second)).unwrap_or(usize::MAX);
            if let Some(place) = STRIP_SECONDS.checked_sub(back + 1) {
                strip[place] += ms;
            }
        }
        strip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(started_ms: u64, length_ms: u64, ending: Ending) -> EndedHold {
        let started = Moment(started_ms * 1000);
        EndedHold {
            started,
            length_us: length_ms * 1000,
            cause: Cause::Nagle,
            ending,
            bytes: 10,
            seen_twice: true,
            timer_seen: true,
        }
    }

    #[test]
    fn percentiles_are_of_the_holds_themselves() {
        let mut lengths = Lengths::default();
        assert_eq!(lengths.percentile_ms(50), None);
        for ms in [40, 44, 44, 44, 200] {
            lengths.add(ms * 1000);
        }
        assert_eq!([50, 90, 100].map(|p| lengths.percentile_ms(p)), [Some(44), Some(200), Some(200)]);
        assert_eq!(lengths.max_us, 200_000);
        lengths.add(3_600_000_000);
        assert_eq!(lengths.percentile_ms(100), Some(1000));
    }

    #[test]
    fn only_holds_seen_twice_and_ended_by_the_timer_are_proofs() {
        let mut log = HoldLog::default();
        log.add(hold(0, 44, Ending::Timer));
        log.add(hold(50, 44, Ending::Reply));
        log.add(EndedHold { seen_twice: false, ..hold(100, 44, Ending::Timer) });
        assert_eq!(log.proofs, 1);
        assert_eq!(log.count(Cause::Nagle, Ending::Timer), 2);
        assert_eq!(log.merged(Cause::Nagle, &[Ending::Timer, Ending::Reply]).count, 3);
    }

    #[test]
    fn timers_that_did_not_fire_end_nothing() {
        let mut log = HoldLog::default();
        log.add(hold(0, 44, Ending::Timer));
        log.add(hold(1_000, 50, Ending::Timer));
        log.add(hold(1_100, 60, Ending::Reply));
        log.refute_timers(Moment(1_000_000));
        assert_eq!([log.proofs, log.count(Cause::Nagle, Ending::Timer)], [1, 1], "the one before stays");
        assert_eq!(
            log.of(Cause::Nagle, Ending::Timer).map(|lengths| (lengths.max_us, lengths.total_us)),
            Some((44_000, 44_000))
        );
        assert_eq!(log.count(Cause::Nagle, Ending::Unexplained), 1);
        assert_eq!(log.count_recent(Cause::Nagle, &[Ending::Timer, Ending::Reply]), 2);
        log.refute_timers(Moment(0));
        assert_eq!([log.proofs, log.count(Cause::Nagle, Ending::Timer)], [0, 0]);
        log.refute_timers(Moment(0));
        assert_eq!(log.count(Cause::Nagle, Ending::Unexplained), 2, "each is moved once");
    }

    #[test]
    fn the_strip_ends_now_and_forgets_after_a_minute() {
        let mut log = HoldLog::default();
        log.add(hold(1_000, 44, Ending::Timer));
        log.add(hold(1_050, 44, Ending::Timer));
        assert_eq!(log.strip(Moment(1_900_000))[59], 88);
        assert_eq!(log.strip(Moment(3_000_000))[57], 88);
        assert_eq!(log.strip(Moment(70_000_000)).iter().sum::<u32>(), 0);
    }
}
