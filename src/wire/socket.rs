//! One TCP socket as `inet_diag` describes it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::NlasIterator;
use netlink_packet_sock_diag as diag;

use super::message::Defect;
use super::tcp_info::TcpInfo;

/// Length of `struct inet_diag_msg` in bytes (`include/uapi/linux/inet_diag.h`).
pub(super) const INET_DIAG_MSG_LEN: usize = 72;

/// The kernel's identity of a socket, unique within a boot. Zero stands for a source that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

/// Which of several hosts a socket was seen on: cookies, inodes and addresses mean something only within one. The kernel does not
/// say it; whoever reads several sources does. Zero is the only host, or the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

/// The address family of the socket itself: a v4-mapped connection lives in [`Family::V6`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `AF_INET`.
    V4,
    /// `AF_INET6`.
    V6,
}

/// An address and port. v4-mapped addresses are unmapped, so that the two ends of a connection compare equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The address.
    pub ip: IpAddr,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            IpAddr::V4(ip) => write!(f, "{ip}:{}", self.port),
            IpAddr::V6(ip) => write!(f, "[{ip}]:{}", self.port),
        }
    }
}

/// TCP states with the kernel's numbers (`include/net/tcp_states.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TcpState(pub u8);

impl TcpState {
    /// Data flows both ways.
    pub const ESTABLISHED: Self = Self(diag::TCP_ESTABLISHED);
    /// This end sent a FIN that is not acknowledged yet.
    pub const FIN_WAIT1: Self = Self(diag::TCP_FIN_WAIT1);
    /// This end's FIN was acknowledged; the peer may still send.
    pub const FIN_WAIT2: Self = Self(diag::TCP_FIN_WAIT2);
    /// The peer sent a FIN; this end may still send.
    pub const CLOSE_WAIT: Self = Self(diag::TCP_CLOSE_WAIT);
    /// The connection is over; only the address pair is kept.
    pub const TIME_WAIT: Self = Self(diag::TCP_TIME_WAIT);
    /// Waiting for connections.
    pub const LISTEN: Self = Self(diag::TCP_LISTEN);

    /// The name that `ss` prints.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "UNKNOWN",
            "ESTAB",
            "SYN-SENT",
            "SYN-RECV",
            "FIN-WAIT-1",
            "FIN-WAIT-2",
            "TIME-WAIT",
            "UNCONN",
            "CLOSE-WAIT",
            "LAST-ACK",
            "LISTEN",
            "CLOSING",
            "NEW-SYN-RECV",
            "BOUND-INACTIVE",
        ];
        NAMES.get(usize::from(self.0)).copied().unwrap_or("UNKNOWN")
    }
}

/// The timer that the kernel reports in `idiag_timer`, with the code as sent (`inet_sk_diag_fill`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer(pub u8);

impl Timer {
    /// No timer.
    pub const NONE: Self = Self(0);
    /// Retransmission, RACK or loss probe.
    pub const RETRANSMIT: Self = Self(1);
    /// Keepalive (or the SYN-ACK timer).
    pub const KEEPALIVE: Self = Self(2);
    /// `TIME_WAIT`.
    pub const TIME_WAIT: Self = Self(3);
    /// Zero-window probe; armed also for corked or paced data with nothing in flight.
    pub const PROBE: Self = Self(4);
    /// Delayed ACK pending, from Linux 7.x on.
    pub const DELAYED_ACK: Self = Self(5);

    /// The name that the newest `ss` prints.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 6] = ["off", "on", "keepalive", "timewait", "persist", "delack"];
        NAMES.get(usize::from(self.0)).copied().unwrap_or("unknown")
    }
}

/// The congestion control's name, at most 15 characters (`TCP_CA_NAME_MAX` is 16).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Congestion([u8; 16]);

impl Congestion {
    /// Copies a name; what is past 15 bytes or not ASCII is left out.
    pub fn new(name: &[u8]) -> Self {
        let mut bytes = [0; 16];
        let printable = name.iter().take_while(|byte| byte.is_ascii_graphic());
        for (slot, byte) in bytes[..15].iter_mut().zip(printable) {
            *slot = *byte;
        }
        Self(bytes)
    }

