//! A file as a drive: recorded time that passes, stands still, and is gone back and forth in.
//!
//! An engine only goes forward, so going back is reading on from a station before, or from the start. A second reader goes
//! through the whole file on a thread of its own and makes the index.
#![allow(clippy::disallowed_methods)]

pub mod aim;
pub mod index;
mod indexing;
mod stations;
mod tape;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::model::{Moment, Owners};
use crate::source::file::{Picture, SourceError, Unit};
use crate::wire::HostId;

use super::drive::{Drive, Stepped};
use super::message::Control;
use super::view::{Playback, Said};
use aim::Aim;
use index::Index;
use indexing::Indexing;
use stations::Stations;
use tape::{Deck, rereadable};

/// The longest time for which commands are not looked at.
const ATTENTION: Duration = Duration::from_millis(20);

/// Time between two pictures while time passes.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// The speeds, in percent of the recorded time.
const SPEEDS: [u32; 7] = [25, 50, 100, 200, 400, 800, 1_600];

/// While time passes, a place that was passed so short a time ago is the one to go back from, µs.
const JUST_PASSED_US: u64 = 500_000;

/// Why a file is not replayed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It cannot be gone back in.
    #[error("{0}")]
    Stream(String),
    /// Nothing was looked at in it.
    #[error("{0} was read to its end, and no survey is in it: record for longer than a moment")]
    Nothing(String),
    /// There is no second reader.
    #[error("making a thread that reads the file failed: {0}")]
    Thread(#[from] std::io::Error),
}

/// How far a move goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Everything up to that moment.
    To(Moment),
    /// To the last look before that moment.
    Before(Moment),
    /// To the next look.
    Step,
}

/// A file that is replayed.
pub struct Replay {
    /// What is shown of the files' names.
    name: String,
    deck: Deck,
    /// What is read anew from the start, until the goal is reached and it is shown.
    fresh: Option<Deck>,
    stations: Stations,
    goal: Option<Goal>,
    position: Moment,
    playing: bool,
    speed: usize,
    /// When recorded time was last let pass.
    ticked: Instant,
    shown: Instant,
    /// How long nothing is due after the latest step.
    idle: Duration,
    here: Option<String>,
    said: Option<Said>,
    indexing: Indexing,
    /// The index that was shown last.
    index: Arc<Index>,
    first: Moment,
}

impl Replay {
    /// Opens files, as one picture, and reads them up to the first survey; time begins to pass with the first step.
    ///
    /// # Errors
    /// It cannot be read, is a stream, or holds nothing that was looked at.
    pub fn open(paths: &[PathBuf]) -> Result<Self, OpenError> {
        let paths = paths.iter().map(|path| rereadable(path)).collect::<Result<Vec<_>, _>>();
        let paths = paths.map_err(OpenError::Stream)?;
        let mut deck = Deck::of(Picture::open(&paths)?);
        let name = name(&paths);
        while deck.looked.is_none() {
            if deck.advance()?.is_none() {
                return Err(OpenError::Nothing(name));
            }
        }
        let position = deck.at();
        while deck.next_at()?.is_some_and(|next| next <= position) {
            deck.advance()?;
        }
        let indexing = Indexing::start(deck.anew()?)?;
        let now = Instant::now();
        Ok(Self {
            name,
            deck,
            fresh: None,
            stations: Stations::default(),
            goal: None,
            position,
            playing: true,
            speed: 2,
            ticked: now,
            shown: now,
            idle: Duration::ZERO,
            here: None,
            said: None,
            index: indexing.index(),
            indexing,
            first: position,
        })
    }

    /// Goes to a goal; `back` when it lies before what was read.
    fn seek(&mut self, goal: Goal, back: bool) {
        self.fresh = None;
        self.goal = Some(goal);
        self.here = None;
        let moment = match goal {
            // Whatever was at that moment belongs to it.
            Goal::To(at) => at.after(1),
            Goal::Before(at) => at,
            Goal::Step => Moment(u64::MAX),
        };
        if back {
            match self.stations.before(moment).map_or_else(|| self.deck.anew(), Ok) {
                Ok(deck) => self.fresh = Some(deck),
                Err(error) => self.give_up(&error),
            }
        }
    }

