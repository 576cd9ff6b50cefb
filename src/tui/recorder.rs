//! A recording of what the display watches.
#![allow(clippy::disallowed_methods)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashSet;

use crate::engine::Engine;
use crate::evidence::Tap;
use crate::filter::Filter;
use crate::model::{Event, Moment, Owners};
use crate::record::{Writer, create, default_name};

use super::text;

/// A recording in progress. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
    tap: Option<Tap<File>>,
    /// The inodes whose holders were recorded.
    named: FxHashSet<u32>,
    /// When it ends by itself.
    until: Option<Moment>,
    closing: bool,
}

impl Recorder {
    /// Makes a new file in `folder`, readable by its owner only, and records from the next event on what `filter`
    /// passes; until the first survey after `until`, or for as long as wanted.
    ///
    /// # Errors
    /// The file cannot be made; one of the same name is never written over.
    pub(super) fn begin(
        folder: &Path,
        engine: &Engine,
        filter: &Filter,
        until: Option<Moment>,
    ) -> Result<Self, String> {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall_us = i64::try_from(wall.as_micros()).unwrap_or(i64::MAX);
        let path = folder.join(default_name(&engine.host().hostname, wall_us));
        let file = create(&path, false).map_err(|error| first_line(&error))?;
        let writer = Writer::new(file).map_err(|error| failed(&path, &error))?;
        let mut tap = Tap::new(writer, filter.clone());
        tap.take(&Event::Host(engine.host()));
        Ok(Self { path, tap: Some(tap), named: FxHashSet::default(), until, closing: false })
    }

    /// The name of its file.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Takes what the watch saw.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        if let Some(tap) = &mut self.tap {
            tap.take(event);
        }
    }

    /// Writes what was taken, now that the engine has seen it too.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub(super) fn settle(&mut self, engine: &Engine) -> Result<(), String> {
        let Some(tap) = &mut self.tap else { return Ok(()) };
        tap.settle(engine).map_err(|error| failed(&self.path, &error))
    }

    /// The same after a survey, with the holders of what is recorded.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub(super) fn surveyed(&mut self, engine: &Engine) -> Result<(), String> {
        self.settle(engine)?;
        let Some(tap) = &mut self.tap else { return Ok(()) };
        let sockets = engine.table().entries().map(|entry| &entry.socket);
        let kept = sockets.filter(|socket| socket.inode != 0 && tap.keeps(socket.cookie));
        let unnamed = kept.filter(|socket| !self.named.contains(&socket.inode));
        let named = unnamed.map(|socket| (socket.inode, engine.owners(socket)));
        let fresh: Vec<(u32, Owners)> = named.filter(|(_, owners)| *owners != Owners::NotLooked).collect();
        if !fresh.is_empty() {
            tap.take(&Event::Owners(&fresh));
            self.named.extend(fresh.iter().map(|(inode, _)| *inode));
        }
        let flushed = tap.settle(engine).and_then(|()| tap.flush());
        flushed.map_err(|error| failed(&self.path, &error))
    }

    /// Whether its time is up, for the first time: then one more survey is wanted.
    pub(super) fn is_due(&mut self, now: Moment) -> bool {
        let due = !self.closing && self.until.is_some_and(|until| now >= until);
        self.closing |= due;
        due
    }

    /// When its time will be up, if it ends by itself.
    pub(super) fn ends(&self) -> Option<Moment> {
        self.until.filter(|_| !self.closing)
    }

    /// Whether it ends with the next survey.
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.tap.as_ref().map_or(0, Tap::written)
    }

    /// Ends it, and says where it is and how large.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub(super) fn end(mut self) -> Result<String, String> {
        let written = self.written();
        if let Some(tap) = self.tap.take() {
            tap.finish().map_err(|error| failed(&self.path, &error))?;
        }
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        Ok(format!("recorded {} to {}", text::bytes(written), path.display()))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(tap) = self.tap.take() {
            // Nobody is left to be told; what was written before stays readable.
            let _ = tap.finish();
        }
    }
}

fn first_line(error: &dyn std::error::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("writing {} failed: {error}; the recording ended, and what was written before can be read", path.display())
}
