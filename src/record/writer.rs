//! Events to a recording.

use std::io::{self, Write};

use rustc_hash::{FxHashMap, FxHashSet};

use super::codec::{Encoder, put_record, split_run};
use super::delta::inode_of;
use super::frame::{
    BLOCK_HEADER_LEN, BlockHeader, END, EVENTS, KEY_EVENTS, PAYLOAD_MAX, RECAP, ZSTD, file_header, tag,
};
use super::varint::{put, put_bytes, zigzag};
use crate::model::{Counters, Event, Host, Moment, Owners, ProbeTarget, SurveyReport};

/// zstd level: 3 is its default; higher ones gain little on what the prediction leaves.
const LEVEL: i32 = 3;

/// A block is closed when it holds this many bytes.
const BLOCK_TARGET: usize = 1 << 20;

/// A block is closed when its events span this long, µs, so that less than a second is ever lost.
const BLOCK_SPAN_US: u64 = 500_000;

/// A survey that needs nothing before it is written this often, µs: what one damaged block can cost.
const KEY_EVERY_US: u64 = 30_000_000;

/// Longest body of an owners record, in bytes.
const OWNERS_TARGET: usize = 256 << 10;

/// Writes a recording. Every block goes out with one write and a flush, so that what is written stays readable whatever
/// happens to this process.
pub struct Writer<W: Write> {
    out: W,
    encoder: Encoder,
    compressor: zstd::bulk::Compressor<'static>,
    pending: Vec<u8>,
    body: Vec<u8>,
    block: Vec<u8>,
    kind: u8,
    opened: Option<Moment>,
    last_key: Option<Moment>,
    last_survey: Option<Moment>,
    host: Option<Host>,
    owners: FxHashMap<u32, Owners>,
    written: u64,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("written", &self.written).finish_non_exhaustive()
    }
}