    fn give_up(&mut self, error: &SourceError) {
        self.fresh = None;
        self.goal = None;
        self.playing = false;
        self.said = Some(Said { text: error.to_string(), failed: true });
    }

    fn go_to(&mut self, at: Moment) {
        let at = at.max(self.first);
        self.seek(Goal::To(at), at < self.deck.at());
    }

    fn go_to_place(&mut self, forward: bool) {
        let just_passed = if self.playing && !forward { JUST_PASSED_US } else { 0 };
        let index = self.indexing.index();
        if let Some(place) = index.place(self.position.before(just_passed), forward) {
            self.go_to(place.at);
            self.here = Some(place.what.clone());
            return;
        }
        let way = if forward { "after" } else { "before" };
        let so_far = if index.complete { "" } else { " in what was read so far" };
        let text = format!("no change of verdict and no mark {way} this moment{so_far}");
        self.said = Some(Said { text, failed: false });
    }

    fn aim(&mut self, aim: Aim) {
        let index = self.indexing.index();
        let span = index.last.since(self.first);
        let at = match aim {
            Aim::FromStart(us) => Some(self.first.after(us)),
            Aim::By(us) if us < 0 => Some(self.position.before(us.unsigned_abs())),
            Aim::By(us) => Some(self.position.after(us.unsigned_abs())),
            Aim::Percent(percent) => Some(self.first.after(span / 100 * u64::from(percent))),
            Aim::Wall(us) => index.at_wall(us),
        };
        let Some(at) = at else {
            let text = "the file does not tell its time of day: give a time from the start".to_owned();
            self.said = Some(Said { text, failed: true });
            return;
        };
        self.go_to(at);
    }

    fn step_back(&mut self) {
        self.playing = false;
        let looked = self.deck.looked.unwrap_or(self.first);
        if looked <= self.first {
            self.go_to(self.first);
        } else {
            self.seek(Goal::Before(looked), true);
        }
    }

    /// Lets time pass, or stops it; from the end on it passes from the start.
    fn play(&mut self) -> Result<(), SourceError> {
        self.ticked = Instant::now();
        self.playing = !self.playing;
        if self.playing && self.goal.is_none() && self.deck.next_at()?.is_none() {
            self.go_to(self.first);
        }
        Ok(())
    }

    /// Reads towards the goal for as long as nobody is kept waiting.
    fn approach(&mut self, goal: Goal) -> Result<Stepped, SourceError> {
        let began = Instant::now();
        let deck = self.fresh.as_mut().unwrap_or(&mut self.deck);
        loop {
            let next = deck.next_at()?;
            let wanted = match (goal, next) {
                (_, None) => false,
                // The first look is always shown: before it there is nothing.
                _ if deck.looked.is_none() => true,
                (Goal::To(at), Some(next)) => next <= at,
                (Goal::Before(at), Some(next)) => next < at,
                (Goal::Step, Some(_)) => true,
            };
            if !wanted {
                break;
            }
            let unit = deck.advance()?;
            if matches!(unit, Some(Unit::Survey(_))) {
                self.stations.pass(deck);
                if let Goal::Before(at) = goal {
                    self.stations.approach(deck, at);
                }
            }
            if goal == Goal::Step && unit.is_some_and(|unit| unit.is_look()) {
                break;
            }
            if began.elapsed() >= ATTENTION {
                return Ok(self.show_in_time());
            }
        }
        Ok(self.arrive(goal))
    }

    fn arrive(&mut self, goal: Goal) -> Stepped {
        self.goal = None;
        let rewound = self.fresh.take().map(|fresh| self.deck = fresh).is_some();
        let at = self.deck.at();
        self.position = match goal {
            // Beyond the last moment there is nothing to stand at.
            Goal::To(to) if self.deck.next_at().is_ok_and(|next| next.is_some()) => to.max(at),
            Goal::To(_) => at,
            Goal::Before(_) | Goal::Step => self.deck.looked.unwrap_or(at),
        };
        self.ticked = Instant::now();
        self.shown = self.ticked;
        if rewound { Stepped::Rewound } else { Stepped::Surveyed }
    }

