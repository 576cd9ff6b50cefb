//! A recording back to events.

use std::io::{self, Read};

use thiserror::Error;

use super::codec::Decoder;
use super::frame::{
    BLOCK_HEADER_LEN, BYTE_ORDER, BlockHeader, END, EVENTS, FILE_HEADER_LEN, KEY_EVENTS, MAGIC, MARKER, PAYLOAD_MAX,
    RECAP, VERSION, ZSTD, tag,
};
use super::input::Input;
use super::varint::{Cursor, unzigzag};
use crate::model::{Counters, Event, Host, Moment, Owners, ProbeTarget, SurveyReport};
use crate::wire::Cookie;

/// Why a recording cannot be read at all. Damage inside one is no error: see [`Reader::notes`].
#[derive(Debug, Error)]
pub enum ReadError {
    /// The stream failed.
    #[error("reading the recording failed: {0}")]
    Io(#[from] io::Error),
    /// The first bytes are others.
    #[error(
        "this is no whole stallscope recording: its first 12 bytes are not those of one, or it is cut off within them"
    )]
    NotARecording,
    /// Made by a newer program.
    #[error(
        "this recording has format version {found}, and this stallscope reads up to version {}: a newer stallscope reads it",
        VERSION
    )]
    Newer {
        /// The version that the file names.
        found: u16,
    },
    /// Made on a machine of the other byte order.
    #[error(
        "this recording was made on a machine of another byte order: read it on a machine like the one that made it"
    )]
    ByteOrder,
}

/// Most notes that are kept word for word.
const NOTES_MAX: usize = 100;

/// Reads a recording, however it ends.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is one thing that is or is not so; no two make a state together.
pub struct Reader<R> {
    input: Input<R>,
    decoder: Decoder,
    plain: Vec<u8>,
    run: Vec<u8>,
    last_survey: Option<Moment>,
    last_at: Moment,
    in_survey: bool,
    synced: bool,
    lost: bool,
    ended: bool,
    skipped: u64,
    notes: Vec<String>,
}

impl<R: Read> Reader<R> {
    /// Reads the first bytes of a recording.
    ///
    /// # Errors
    /// It is none, or one that this version cannot read.
    pub fn new(inner: R) -> Result<Self, ReadError> {
        let mut input = Input::new(inner);
        let header = input.peek(FILE_HEADER_LEN)?;
        if header.len() < FILE_HEADER_LEN || header[..8] != MAGIC {
            return Err(ReadError::NotARecording);
        }
        let found = u16::from_le_bytes([header[8], header[9]]);
        if found > VERSION {
            return Err(ReadError::Newer { found });
        }
        if header[10] != BYTE_ORDER {
            return Err(ReadError::ByteOrder);
        }
        input.consume(FILE_HEADER_LEN);
        Ok(Self {
            input,
            decoder: Decoder::default(),
            plain: Vec::new(),
            run: Vec::new(),
            last_survey: None,
            last_at: Moment::default(),
            in_survey: false,
            synced: false,
            lost: false,
            ended: false,
            skipped: 0,
            notes: Vec::new(),
        })
    }

