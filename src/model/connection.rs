//! A connection: one visible end, or both.

use crate::wire::Socket;

use super::time::Moment;

/// Identity of a connection within one table. Never used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

#[cfg(test)]
impl ConnectionId {
    /// An identity of no table, for tests of what only keeps identities.
    pub(crate) fn numbered(index: u32) -> Self {
        Self { index, generation: 0 }
    }
}

/// One of the two ends, in the order that the table met them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end met first.
    A,
    /// The end met second, when it is visible.
    B,
}

impl Side {
    /// The other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Which end opened the connection, and how that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opener {
    /// It is not known.
    #[default]
    Unknown,
    /// The byte counts say so: the SYN is counted in `bytes_acked` at the end that sent it.
    ByteCounts(Side),
    /// The other end's port is one that is listened on.
    ListeningPort(Side),
}

impl Opener {
    /// The end that opened, if known.
    pub fn side(self) -> Option<Side> {
        match self {
            Self::Unknown => None,
            Self::ByteCounts(side) | Self::ListeningPort(side) => Some(side),
        }
    }
}

/// A connection and the slots of its ends.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Identity.
    pub id: ConnectionId,
    /// When it was first seen.
    pub first_seen: Moment,
    /// Who opened it.
    pub opener: Opener,
    pub(super) ends: [Option<u32>; 2],
}

impl Connection {
    /// Whether both ends are visible.
    pub fn is_paired(&self) -> bool {
        self.ends.iter().all(Option::is_some)
    }
}

/// Whether the socket's own end opened the connection, from byte counts alone: `bytes_acked` counts the SYN at the end that
/// sent it (`tcp_ack_update_window`, `tcp_rcv_synsent_state_process`), `bytes_sent` does not.
///
/// Exact only while nothing is in flight, when all terms are read under the socket's lock; `None` otherwise, before Linux 4.19,
/// and once a FIN may be counted.
pub(crate) fn opened_by_counts(socket: &Socket) -> Option<bool> {
    use crate::wire::TcpState;
    let info = socket.info.as_ref()?;
    let open = matches!(socket.state, TcpState::ESTABLISHED | TcpState::CLOSE_WAIT);
    if !open || info.unacked()? != 0 {
        return None;
    }
    let sent = info.bytes_sent()?.checked_sub(info.bytes_retrans()?)?;
    match info.bytes_acked()?.checked_sub(sent)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
