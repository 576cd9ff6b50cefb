//! Fields that no kernel reports: what stallscope finds out.

use super::field::{Word, Words};

/// A value of a field of [`OwnField`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OwnValue<'a> {
    /// A whole number, in the field's unit.
    Number(u64),
    /// A number with decimals, in the field's unit. Negative ones count as 0, NaN as absent.
    Real(f64),
    /// A name or a word.
    Text(&'a str),
}

/// A field that [`End::own`](super::End::own) is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OwnField {
    /// The verdict on this direction, as text: `nagle-delayed-ack`…
    Verdict,
    /// How sure it is, as text: `suspected`, `paired`, `proven`, `confirmed`; none for a direction without a finding.
    Level,
    /// How grave it is, as text: `none`, `note`, `limit`, `stall`.
    Severity,
    /// Whether this end sends in the direction judged, as text: `sender` or `receiver`.
    Role,
    /// Who opened the connection, as text: `out` when this end did, `in` when it accepted.
    Direction,
    /// Whether the other end is a socket seen here, as text: `local` or `remote`.
    Peer,
    /// Process ids, one number for each process that holds this end.
    Pid,
    /// Command names, one text for each process that holds this end.
    Comm,
    /// Age of the hold under way, milliseconds.
    Age,
    /// Holds observed, a count.
    Holds,
    /// Of those, released by the delayed-ACK timer.
    ByTimer,
    /// Of those, released by the receiver's reply.
    ByReply,
    /// Holds per second.
    Rate,
    /// Time held in total, milliseconds.
    Held,
    /// Share of the watched time that was held, 0 to 1.
    Share,
    /// Median length of the holds, milliseconds.
    P50,
    /// 90th percentile of their lengths, milliseconds.
    P90,
    /// Longest of them, milliseconds.
    Max,
}

const fn word(names: &'static [&'static str], code: u64) -> Word {
    Word { names, code }
}

/// Verdicts; the code is only an identity.
pub(super) static VERDICTS: Words = Words {
    list: &[
        word(&["nagle-delayed-ack"], 0),
        word(&["cork-hold"], 1),
        word(&["pacing"], 2),
        word(&["receiver-window"], 3),
        word(&["held-unread"], 4),
        word(&["loss-recovery"], 5),
        word(&["released-by-reply"], 6),
        word(&["rtt-bound-nagle"], 7),
        word(&["healthy"], 8),
        word(&["idle"], 9),
    ],
    ordered: false,
};

/// Levels, from the weakest.
pub(super) static LEVELS: Words = Words {
    list: &[word(&["suspected"], 0), word(&["paired"], 1), word(&["proven"], 2), word(&["confirmed"], 3)],
    ordered: true,
};

/// Severities, from the slightest.
pub(super) static SEVERITIES: Words =
    Words { list: &[word(&["none"], 0), word(&["note"], 1), word(&["limit"], 2), word(&["stall"], 3)], ordered: true };

pub(super) static ROLES: Words = Words { list: &[word(&["sender"], 0), word(&["receiver"], 1)], ordered: false };

pub(super) static DIRECTIONS: Words =
    Words { list: &[word(&["out", "outgoing"], 0), word(&["in", "incoming"], 1)], ordered: false };

pub(super) static PEERS: Words = Words { list: &[word(&["local"], 0), word(&["remote"], 1)], ordered: false };
