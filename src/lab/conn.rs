//! One end of a connection: writes as described, and reads that can be stopped.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::error::LabError;
use super::options::{Options, QuickAck, RawSetter};
use super::stop::{STEP, Stop};
use super::traffic::{Message, Part, Sending};

/// The longest time that a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The most that one read takes, in bytes.
const READ_MAX: usize = 1 << 18;

/// Why an end has no more to do.
#[derive(Debug)]
pub(super) enum End {
    /// The traffic was stopped.
    Stopped,
    /// The peer closed the connection.
    Closed,
    /// A call failed.
    Failed(&'static str, io::Error),
}

impl End {
    /// The failure in words, if it is one.
    pub(super) fn failure(&self, who: &str) -> Option<String> {
        match self {
            Self::Stopped | Self::Closed => None,
            Self::Failed(call, error) => Some(format!("{who}: {call}: {error}")),
        }
    }
}

/// A connected socket with what its end needs to use it.
pub(super) struct Conn {
    stream: TcpStream,
    stop: Stop,
    quickack: QuickAck,
    payload: Vec<u8>,
}

impl Conn {
    /// Wraps a connected socket: sets its options, and bounds every wait in it.
    pub(super) fn new(
        stream: TcpStream,
        options: &Options,
        setter: Option<RawSetter>,
        stop: &Stop,
        largest: usize,
    ) -> Result<Self, LabError> {
        options.apply(&stream, setter)?;
        let bounded = stream.set_read_timeout(Some(STEP)).and_then(|()| stream.set_write_timeout(Some(STEP)));
        bounded.map_err(|source| LabError::new("bound", "the waits of a socket", source, "report it"))?;
        Ok(Self { stream, stop: stop.clone(), quickack: options.quickack, payload: vec![b'x'; largest] })
    }

