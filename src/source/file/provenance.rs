//! What a source can and cannot give, so that verdicts are as sure as it allows and say why.

/// What a file was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A recording of this program.
    Recording,
    /// Raw netlink messages that `ss -D` wrote.
    Dump,
    /// Text that `ss` printed.
    Text,
    /// A packet capture of an nlmon device.
    Capture,
}

impl SourceKind {
    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recording => "a stallscope recording",
            Self::Dump => "a dump of netlink messages",
            Self::Text => "text of ss",
            Self::Capture => "a netlink capture",
        }
    }
}

/// What is known of when the surveys were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// A clock says when.
    Clock,
    /// Only the order is known; the times that the events bear are one second apart by convention.
    OrderOnly,
}

/// What a source gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is one thing that the source gives or does not.
pub struct Provenance {
    /// What the file was read as.
    pub kind: SourceKind,
    /// Surveys so far; growth needs two.
    pub surveys: u64,
    /// Sockets bear the kernel's cookie. Otherwise it is made of the addresses, and a connection that reuses them looks the
    /// same.
    pub cookies: bool,
    /// A field that is absent is known to be absent. Otherwise it may be zero, or not printed by an old `ss`.
    pub absent_is_certain: bool,
    /// When the surveys were taken.
    pub timing: Timing,
    /// The wall clock is known as well.
    pub wall: bool,
    /// Addresses are the kernel's own. Otherwise names stood in the place of some, and numbers stand for them.
    pub numeric: bool,
}

impl Provenance {
    pub(super) fn recording() -> Self {
        Self {
            kind: SourceKind::Recording,
            surveys: 0,
            cookies: true,
            absent_is_certain: true,
            timing: Timing::Clock,
            wall: true,
            numeric: true,
        }
    }

    /// Whether growth between surveys can be told per second.
    pub fn has_growth(&self) -> bool {
        self.surveys > 1 && self.timing == Timing::Clock
    }

    /// What the source cannot give, a sentence each; nothing for a recording.
    pub fn limits(&self) -> Vec<&'static str> {
        let limits = [
            (self.surveys < 2, "one survey only: no growth, so stalls between surveys are not seen"),
            (
                self.surveys > 1 && self.timing == Timing::OrderOnly,
                "the surveys carry no time: only their order is known, and rates are not",
            ),
            (
                !self.cookies,
                "no socket cookies: a connection that reuses addresses and ports looks like the one before",
            ),
            (
                !self.absent_is_certain,
                "zero is not printed: an absent value is zero, or not known to that ss or kernel",
            ),
            (!self.numeric, "some addresses or ports were names: numbers stand for them"),
            (!self.wall, "the wall clock is not known"),
            (self.kind != SourceKind::Recording, "no probes: what happened within a survey is not seen"),
        ];
        limits.into_iter().filter_map(|(applies, limit)| applies.then_some(limit)).collect()
    }
}
