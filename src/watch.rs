//! Watching this host: surveys at their period, probes between them, until the time is up or somebody says stop.
#![allow(clippy::disallowed_methods)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::engine::Engine;
use crate::model::{Event, Host, Moment};
use crate::source::{self, Clock, Live, LiveOptions, LookError};

/// Share of one core that probing may take.
const PROBE_SHARE: f64 = 0.05;

/// Share of its period that a survey may take; beyond it the period stretches.
const SURVEY_SHARE: u64 = 5;

/// What the notes say then.
const STRETCHED: &str =
    "a survey took more than a fifth of its period: the next one was put off, so that surveys take no more";

/// How soon a stop is noticed.
const ATTENTION: Duration = Duration::from_millis(20);

/// How to watch.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// What to look at.
    pub live: LiveOptions,
    /// Survey period.
    pub interval: Duration,
    /// Time between two probes of one connection.
    pub probe_interval: Duration,
    /// Whether to probe at all.
    pub probe: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            live: LiveOptions::default(),
            interval: Duration::from_secs(1),
            probe_interval: Duration::from_millis(10),
            probe: true,
        }
    }
}

/// What the watch did in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A survey.
    Surveyed,
    /// A round of probes.
    Probed,
    /// Nothing was due.
    Waited,
}

/// A watch in progress: the kernel on one side, the engine on the other.
#[derive(Debug)]
pub struct Watch {
    live: Live,
    /// What was made of it all.
    pub engine: Engine,
    options: WatchOptions,
    next_survey: Moment,
    period_us: u64,
    survey_us: u64,
}

impl Watch {
    /// Opens the channel and tells the engine about the host. `tee` is shown every event.
    ///
    /// # Errors
    /// The kernel or a sandbox refuses to be looked at.
    pub fn start(options: WatchOptions, tee: &mut dyn FnMut(&Event<'_>)) -> Result<Self, LookError> {
        let live = Live::open(options.live.clone())?;
        let engine = Engine::new(micros(options.probe_interval));
        let period_us = micros(options.interval).max(1);
        let mut watch = Self { live, engine, options, next_survey: Moment(0), period_us, survey_us: 0 };
        let host = Host { monotonic_us: watch.clock().started_us(), ..source::host() };
        watch.feed(Event::Host(&host), tee);
        watch.count(tee);
        Ok(watch)
    }

    fn feed(&mut self, event: Event<'_>, tee: &mut dyn FnMut(&Event<'_>)) {
        tee(&event);
        self.engine.feed(event);
    }

