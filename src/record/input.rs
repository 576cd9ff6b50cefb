//! A window over a stream that never holds more than was asked for and is really there.

use std::io::{self, Read};

/// Bytes that one read asks for.
const STEP: usize = 64 << 10;

/// Reads ahead of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Input<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    offset: u64,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, buffer: Vec::new(), start: 0, offset: 0 }
    }

    /// How many bytes were consumed.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `len` bytes, fewer only at the end of the stream. Memory grows by what is read, not by what is asked for.
    pub(crate) fn peek(&mut self, len: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.start < len {
            if self.start > 0 {
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            let had = self.buffer.len();
            let step = STEP.max(had.min(len - had));
            self.buffer.resize(had + step, 0);
            let got = read_some(&mut self.inner, &mut self.buffer[had..]);
            self.buffer.truncate(had + *got.as_ref().unwrap_or(&0));
            if got? == 0 {
                break;
            }
        }
        let held = &self.buffer[self.start..];
        Ok(&held[..held.len().min(len)])
    }

    /// Passes over bytes that were peeked at.
    pub(crate) fn consume(&mut self, len: usize) {
        let len = len.min(self.buffer.len() - self.start);
        self.start += len;
        self.offset += len as u64;
    }
}

fn read_some(inner: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match inner.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let held = self.peek(out.len().min(STEP))?;
        let len = held.len();
        out[..len].copy_from_slice(held);
        self.consume(len);
        Ok(len)
    }
}
