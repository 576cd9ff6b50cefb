//! One picture of one file, or of several that were taken on different hosts: their events in the order of time.

use std::path::{Path, PathBuf};

use super::hosts::Relation;
use super::tape::{Tape, Unit};
use super::{FileSource, SourceError};
use crate::model::{Event, HostClock, Moment};
use crate::wire::HostId;

/// Files that are read together, in the order of time.
#[derive(Debug)]
pub struct Picture {
    paths: Vec<PathBuf>,
    tapes: Vec<Tape>,
    relation: Relation,
    at: Moment,
}

impl Picture {
    /// Opens files at their beginning. Several are read through once before, to relate their clocks.
    ///
    /// # Errors
    /// One of them cannot be read, or is a stream where several are read.
    pub fn open(paths: &[PathBuf]) -> Result<Self, SourceError> {
        if paths.len() < 2 {
            return Self::with(paths, Relation::default());
        }
        if let Some(stream) = paths.iter().find(|path| is_stream(path)) {
            let name = if stream.as_os_str() == "-" { "standard input".into() } else { stream.display().to_string() };
            return Err(SourceError::Stream { name });
        }
        Self::with(paths, Relation::of(paths)?)
    }

    /// The same picture anew from its beginning.
    ///
    /// # Errors
    /// A file cannot be opened any more.
    pub fn anew(&self) -> Result<Self, SourceError> {
        Self::with(&self.paths, self.relation.clone())
    }

    /// A second one that goes on from the same place, where the files allow it.
    pub fn fork(&self) -> Option<Self> {
        let tapes = self.tapes.iter().map(Tape::fork).collect::<Option<_>>()?;
        Some(Self { paths: self.paths.clone(), tapes, relation: self.relation.clone(), at: self.at })
    }

    fn with(paths: &[PathBuf], relation: Relation) -> Result<Self, SourceError> {
        let tapes = paths.iter().map(|path| Tape::open(path)).collect::<Result<_, _>>()?;
        Ok(Self { paths: paths.to_vec(), tapes, relation, at: Moment(0) })
    }

    /// How the clocks of several files relate; nothing for one file.
    pub fn clocks(&self) -> &[HostClock] {
        &self.relation.clocks
    }

    /// The files, in the order of their hosts' numbers.
    pub fn sources(&self) -> impl Iterator<Item = &FileSource> {
        self.tapes.iter().map(|tape| &tape.source)
    }

    /// When the latest unit was.
    pub fn at(&self) -> Moment {
        self.at
    }

    /// When the next unit was; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read further.
    pub fn next_at(&mut self) -> Result<Option<Moment>, SourceError> {
        Ok(self.next()?.map(|(_, at)| at))
    }

    /// The file whose next unit is the earliest, and when that was.
    fn next(&mut self) -> Result<Option<(usize, Moment)>, SourceError> {
        let mut first: Option<(usize, Moment)> = None;
        for place in 0..self.tapes.len() {
            let Some(at) = self.tapes[place].next_at()? else { continue };
            let at = shifted(at, self.shift(place));
            if first.is_none_or(|(_, earliest)| at < earliest) {
                first = Some((place, at));
            }
        }
        Ok(first.map(|(place, at)| (place, at.max(self.at))))
    }

    fn shift(&self, place: usize) -> i64 {
        self.relation.shifts.get(place).copied().unwrap_or(0)
    }

    /// Gives the next unit, with the number of the host that it was seen on; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read further.
    pub fn unit(&mut self, sink: &mut dyn FnMut(HostId, &Event<'_>)) -> Result<Option<Unit>, SourceError> {
        let Some((place, at)) = self.next()? else { return Ok(None) };
        self.at = at;
        let (host, shift) = (HostId(u16::try_from(place).unwrap_or(u16::MAX)), self.shift(place));
        self.tapes[place].unit(&mut |event| sink(host, &moved(*event, shift)))
    }

    /// What the files were read as.
    pub fn kind(&self) -> &'static str {
        let mut kinds = self.sources().map(|source| source.provenance().kind);
        let first = kinds.next();
        if kinds.any(|kind| Some(kind) != first) {
            "files of several kinds"
        } else {
            first.map_or("", |kind| kind.name())
        }
    }

    /// What the files cannot tell, as far as they were read, a sentence each.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        for limit in self.sources().flat_map(|source| source.provenance().limits()) {
            if !limits.iter().any(|known| known == limit) {
                limits.push(limit.to_owned());
            }
        }
        limits
    }

    /// What was found out of the files together, and what in them was damaged.
    pub fn notes(&self) -> Vec<String> {
        let several = self.tapes.len() > 1;
        let damage = self.sources().flat_map(|source| {
            let name = if several { format!("{}: ", source.name()) } else { String::new() };
            source.notes().into_iter().map(move |note| format!("{name}{note}"))
        });
        self.relation.notes.iter().cloned().chain(damage).collect()
    }
}

/// Whether a path cannot be read again and again.
fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
}

fn shifted(at: Moment, by_us: i64) -> Moment {
    if by_us < 0 { at.before(by_us.unsigned_abs()) } else { at.after(by_us.unsigned_abs()) }
}

/// The event on the common clock.
fn moved(event: Event<'_>, by_us: i64) -> Event<'_> {
    let to = |at| shifted(at, by_us);
    match event {
        Event::SurveyBegin { at, wall_us } => Event::SurveyBegin { at: to(at), wall_us },
        Event::SurveyEnd { at, report } => Event::SurveyEnd { at: to(at), report },
        Event::Probe { at, target, answers } => Event::Probe { at: to(at), target, answers },
        Event::Counters { at, counters } => Event::Counters { at: to(at), counters },
        Event::Mark { at, word } => Event::Mark { at: to(at), word },
        Event::Host(_) | Event::Run(_) | Event::Owners(_) => event,
    }
}