    /// Gives the events of the next block to `sink`; `false` when there are no more.
    ///
    /// # Errors
    /// The stream failed. Damage is survived and noted.
    pub fn next(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> Result<bool, ReadError> {
        let Some(header) = self.header(sink)? else {
            self.at_end(sink);
            return Ok(false);
        };
        let at = self.input.offset();
        let stored = self.input.peek(BLOCK_HEADER_LEN + header.stored as usize)?;
        let held = stored.len() - BLOCK_HEADER_LEN;
        if held < header.stored as usize {
            self.note(format!(
                "the recording is cut off at byte {}: its last block is not whole",
                at + held as u64 + 24
            ));
            self.input.consume(BLOCK_HEADER_LEN + held);
            self.ended = true;
            self.at_end(sink);
            return Ok(false);
        }
        let problem = unpack(&header, &stored[BLOCK_HEADER_LEN..], &mut self.plain).err();
        self.input.consume(BLOCK_HEADER_LEN + header.stored as usize);
        match problem {
            Some(problem) => self.lose(sink, &format!("the block at byte {at} is damaged ({problem})")),
            None => self.block(header.kind, at, sink),
        }
        Ok(true)
    }

    /// What was damaged, skipped or cut off, and where.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(note);
        }
    }

    /// Finds the next block header, past whatever is damaged.
    fn header(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> io::Result<Option<BlockHeader>> {
        if self.ended {
            return Ok(None);
        }
        let bytes = self.input.peek(BLOCK_HEADER_LEN)?;
        if let Some(header) = BlockHeader::parse(bytes) {
            return Ok(Some(header));
        }
        let (len, from) = (bytes.len(), self.input.offset());
        if len == 0 {
            self.note(format!("the recording was not closed: it ends at byte {from}, after its last whole block"));
            return Ok(None);
        }
        let found = self.search()?;
        let to = self.input.offset();
        if found.is_some() {
            self.lose(sink, &format!("bytes {from} to {to} are damaged"));
        } else {
            self.note(format!("the recording is cut off or damaged from byte {from} to its end at byte {to}"));
            self.ended = true;
        }
        Ok(found)
    }

    fn search(&mut self) -> io::Result<Option<BlockHeader>> {
        loop {
            let window = self.input.peek(64 << 10)?;
            if window.len() < BLOCK_HEADER_LEN {
                let len = window.len();
                self.input.consume(len);
                return Ok(None);
            }
            let starts = window.len() - BLOCK_HEADER_LEN + 1;
            let found = (0..starts)
                .filter(|at| window[*at..].starts_with(&MARKER))
                .find_map(|at| BlockHeader::parse(&window[at..]).map(|header| (at, header)));
            self.input.consume(found.map_or(starts, |(at, _)| at));
            if let Some((_, header)) = found {
                return Ok(Some(header));
            }
        }
    }

    /// What follows cannot be understood until the next key block.
    fn lose(&mut self, sink: &mut dyn FnMut(Event<'_>), what: &str) {
        self.note(format!("{what}: skipping to the next survey that stands alone"));
        self.close_survey(sink, "the recording is damaged inside this survey");
        self.synced = false;
        self.lost = true;
    }

    fn close_survey(&mut self, sink: &mut dyn FnMut(Event<'_>), why: &str) {
        if std::mem::take(&mut self.in_survey) {
            let report = SurveyReport { failures: vec![why.to_owned()], ..SurveyReport::default() };
            sink(Event::SurveyEnd { at: self.last_at, report: &report });
        }
    }

    fn at_end(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        self.ended = true;
        self.close_survey(sink, "the recording ends inside this survey");
        self.resynced();
    }

    /// Says how much was skipped.
    fn resynced(&mut self) {
        let skipped = std::mem::take(&mut self.skipped);
        if skipped > 0 {
            self.note(format!("{skipped} blocks behind the damage could not be understood without it"));
        }
    }

    fn block(&mut self, kind: u8, at: u64, sink: &mut dyn FnMut(Event<'_>)) {
        match kind {
            EVENTS if !self.synced => {
                if !self.lost {
                    self.lose(sink, &format!("the block at byte {at} needs one before it that is not there"));
                }
                self.skipped += 1;
            }
            EVENTS => self.events(at, sink),
            KEY_EVENTS => {
                self.resynced();
                self.decoder.state.reset();
                (self.synced, self.lost) = (true, false);
                self.events(at, sink);
            }
            RECAP if self.lost => self.events(at, sink),
            RECAP => {}
            END => self.ended = true,
            other => {
                self.note(format!("the block at byte {at} is of a kind ({other}) that this version does not know"));
            }
        }
    }

    fn events(&mut self, at: u64, sink: &mut dyn FnMut(Event<'_>)) {
        let plain = std::mem::take(&mut self.plain);
        let mut cursor = Cursor(&plain);
        while !cursor.is_empty() {
            let whole = cursor.byte().zip(cursor.bytes());
            if whole.and_then(|(tag, body)| self.record(tag, body, at, sink)).is_none() {
                self.lose(sink, &format!("a record of the block at byte {at} does not fit what came before"));
                break;
            }
        }
        self.plain = plain;
    }

    /// Gives one record's event to `sink`; `None` when it cannot be read.
    fn record(&mut self, tag: u8, body: &[u8], block: u64, sink: &mut dyn FnMut(Event<'_>)) -> Option<()> {
        let mut cursor = Cursor(body);
        match tag {
            tag::HOST => sink(Event::Host(&serde_json::from_slice::<Host>(body).ok()?)),
            tag::SURVEY_BEGIN => self.survey_begin(&mut cursor, sink)?,
            tag::RUN => {
                let mut run = std::mem::take(&mut self.run);
                let done = self.decoder.run(&mut run, body);
                if done.is_some() {
                    sink(Event::Run(&run));
                }
                self.run = run;
                done?;
            }
            tag::SURVEY_END => {
                let at = self.moment(&mut cursor)?;
                let report = report(&mut cursor)?;
                self.in_survey = false;
                sink(Event::SurveyEnd { at, report: &report });
            }
            tag::PROBE => self.probe(&mut cursor, sink)?,
            tag::COUNTERS => {
                let at = self.moment(&mut cursor)?;
                sink(Event::Counters { at, counters: counters(&mut cursor)? });
            }
            tag::OWNERS => sink(Event::Owners(&serde_json::from_slice::<Vec<(u32, Owners)>>(body).ok()?)),
            tag::MARK => {
                let at = self.moment(&mut cursor)?;
                sink(Event::Mark { at, word: std::str::from_utf8(cursor.0).ok()? });
            }
            other => self.note(format!(
                "a record of the block at byte {block} is of a kind ({other}) that this version does not know"
            )),
        }
        Some(())
    }

    fn moment(&mut self, cursor: &mut Cursor<'_>) -> Option<Moment> {
        self.last_at = Moment(cursor.varint()?);
        Some(self.last_at)
    }

    fn survey_begin(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn FnMut(Event<'_>)) -> Option<()> {
        let at = self.moment(cursor)?;
        let wall_us = if cursor.byte()? == 0 { None } else { Some(unzigzag(cursor.varint()?)) };
        let elapsed = self.last_survey.map_or(0, |last| at.since(last) / 1000);
        self.decoder.state.begin_survey(elapsed);
        self.last_survey = Some(at);
        self.in_survey = true;
        sink(Event::SurveyBegin { at, wall_us });
        Some(())
    }

    fn probe(&mut self, cursor: &mut Cursor<'_>, sink: &mut dyn FnMut(Event<'_>)) -> Option<()> {
        let at = self.moment(cursor)?;
        let paired = cursor.byte()? != 0;
        let first = Cookie(cursor.word64()?);
        let second = if paired { Some(Cookie(cursor.word64()?)) } else { None };
        let target = ProbeTarget { first, second };
        let mut answers = std::mem::take(&mut self.run);
        let done = self.decoder.probe(&mut answers, target, cursor.0);
        if done.is_some() {
            sink(Event::Probe { at, target, answers: &answers });
        }
        self.run = answers;
        done
    }
}

/// Checks and unpacks a payload; the error is what is wrong with it.
fn unpack(header: &BlockHeader, stored: &[u8], plain: &mut Vec<u8>) -> Result<(), &'static str> {
    if crc32fast::hash(stored) != header.checksum {
        return Err("its checksum does not match");
    }
    plain.clear();
    if header.flags & ZSTD == 0 {
        plain.extend_from_slice(stored);
    } else {
        let limit = (header.plain as usize).min(PAYLOAD_MAX) as u64 + 1;
        let decoder = zstd::stream::read::Decoder::with_buffer(stored).map_err(|_| "it cannot be unpacked")?;
        decoder.take(limit).read_to_end(plain).map_err(|_| "it cannot be unpacked")?;
    }
    if plain.len() == header.plain as usize { Ok(()) } else { Err("it does not unpack to the length that it names") }
}

fn report(cursor: &mut Cursor<'_>) -> Option<SurveyReport> {
    let mut report = SurveyReport {
        truncated_reads: u32::try_from(cursor.varint()?).ok()?,
        overflows: u32::try_from(cursor.varint()?).ok()?,
        interrupted: cursor.byte()? != 0,
        failures: Vec::new(),
    };
    while !cursor.is_empty() {
        report.failures.push(String::from_utf8(cursor.bytes()?.to_vec()).ok()?);
    }
    Some(report)
}

fn counters(cursor: &mut Cursor<'_>) -> Option<Counters> {
    let known = cursor.byte()?;
    let mut value = |bit: u8| if known & (1 << bit) == 0 { Some(None) } else { cursor.varint().map(Some) };
    Some(Counters { delayed_acks: value(0)?, delayed_ack_locked: value(1)?, auto_corking: value(2)? })
}
