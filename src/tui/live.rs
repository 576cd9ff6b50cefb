//! The live kernel as a drive, and the recording that may be made of it.

use std::path::PathBuf;
use std::time::Duration;

use crate::engine::Engine;
use crate::filter::Filter;
use crate::model::{Event, Moment, Owners};
use crate::watch::{Step, Watch};

use super::drive::{Drive, Stepped};
use super::message::Take;
use super::recorder::Recorder;
use super::view::{Recording, Said};

/// How long a snapshot looks closely, µs.
const SNAPSHOT_US: u64 = 1_000_000;

/// A watch of this host.
#[derive(Debug)]
pub struct Live {
    watch: Watch,
    /// Where recordings are made.
    folder: PathBuf,
    recorder: Option<Recorder>,
    said: Option<Said>,
}

impl Live {
    /// Shows a watch; recordings of it are made in `folder`.
    pub fn new(watch: Watch, folder: PathBuf) -> Self {
        Self { watch, folder, recorder: None, said: None }
    }

    fn say(&mut self, result: Result<String, String>) {
        self.said = Some(Said::of(result));
    }

    fn begin(&mut self, filter: &Filter, snapshot: bool) {
        let until = snapshot.then(|| self.watch.clock().now().after(SNAPSHOT_US));
        match Recorder::begin(&self.folder, &self.watch.engine, filter, until) {
            Ok(recorder) => {
                let kept = if filter.is_empty() { "" } else { " what the filter passes" };
                self.say(Ok(format!("recording{kept} to {}", recorder.name())));
                self.recorder = Some(recorder);
                self.watch.survey_next();
            }
            Err(why) => self.say(Err(why)),
        }
    }

    fn end(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            self.say(recorder.end());
        }
    }

    fn mark(&mut self, word: &str) {
        let at = self.watch.clock().now();
        let Some(recorder) = &mut self.recorder else {
            return self.say(Err("nothing is recorded: r begins a recording, m marks it".to_owned()));
        };
        recorder.take(&Event::Mark { at, word });
        let result = recorder.settle(&self.watch.engine).map(|()| format!("marked: {word}"));
        self.after(result);
    }

    /// A recording that cannot be written to is over; what was written before stays readable.
    fn after(&mut self, result: Result<String, String>) {
        if result.is_err() {
            self.recorder = None;
        }
        self.say(result);
    }

    fn record(&mut self, step: Step) {
        let now = self.watch.clock().now();
        let Some(recorder) = &mut self.recorder else { return };
        let settled = match step {
            Step::Surveyed => recorder.surveyed(&self.watch.engine),
            Step::Probed => recorder.settle(&self.watch.engine),
            Step::Waited => Ok(()),
        };
        let (due, last) = (recorder.is_due(now), step == Step::Surveyed && recorder.is_closing());
        if let Err(why) = settled {
            self.after(Err(why));
        } else if last {
            self.end();
        } else if due {
            // A recording ends with a survey, so that growth covers all of it.
            self.watch.survey_next();
        }
    }
}

impl Drive for Live {
    fn engine(&mut self) -> &mut Engine {
        &mut self.watch.engine
    }

    fn step(&mut self) -> Result<Stepped, String> {
        let Self { watch, recorder, .. } = self;
        let stepped = watch.step(Moment(0), &mut |event| {
            if let Some(recorder) = recorder {
                recorder.take(event);
            }
        });
        // A survey that failed is recorded too.
        self.record(*stepped.as_ref().unwrap_or(&Step::Surveyed));
        match stepped {
            Ok(Step::Surveyed) => Ok(Stepped::Surveyed),
            Ok(_) => Ok(if self.said.is_some() { Stepped::Moved } else { Stepped::Waited }),
            Err(error) => Err(error.to_string().split('\n').map(str::trim).collect::<Vec<_>>().join("; ")),
        }
    }

    fn rest(&mut self) -> Duration {
        let now = self.watch.clock().now();
        let ends = self.recorder.as_ref().and_then(Recorder::ends);
        let rest = self.watch.rest();
        ends.map_or(rest, |ends| rest.min(Duration::from_micros(ends.since(now))))
    }

    fn period(&self) -> Duration {
        self.watch.period()
    }

    fn is_stretched(&self) -> bool {
        self.watch.is_stretched()
    }

    fn set_period(&mut self, period: Duration) {
        self.watch.set_interval(period);
    }

    fn names_are_here(&self) -> bool {
        true
    }

    fn learn(&mut self, found: &[(u32, Owners)]) {
        self.watch.engine.feed(Event::Owners(found));
    }

    fn take(&mut self, take: &Take, filter: &Filter) {
        match take {
            Take::Toggle if self.recorder.is_some() => self.end(),
            Take::Snapshot if self.recorder.is_some() => {
                self.say(Err("a recording is being made: r ends it".to_owned()));
            }
            Take::Toggle => self.begin(filter, false),
            Take::Snapshot => self.begin(filter, true),
            Take::Mark(word) => self.mark(word),
        }
    }

    fn recording(&self) -> Option<Recording> {
        self.recorder.as_ref().map(|recorder| Recording { written: recorder.written() })
    }

    fn said(&mut self) -> Option<Said> {
        self.said.take()
    }
}
