//! The packets of a pcap or pcapng file.

use std::io::{self, Read};

use crate::record::input::Input;

/// Longest packet or block that is taken for one, in bytes.
const LENGTH_MAX: usize = 4 << 20;

/// Interfaces that one section may describe; more are a sign of damage.
const INTERFACES_MAX: usize = 1024;

/// One captured packet.
#[derive(Debug, Default)]
pub(super) struct Packet {
    /// Link type of the interface.
    pub(super) link: u32,
    /// µs since 1970, UTC.
    pub(super) wall_us: i64,
    /// The bytes that were captured.
    pub(super) bytes: Vec<u8>,
    /// Not all of it was captured.
    pub(super) cut: bool,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u32,
    /// Ticks of its clock per second.
    per_second: u64,
}

#[derive(Debug)]
enum Format {
    Unknown,
    Classic(Interface),
    Ng(Vec<Interface>),
}

/// Reads packets in order.
#[derive(Debug)]
pub(super) struct Packets<R> {
    input: Input<R>,
    format: Format,
    big: bool,
}

/// Why there are no more packets.
#[derive(Debug)]
pub(super) enum Stop {
    /// The file is over.
    End,
    /// It is damaged or cut off; in words.
    Damage(String),
}

type Step<T> = io::Result<Result<T, Stop>>;

