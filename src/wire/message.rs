//! Netlink framing: from a run of messages, as one `recv` or one file holds them, to what each says.

use std::fmt;

use netlink_packet_core::{NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, NLMSG_NOOP, NLMSG_OVERRUN, NetlinkBuffer};
use netlink_packet_sock_diag::SOCK_DIAG_BY_FAMILY;

use super::socket::Socket;

/// Length of `struct nlmsghdr` in bytes (`include/uapi/linux/netlink.h`).
pub(super) const NETLINK_HEADER_LEN: usize = 16;

/// `TCPDIAG_GETSOCK`: requests that name no family, and the replies to them (`include/uapi/linux/inet_diag.h`). Kernels before 3.3
/// know no other kind.
pub const TCPDIAG_GETSOCK: u16 = 18;

/// What one netlink message says.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack for one step of a walk; a box would allocate per socket"
)]
pub enum Message<'a> {
    /// A socket, the bytes of its whole message, and what of its attributes could not be read.
    Socket {
        /// The decoded socket.
        socket: Socket,
        /// The message as it came, netlink header included.
        raw: &'a [u8],
        /// The attribute that could not be read, if any.
        defect: Option<Defect>,
    },
    /// End of a dump; a negative errno when it failed on the way (`netlink_dump_done`), else 0.
    Done {
        /// 0 or a negative errno.
        errno: i32,
    },
    /// A refusal, or an acknowledgement (0).
    Error {
        /// 0 or a negative errno.
        errno: i32,
    },
    /// `NLMSG_NOOP`, or a type that is not ours.
    Other {
        /// The message type.
        kind: u16,
    },
    /// The message could not be read.
    Malformed(Defect),
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Defect {
    /// Bytes at the end of the run that are not a whole message.
    Truncated {
        /// How many.
        len: usize,
    },
    /// A socket's payload shorter than `struct inet_diag_msg`.
    ShortHeader {
        /// Bytes that were there.
        len: usize,
    },
    /// An address family that TCP does not have.
    UnknownFamily(u8),
    /// An attribute whose length does not fit.
    BadAttribute,
    /// The kernel's receive queue overran (`NLMSG_OVERRUN`).
    Overrun,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { len } => write!(f, "{len} bytes that are not a whole netlink message"),
            Self::ShortHeader { len } => write!(f, "a socket message of {len} bytes, shorter than its header of 72"),
            Self::UnknownFamily(family) => {
                write!(f, "a socket of address family {family}, neither IPv4 (2) nor IPv6 (10)")
            }
            Self::BadAttribute => write!(f, "a socket attribute whose length does not fit its message"),
            Self::Overrun => write!(f, "an overrun that the kernel reported"),
        }
    }
}

/// Walks a run of netlink messages in place. Never panics and always ends: what is not a whole message is one
/// [`Message::Malformed`], and the walk stops there.
pub fn messages(run: &[u8]) -> Messages<'_> {
    Messages { rest: run, interrupted: false }
}

/// Iterator of [`messages`].
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    interrupted: bool,
}

impl Messages<'_> {
    /// Whether a message so far bore `NLM_F_DUMP_INTR`: the table changed while it was dumped.
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// How many bytes are not walked yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let run = std::mem::take(&mut self.rest);
        let Some(len) = whole_message(run) else {
            return Some(Message::Malformed(Defect::Truncated { len: run.len() }));
        };
        let raw = &run[..len];
        // The last message of a run may come without its padding.
        self.rest = run.get(len.next_multiple_of(4)..).unwrap_or_default();
        let header = NetlinkBuffer::new(raw);
        self.interrupted |= header.flags() & NLM_F_DUMP_INTR != 0;
        Some(interpret(header.message_type(), raw))
    }
}

/// The length that the header gives, when the run holds that much.
fn whole_message(run: &[u8]) -> Option<usize> {
    if run.len() < NETLINK_HEADER_LEN {
        return None;
    }
    let len = usize::try_from(NetlinkBuffer::new(run).length()).ok()?;
    (NETLINK_HEADER_LEN..=run.len()).contains(&len).then_some(len)
}

fn interpret(kind: u16, raw: &[u8]) -> Message<'_> {
    let payload = &raw[NETLINK_HEADER_LEN..];
    match kind {
        SOCK_DIAG_BY_FAMILY | TCPDIAG_GETSOCK => match Socket::decode(payload) {
            Ok((socket, defect)) => Message::Socket { socket, raw, defect },
            Err(defect) => Message::Malformed(defect),
        },
        NLMSG_DONE => Message::Done { errno: errno(payload) },
        NLMSG_ERROR => Message::Error { errno: errno(payload) },
        NLMSG_OVERRUN => Message::Malformed(Defect::Overrun),
        NLMSG_NOOP => Message::Other { kind },
        kind => Message::Other { kind },
    }
}

fn errno(payload: &[u8]) -> i32 {
    payload.first_chunk().copied().map_or(0, i32::from_ne_bytes)
}
