//! A place in a file, from which can be read without moving anybody else's.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Reads a file from a place on. A copy goes on from the same place by itself.
#[derive(Clone, Debug)]
pub(super) struct Place {
    file: Arc<File>,
    at: u64,
}

impl Place {
    /// The beginning of a file.
    pub(super) fn start(file: File) -> Self {
        Self { file: Arc::new(file), at: 0 }
    }
}

impl Read for Place {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
