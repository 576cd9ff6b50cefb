//! Socket options that traffic may set.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, sockopt};
use serde::Deserialize;

use super::error::LabError;
use super::form;

/// When an end sets `TCP_QUICKACK`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuickAck {
    /// Never.
    #[default]
    Never,
    /// Once, when the connection is made.
    Once,
    /// Before each read.
    EveryRead,
}

/// Options of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// `TCP_CORK`, set once and never cleared.
    pub cork: bool,
    /// `TCP_QUICKACK`.
    pub quickack: QuickAck,
    /// `SO_SNDBUF`, in bytes (the kernel doubles it).
    pub send_buffer: Option<usize>,
    /// `SO_RCVBUF`, in bytes (the kernel doubles it).
    pub receive_buffer: Option<usize>,
    /// `TCP_CONGESTION`.
    pub congestion: Option<String>,
    /// `SO_KEEPALIVE` with this `TCP_KEEPIDLE` and `TCP_KEEPINTVL`, in whole seconds.
    #[serde(deserialize_with = "form::maybe_duration")]
    pub keepalive: Option<Duration>,
    /// `SO_MAX_PACING_RATE`, in bytes per second.
    pub pacing_rate: Option<u32>,
    /// `SO_RCVLOWAT`, in bytes.
    pub low_water: Option<u32>,
    /// `TCP_DELACK_MAX_US`.
    #[serde(deserialize_with = "form::maybe_duration")]
    pub delack_max: Option<Duration>,
}

/// An option that takes a [`RawSetter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOption {
    /// Its name in the kernel's headers.
    pub name: &'static str,
    /// The level for `setsockopt`.
    pub level: i32,
    /// The number for `setsockopt`.
    pub number: i32,
    /// The value; all of these take a 32-bit integer.
    pub value: u32,
}

/// Calls `setsockopt` with a plain integer. This library has no unsafe code and sets most options through rustix; the few
/// that rustix does not know are left to whoever starts the traffic.
pub type RawSetter = fn(BorrowedFd<'_>, RawOption) -> io::Result<()>;

/// `SOL_SOCKET` (`include/uapi/asm-generic/socket.h`).
const SOL_SOCKET: i32 = 1;
/// `SO_RCVLOWAT` (`include/uapi/asm-generic/socket.h`).
const SO_RCVLOWAT: i32 = 18;
/// `SO_MAX_PACING_RATE` (`include/uapi/asm-generic/socket.h`).
const SO_MAX_PACING_RATE: i32 = 47;
/// `IPPROTO_TCP` (`include/uapi/linux/in.h`).
const IPPROTO_TCP: i32 = 6;
/// `TCP_DELACK_MAX_US` (`include/uapi/linux/tcp.h`).
const TCP_DELACK_MAX_US: i32 = 46;

/// Whether sockets of this process may use the congestion control of this name: unprivileged ones may use those of
/// `net.ipv4.tcp_allowed_congestion_control`.
pub fn allows_congestion(name: &str) -> bool {
    rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)
        .is_ok_and(|socket| sockopt::set_tcp_congestion(&socket, name).is_ok())
}

const NEEDS_KERNEL: &str = "leave the option out, or use a kernel that has it";

impl Options {
    /// Sets everything that has to stand before the connection is made: the window scale depends on the buffers.
    pub(super) fn apply_early(&self, fd: impl AsFd) -> Result<(), LabError> {
        let fd = fd.as_fd();
        if let Some(bytes) = self.send_buffer {
            wrap("SO_SNDBUF", sockopt::set_socket_send_buffer_size(fd, bytes))?;
        }
        if let Some(bytes) = self.receive_buffer {
            wrap("SO_RCVBUF", sockopt::set_socket_recv_buffer_size(fd, bytes))?;
        }
        if let Some(name) = &self.congestion {
            wrap("TCP_CONGESTION", sockopt::set_tcp_congestion(fd, name))?;
        }
        Ok(())
    }

    /// Sets the rest, on a connected socket.
    pub(super) fn apply(&self, fd: impl AsFd, setter: Option<RawSetter>) -> Result<(), LabError> {
        let fd = fd.as_fd();
        if self.nodelay {
            wrap("TCP_NODELAY", sockopt::set_tcp_nodelay(fd, true))?;
        }
        if self.cork {
            wrap("TCP_CORK", sockopt::set_tcp_cork(fd, true))?;
        }
        if self.quickack == QuickAck::Once {
            wrap("TCP_QUICKACK", sockopt::set_tcp_quickack(fd, true))?;
        }
        if let Some(idle) = self.keepalive {
            wrap("TCP_KEEPIDLE", sockopt::set_tcp_keepidle(fd, idle))?;
            wrap("TCP_KEEPINTVL", sockopt::set_tcp_keepintvl(fd, idle))?;
            wrap("SO_KEEPALIVE", sockopt::set_socket_keepalive(fd, true))?;
        }
        self.raw().try_for_each(|option| set_raw(fd, option, setter))
    }

    fn raw(&self) -> impl Iterator<Item = RawOption> {
        let option = |name, level, number| move |value| RawOption { name, level, number, value };
        let delack = self.delack_max.map(|time| u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
        [
            self.pacing_rate.map(option("SO_MAX_PACING_RATE", SOL_SOCKET, SO_MAX_PACING_RATE)),
            self.low_water.map(option("SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT)),
            delack.map(option("TCP_DELACK_MAX_US", IPPROTO_TCP, TCP_DELACK_MAX_US)),
        ]
        .into_iter()
        .flatten()
    }
}

fn set_raw(fd: BorrowedFd<'_>, option: RawOption, setter: Option<RawSetter>) -> Result<(), LabError> {
    let Some(setter) = setter else {
        let source = io::Error::from(io::ErrorKind::Unsupported);
        return Err(LabError::new("set", option.name, source, "start the traffic with a setter for plain options"));
    };
    setter(fd, option).map_err(|source| LabError::new("set", option.name, source, NEEDS_KERNEL))
}

fn wrap(name: &'static str, result: rustix::io::Result<()>) -> Result<(), LabError> {
    result.map_err(|source| LabError::new("set", name, source, NEEDS_KERNEL))
}
