//! Sets of TCP states, with the names that ss(8) gives them.

use std::fmt;

use crate::wire::TcpState;

/// A set of states, one bit for each of the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateSet(u16);

/// Names and the kernel's numbers (`include/net/tcp_states.h`); the first name of a number is the canonical one.
const NAMES: [(&str, u8); 19] = [
    ("established", 1),
    ("estab", 1),
    ("syn-sent", 2),
    ("syn-recv", 3),
    ("fin-wait-1", 4),
    ("fin-wait1", 4),
    ("fin-wait-2", 5),
    ("fin-wait2", 5),
    ("time-wait", 6),
    ("closed", 7),
    ("unconnected", 7),
    ("unconn", 7),
    ("close-wait", 8),
    ("last-ack", 9),
    ("listening", 10),
    ("listen", 10),
    ("closing", 11),
    ("new-syn-recv", 12),
    ("bound-inactive", 13),
];

/// The highest state known.
const LAST: u8 = 13;

impl StateSet {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ALL: Self = Self((1 << (LAST + 1)) - 2);

    /// Groups, as ss(8) has them: `connected` is all but the unconnected, `bucket` what the kernel keeps small.
    fn group(name: &str) -> Option<Self> {
        let unconnected = Self::of(&[7, 10, 13]);
        let bucket = Self::of(&[3, 6, 12]);
        Some(match name {
            "all" => Self::ALL,
            "connected" => Self::ALL.without(unconnected),
            "synchronized" => Self::ALL.without(unconnected).without(Self::of(&[2])),
            "bucket" => bucket,
            "big" => Self::ALL.without(bucket),
            _ => return None,
        })
    }

    fn of(states: &[u8]) -> Self {
        Self(states.iter().fold(0, |bits, state| bits | 1 << state))
    }

    /// The states of a name or a group, in any case of letters, with `_` for `-` too.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace('_', "-");
        let single = || NAMES.iter().find(|(known, _)| *known == name).map(|(_, state)| Self::of(&[*state]));
        Self::group(&name).or_else(single)
    }

    /// Every name there is, for suggestions.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name).chain(["all", "connected", "synchronized", "bucket", "big"])
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether a state is in the set; `None` for a number that no kernel known here has.
    pub(super) fn contains(self, state: TcpState) -> Option<bool> {
        (1..=LAST).contains(&state.0).then(|| self.0 >> state.0 & 1 == 1)
    }
}

impl fmt::Display for StateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => return f.write_str("state all"),
            Self::NONE => return f.write_str("exclude all"),
            _ => {}
        }
        let mut shown = Self::NONE;
        for (name, state) in NAMES {
            let this = Self::of(&[state]);
            if self.0 & this.0 != 0 && shown.0 & this.0 == 0 {
                f.write_str(if shown == Self::NONE { "state " } else { " state " })?;
                f.write_str(name)?;
                shown = shown.with(this);
            }
        }
        Ok(())
    }
}
