//! Moments of the file from which it can be read on, so that going back does not begin at the start each time.

use crate::model::Moment;

use super::tape::Deck;

/// Sockets that all stations together may hold: some 60 MB of memory.
const SOCKETS_MAX: usize = 50_000;

/// Most stations: with so many, a file of an hour is read on for two minutes of it at most.
const STATIONS_MAX: usize = 32;

/// The first distance between two stations, µs.
const APART_US: u64 = 5_000_000;

/// How long before where somebody steps back to a station stands, µs: the next steps then begin there.
const NEAR_US: u64 = 8_000_000;

/// What was kept of a file on the way through it.
#[derive(Default)]
pub struct Stations {
    /// At even distances, oldest first.
    spread: Vec<Deck>,
    apart_us: u64,
    /// Shortly before where somebody steps back to.
    near: Option<Deck>,
}

impl Stations {
    /// The latest station before a moment, to be read on from.
    pub fn before(&self, moment: Moment) -> Option<Deck> {
        let all = self.spread.iter().chain(&self.near);
        let earlier = all.filter(|deck| deck.looked.is_some() && deck.at() < moment);
        earlier.max_by_key(|deck| deck.at())?.fork()
    }

    /// Takes notice of where a deck is, after a survey.
    pub fn pass(&mut self, deck: &Deck) {
        let room = SOCKETS_MAX / deck.engine.table().entries().count().max(1);
        // One place is the near one's.
        let room = room.min(STATIONS_MAX).saturating_sub(1);
        let apart_us = self.apart_us.max(APART_US);
        let last = self.spread.last().map_or(Moment(0), Deck::at);
        if room == 0 || deck.at().since(last) < apart_us {
            return;
        }
        self.apart_us = apart_us;
        self.spread.extend(deck.fork());
        while self.spread.len() > room {
            self.apart_us *= 2;
            let mut odd = false;
            self.spread.retain(|_| {
                odd = !odd;
                odd
            });
        }
    }

    /// Takes notice of where a deck is that goes back to a moment.
    pub fn approach(&mut self, deck: &Deck, moment: Moment) {
        let is_near = |at: Moment| at < moment && moment.since(at) <= NEAR_US;
        if is_near(deck.at()) && !self.near.as_ref().is_some_and(|near| is_near(near.at())) {
            self.near = deck.fork();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Event, SurveyReport};
    use crate::record::Writer;
    use crate::source::file::Picture;

    const SECOND: u64 = 1_000_000;

    /// A survey each second, from second 1 on.
    fn deck(folder: &std::path::Path, seconds: u64) -> Deck {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for second in 1..=seconds {
            let at = Moment(second * SECOND);
            writer.write(&Event::SurveyBegin { at, wall_us: None }).unwrap();
            writer.write(&Event::SurveyEnd { at, report: &SurveyReport::default() }).unwrap();
        }
        let path = folder.join("a.ssrec");
        #[allow(clippy::disallowed_methods)]
        std::fs::write(&path, writer.finish().unwrap()).unwrap();
        Deck::of(Picture::open(&[path]).unwrap())
    }

    #[test]
    fn stations_stay_few_and_one_is_never_far_before() {
        let folder = tempfile::tempdir().unwrap();
        let mut deck = deck(folder.path(), 600);
        let mut stations = Stations::default();
        while deck.advance().unwrap().is_some() {
            stations.pass(&deck);
        }
        assert!((8..STATIONS_MAX).contains(&stations.spread.len()), "{}", stations.spread.len());
        assert!(stations.apart_us <= 600 * SECOND / 8, "{}", stations.apart_us);
        for second in [100, 333, 600] {
            let at = Moment(second * SECOND);
            let mut station = stations.before(at).expect("a station").at();
            assert!(station < at && at.since(station) <= stations.apart_us + SECOND, "{station:?} before {at:?}");
            // What is read on from there is the same file.
            let mut fork = stations.before(at).unwrap();
            while fork.next_at().unwrap().is_some_and(|next| next < at) {
                fork.advance().unwrap();
                assert!(fork.at() > station);
                station = fork.at();
            }
            assert_eq!((fork.at(), fork.engine.surveys()), (Moment((second - 1) * SECOND), second - 1));
        }
        assert!(stations.before(Moment(SECOND)).is_none());
    }

    #[test]
    fn who_goes_back_leaves_a_station_just_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut deck = deck(folder.path(), 60);
        let mut stations = Stations::default();
        let goal = Moment(50 * SECOND);
        while deck.next_at().unwrap().is_some_and(|next| next < goal) {
            deck.advance().unwrap();
            stations.approach(&deck, goal);
        }
        let near = stations.before(Moment(49 * SECOND)).expect("a station").at();
        assert!(goal.since(near) <= NEAR_US && near < Moment(45 * SECOND), "{near:?}");
    }
}
