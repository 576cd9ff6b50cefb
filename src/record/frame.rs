//! The outer layout of a recording: its first bytes, and the blocks behind them.

/// The first bytes of every recording. The line ends in it show a transfer that rewrote them.
pub const MAGIC: [u8; 8] = *b"SSREC\r\n\x1a";

/// The version that this program writes, and the newest that it reads.
pub const VERSION: u16 = 1;

/// Bytes before the first block: magic, version (u16), byte order (1 little, 2 big), one byte of zero.
pub(super) const FILE_HEADER_LEN: usize = 12;

/// Bytes before a block's payload.
pub(super) const BLOCK_HEADER_LEN: usize = 24;

/// Longest payload of a block, stored or unpacked. The writer stays far below; the reader takes more for damage.
pub(super) const PAYLOAD_MAX: usize = 16 << 20;

/// First bytes of every block; not UTF-8, so no text can hold it.
pub(super) const MARKER: [u8; 4] = [0xab, b'S', b'B', 0xfe];

/// Events that need the blocks before them.
pub(super) const EVENTS: u8 = 1;
/// Events that need nothing before them.
pub(super) const KEY_EVENTS: u8 = 2;
/// The host and owners known so far, for a reader that lost what came before.
pub(super) const RECAP: u8 = 3;
/// The writer closed the recording.
pub(super) const END: u8 = 4;

/// Flag: the payload is one zstd frame.
pub(super) const ZSTD: u8 = 1;

/// Tags of the records inside a block of events.
pub(super) mod tag {
    pub(in crate::record) const HOST: u8 = 1;
    pub(in crate::record) const SURVEY_BEGIN: u8 = 2;
    pub(in crate::record) const RUN: u8 = 3;
    pub(in crate::record) const SURVEY_END: u8 = 4;
    pub(in crate::record) const PROBE: u8 = 5;
    pub(in crate::record) const COUNTERS: u8 = 6;
    pub(in crate::record) const OWNERS: u8 = 7;
    pub(in crate::record) const MARK: u8 = 8;
}

/// This machine's byte order, as the file header tells it.
pub(super) const BYTE_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// The first bytes of a recording made here.
pub(super) fn file_header() -> [u8; FILE_HEADER_LEN] {
    let mut header = [0; FILE_HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    header[10] = BYTE_ORDER;
    header
}

/// What stands before a block's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Bytes of the payload as stored.
    pub(super) stored: u32,
    /// Bytes of the payload once unpacked.
    pub(super) plain: u32,
    /// CRC-32 of the payload as stored.
    pub(super) checksum: u32,
}

impl BlockHeader {
    pub(super) fn to_bytes(self) -> [u8; BLOCK_HEADER_LEN] {
        let mut bytes = [0; BLOCK_HEADER_LEN];
        bytes[..4].copy_from_slice(&MARKER);
        bytes[4] = self.kind;
        bytes[5] = self.flags;
        bytes[8..12].copy_from_slice(&self.stored.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.plain.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.checksum.to_le_bytes());
        let own = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// `None` unless marker, checksum and lengths are right.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BLOCK_HEADER_LEN] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let header = Self { kind: bytes[4], flags: bytes[5], stored: word(8), plain: word(12), checksum: word(16) };
        let whole = bytes[..4] == MARKER && word(20) == crc32fast::hash(&bytes[..20]);
        let fits = header.stored as usize <= PAYLOAD_MAX && header.plain as usize <= PAYLOAD_MAX;
        (whole && fits).then_some(header)
    }
}
