//! Runs and probes, to bytes and back, against what was seen before. One half writes and the other reads; both change the
//! same state in the same order.

use rustc_hash::FxHashMap;

use super::delta::{Pace, Store, apply_changes, cookie_of, pieces, put_changes};
use super::varint::{Cursor, put, put_bytes, unzigzag, zigzag};
use crate::model::ProbeTarget;

/// The next n messages are as predicted; n = 0 is not used.
const SAME: u64 = 0;
/// The message to refer to is not the next but n further (signed).
const JUMP: u64 = 1;
/// n bytes as they are.
const LITERAL: u64 = 2;
/// The next message, with n words changed.
const CHANGED: u64 = 3;

/// Most bytes that one run unpacks to.
pub(super) const RUN_MAX: usize = 1 << 20;

/// Readings of probed sockets that are kept to refer to.
const PROBE_REFERENCES: usize = 2048;

/// Longest message of a probe that is kept to refer to, in bytes.
const PROBE_MESSAGE_MAX: usize = 4 << 10;

/// What both sides remember.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    previous: Store,
    current: Store,
    cursor: usize,
    pace: Pace,
    probes: FxHashMap<u64, Vec<u8>>,
}

impl State {
    /// Forgets everything: a key block begins.
    pub(super) fn reset(&mut self) {
        self.previous.clear();
        self.current.clear();
        self.probes.clear();
        self.cursor = 0;
        self.pace = Pace::default();
    }

    /// A survey begins `elapsed_ms` after the one before: what was current is now what is referred to.
    pub(super) fn begin_survey(&mut self, elapsed_ms: u64) {
        std::mem::swap(&mut self.previous, &mut self.current);
        self.current.clear();
        self.cursor = 0;
        self.pace.ms = u32::try_from(elapsed_ms).unwrap_or(0);
    }

    /// The messages of the survey that is going on, or of the last.
    pub(super) fn survey(&self) -> &Store {
        &self.current
    }

    /// The predicted reading at the cursor.
    fn predict(&mut self, scratch: &mut Vec<u8>) -> Option<()> {
        scratch.clear();
        scratch.extend_from_slice(self.previous.get(self.cursor)?);
        self.pace.advance(scratch);
        Some(())
    }

    /// The message at the cursor became `now`.
    fn accept(&mut self, now: &[u8]) {
        if let Some(before) = self.previous.get(self.cursor) {
            self.pace.learn(before, now);
        }
        self.cursor += 1;
    }

    fn keep_probe(&mut self, piece: &[u8]) {
        let Some(cookie) = cookie_of(piece).filter(|_| piece.len() <= PROBE_MESSAGE_MAX) else { return };
        if self.probes.len() >= PROBE_REFERENCES && !self.probes.contains_key(&cookie) {
            self.probes.clear();
        }
        let kept = self.probes.entry(cookie).or_default();
        kept.clear();
        kept.extend_from_slice(piece);
    }
}

/// The writing half.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    pub(super) state: State,
    previous_index: FxHashMap<u64, u32>,
    current_index: FxHashMap<u64, u32>,
    scratch: Vec<u8>,
    changes: Vec<u8>,
}

impl Encoder {
    pub(super) fn reset(&mut self) {
        self.state.reset();
        self.previous_index.clear();
        self.current_index.clear();
    }

    pub(super) fn begin_survey(&mut self, elapsed_ms: u64) {
        self.state.begin_survey(elapsed_ms);
        std::mem::swap(&mut self.previous_index, &mut self.current_index);
        self.current_index.clear();
    }

    /// Appends the operations for the pieces of a run.
    pub(super) fn run(&mut self, out: &mut Vec<u8>, run: &[u8]) {
        let mut same = 0u64;
        for piece in pieces(run) {
            let cookie = cookie_of(piece);
            if !self.refer(out, &mut same, cookie, piece) {
                flush_same(out, &mut same);
                put(out, (piece.len() as u64) << 2 | LITERAL);
                out.extend_from_slice(piece);
            }
            if let Some(cookie) = cookie
                && let Some(index) = self.state.current.push(piece)
            {
                self.current_index.insert(cookie, index);
            }
        }
        flush_same(out, &mut same);
    }

    /// Writes the piece as a reference, when there is something of the same length to refer to.
    fn refer(&mut self, out: &mut Vec<u8>, same: &mut u64, cookie: Option<u64>, piece: &[u8]) -> bool {
        let Some(cookie) = cookie else { return false };
        let Some(target) = self.find(cookie) else { return false };
        if self.state.previous.get(target).is_none_or(|before| before.len() != piece.len()) {
            return false;
        }
        if target != self.state.cursor {
            flush_same(out, same);
            let distance = target.cast_signed().wrapping_sub(self.state.cursor.cast_signed());
            put(out, zigzag(distance as i64) << 2 | JUMP);
            self.state.cursor = target;
        }
        if self.state.predict(&mut self.scratch).is_none() {
            return false;
        }
        if self.scratch == piece {
            *same += 1;
        } else {
            flush_same(out, same);
            self.changes.clear();
            let count = put_changes(&mut self.changes, &self.scratch, piece);
            put(out, count << 2 | CHANGED);
            out.extend_from_slice(&self.changes);
        }
        self.state.accept(piece);
        true
    }