impl<W: Write> Writer<W> {
    /// Begins a recording in `out`, which should not buffer.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn new(mut out: W) -> io::Result<Self> {
        let header = file_header();
        out.write_all(&header)?;
        out.flush()?;
        Ok(Self {
            out,
            encoder: Encoder::default(),
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            pending: Vec::new(),
            body: Vec::new(),
            block: Vec::new(),
            kind: KEY_EVENTS,
            opened: None,
            last_key: None,
            last_survey: None,
            host: None,
            owners: FxHashMap::default(),
            written: header.len() as u64,
        })
    }

    /// Adds an event. It is on its way to the file when the survey ends, half a second of events later, or on
    /// [`Writer::flush`], whichever comes first.
    ///
    /// # Errors
    /// `out` cannot be written to (disk full, pipe closed); what was written before stays readable.
    pub fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        match *event {
            Event::Host(host) => self.host(host),
            Event::SurveyBegin { at, wall_us } => self.survey_begin(at, wall_us),
            Event::Run(run) => self.run(run),
            Event::SurveyEnd { at, report } => self.survey_end(at, report),
            Event::Probe { at, target, answers } => self.probe(at, target, answers),
            Event::Counters { at, counters } => self.counters(at, counters),
            Event::Owners(owners) => self.owners(owners),
            Event::Mark { at, word } => self.mark(at, word),
        }
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Closes the block that is open.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let result = self.block(self.kind, &pending);
        self.pending = pending;
        self.pending.clear();
        self.kind = EVENTS;
        self.opened = None;
        result
    }

    /// Ends the recording and gives back what it was written to.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.block(END, &[])?;
        Ok(self.out)
    }

    fn block(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        let packed = self.compressor.compress(payload)?;
        let len = |bytes: &[u8]| {
            let len = u32::try_from(bytes.len()).ok().filter(|len| *len as usize <= PAYLOAD_MAX);
            len.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "an event is too long for the recording"))
        };
        let header = BlockHeader {
            kind,
            flags: ZSTD,
            stored: len(&packed)?,
            plain: len(payload)?,
            checksum: crc32fast::hash(&packed),
        };
        self.block.clear();
        self.block.extend_from_slice(&header.to_bytes());
        self.block.extend_from_slice(&packed);
        self.out.write_all(&self.block)?;
        self.out.flush()?;
        self.written += (BLOCK_HEADER_LEN + packed.len()) as u64;
        Ok(())
    }

    /// Adds the body as a record; `at` is when, for events that know.
    fn record(&mut self, tag: u8, at: Option<Moment>) -> io::Result<()> {
        let span = |from: Option<Moment>| from.zip(at).map_or(0, |(from, at)| at.since(from));
        if self.pending.len() + self.body.len() > BLOCK_TARGET || span(self.opened) >= BLOCK_SPAN_US {
            self.flush()?;
        }
        put_record(&mut self.pending, tag, &self.body);
        self.opened = self.opened.or(at);
        Ok(())
    }

    fn host(&mut self, host: &Host) -> io::Result<()> {
        self.host = Some(host.clone());
        self.body.clear();
        serde_json::to_writer(&mut self.body, host)?;
        self.record(tag::HOST, None)
    }

    fn survey_begin(&mut self, at: Moment, wall_us: Option<i64>) -> io::Result<()> {
        if self.last_key.is_some_and(|key| at.since(key) >= KEY_EVERY_US) {
            self.flush()?;
            self.recap()?;
            self.encoder.reset();
            self.kind = KEY_EVENTS;
            self.last_key = None;
        }
        self.last_key = self.last_key.or(Some(at));
        self.encoder.begin_survey(self.last_survey.map_or(0, |last| at.since(last) / 1000));
        self.last_survey = Some(at);
        self.body.clear();
        put(&mut self.body, at.0);
        put_wall(&mut self.body, wall_us);
        self.record(tag::SURVEY_BEGIN, Some(at))
    }

    fn run(&mut self, run: &[u8]) -> io::Result<()> {
        for part in split_run(run) {
            self.body.clear();
            self.encoder.run(&mut self.body, part);
            self.record(tag::RUN, None)?;
        }
        Ok(())
    }

    fn survey_end(&mut self, at: Moment, report: &SurveyReport) -> io::Result<()> {
        self.body.clear();
        put(&mut self.body, at.0);
        put(&mut self.body, report.truncated_reads.into());
        put(&mut self.body, report.overflows.into());
        self.body.push(report.interrupted.into());
        for failure in &report.failures {
            put_bytes(&mut self.body, failure.as_bytes());
        }
        self.record(tag::SURVEY_END, Some(at))?;
        self.flush()
    }

    fn probe(&mut self, at: Moment, target: ProbeTarget, answers: &[u8]) -> io::Result<()> {
        self.body.clear();
        put(&mut self.body, at.0);
        self.body.push(target.second.is_some().into());
        self.body.extend_from_slice(&target.first.0.to_le_bytes());
        if let Some(second) = target.second {
            self.body.extend_from_slice(&second.0.to_le_bytes());
        }
        self.encoder.probe(&mut self.body, target, answers);
        self.record(tag::PROBE, Some(at))
    }

    fn counters(&mut self, at: Moment, counters: Counters) -> io::Result<()> {
        self.body.clear();
        put(&mut self.body, at.0);
        let values = [counters.delayed_acks, counters.delayed_ack_locked, counters.auto_corking];
        let known = values.iter().enumerate().map(|(bit, value)| u8::from(value.is_some()) << bit).sum();
        self.body.push(known);
        values.into_iter().flatten().for_each(|value| put(&mut self.body, value));
        self.record(tag::COUNTERS, Some(at))
    }

    /// Only what is new: the same word about the same socket is not written again.
    fn owners(&mut self, owners: &[(u32, Owners)]) -> io::Result<()> {
        let fresh: Vec<&(u32, Owners)> =
            owners.iter().filter(|(inode, owners)| self.owners.get(inode) != Some(owners)).collect();
        for body in owner_records(fresh.iter().copied())? {
            self.body = body;
            self.record(tag::OWNERS, None)?;
        }
        let fresh: Vec<(u32, Owners)> = fresh.into_iter().cloned().collect();
        self.owners.extend(fresh);
        Ok(())
    }

    fn mark(&mut self, at: Moment, word: &str) -> io::Result<()> {
        self.body.clear();
        put(&mut self.body, at.0);
        self.body.extend_from_slice(word.as_bytes());
        self.record(tag::MARK, Some(at))?;
        self.flush()
    }

    /// Writes the host, and the owners of the sockets that the last survey saw; others are forgotten.
    fn recap(&mut self) -> io::Result<()> {
        let alive: FxHashSet<u32> = self.encoder.state.survey().iter().filter_map(inode_of).collect();
        self.owners.retain(|inode, _| alive.contains(inode));
        let mut payload = Vec::new();
        if let Some(host) = &self.host {
            put_record(&mut payload, tag::HOST, &serde_json::to_vec(host)?);
        }
        let known: Vec<(u32, Owners)> = self.owners.iter().map(|(inode, owners)| (*inode, owners.clone())).collect();
        for body in owner_records(known.iter())? {
            if payload.len() + body.len() > BLOCK_TARGET {
                self.block(RECAP, &payload)?;
                payload.clear();
            }
            put_record(&mut payload, tag::OWNERS, &body);
        }
        self.block(RECAP, &payload)
    }
}

/// Bodies of owners records: JSON arrays of bounded length.
fn owner_records<'a>(owners: impl Iterator<Item = &'a (u32, Owners)>) -> io::Result<Vec<Vec<u8>>> {
    let mut bodies = Vec::new();
    let mut body = Vec::new();
    for entry in owners {
        let json = serde_json::to_vec(entry)?;
        if !body.is_empty() && body.len() + json.len() > OWNERS_TARGET {
            body.push(b']');
            bodies.push(std::mem::take(&mut body));
        }
        body.push(if body.is_empty() { b'[' } else { b',' });
        body.extend_from_slice(&json);
    }
    if !body.is_empty() {
        body.push(b']');
        bodies.push(body);
    }
    Ok(bodies)
}

fn put_wall(out: &mut Vec<u8>, wall_us: Option<i64>) {
    out.push(wall_us.is_some().into());
    if let Some(wall) = wall_us {
        put(out, zigzag(wall));
    }
}