impl<R: Read> Packets<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Self { input, format: Format::Unknown, big: false }
    }

    /// Fills in the next packet.
    pub(super) fn next(&mut self, packet: &mut Packet) -> Step<()> {
        loop {
            let step = match &self.format {
                Format::Unknown => self.file_header()?,
                Format::Classic(interface) => return self.classic(*interface, packet),
                Format::Ng(_) => match self.block(packet)? {
                    Ok(true) => return Ok(Ok(())),
                    Ok(false) => Ok(()),
                    Err(stop) => Err(stop),
                },
            };
            if let Err(stop) = step {
                return Ok(Err(stop));
            }
        }
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = bytes.get(at..at + 4).and_then(|word| word.first_chunk().copied()).unwrap_or_default();
        if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn half(&self, bytes: &[u8], at: usize) -> u16 {
        let half = bytes.get(at..at + 2).and_then(|half| half.first_chunk().copied()).unwrap_or_default();
        if self.big { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) }
    }

    /// All of the next `len` bytes, or why not.
    fn whole(&mut self, len: usize) -> Step<Vec<u8>> {
        let at = self.input.offset();
        let bytes = self.input.peek(len)?;
        Ok(match bytes.len() {
            0 => Err(Stop::End),
            held if held < len => Err(Stop::Damage(format!("the capture is cut off at byte {}", at + held as u64))),
            _ => Ok(bytes.to_vec()),
        })
    }

    fn file_header(&mut self) -> Step<()> {
        if self.input.peek(4)? == [0x0a, 0x0d, 0x0d, 0x0a] {
            self.format = Format::Ng(Vec::new());
            return Ok(Ok(()));
        }
        let header = match self.whole(24)? {
            Ok(header) => header,
            Err(stop) => return Ok(Err(stop)),
        };
        self.big = header[0] == 0xa1;
        let per_second = if matches!(self.word(&header, 0), 0xa1b2_3c4d) { 1_000_000_000 } else { 1_000_000 };
        // The upper bits of the word are other things (`draft-ietf-opsawg-pcap`).
        let link = self.word(&header, 20) & 0xffff;
        self.format = Format::Classic(Interface { link, per_second });
        self.input.consume(24);
        Ok(Ok(()))
    }

    fn classic(&mut self, interface: Interface, packet: &mut Packet) -> Step<()> {
        let at = self.input.offset();
        let header = match self.whole(16)? {
            Ok(header) => header,
            Err(stop) => return Ok(Err(stop)),
        };
        let captured = self.word(&header, 8) as usize;
        if captured > LENGTH_MAX {
            return Ok(Err(Stop::Damage(format!("the packet at byte {at} would be {captured} bytes long"))));
        }
        let bytes = match self.whole(16 + captured)? {
            Ok(bytes) => bytes,
            Err(stop) => return Ok(Err(stop)),
        };
        let fraction = u64::from(self.word(&header, 4)) * 1_000_000 / interface.per_second;
        packet.link = interface.link;
        packet.wall_us = i64::from(self.word(&header, 0)) * 1_000_000 + i64::try_from(fraction).unwrap_or(0);
        packet.cut = (self.word(&header, 12) as usize) > captured;
        packet.bytes.clear();
        packet.bytes.extend_from_slice(&bytes[16..]);
        self.input.consume(16 + captured);
        Ok(Ok(()))
    }

    /// Reads one block of a pcapng file; whether it held a packet.
    fn block(&mut self, packet: &mut Packet) -> Step<bool> {
        let at = self.input.offset();
        let header = match self.whole(12)? {
            Ok(header) => header,
            Err(stop) => return Ok(Err(stop)),
        };
        let section = header[..4] == [0x0a, 0x0d, 0x0d, 0x0a];
        if section {
            self.big = header[8] == 0x1a;
        }
        let len = self.word(&header, 4) as usize;
        if !(12..=LENGTH_MAX).contains(&len) || !len.is_multiple_of(4) {
            return Ok(Err(Stop::Damage(format!("the block at byte {at} would be {len} bytes long"))));
        }
        let bytes = match self.whole(len)? {
            Ok(bytes) => bytes,
            Err(stop) => return Ok(Err(stop)),
        };
        self.input.consume(len);
        let kind = self.word(&bytes, 0);
        let body = &bytes[8..len - 4];
        if section {
            self.format = Format::Ng(Vec::new());
            return Ok(Ok(false));
        }
        Ok(self.body(kind, body, packet).map_err(|what| Stop::Damage(format!("the block at byte {at} {what}"))))
    }

    fn body(&mut self, kind: u32, body: &[u8], packet: &mut Packet) -> Result<bool, &'static str> {
        match kind {
            // Interface description.
            1 => {
                let interface = Interface { link: self.half(body, 0).into(), per_second: self.resolution(body) };
                let Format::Ng(interfaces) = &mut self.format else { return Ok(false) };
                if interfaces.len() >= INTERFACES_MAX {
                    return Err("describes one interface too many");
                }
                interfaces.push(interface);
                Ok(false)
            }
            // Enhanced packet.
            6 => {
                let interface = self.interface(self.word(body, 0))?;
                let ticks = u64::from(self.word(body, 4)) << 32 | u64::from(self.word(body, 8));
                let captured = self.word(body, 12) as usize;
                let us = u128::from(ticks) * 1_000_000 / u128::from(interface.per_second);
                packet.wall_us = i64::try_from(us).unwrap_or(0);
                packet.cut = self.word(body, 16) as usize > captured;
                Self::fill(packet, interface, body.get(20..20 + captured))
            }
            // Simple packet: it has no time, and belongs to the first interface.
            3 => {
                let interface = self.interface(0)?;
                let original = self.word(body, 0) as usize;
                let held = body.len().saturating_sub(4).min(original);
                packet.cut = held < original;
                Self::fill(packet, interface, body.get(4..4 + held))
            }
            _ => Ok(false),
        }
    }

    fn fill(packet: &mut Packet, interface: Interface, bytes: Option<&[u8]>) -> Result<bool, &'static str> {
        packet.link = interface.link;
        packet.bytes.clear();
        packet.bytes.extend_from_slice(bytes.ok_or("holds less than its packet")?);
        Ok(true)
    }

    fn interface(&self, index: u32) -> Result<Interface, &'static str> {
        let Format::Ng(interfaces) = &self.format else { return Err("has no section") };
        interfaces.get(index as usize).copied().ok_or("names an interface that is not described")
    }

    /// The clock of an interface: option 9 (`if_tsresol`), else µs.
    fn resolution(&self, body: &[u8]) -> u64 {
        let mut at = 8;
        while at + 4 <= body.len() {
            let (code, len) = (self.half(body, at), usize::from(self.half(body, at + 2)));
            if code == 9 {
                let value = body.get(at + 4).copied().unwrap_or(6);
                let base = if value & 0x80 == 0 { 10u64 } else { 2 };
                return base.checked_pow(u32::from(value & 0x7f)).unwrap_or(1_000_000);
            }
            if code == 0 {
                break;
            }
            at += 4 + len.next_multiple_of(4);
        }
        1_000_000
    }
}