    /// The address of this end, then of the peer.
    pub(super) fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.stream.local_addr()?, self.stream.peer_addr()?))
    }

    /// Waits; an end of the traffic meanwhile is an [`End`].
    pub(super) fn pause(&self, time: Duration) -> Result<(), End> {
        if !self.stop.is_set() && (time.is_zero() || self.stop.sleep(time)) { Ok(()) } else { Err(End::Stopped) }
    }

    /// Sends a message in the way described.
    pub(super) fn send(&self, message: &Message, how: Sending) -> Result<(), End> {
        match how {
            Sending::Separate => self.send_parts(&message.parts),
            Sending::OneWrite => self.send_bytes(message.bytes(), SendFlags::empty()),
            Sending::Writev => self.send_vectored(&message.parts),
            Sending::Cork => {
                self.cork(true)?;
                self.send_parts(&message.parts)?;
                self.cork(false)
            }
        }
    }

    fn cork(&self, on: bool) -> Result<(), End> {
        sockopt::set_tcp_cork(&self.stream, on).map_err(|error| End::Failed("setting TCP_CORK", error.into()))
    }

    fn send_parts(&self, parts: &[Part]) -> Result<(), End> {
        for part in parts {
            if !part.pause.is_zero() {
                self.pause(part.pause)?;
            }
            self.send_bytes(part.bytes, if part.more { SendFlags::MORE } else { SendFlags::empty() })?;
        }
        Ok(())
    }

    fn send_bytes(&self, bytes: usize, flags: SendFlags) -> Result<(), End> {
        let mut left = bytes;
        while left > 0 {
            let sent = rustix::net::send(&self.stream, &self.payload[..left], flags | SendFlags::NOSIGNAL);
            left -= self.progress("send", sent)?;
        }
        Ok(())
    }

    fn send_vectored(&self, parts: &[Part]) -> Result<(), End> {
        let slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(&self.payload[..part.bytes])).collect();
        let total: usize = parts.iter().map(|part| part.bytes).sum();
        let sent = self.progress("writev", rustix::io::writev(&self.stream, &slices))?;
        // What a full send buffer left over; small messages never get here.
        self.send_bytes(total.saturating_sub(sent), SendFlags::empty())
    }

    /// Reads exactly `bytes`, in as many reads as it takes.
    pub(super) fn receive_exact(&self, bytes: usize, buffer: &mut Buffer) -> Result<(), End> {
        let mut left = bytes;
        while left > 0 {
            left -= self.receive(left, buffer)?;
        }
        Ok(())
    }

    /// Waits for data and reads at most `bytes` (at least 1) of it.
    pub(super) fn receive(&self, bytes: usize, buffer: &mut Buffer) -> Result<usize, End> {
        loop {
            let taken = self.receive_with(bytes, RecvFlags::empty(), buffer)?;
            if taken > 0 {
                return Ok(taken);
            }
        }
    }

    /// Reads at most `bytes` of what is there; 0 when nothing is.
    pub(super) fn receive_now(&self, bytes: usize, buffer: &mut Buffer) -> Result<usize, End> {
        self.receive_with(bytes, RecvFlags::DONTWAIT, buffer)
    }

    /// How many bytes a read would give, `bytes` at most.
    pub(super) fn peek(&self, bytes: usize, buffer: &mut Buffer) -> Result<usize, End> {
        self.receive_with(bytes, RecvFlags::PEEK | RecvFlags::DONTWAIT, buffer)
    }

    /// Waits until the socket is readable, for at most one step.
    pub(super) fn wait_readable(&self) -> Result<bool, End> {
        self.pause(Duration::ZERO)?;
        let mut fds = [PollFd::new(&self.stream, PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(STEP.subsec_nanos()) };
        match poll(&mut fds, Some(&limit)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(End::Failed("poll", error.into())),
        }
    }

    fn receive_with(&self, bytes: usize, flags: RecvFlags, buffer: &mut Buffer) -> Result<usize, End> {
        if self.quickack == QuickAck::EveryRead {
            sockopt::set_tcp_quickack(&self.stream, true)
                .map_err(|error| End::Failed("setting TCP_QUICKACK", error.into()))?;
        }
        let room = bytes.min(buffer.0.len());
        match rustix::net::recv(&self.stream, &mut buffer.0[..room], flags) {
            Ok((_, 0)) => Err(End::Closed),
            // Data that keeps coming must not keep a reader from seeing the stop.
            result => self.progress("recv", result.map(|(_, taken)| taken)),
        }
    }

    /// What a call did; nothing where it was only interrupted or timed out.
    fn progress(&self, call: &'static str, result: rustix::io::Result<usize>) -> Result<usize, End> {
        if self.stop.is_set() {
            return Err(End::Stopped);
        }
        match result {
            Ok(bytes) => Ok(bytes),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(End::Closed),
            Err(error) => Err(End::Failed(call, error.into())),
        }
    }

    /// Keeps the connection as it is until the traffic is stopped.
    pub(super) fn stay(&self) {
        while self.pause(STEP).is_ok() {}
    }
}

/// Where reads go.
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// A buffer for reads of at most `bytes`.
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![0; bytes.clamp(1, READ_MAX)])
    }

    /// A buffer for reading whatever comes.
    pub(super) fn large() -> Self {
        Self(vec![0; READ_MAX])
    }
}

/// Connects with the options that must stand before; waits at most [`CONNECT_LIMIT`].
pub(super) fn dial(
    address: SocketAddr,
    bind: Option<SocketAddr>,
    options: &Options,
    stop: &Stop,
) -> Result<TcpStream, LabError> {
    let fail = |source: Errno| {
        LabError::new("connect to", address.to_string(), source, "check that the address can be reached from here")
    };
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(fail)?;
    options.apply_early(&socket)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(CONNECT_LIMIT)).map_err(fail)?;
    if let Some(own) = bind {
        rustix::net::bind(&socket, &own).map_err(fail)?;
    }
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(TcpStream::from(socket)),
            Err(Errno::INTR | Errno::AGAIN | Errno::ALREADY) if !stop.is_set() => thread::yield_now(),
            Err(error) => return Err(fail(error)),
        }
    }
}