    /// Lets recorded time pass as real time did.
    fn pass(&mut self) -> Result<Stepped, SourceError> {
        let now = Instant::now();
        let real = u64::try_from((now - self.ticked).as_micros()).unwrap_or(u64::MAX);
        self.ticked = now;
        self.position = self.position.after(real.saturating_mul(SPEEDS[self.speed].into()) / 100);
        loop {
            match self.deck.next_at()? {
                None => {
                    self.playing = false;
                    self.position = self.deck.at();
                    return Ok(Stepped::Surveyed);
                }
                Some(next) if next > self.position => {
                    let wait = next.since(self.position).saturating_mul(100) / u64::from(SPEEDS[self.speed]);
                    self.idle = Duration::from_micros(wait).min(ATTENTION);
                    return Ok(self.show_in_time());
                }
                Some(_) => {
                    let unit = self.deck.advance()?;
                    if matches!(unit, Some(Unit::Survey(_))) {
                        self.stations.pass(&self.deck);
                        return Ok(Stepped::Surveyed);
                    }
                }
            }
            if now.elapsed() >= ATTENTION {
                // Time does not run away from a machine that cannot keep up.
                self.position = self.deck.at();
                return Ok(self.show_in_time());
            }
        }
    }

    /// What moves by itself is shown ten times a second.
    fn show_in_time(&mut self) -> Stepped {
        if self.shown.elapsed() < SHOWN_EVERY {
            return Stepped::Waited;
        }
        self.shown = Instant::now();
        Stepped::Moved
    }

    /// Time stands still; the index may grow meanwhile.
    fn stand(&mut self) -> Stepped {
        if self.said.is_some() {
            return Stepped::Moved;
        }
        self.idle = ATTENTION;
        let index = self.indexing.index();
        if Arc::ptr_eq(&index, &self.index) {
            return Stepped::Waited;
        }
        self.index = index;
        Stepped::Moved
    }
}

/// The names of the files, for the bar.
fn name(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| path.file_name().unwrap_or_default().to_string_lossy());
    names.collect::<Vec<_>>().join(" + ")
}

impl Drive for Replay {
    fn engine(&mut self) -> &mut Engine {
        &mut self.deck.engine
    }

    fn step(&mut self) -> Result<Stepped, String> {
        self.idle = Duration::ZERO;
        let stepped = match self.goal {
            Some(goal) => self.approach(goal),
            None if self.playing => self.pass(),
            None => Ok(self.stand()),
        };
        stepped.or_else(|error| {
            self.give_up(&error);
            Ok(Stepped::Moved)
        })
    }

    fn rest(&mut self) -> Duration {
        self.idle
    }

    fn period(&self) -> Duration {
        Duration::ZERO
    }

    fn set_period(&mut self, _period: Duration) {}

    fn names_are_here(&self) -> bool {
        false
    }

    fn learn(&mut self, _found: &[(u32, Owners)]) {}

    fn named(&mut self) -> Vec<((HostId, u32), Owners)> {
        self.deck.named.drain().collect()
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::PlayPause => {
                if let Err(error) = self.play() {
                    self.give_up(&error);
                }
            }
            Control::StepBack => self.step_back(),
            Control::StepOn => {
                self.playing = false;
                self.seek(Goal::Step, false);
            }
            Control::PreviousChange => self.go_to_place(false),
            Control::NextChange => self.go_to_place(true),
            Control::Start => self.go_to(self.first),
            Control::End => self.go_to(Moment(u64::MAX)),
            Control::Slower => self.speed = self.speed.saturating_sub(1),
            Control::Faster => self.speed = (self.speed + 1).min(SPEEDS.len() - 1),
            Control::To(aim) => self.aim(aim),
        }
    }

    fn playback(&self) -> Option<Arc<Playback>> {
        let (kind, _) = self.deck.told();
        Some(Arc::new(Playback {
            name: self.name.clone(),
            kind,
            position: self.position,
            playing: self.playing,
            speed_percent: SPEEDS[self.speed],
            seeking: self.goal.is_some(),
            here: self.here.clone(),
            index: self.indexing.index(),
        }))
    }

    fn said(&mut self) -> Option<Said> {
        self.said.take()
    }
}
