//! Files and what the engine makes of them as they are read.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::engine::Engine;
use crate::model::{Event, Moment, Owners};
use crate::source::file::{Picture, SourceError, Unit};
use crate::wire::HostId;

/// Time between two close looks, µs: nothing is looked at, so it does not matter.
const NO_LOOKS_US: u64 = 10_000;

/// Files and what the engine makes of them, up to one moment.
pub struct Deck {
    picture: Picture,
    /// The engine.
    pub engine: Engine,
    /// The holders that were named since they were last taken.
    pub named: FxHashMap<(HostId, u32), Owners>,
    /// When sockets were last looked at.
    pub looked: Option<Moment>,
}

impl Deck {
    /// Puts a picture on at its beginning, with nothing of it read.
    pub fn of(picture: Picture) -> Self {
        let mut engine = Engine::new(NO_LOOKS_US);
        engine.relate(picture.clocks());
        Self { picture, engine, named: FxHashMap::default(), looked: None }
    }

    /// The same picture anew from its beginning.
    ///
    /// # Errors
    /// A file cannot be opened any more.
    pub fn anew(&self) -> Result<Self, SourceError> {
        Ok(Self::of(self.picture.anew()?))
    }

    /// A second one at the same moment, where the file allows it. It names all holders again: who goes back forgets them.
    pub fn fork(&self) -> Option<Self> {
        let picture = self.picture.fork()?;
        let named = self.engine.known_owners().map(|(holder, owners)| (holder, owners.clone())).collect();
        Some(Self { picture, engine: self.engine.clone(), named, looked: self.looked })
    }

    /// When the latest unit was.
    pub fn at(&self) -> Moment {
        self.picture.at()
    }

    /// When the next unit was; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read further.
    pub fn next_at(&mut self) -> Result<Option<Moment>, SourceError> {
        self.picture.next_at()
    }

    /// Takes the next unit; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read further.
    pub fn advance(&mut self) -> Result<Option<Unit>, SourceError> {
        let Self { picture, engine, named, looked } = self;
        let unit = picture.unit(&mut |host, event| {
            if let Event::Owners(owners) = event {
                named.extend(owners.iter().map(|(inode, owners)| ((host, *inode), owners.clone())));
            }
            engine.feed_from(host, *event);
        })?;
        if unit.as_ref().is_some_and(Unit::is_look) {
            *looked = Some(picture.at());
        }
        Ok(unit)
    }

    /// What the file was read as, what it cannot tell as far as it was read, and what was damaged.
    pub fn told(&self) -> (&'static str, Vec<String>) {
        (self.picture.kind(), self.picture.limits().into_iter().chain(self.picture.notes()).collect())
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
