//! How the clocks of several hosts relate.

use crate::wire::HostId;

/// How much later than its moment the answer to a probe was read, at the most, µs. The moment is taken before the requests of a
/// batch are sent, and 64 look-ups take 100 to 300 µs.
pub const READ_WITHIN_US: u64 = 1_000;

/// How the relation of two clocks is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// It is the clock that the others are related to.
    #[default]
    Reference,
    /// Both files are of one boot of one host: the same monotonic clock.
    SameBoot,
    /// From the byte counts of connections between the hosts.
    ByteCounts,
    /// Nothing told it but the clocks on the wall.
    WallClock,
    /// Nothing told it at all: the files are taken to begin together.
    Unknown,
}

impl ClockSource {
    /// The word of the output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::SameBoot => "same boot",
            Self::ByteCounts => "byte counts",
            Self::WallClock => "wall clocks",
            Self::Unknown => "unknown",
        }
    }
}

/// The clock of one of several hosts, against that of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostClock {
    /// How the offset is known.
    pub source: ClockSource,
    /// What the host's clock on the wall showed more than the first host's at the same instant, µs; `None` where one of them is
    /// not known.
    pub ahead_us: Option<i64>,
    /// How far the offset that is reckoned with can be wrong, against the reference of its group, µs; `None` when it was not
    /// estimated.
    pub uncertainty_us: Option<u64>,
    /// Clocks of one group were estimated against one reference, those of different groups were not.
    pub group: HostId,
}

impl HostClock {
    /// The clock that others are related to.
    pub fn reference(host: HostId) -> Self {
        Self { source: ClockSource::Reference, ahead_us: None, uncertainty_us: Some(0), group: host }
    }

    /// How far moments of two hosts can be apart from what they seem, µs; `None` when it is not known.
    pub fn between(self, other: Self) -> Option<u64> {
        if self.group != other.group {
            return None;
        }
        self.uncertainty_us?.checked_add(other.uncertainty_us?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncertainties_add_up_within_a_group_and_are_unknown_beyond() {
        let clock = |group, uncertainty_us| HostClock { uncertainty_us, group: HostId(group), ..HostClock::default() };
        let reference = HostClock::reference(HostId(0));
        assert_eq!(reference.between(clock(0, Some(7))), Some(7));
        assert_eq!(clock(0, Some(5)).between(clock(0, Some(7))), Some(12));
        assert_eq!(clock(0, None).between(reference), None);
        assert_eq!(clock(1, Some(5)).between(reference), None);
    }
}
