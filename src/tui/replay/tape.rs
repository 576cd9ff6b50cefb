//! A file read step by step: what was seen at one moment is one unit.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::engine::Engine;
use crate::model::{Event, EventBuf, Moment, Owners};
use crate::source::file::{FileSource, SourceError};

/// Time between two close looks, µs: nothing is looked at, so it does not matter.
const NO_LOOKS_US: u64 = 10_000;

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
struct Tape {
    source: FileSource,
    queue: VecDeque<EventBuf>,
    ended: bool,
    at: Moment,
}

impl Tape {
    fn open(path: &Path) -> Result<Self, SourceError> {
        Ok(Self { source: FileSource::open(path)?, queue: VecDeque::new(), ended: false, at: Moment(0) })
    }

    /// A second one that goes on from the same place, where the file allows it.
    fn fork(&self) -> Option<Self> {
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
    fn next_at(&mut self) -> Result<Option<Moment>, SourceError> {
        let at = self.at;
        Ok(self.fill()?.map(|event| event.at().map_or(at, |time| time.max(at))))
    }

    /// Gives the next unit; `None` at the end.
    fn unit(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Result<Option<Unit>, SourceError> {
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

/// A file and what the engine makes of it, up to one moment.
pub struct Deck {
    tape: Tape,
    /// The engine.
    pub engine: Engine,
    /// The holders that were named since they were last taken.
    pub named: FxHashMap<u32, Owners>,
    /// When sockets were last looked at.
    pub looked: Option<Moment>,
}

impl Deck {
    /// Opens a file at its beginning, with nothing of it read.
    ///
    /// # Errors
    /// As for [`FileSource::open`].
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let tape = Tape::open(path)?;
        Ok(Self { tape, engine: Engine::new(NO_LOOKS_US), named: FxHashMap::default(), looked: None })
    }

    /// A second one at the same moment, where the file allows it. It names all holders again: who goes back forgets them.
    pub fn fork(&self) -> Option<Self> {
        let tape = self.tape.fork()?;
        let named = self.engine.known_owners().map(|(inode, owners)| (inode, owners.clone())).collect();
        Some(Self { tape, engine: self.engine.clone(), named, looked: self.looked })
    }

    /// When the latest unit was.
    pub fn at(&self) -> Moment {
        self.tape.at
    }

    /// When the next unit was; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read further.
    pub fn next_at(&mut self) -> Result<Option<Moment>, SourceError> {
        self.tape.next_at()
    }

    /// Takes the next unit; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read further.
    pub fn advance(&mut self) -> Result<Option<Unit>, SourceError> {
        let Self { tape, engine, named, looked } = self;
        let unit = tape.unit(&mut |event| {
            if let Event::Owners(owners) = event {
                named.extend(owners.iter().cloned());
            }
            engine.feed(*event);
        })?;
        if unit.as_ref().is_some_and(Unit::is_look) {
            *looked = Some(tape.at);
        }
        Ok(unit)
    }

    /// What the file was read as, what it cannot tell as far as it was read, and what was damaged.
    pub fn told(&self) -> (&'static str, Vec<String>) {
        let provenance = self.tape.source.provenance();
        let limits = provenance.limits().into_iter().map(str::to_owned);
        (provenance.kind.name(), limits.chain(self.tape.source.notes()).collect())
    }
}

/// The path of a file that can be read again and again.
///
/// # Errors
/// It is a stream; the message says what to do instead.
pub fn rereadable(path: &Path) -> Result<PathBuf, String> {
    let stream = path.as_os_str() == "-" || path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir());
    if stream {
        return Err(format!(
            "{} is a stream, and the display goes back and forth in what it shows\n  save it to a file first, or use \
             `stallscope check --from {}`",
            if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() },
            path.display()
        ));
    }
    // The directory may change under a display that runs for long.
    Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}