    fn count(&mut self, tee: &mut dyn FnMut(&Event<'_>)) {
        let event = Event::Counters { at: self.clock().now(), counters: source::counters() };
        self.feed(event, tee);
    }

    /// The clock that all moments are on.
    pub fn clock(&self) -> Clock {
        self.live.clock()
    }

    /// The survey period in force: longer than asked for when surveys take long.
    pub fn period(&self) -> Duration {
        Duration::from_micros(self.period_us)
    }

    /// How long the latest survey took.
    pub fn survey_took(&self) -> Duration {
        Duration::from_micros(self.survey_us)
    }

    /// Changes the survey period, from the next survey on.
    pub fn set_interval(&mut self, interval: Duration) {
        self.options.interval = interval;
        self.stretch();
        self.next_survey = self.next_survey.min(self.clock().now().after(self.period_us));
    }

    /// Makes the next step a survey.
    pub fn survey_next(&mut self) {
        self.next_survey = Moment(0);
    }

    /// Makes a survey now.
    ///
    /// # Errors
    /// No dump could be made at all. The engine has noted it; earlier data stay.
    pub fn survey(&mut self, tee: &mut dyn FnMut(&Event<'_>)) -> Result<(), LookError> {
        let began = self.clock().now();
        let Self { live, engine, .. } = self;
        let result = live.survey(&mut |event| {
            tee(&event);
            engine.feed(event);
        });
        self.survey_us = self.clock().now().since(began);
        self.stretch();
        if self.is_stretched() {
            self.engine.note(STRETCHED);
        }
        self.next_survey = began.after(self.period_us);
        self.count(tee);
        result
    }

    /// Whether surveys take too long for the period that was asked for.
    pub fn is_stretched(&self) -> bool {
        self.period_us > micros(self.options.interval).max(1)
    }

    fn stretch(&mut self) {
        self.period_us = micros(self.options.interval).max(self.survey_us.saturating_mul(SURVEY_SHARE)).max(1);
    }

    /// How long nothing is due.
    pub fn rest(&self) -> Duration {
        let now = self.clock().now();
        let next = self.next_look(self.room()).map_or(self.next_survey, |look| look.min(self.next_survey));
        Duration::from_micros(next.since(now))
    }

    /// How many connections can be probed within the budget.
    fn room(&self) -> usize {
        self.live.room(self.options.probe_interval, PROBE_SHARE)
    }

    fn next_look(&self, room: usize) -> Option<Moment> {
        if self.options.probe { self.engine.next_look(room) } else { None }
    }

    /// Does what is due, or waits for it, no longer than 20 ms and no longer than until `until`.
    ///
    /// # Errors
    /// As for [`Watch::survey`]. A probe that fails is counted in the engine's notes and not an error.
    pub fn step(&mut self, until: Moment, tee: &mut dyn FnMut(&Event<'_>)) -> Result<Step, LookError> {
        let now = self.clock().now();
        if now >= self.next_survey {
            return self.survey(tee).map(|()| Step::Surveyed);
        }
        let room = self.room();
        let next_look = self.next_look(room);
        if next_look.is_some_and(|next| next <= now) {
            self.probe(now, room, tee);
            return Ok(Step::Probed);
        }
        let wake = next_look.unwrap_or(until).min(self.next_survey).min(until);
        std::thread::sleep(Duration::from_micros(wake.since(now)).min(ATTENTION));
        Ok(Step::Waited)
    }

    fn probe(&mut self, now: Moment, room: usize, tee: &mut dyn FnMut(&Event<'_>)) {
        let plan = self.engine.plan(now, room);
        let Self { live, engine, .. } = self;
        let result = live.probe(&plan, &mut |event| {
            tee(&event);
            engine.feed(event);
        });
        if let Err(error) = result {
            engine.note(&format!("probe failed: {}", error.to_string().lines().next().unwrap_or_default()));
        }
    }

    /// Watches for `duration`, or until `stop` is set. A watch longer than nothing ends with a survey, so that growth covers
    /// all of it.
    ///
    /// # Errors
    /// The first survey could not be made. A later one that fails is noted, and watching goes on.
    pub fn run(
        &mut self,
        duration: Duration,
        stop: &AtomicBool,
        tee: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), LookError> {
        let until = self.clock().now().after(micros(duration));
        self.survey(tee)?;
        let stopped = || stop.load(Ordering::Relaxed);
        while self.clock().now() < until && !stopped() {
            // A failure is in the engine's notes already.
            let _ = self.step(until, tee);
        }
        if !duration.is_zero() && !stopped() {
            let _ = self.survey(tee);
        }
        Ok(())
    }

    /// Looks up who holds the sockets with these inodes, and tells the engine.
    pub fn look_up_owners(&mut self, inodes: &rustc_hash::FxHashSet<u32>, tee: &mut dyn FnMut(&Event<'_>)) {
        let owners = source::look_up_owners(inodes);
        self.feed(Event::Owners(&owners), tee);
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each survey of a watch of `duration` began and ended, and the watch.
    fn surveys(interval: Duration, duration: Duration) -> Option<(Vec<(Moment, Moment)>, Watch)> {
        let options = WatchOptions { interval, probe: false, ..WatchOptions::default() };
        let mut watch = Watch::start(options, &mut |_| {}).inspect_err(|error| eprintln!("skipped: {error}")).ok()?;
        let mut surveys = Vec::new();
        let mut tee = |event: &Event<'_>| match event {
            Event::SurveyBegin { at, .. } => surveys.push((*at, *at)),
            Event::SurveyEnd { at, .. } => surveys.last_mut().expect("it began").1 = *at,
            _ => {}
        };
        watch.survey(&mut tee).expect("a survey");
        let until = watch.clock().now().after(micros(duration));
        while watch.clock().now() < until {
            watch.step(until, &mut tee).expect("a step");
        }
        Some((surveys, watch))
    }

    #[test]
    fn a_period_that_surveys_would_fill_stretches_and_says_so() {
        let Some((surveys, watch)) = surveys(Duration::from_micros(1), Duration::from_millis(300)) else { return };
        assert!(surveys.len() > 1, "{surveys:?}");
        for pair in surveys.windows(2) {
            let [(began, ended), (next, _)] = [pair[0], pair[1]];
            assert!(next >= ended, "they overlap: {pair:?}");
            assert!(next.since(began) >= SURVEY_SHARE * ended.since(began), "more than a fifth: {pair:?}");
        }
        assert!(watch.is_stretched());
        assert_eq!(watch.period(), watch.survey_took() * 5);
        let notes: Vec<_> = watch.engine.notes().lines().collect();
        assert!(notes.iter().any(|note| note.starts_with(STRETCHED)), "{notes:?}");
    }

    #[test]
    fn a_period_that_suffices_is_kept() {
        let Some((surveys, watch)) = surveys(Duration::from_secs(3_600), Duration::from_millis(20)) else { return };
        assert_eq!(surveys.len(), 1);
        assert!(!watch.is_stretched());
        assert_eq!(watch.period(), Duration::from_secs(3_600));
        assert!(!watch.engine.notes().lines().any(|note| note.starts_with(STRETCHED)));
    }
}
