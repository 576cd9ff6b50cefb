//! What the kernel shows of chosen sockets over a while, as shares of the samples: the evidence that a scenario makes what
//! its name says, apart from any diagnosis.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use netlink_sys::{Socket as Netlink, SocketAddr as Kernel, protocols::NETLINK_SOCK_DIAG};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use stallscope::wire::{Cookie, Family, Message, Socket, Timer, dump_request, exact_request, messages};

/// The time between two samples; no divisor of the kernel's 40 ms.
const EVERY: Duration = Duration::from_millis(7);
/// The kernel sends at most 32 KiB in one message.
const BUFFER: usize = 1 << 16;
/// How long the kernel may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// What was seen of one socket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    pub samples: u32,
    /// Samples with unsent data behind exactly one segment in flight: held by Nagle, or by a full window.
    pub stalled: u32,
    /// Samples with unsent data, nothing in flight, and the probe timer: held by a cork, pacing or a closed window.
    pub corked: u32,
    /// Samples with data that the application had not read.
    pub unread: u32,
    /// Samples with nothing queued at all.
    pub empty: u32,
    /// `last_data_sent` of each sample that counts as stalled, ms.
    pub ages: Vec<u32>,
    /// Segments retransmitted in all.
    pub retransmitted: u32,
}

impl Shape {
    /// Part of the samples, from 0 to 1.
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.samples.max(1))
    }

    /// The age that 19 of 20 stalled samples stay within, ms: a busy machine may delay the last one.
    pub fn age_ms(&self) -> f64 {
        let mut sorted = self.ages.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * 19 / 20).copied().map_or(0.0, f64::from)
    }

    fn add(&mut self, socket: &Socket) {
        let Some(info) = &socket.info else { return };
        let (notsent, unacked) = (info.notsent_bytes().unwrap_or(0), info.unacked().unwrap_or(0));
        self.samples += 1;
        self.unread += u32::from(socket.rqueue > 0);
        self.empty += u32::from(socket.wqueue == 0 && socket.rqueue == 0);
        self.corked += u32::from(notsent > 0 && unacked == 0 && socket.timer == Timer::PROBE);
        if notsent > 0 && unacked == 1 && socket.timer == Timer::RETRANSMIT {
            self.stalled += 1;
            self.ages.extend(info.last_data_sent());
        }
        self.retransmitted = info.total_retrans().unwrap_or(0);
    }
}

/// Samples the sockets with these local and remote addresses, in the calling thread's network namespace, for `time`. A
/// socket that is not there has no samples.
pub fn sample(ends: &[(SocketAddr, SocketAddr)], time: Duration) -> io::Result<Vec<Shape>> {
    let mut kernel = Asking::new()?;
    let all = [kernel.dump(Family::V4)?, kernel.dump(Family::V6)?].concat();
    let found: Vec<Option<&Socket>> = ends.iter().map(|ends| all.iter().find(|socket| is(socket, *ends))).collect();
    let mut shapes = vec![Shape::default(); ends.len()];
    let end = Instant::now() + time;
    while Instant::now() < end {
        for (shape, socket) in shapes.iter_mut().zip(&found) {
            if let Some(now) = socket.map(|socket| kernel.exact(socket)).transpose()?.flatten() {
                shape.add(&now);
            }
        }
        thread::sleep(EVERY);
    }
    Ok(shapes)
}

fn is(socket: &Socket, (local, remote): (SocketAddr, SocketAddr)) -> bool {
    let same = |end: stallscope::wire::Endpoint, address: SocketAddr| {
        end.port == address.port() && end.ip == address.ip().to_canonical()
    };
    socket.cookie != Cookie::default() && same(socket.local, local) && same(socket.remote, remote)
}

struct Asking {
    socket: Netlink,
    buffer: Vec<u8>,
}

impl Asking {
    fn new() -> io::Result<Self> {
        let mut socket = Netlink::new(NETLINK_SOCK_DIAG)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_LIMIT))?;
        socket.bind_auto()?;
        socket.connect(&Kernel::new(0, 0))?;
        Ok(Self { socket, buffer: Vec::with_capacity(BUFFER) })
    }

    fn dump(&mut self, family: Family) -> io::Result<Vec<Socket>> {
        self.socket.send(&dump_request(family, 1, &[]), 0)?;
        let mut sockets = Vec::new();
        loop {
            let bytes = self.receive()?;
            for message in messages(&bytes) {
                match message {
                    Message::Socket { socket, .. } => sockets.push(socket),
                    Message::Done { .. } | Message::Error { .. } => return Ok(sockets),
                    Message::Other { .. } | Message::Malformed(_) => {}
                }
            }
        }
    }

    fn exact(&mut self, socket: &Socket) -> io::Result<Option<Socket>> {
        self.socket.send(&exact_request(socket, 2), 0)?;
        let bytes = self.receive()?;
        Ok(messages(&bytes).find_map(|message| match message {
            Message::Socket { socket, .. } => Some(socket),
            _ => None,
        }))
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        self.buffer.clear();
        self.socket.recv(&mut self.buffer, 0)?;
        Ok(self.buffer.clone())
    }
}
