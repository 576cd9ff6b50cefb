//! Evidence that somebody else took: what a file is, is told from its content, and all of them speak in events.

mod capture;
mod detect;
mod dump;
mod grouping;
mod hosts;
mod packets;
mod picture;
mod place;
mod provenance;
mod tape;
mod text;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use crate::model::{Event, Host};
use crate::record::input::Input;
use crate::record::{ReadError, Reader};

use capture::CaptureReader;
use detect::{Content, detect};
use dump::DumpReader;
use place::Place;
use text::TextReader;

pub use picture::Picture;
pub use provenance::{Provenance, SourceKind, Timing};
pub use tape::Unit;

/// What can be read, for messages.
const EXPECTED: &str = "expected a stallscope recording, a dump that `ss -D FILE` wrote, the text of `ss -tinmoe`, or a pcap \
                        or pcapng capture of an nlmon device";

/// Bytes that are looked at to tell what a file is.
const PREFIX: usize = 64 << 10;

/// Why a file gave no events.
#[derive(Debug, Error)]
pub enum SourceError {
    /// It cannot be opened or read.
    #[error("reading {name} failed: {source}{}", way_out(source))]
    Io {
        /// The file.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory.
    #[error("{name} is a directory: name the files in it")]
    Directory {
        /// The directory.
        name: String,
    },
    /// A stream among several files.
    #[error(
        "{name} can be read once, and several files are read twice, to relate their clocks: save it to a file first"
    )]
    Stream {
        /// The stream.
        name: String,
    },
    /// Nothing in it.
    #[error("{name} is empty: {EXPECTED}")]
    Empty {
        /// The file.
        name: String,
    },
    /// Something else.
    #[error("{name} is {found}: {EXPECTED}")]
    Other {
        /// The file.
        name: String,
        /// What it was taken for.
        found: String,
    },
    /// A recording that cannot be read.
    #[error("{name}: {source}")]
    Recording {
        /// The file.
        name: String,
        /// Why.
        source: ReadError,
    },
    /// Read to its end, and no socket in it.
    #[error("{name} was read as {kind} and holds no TCP socket: {detail}")]
    NoSocket {
        /// The file.
        name: String,
        /// What it was read as.
        kind: &'static str,
        /// How far, and what was in the way.
        detail: String,
    },
    /// A recording that was read to its end, and no survey in it.
    #[error("{name} is a stallscope recording, and no survey of it can be read: {detail}")]
    NoSurvey {
        /// The file.
        name: String,
        /// What was in the way.
        detail: String,
    },
}

/// What to do about a file that cannot be opened.
fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => ": name a file that is there, or `-` for standard input",
        io::ErrorKind::PermissionDenied => {
            ": recordings can be read by those who made them, and by root; ask for a copy"
        }
        _ => "",
    }
}

/// A reader of one kind of file.
trait FileReader: Send {
    /// Gives some more events; `false` at the end.
    fn next(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> io::Result<bool>;
    /// What was damaged, skipped or not understood so far, and where.
    fn notes(&self) -> Vec<String>;
    /// What this source gives and cannot give, as far as it was read.
    fn provenance(&self) -> Provenance;
}

enum Inner {
    /// A recording that comes through a stream.
    Recording(Box<Reader<Input<Box<dyn Read + Send>>>>),
    /// A recording in a file.
    Saved(Box<Reader<Input<Place>>>),
    Other(Box<dyn FileReader>),
}

/// A file as a source of events.
pub struct FileSource {
    name: String,
    inner: Inner,
    began: bool,
    surveys: u64,
    runs: u64,
}

impl std::fmt::Debug for FileSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileSource").field("name", &self.name).finish_non_exhaustive()
    }
}

