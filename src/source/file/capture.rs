//! Captures of an nlmon device: netlink messages with a time, among those of other protocols.

use std::io::{self, Read};

use crate::model::{Event, ProbeTarget};
use crate::record::input::Input;
use crate::wire::{Message, messages};

use super::FileReader;
use super::grouping::{FIRST, Grouping, When};
use super::packets::{Packet, Packets, Stop};
use super::provenance::{Provenance, SourceKind};

/// `LINKTYPE_NETLINK`.
const LINKTYPE_NETLINK: u32 = 253;
/// `NETLINK_SOCK_DIAG` (`include/uapi/linux/netlink.h`).
const NETLINK_SOCK_DIAG: u16 = 4;
/// Length of the header before the messages, in bytes; its last two are the protocol.
const COOKED_LEN: usize = 16;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLM_F_MULTI`: part of a dump.
const MULTI: u16 = 2;

/// Packets per call.
const BATCH: usize = 1024;

/// Reads `SOCK_DIAG` replies out of a capture.
pub(super) struct CaptureReader<R> {
    packets: Packets<R>,
    packet: Packet,
    grouping: Grouping,
    first_us: Option<i64>,
    ended: bool,
    damage: Option<String>,
    cut: u64,
    other_links: u64,
    other_link: u32,
    other_protocols: u64,
}

impl<R: Read> CaptureReader<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Self {
            packets: Packets::new(input),
            packet: Packet::default(),
            grouping: Grouping::default(),
            first_us: None,
            ended: false,
            damage: None,
            cut: 0,
            other_links: 0,
            other_link: 0,
            other_protocols: 0,
        }
    }

    fn packet(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if self.packet.link != LINKTYPE_NETLINK {
            self.other_links += 1;
            self.other_link = self.packet.link;
            return;
        }
        let Some((header, run)) = self.packet.bytes.split_first_chunk::<COOKED_LEN>() else { return };
        if u16::from_be_bytes([header[14], header[15]]) != NETLINK_SOCK_DIAG {
            self.other_protocols += 1;
            return;
        }
        self.cut += u64::from(self.packet.cut);
        let wall = self.packet.wall_us;
        let first = *self.first_us.get_or_insert(wall);
        let at = FIRST.after(u64::try_from(wall.saturating_sub(first)).unwrap_or(0));
        take_run(&mut self.grouping, run, When { at, wall_us: Some(wall) }, sink);
    }
}

/// Hands the replies among the messages of one packet on.
fn take_run(grouping: &mut Grouping, run: &[u8], when: When, sink: &mut dyn FnMut(Event<'_>)) {
    let mut walk = messages(run);
    let mut start = 0;
    while let Some(message) = walk.next() {
        let end = run.len() - walk.remaining();
        let raw = &run[start..end];
        start = end;
        let Some(header) = raw.first_chunk::<16>() else { continue };
        let flags = u16::from_ne_bytes([header[6], header[7]]);
        match message {
            Message::Done { .. } => grouping.take(raw, &message, when, sink),
            Message::Socket { .. } if flags & MULTI != 0 => grouping.take(raw, &message, when, sink),
            Message::Socket { socket, .. } if flags & REQUEST == 0 => {
                let target = ProbeTarget { first: socket.cookie, second: None };
                sink(Event::Probe { at: when.at, target, answers: raw });
            }
            // Requests, which have the type of their reply; acknowledgements; answers to look-ups of sockets that are gone.
            Message::Socket { .. } | Message::Error { .. } | Message::Malformed(_) | Message::Other { .. } => {}
        }
    }
}

impl<R: Read + Send> FileReader for CaptureReader<R> {
    fn next(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> io::Result<bool> {
        for _ in 0..BATCH {
            if self.ended {
                return Ok(false);
            }
            if let Err(stop) = self.packets.next(&mut self.packet)? {
                self.ended = true;
                if let Stop::Damage(what) = stop {
                    self.damage = Some(format!("{what}: the rest is not read"));
                }
                self.grouping.close(sink);
                return Ok(false);
            }
            self.packet(sink);
        }
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        let links = format!(
            "packets of link type {}, not of nlmon (253): {}; packets do not show the state of sockets",
            self.other_link, self.other_links
        );
        let cut = format!("packets cut short by the capture (snap length): {}; sockets may be missing", self.cut);
        let others = format!("packets of other netlink protocols: {}", self.other_protocols);
        [(self.other_links, links), (self.cut, cut), (self.other_protocols, others)]
            .into_iter()
            .filter_map(|(count, note)| (count > 0).then_some(note))
            .chain(self.damage.clone())
            .collect()
    }

    fn provenance(&self) -> Provenance {
        Provenance { kind: SourceKind::Capture, ..Provenance::recording() }
    }
}