    /// The name, empty when the kernel sent none.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Debug for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// `INET_DIAG_SKMEMINFO`: what `ss -m` prints, in the kernel's order (`include/uapi/linux/sock_diag.h`), bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkMem(pub [Option<u32>; 9]);

impl SkMem {
    /// The letters that `ss` gives them.
    pub const NAMES: [&'static str; 9] = ["r", "rb", "t", "tb", "f", "w", "o", "bl", "d"];
}

/// One socket, decoded. Fixed size, no allocation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Socket {
    /// The host that it was seen on.
    pub host: HostId,
    /// Identity.
    pub cookie: Cookie,
    /// The socket's own family.
    pub family: Family,
    /// Its state.
    pub state: TcpState,
    /// Which timer runs.
    pub timer: Timer,
    /// Retransmissions or probes that the timer counts.
    pub retrans: u8,
    /// When the timer fires, ms from the reading.
    pub expires_ms: u32,
    /// This end, unmapped.
    pub local: Endpoint,
    /// The other end, unmapped.
    pub remote: Endpoint,
    /// The addresses were v4-mapped (`::ffff:a.b.c.d`).
    pub mapped: bool,
    /// Interface that the socket is bound to, 0 for none.
    pub interface: u32,
    /// Bytes received that the application has not read; a LISTEN socket's backlog.
    pub rqueue: u32,
    /// Bytes not yet acknowledged, sent or not: `write_seq - snd_una`.
    pub wqueue: u32,
    /// Owner's user id, as seen from the reader's user namespace.
    pub uid: u32,
    /// Inode of the socket's file; 0 when no process holds it any more.
    pub inode: u32,
    /// `tcp_info`, when sent.
    pub info: Option<TcpInfo>,
    /// Congestion control.
    pub congestion: Congestion,
    /// Socket memory, when sent.
    pub skmem: Option<SkMem>,
    /// `sk_shutdown` bits: 1 receive, 2 send.
    pub shutdown: Option<u8>,
}

impl Socket {
    /// Decodes `struct inet_diag_msg` and the attributes behind it. A defect in an attribute keeps the socket and what was
    /// read before it.
    ///
    /// # Errors
    /// The payload is shorter than the header, or the family is neither IPv4 nor IPv6.
    pub fn decode(payload: &[u8]) -> Result<(Self, Option<Defect>), Defect> {
        let header: &[u8; INET_DIAG_MSG_LEN] =
            payload.first_chunk().ok_or(Defect::ShortHeader { len: payload.len() })?;
        let mut socket = Self::decode_header(header)?;
        let mut defect = None;
        for attribute in NlasIterator::new(&payload[INET_DIAG_MSG_LEN..]) {
            match attribute {
                Ok(attribute) => socket.take_attribute(attribute.kind(), attribute.value()),
                Err(_) => defect = Some(Defect::BadAttribute),
            }
        }
        Ok((socket, defect))
    }

    fn decode_header(header: &[u8; INET_DIAG_MSG_LEN]) -> Result<Self, Defect> {
        let family = match header[0] {
            diag::AF_INET => Family::V4,
            diag::AF_INET6 => Family::V6,
            other => return Err(Defect::UnknownFamily(other)),
        };
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (local, local_mapped) = address(family, header, 8);
        let (remote, _) = address(family, header, 24);
        Ok(Self {
            host: HostId::default(),
            cookie: Cookie(u64::from(word(44)) | u64::from(word(48)) << 32),
            family,
            state: TcpState(header[1]),
            timer: Timer(header[2]),
            retrans: header[3],
            expires_ms: word(52),
            local: Endpoint { ip: local, port: port(4) },
            remote: Endpoint { ip: remote, port: port(6) },
            mapped: local_mapped,
            interface: word(40),
            rqueue: word(56),
            wqueue: word(60),
            uid: word(64),
            inode: word(68),
            info: None,
            congestion: Congestion::default(),
            skmem: None,
            shutdown: None,
        })
    }

    fn take_attribute(&mut self, kind: u16, value: &[u8]) {
        match kind {
            diag::INET_DIAG_INFO => self.info = Some(TcpInfo::from_bytes(value)),
            diag::INET_DIAG_CONG => self.congestion = Congestion::new(value),
            diag::INET_DIAG_SKMEMINFO => self.skmem = Some(skmem(value)),
            diag::INET_DIAG_SHUTDOWN => self.shutdown = value.first().copied(),
            _ => {}
        }
    }

    /// Bytes sent and not acknowledged: `wqueue - notsent`. `None` where the kernel does not send `notsent`.
    ///
    /// The two are not read at the same instant (`tcp_diag_get_info` against `tcp_get_info`), so a fast flow can show
    /// `notsent > wqueue`; that reading answers `None` too.
    pub fn in_flight(&self) -> Option<u32> {
        self.wqueue.checked_sub(self.info?.notsent_bytes()?)
    }

    /// Segments sent without data: pure ACKs, and FIN, RST, keepalive probes.
    pub fn pure_acks_out(&self) -> Option<u32> {
        let info = self.info?;
        Some(info.segs_out()?.wrapping_sub(info.data_segs_out()?))
    }

    /// Segments received without data.
    pub fn pure_acks_in(&self) -> Option<u32> {
        let info = self.info?;
        Some(info.segs_in()?.wrapping_sub(info.data_segs_in()?))
    }
}

fn address(family: Family, header: &[u8; INET_DIAG_MSG_LEN], at: usize) -> (IpAddr, bool) {
    match family {
        Family::V4 => (IpAddr::V4(Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3])), false),
        Family::V6 => {
            let mut octets = [0; 16];
            octets.copy_from_slice(&header[at..at + 16]);
            let ip = Ipv6Addr::from(octets);
            match ip.to_ipv4_mapped() {
                Some(ip) => (IpAddr::V4(ip), true),
                None => (IpAddr::V6(ip), false),
            }
        }
    }
}

fn skmem(value: &[u8]) -> SkMem {
    let mut mem = SkMem::default();
    for (slot, word) in mem.0.iter_mut().zip(value.as_chunks::<4>().0) {
        *slot = Some(u32::from_ne_bytes(*word));
    }
    mem
}