    /// Where the socket stood in the survey before; first looked for where it is expected.
    fn find(&self, cookie: u64) -> Option<usize> {
        if self.state.previous.get(self.state.cursor).and_then(cookie_of) == Some(cookie) {
            return Some(self.state.cursor);
        }
        self.previous_index.get(&cookie).map(|index| *index as usize)
    }

    /// Appends the answers to a probe.
    pub(super) fn probe(&mut self, out: &mut Vec<u8>, target: ProbeTarget, answers: &[u8]) {
        for (nth, piece) in pieces(answers).enumerate() {
            let reference = self.state.probes.get(&asked(target, nth));
            if let Some(before) = reference.filter(|before| before.len() == piece.len()) {
                self.changes.clear();
                let count = put_changes(&mut self.changes, before, piece);
                put(out, count << 1 | 1);
                out.extend_from_slice(&self.changes);
            } else {
                put(out, (piece.len() as u64) << 1);
                out.extend_from_slice(piece);
            }
            self.state.keep_probe(piece);
        }
    }
}

fn flush_same(out: &mut Vec<u8>, same: &mut u64) {
    if *same > 0 {
        put(out, *same << 2 | SAME);
        *same = 0;
    }
}

/// Whom the nth request of a probe asks: first, second, first, second.
fn asked(target: ProbeTarget, nth: usize) -> u64 {
    match target.second {
        Some(second) if nth % 2 == 1 => second.0,
        _ => target.first.0,
    }
}

/// The reading half.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoder {
    pub(super) state: State,
    scratch: Vec<u8>,
}

impl Decoder {
    /// Unpacks the operations of a run into `out`; `None` when they do not fit what came before.
    pub(super) fn run(&mut self, out: &mut Vec<u8>, body: &[u8]) -> Option<()> {
        let mut cursor = Cursor(body);
        out.clear();
        while !cursor.is_empty() {
            let op = cursor.varint()?;
            let n = op >> 2;
            match op & 3 {
                SAME => {
                    for _ in 0..n {
                        self.state.predict(&mut self.scratch)?;
                        self.take(out)?;
                    }
                }
                JUMP => {
                    let distance = isize::try_from(unzigzag(n)).ok()?;
                    self.state.cursor = self.state.cursor.checked_add_signed(distance)?;
                }
                LITERAL => {
                    let piece = cursor.take(usize::try_from(n).ok()?)?;
                    bounded_extend(out, piece)?;
                    if cookie_of(piece).is_some() {
                        self.state.current.push(piece);
                    }
                }
                _ => {
                    self.state.predict(&mut self.scratch)?;
                    apply_changes(&mut self.scratch, n, &mut cursor)?;
                    self.take(out)?;
                }
            }
        }
        Some(())
    }

    /// The scratch holds the next message.
    fn take(&mut self, out: &mut Vec<u8>) -> Option<()> {
        bounded_extend(out, &self.scratch)?;
        self.state.accept(&self.scratch);
        self.state.current.push(&self.scratch);
        Some(())
    }

    /// Unpacks the answers of a probe into `out`; `None` when they do not fit what came before.
    pub(super) fn probe(&mut self, out: &mut Vec<u8>, target: ProbeTarget, body: &[u8]) -> Option<()> {
        let mut cursor = Cursor(body);
        out.clear();
        let mut nth = 0;
        while !cursor.is_empty() {
            let op = cursor.varint()?;
            let n = op >> 1;
            self.scratch.clear();
            if op & 1 == 0 {
                self.scratch.extend_from_slice(cursor.take(usize::try_from(n).ok()?)?);
            } else {
                self.scratch.extend_from_slice(self.state.probes.get(&asked(target, nth))?);
                apply_changes(&mut self.scratch, n, &mut cursor)?;
            }
            bounded_extend(out, &self.scratch)?;
            self.state.keep_probe(&self.scratch);
            nth += 1;
        }
        Some(())
    }
}

fn bounded_extend(out: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    if out.len() + bytes.len() > RUN_MAX {
        return None;
    }
    out.extend_from_slice(bytes);
    Some(())
}

/// Splits a run of any length into parts that each fit a record, at messages where that can be.
pub(super) fn split_run(run: &[u8]) -> impl Iterator<Item = &[u8]> {
    /// Length that a part stays below, in bytes; a quarter of what the reader takes.
    const PART: usize = RUN_MAX / 4;
    let mut rest = run;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut len = 0;
        for piece in pieces(rest) {
            if len + piece.len() > PART {
                break;
            }
            len += piece.len();
        }
        let (part, tail) = rest.split_at(if len == 0 { rest.len().min(PART) } else { len });
        rest = tail;
        Some(part)
    })
}

/// Appends a record: its tag, its length, its body.
pub(super) fn put_record(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    put_bytes(out, body);
}