impl FileSource {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be opened, or is nothing that can be read; the message says what it is and what was expected.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        if path.as_os_str() == "-" {
            return Self::from_reader("standard input", Box::new(io::stdin()));
        }
        let name = path.display().to_string();
        let io = |source| SourceError::Io { name: name.clone(), source };
        let file = File::open(path).map_err(io)?;
        let data = file.metadata().map_err(io)?;
        if data.is_dir() {
            return Err(SourceError::Directory { name });
        }
        if !data.is_file() {
            return Self::from_reader(&name, Box::new(file));
        }
        let place = Place::start(file);
        let mut input = Input::new(place.clone());
        if detect(input.peek(PREFIX).map_err(io)?) != Content::Recording {
            return Self::from_reader(&name, Box::new(place));
        }
        match Reader::new(input) {
            Ok(reader) => Ok(Self { inner: Inner::Saved(Box::new(reader)), name, began: false, surveys: 0, runs: 0 }),
            Err(source) => Err(SourceError::Recording { name, source }),
        }
    }

    /// A second reader that goes on from the same place; `None` unless this is a recording in a file.
    pub fn fork(&self) -> Option<Self> {
        let Inner::Saved(reader) = &self.inner else { return None };
        let inner = Inner::Saved(reader.clone());
        Some(Self { name: self.name.clone(), inner, began: self.began, surveys: self.surveys, runs: self.runs })
    }

    /// Reads from any stream; `name` stands for it in messages.
    ///
    /// # Errors
    /// As for [`FileSource::open`].
    pub fn from_reader(name: &str, reader: Box<dyn Read + Send>) -> Result<Self, SourceError> {
        let name = name.to_owned();
        let mut input = Input::new(reader);
        let prefix = input.peek(PREFIX).map_err(|source| SourceError::Io { name: name.clone(), source })?;
        let inner = match detect(prefix) {
            Content::Empty => return Err(SourceError::Empty { name }),
            Content::Other(found) => return Err(SourceError::Other { name, found }),
            Content::Recording => match Reader::new(input) {
                Ok(reader) => Inner::Recording(Box::new(reader)),
                Err(source) => return Err(SourceError::Recording { name, source }),
            },
            Content::Dump => Inner::Other(Box::new(DumpReader::new(input))),
            Content::Capture => Inner::Other(Box::new(CaptureReader::new(input))),
            Content::Text(encoding) => Inner::Other(Box::new(TextReader::new(input, encoding))),
        };
        Ok(Self { name, inner, began: false, surveys: 0, runs: 0 })
    }

    /// Gives some more events to `sink`; `false` at the end. A file that is no recording begins with a host of which nothing
    /// is known.
    ///
    /// # Errors
    /// The file cannot be read further, or was read to its end without finding a socket, or, in a recording, a survey.
    pub fn next(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> Result<bool, SourceError> {
        let (mut surveys, mut runs) = (0, 0);
        let counting = &mut |event: Event<'_>| {
            surveys += u64::from(matches!(event, Event::SurveyBegin { .. }));
            runs += u64::from(matches!(event, Event::Run(_) | Event::Probe { .. }));
            sink(event);
        };
        let io = |source| SourceError::Io { name: self.name.clone(), source };
        let recording = |source| SourceError::Recording { name: self.name.clone(), source };
        let more = match &mut self.inner {
            Inner::Recording(reader) => reader.next(counting).map_err(recording)?,
            Inner::Saved(reader) => reader.next(counting).map_err(recording)?,
            Inner::Other(reader) => {
                if !std::mem::replace(&mut self.began, true) {
                    counting(Event::Host(&Host::default()));
                }
                reader.next(counting).map_err(io)?
            }
        };
        self.surveys += surveys;
        self.runs += runs;
        match self.inner {
            // A host without a connection is recorded, too.
            Inner::Recording(_) | Inner::Saved(_) if !more && self.surveys == 0 => Err(self.no_survey()),
            Inner::Other(_) if !more && self.runs == 0 => Err(self.no_socket()),
            _ => Ok(more),
        }
    }

    fn no_survey(&self) -> SourceError {
        let notes = self.notes();
        let detail = if notes.is_empty() { "record for longer than a moment".to_owned() } else { notes.join("; ") };
        SourceError::NoSurvey { name: self.name.clone(), detail }
    }

    fn no_socket(&self) -> SourceError {
        let notes = self.notes();
        let detail = if notes.is_empty() { EXPECTED.to_owned() } else { notes[..notes.len().min(3)].join("; ") };
        SourceError::NoSocket { name: self.name.clone(), kind: self.provenance().kind.name(), detail }
    }

    /// What was damaged, skipped or not understood so far, and where.
    pub fn notes(&self) -> Vec<String> {
        match &self.inner {
            Inner::Recording(reader) => reader.notes().to_vec(),
            Inner::Saved(reader) => reader.notes().to_vec(),
            Inner::Other(reader) => reader.notes(),
        }
    }

    /// What this source gives and cannot give, as far as it was read.
    pub fn provenance(&self) -> Provenance {
        let mut provenance = match &self.inner {
            Inner::Recording(_) | Inner::Saved(_) => Provenance::recording(),
            Inner::Other(reader) => reader.provenance(),
        };
        provenance.surveys = self.surveys;
        provenance
    }

    /// The name of the file, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}
