//! Between a watch and a recording: what does not match the filter is left out, message by message.

use std::io::{self, Write};

use rustc_hash::FxHashSet;

use crate::engine::Engine;
use crate::filter::Filter;
use crate::model::{ConnectionId, Event, EventBuf, ProbeTarget};
use crate::record::Writer;
use crate::report::matching;
use crate::wire::{Cookie, HostId, Message, TcpState, messages};

/// Alignment of netlink messages, bytes (`NLMSG_ALIGNTO`).
const ALIGN: usize = 4;

/// The sockets that are recorded.
#[derive(Debug, Default)]
struct Kept {
    cookies: FxHashSet<Cookie>,
    /// Their ports: who listens there tells who opened a connection.
    ports: FxHashSet<u16>,
}

impl Kept {
    /// Adds both ends of every connection that matches now. One that matched once is kept while it lasts, so that its record
    /// has no gaps.
    fn update(&mut self, engine: &Engine, filter: &Filter) {
        let table = engine.table();
        let known: Vec<ConnectionId> = self
            .cookies
            .iter()
            .filter_map(|cookie| Some(table.socket(HostId::default(), *cookie)?.connection))
            .collect();
        self.cookies.clear();
        self.ports.clear();
        for id in matching(engine, filter).into_iter().chain(known) {
            let Some(subject) = engine.subject(id) else { continue };
            for socket in subject.ends.into_iter().flatten() {
                self.cookies.insert(socket.cookie);
                self.ports.insert(socket.local.port);
            }
        }
    }

    fn holds(&self, target: ProbeTarget) -> bool {
        self.cookies.contains(&target.first) || target.second.is_some_and(|second| self.cookies.contains(&second))
    }

    /// The messages of the run that are about kept sockets.
    fn sift(&self, run: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for message in messages(run) {
            let Message::Socket { socket, raw, .. } = message else { continue };
            let listens = socket.state == TcpState::LISTEN && self.ports.contains(&socket.local.port);
            if listens || self.cookies.contains(&socket.cookie) {
                out.extend_from_slice(raw);
                out.resize(out.len().next_multiple_of(ALIGN), 0);
            }
        }
        out
    }
}

/// Takes the events of a watch and writes those that match to a recording.
///
/// A filter may ask for what only the engine knows, so with a filter events are held until [`Tap::settle`].
#[derive(Debug)]
pub struct Tap<W: Write> {
    writer: Writer<W>,
    filter: Filter,
    kept: Kept,
    /// Events that wait until the engine has seen the survey that decides on them.
    held: Vec<EventBuf>,
    failed: Option<io::Error>,
}

impl<W: Write> Tap<W> {
    /// A tap that records what matches `filter`.
    pub fn new(writer: Writer<W>, filter: Filter) -> Self {
        Self { writer, filter, kept: Kept::default(), held: Vec::new(), failed: None }
    }

    /// Takes an event, in the order of the watch. A failure to write is told by [`Tap::settle`].
    pub fn take(&mut self, event: &Event<'_>) {
        if self.failed.is_some() {
            return;
        }
        if self.filter.is_empty() {
            self.failed = self.writer.write(event).err();
        } else {
            self.held.push(EventBuf::of(event));
        }
    }

    /// Writes what was taken, now that `engine` has seen it too. To be called between the steps of the watch.
    ///
    /// # Errors
    /// The recording cannot be written to (disk full, pipe closed); what was written before stays readable.
    pub fn settle(&mut self, engine: &Engine) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let held = std::mem::take(&mut self.held);
        if held.iter().any(|event| matches!(event, EventBuf::SurveyEnd(..))) {
            self.kept.update(engine, &self.filter);
        }
        for event in &held {
            match event {
                EventBuf::Run(run) => self.writer.write(&Event::Run(&self.kept.sift(run)))?,
                EventBuf::Probe(_, target, _) if !self.kept.holds(*target) => {}
                other => self.writer.write(&other.event())?,
            }
        }
        Ok(())
    }

    /// Whether everything is recorded.
    pub fn keeps_all(&self) -> bool {
        self.filter.is_empty()
    }

    /// Whether the sockets of this connection are recorded.
    pub fn keeps(&self, cookie: Cookie) -> bool {
        self.filter.is_empty() || self.kept.cookies.contains(&cookie)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.writer.written()
    }

    /// Sends on its way what is not yet: after a survey, so that a crash loses nothing of it.
    ///
    /// # Errors
    /// As for [`Tap::settle`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// As for [`Tap::settle`].
    pub fn finish(self) -> io::Result<W> {
        self.writer.finish()
    }
}
