//! What `ss -D` wrote: netlink messages one after another, as the kernel sent them.

use std::io::{self, Read};

use crate::model::Event;
use crate::record::input::Input;
use crate::wire::messages;

use super::FileReader;
use super::grouping::{FIRST, Grouping, When};
use super::provenance::{Provenance, SourceKind, Timing};

/// Longest message that is taken for one, in bytes; the kernel's reads are at most 32 KiB.
const MESSAGE_MAX: usize = 1 << 20;

/// Messages per call.
const BATCH: usize = 4096;

/// µs between two dumps, by convention: the file does not say.
const STEP_US: u64 = 1_000_000;

/// Reads a file of raw netlink messages.
pub(super) struct DumpReader<R> {
    input: Input<R>,
    grouping: Grouping,
    surveys: u64,
    ended: bool,
    notes: Vec<String>,
}

impl<R: Read> DumpReader<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Self { input, grouping: Grouping::default(), surveys: 0, ended: false, notes: Vec::new() }
    }

    /// The length of the next message with its padding; `None` at the end, which is noted unless it is a clean one.
    fn message_len(&mut self) -> io::Result<Option<usize>> {
        let at = self.input.offset();
        let header = self.input.peek(16)?;
        if header.is_empty() {
            return Ok(None);
        }
        if header.len() < 16 {
            let left = header.len();
            self.notes
                .push(format!("the dump is cut off at byte {}: {left} bytes are left of a message", at + left as u64));
            return Ok(None);
        }
        let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        if !(16..=MESSAGE_MAX).contains(&len) {
            self.notes.push(format!(
                "at byte {at} a netlink message should begin, and its length would be {len}: the rest is not read"
            ));
            return Ok(None);
        }
        let held = self.input.peek(len.next_multiple_of(4))?.len();
        if held < len {
            self.notes.push(format!(
                "the dump is cut off at byte {}: the message at byte {at} is not whole",
                at + held as u64
            ));
            return Ok(None);
        }
        Ok(Some(held.min(len.next_multiple_of(4))))
    }
}

impl<R: Read + Send> FileReader for DumpReader<R> {
    fn next(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> io::Result<bool> {
        for _ in 0..BATCH {
            if self.ended {
                return Ok(false);
            }
            let Some(len) = self.message_len()? else {
                self.ended = true;
                self.grouping.close(sink);
                return Ok(false);
            };
            let raw = self.input.peek(len)?;
            if let Some(message) = messages(raw).next() {
                self.surveys += u64::from(self.grouping.begins(&message));
                let at = FIRST.after(self.surveys * STEP_US);
                self.grouping.take(raw, &message, When { at, wall_us: None }, sink);
            }
            self.input.consume(len);
        }
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn provenance(&self) -> Provenance {
        Provenance { kind: SourceKind::Dump, timing: Timing::OrderOnly, wall: false, ..Provenance::recording() }
    }
}
