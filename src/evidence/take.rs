//! Taking a recording: a watch whose events go to a file.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::diagnose::Severity;
use crate::engine::Engine;
use crate::filter::Filter;
use crate::model::Moment;
use crate::record::Writer;
use crate::report::matching;
use crate::source::LookError;
use crate::watch::{Step, Watch, WatchOptions};

use super::tap::Tap;

/// How to record.
#[derive(Clone, Debug)]
pub struct TakeOptions {
    /// How to watch.
    pub watch: WatchOptions,
    /// For how long; `None` until told to stop.
    pub duration: Option<Duration>,
    /// What to keep.
    pub filter: Filter,
}

/// Why a recording ended early.
#[derive(Debug, Error)]
pub enum TakeError {
    /// The kernel or a sandbox refuses to be looked at.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The recording cannot be written to.
    #[error("{0}")]
    Write(#[from] io::Error),
}

/// How far a recording is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time watched.
    pub watched: Duration,
    /// Surveys made.
    pub surveys: u64,
    /// Probes answered.
    pub probes: u64,
    /// Connections that are recorded.
    pub connections: usize,
    /// Of those, the ones in which something is odd now.
    pub odd: usize,
    /// Bytes written.
    pub written: u64,
    /// The survey period in force, where surveys take too long for the one that was asked for.
    pub stretched: Option<Duration>,
}

/// A recording in progress.
struct Taking<'a, W: Write> {
    watch: Watch,
    tap: Tap<W>,
    options: &'a TakeOptions,
    /// Inodes whose holders were looked up.
    asked: FxHashSet<u32>,
    progress: Progress,
}

/// Records this host's connections to `out` until the time is up or `stop` is set, ending with a survey so that growth covers
/// all of it. `told` hears how far it is after each survey.
///
/// # Errors
/// Nothing could be looked at, or `out` cannot be written to; what was written before stays readable.
pub fn take<W: Write>(
    options: &TakeOptions,
    out: W,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&Progress),
) -> Result<Progress, TakeError> {
    let mut tap = Tap::new(Writer::new(out)?, options.filter.clone());
    let watch = Watch::start(options.watch.clone(), &mut |event| tap.take(event))?;
    let progress = Progress {
        watched: Duration::ZERO,
        surveys: 0,
        probes: 0,
        connections: 0,
        odd: 0,
        written: tap.written(),
        stretched: None,
    };
    let mut taking = Taking { watch, tap, options, asked: FxHashSet::default(), progress };
    taking.run(stop, told)?;
    let Taking { tap, mut progress, .. } = taking;
    progress.written = tap.written();
    tap.finish()?;
    Ok(progress)
}

impl<W: Write> Taking<'_, W> {
    fn run(&mut self, stop: &AtomicBool, told: &mut dyn FnMut(&Progress)) -> Result<(), TakeError> {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let until = self.options.duration.map_or(Moment(u64::MAX), |time| self.watch.clock().now().after(micros(time)));
        let Self { watch, tap, .. } = self;
        watch.survey(&mut |event| tap.take(event))?;
        self.surveyed(told)?;
        while self.watch.clock().now() < until && !stop.load(Ordering::Relaxed) {
            let Self { watch, tap, .. } = self;
            match watch.step(until, &mut |event| tap.take(event)) {
                Ok(Step::Probed) => self.tap.settle(&self.watch.engine)?,
                Ok(Step::Waited) => {}
                // A survey that failed is in the recording and in the engine's notes.
                Ok(Step::Surveyed) | Err(_) => self.surveyed(told)?,
            }
        }
        if self.options.duration.is_some_and(|duration| duration.is_zero()) {
            return Ok(());
        }
        let Self { watch, tap, .. } = self;
        // What went wrong is in the recording.
        let _ = watch.survey(&mut |event| tap.take(event));
        self.surveyed(told)
    }

    /// After a survey: who holds what is shown or odd, and everything on its way to the file.
    fn surveyed(&mut self, told: &mut dyn FnMut(&Progress)) -> Result<(), TakeError> {
        if self.options.filter.asks_owners() {
            let all: Vec<u32> = self.watch.engine.table().entries().map(|entry| entry.socket.inode).collect();
            self.look_up(all);
        }
        self.tap.settle(&self.watch.engine)?;
        self.count();
        let shown = self.shown();
        self.look_up(shown);
        self.tap.settle(&self.watch.engine)?;
        self.tap.flush()?;
        self.progress.written = self.tap.written();
        told(&self.progress);
        Ok(())
    }

    fn look_up(&mut self, inodes: Vec<u32>) {
        let fresh: FxHashSet<u32> = inodes.into_iter().filter(|inode| self.asked.insert(*inode)).collect();
        if !fresh.is_empty() {
            let Self { watch, tap, .. } = self;
            watch.look_up_owners(&fresh, &mut |event| tap.take(event));
        }
    }

    /// The inodes of what somebody who reads the recording will look at: what the filter names, else what is odd.
    fn shown(&self) -> Vec<u32> {
        let engine = &self.watch.engine;
        if !self.tap.keeps_all() {
            let sockets = engine.table().entries().map(|entry| &entry.socket);
            return sockets.filter(|socket| self.tap.keeps(socket.cookie)).map(|socket| socket.inode).collect();
        }
        let odd = engine.connections().filter_map(|id| engine.subject(id)).filter(is_odd);
        odd.flat_map(|subject| subject.ends.into_iter().flatten().map(|socket| socket.inode)).collect()
    }

    fn count(&mut self) {
        let engine = &self.watch.engine;
        let kept: Vec<_> = self.kept_connections(engine);
        self.progress = Progress {
            watched: Duration::from_micros(engine.watched_us()),
            surveys: engine.surveys(),
            probes: engine.probes(),
            connections: kept.len(),
            odd: kept.iter().filter(|id| engine.subject(**id).as_ref().is_some_and(is_odd)).count(),
            written: self.tap.written(),
            stretched: self.watch.is_stretched().then(|| self.watch.period()),
        };
    }

    fn kept_connections(&self, engine: &Engine) -> Vec<crate::model::ConnectionId> {
        let all = matching(engine, &Filter::default()).into_iter();
        let kept = |id: &crate::model::ConnectionId| {
            let ends = engine.subject(*id).map(|subject| subject.ends).unwrap_or_default();
            ends.into_iter().flatten().any(|socket| self.tap.keeps(socket.cookie))
        };
        all.filter(kept).collect()
    }
}

fn is_odd(subject: &crate::diagnose::Subject<'_>) -> bool {
    subject.judge().1.severity() > Severity::None
}
