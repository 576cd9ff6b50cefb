//! What is known about one numeric field: where it stands, its unit, and the line that explains it.

/// How many bytes a field takes, and which bits of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    U8,
    /// The lower four bits of one byte.
    LowNibble,
    /// The upper four bits of one byte.
    HighNibble,
    /// The lowest bit of one byte.
    Bit0,
    /// Two bytes in host order.
    U16,
    /// Four bytes in host order.
    U32,
    /// Eight bytes in host order.
    U64,
}

impl Width {
    /// Bytes that the field touches.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::LowNibble | Self::HighNibble | Self::Bit0 => 1,
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 => 8,
        }
    }
}

/// The unit that a field is sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// A set of flags.
    Bits,
    /// Segments.
    Segments,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
}

/// One field of a kernel structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The kernel's own name, without its prefix.
    pub name: &'static str,
    /// Offset in the structure, in bytes.
    pub offset: u16,
    /// Which bytes and bits it takes.
    pub width: Width,
    /// The unit it is sent in.
    pub unit: Unit,
    /// The first kernel that sent it.
    pub since: &'static str,
    /// What it means, in one line.
    pub about: &'static str,
}
