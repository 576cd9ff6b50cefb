//! A file read step by step: what was seen at one moment is one unit.

use std::collections::VecDeque;
use std::path::Path;

use super::{FileSource, SourceError};
use crate::model::{Event, EventBuf, Moment};

/// What a unit was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A whole survey, and when it began on the wall clock (µs since 1970).
    Survey(Option<i64>),
    /// A probe.
    Probe,
    /// A word that the user set.
    Mark(String),
    /// Nothing that was looked at: counters, holders, the host.
    Aside,
}

impl Unit {
    /// Whether sockets were looked at.
    pub fn is_look(&self) -> bool {
        matches!(self, Self::Survey(_) | Self::Probe)
    }
}

/// A file, read so far.
#[derive(Debug)]
pub(super) struct Tape {
    pub(super) source: FileSource,
    queue: VecDeque<EventBuf>,
    ended: bool,
    pub(super) at: Moment,
}

impl Tape {
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        Ok(Self { source: FileSource::open(path)?, queue: VecDeque::new(), ended: false, at: Moment(0) })
    }

    /// A second one that goes on from the same place, where the file allows it.
    pub(super) fn fork(&self) -> Option<Self> {
        let source = self.source.fork()?;
        Some(Self { source, queue: self.queue.clone(), ended: self.ended, at: self.at })
    }

    /// Reads until there is something to give.
    fn fill(&mut self) -> Result<Option<&EventBuf>, SourceError> {
        while self.queue.is_empty() && !self.ended {
            let queue = &mut self.queue;
            match self.source.next(&mut |event| queue.push_back(EventBuf::of(&event))) {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(self.queue.front())
    }

    /// When the next unit was; `None` at the end. What bears no time belongs to what came before it, and a clock that steps
    /// back stands still.
    pub(super) fn next_at(&mut self) -> Result<Option<Moment>, SourceError> {
        let at = self.at;
        Ok(self.fill()?.map(|event| event.at().map_or(at, |time| time.max(at))))
    }

    /// Gives the next unit; `None` at the end.
    pub(super) fn unit(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Result<Option<Unit>, SourceError> {
        let Some(at) = self.next_at()? else { return Ok(None) };
        let Some(first) = self.queue.pop_front() else { return Ok(None) };
        self.at = at;
        sink(&first.event());
        match first {
            EventBuf::SurveyBegin(_, wall_us) => {
                self.survey(sink)?;
                Ok(Some(Unit::Survey(wall_us)))
            }
            EventBuf::Probe(..) => Ok(Some(Unit::Probe)),
            EventBuf::Mark(_, word) => Ok(Some(Unit::Mark(word))),
            _ => Ok(Some(Unit::Aside)),
        }
    }

    /// Gives the rest of a survey: half of one is no picture.
    fn survey(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Result<(), SourceError> {
        while let Some(next) = self.fill()? {
            let last = matches!(next, EventBuf::SurveyEnd(..));
            if !last && next.at().is_some() {
                break;
            }
            if let Some(event) = self.queue.pop_front() {
                sink(&event.event());
            }
            if last {
                break;
            }
        }
        Ok(())
    }
}
