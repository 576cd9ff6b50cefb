//! The words of a diagnosis.

use std::fmt;
use std::str::FromStr;

/// What holds a direction of a connection back. The words are part of the output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nagle's algorithm waits for an ACK that the peer's delayed-ACK timer holds.
    NagleDelayedAck,
    /// Data waits in a cork (`TCP_CORK` or `MSG_MORE`) for its 200 ms timer.
    CorkHold,
    /// The application's own pacing rate spaces the data.
    Pacing,
    /// The receiver's window is closed or too small.
    ReceiverWindow,
    /// Held like a stall, but the receiver has not read what arrived.
    HeldUnread,
    /// A lost segment is being recovered.
    LossRecovery,
    /// Held like a stall, but the receiver's answer ended it, not the timer.
    ReleasedByReply,
    /// Nagle waits for the round trip and no longer.
    RttBoundNagle,
    /// Data moves and nothing is held.
    Healthy,
    /// No data moved while watching.
    Idle,
}

impl Verdict {
    /// Every verdict, worst first.
    pub const ALL: [Self; 10] = [
        Self::NagleDelayedAck,
        Self::CorkHold,
        Self::Pacing,
        Self::ReceiverWindow,
        Self::HeldUnread,
        Self::LossRecovery,
        Self::ReleasedByReply,
        Self::RttBoundNagle,
        Self::Healthy,
        Self::Idle,
    ];

    /// The exact word, as in JSON and filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NagleDelayedAck => "nagle-delayed-ack",
            Self::CorkHold => "cork-hold",
            Self::Pacing => "pacing",
            Self::ReceiverWindow => "receiver-window",
            Self::HeldUnread => "held-unread",
            Self::LossRecovery => "loss-recovery",
            Self::ReleasedByReply => "released-by-reply",
            Self::RttBoundNagle => "rtt-bound-nagle",
            Self::Healthy => "healthy",
            Self::Idle => "idle",
        }
    }

    /// How much it matters.
    pub fn severity(self) -> Severity {
        match self {
            Self::NagleDelayedAck | Self::CorkHold => Severity::Stall,
            Self::Pacing | Self::ReceiverWindow | Self::HeldUnread | Self::LossRecovery => Severity::Limit,
            Self::ReleasedByReply | Self::RttBoundNagle => Severity::Note,
            Self::Healthy | Self::Idle => Severity::None,
        }
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One end was seen, and it looks like this.
    Suspected,
    /// Both ends were seen and their numbers fit together.
    Paired,
    /// The same hold was seen at least twice and ended the way only this cause ends it.
    Proven,
    /// The kernel itself reports the timer.
    Confirmed,
}

impl Level {
    /// Every level, least sure first.
    pub const ALL: [Self; 4] = [Self::Suspected, Self::Paired, Self::Proven, Self::Confirmed];

    /// The exact word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Suspected => "suspected",
            Self::Paired => "paired",
            Self::Proven => "proven",
            Self::Confirmed => "confirmed",
        }
    }
}

/// How much a verdict matters to whoever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is wrong.
    None,
    /// Worth knowing.
    Note,
    /// Something limits the connection, and not a timer by mistake.
    Limit,
    /// Time is lost to a timer that a program can avoid.
    Stall,
}

impl Severity {
    /// The exact word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Note => "note",
            Self::Limit => "limit",
            Self::Stall => "stall",
        }
    }
}

macro_rules! words {
    ($($type:ident: $all:expr, $what:literal;)*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $all.into_iter().find(|word| word.as_str() == text).ok_or_else(|| {
                    let words: Vec<_> = $all.into_iter().map(Self::as_str).collect();
                    format!("{text:?} is no {}: expected one of {}", $what, words.join(", "))
                })
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )*};
}

words! {
    Verdict: Self::ALL, "verdict";
    Level: Self::ALL, "level";
    Severity: [Self::None, Self::Note, Self::Limit, Self::Stall], "severity";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for verdict in Verdict::ALL {
            assert_eq!(verdict.as_str().parse(), Ok(verdict));
        }
        for level in Level::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        assert!("nagle".parse::<Verdict>().unwrap_err().contains("nagle-delayed-ack"));
    }

    #[test]
    fn levels_and_severities_are_ordered() {
        assert!(Level::Suspected < Level::Paired && Level::Paired < Level::Proven && Level::Proven < Level::Confirmed);
        assert!(Severity::None < Severity::Note && Severity::Limit < Severity::Stall);
    }
}
