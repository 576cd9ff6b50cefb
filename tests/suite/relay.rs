//! A link between two TUN devices, with delay, a rate and chosen losses.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;

/// What waits for a link with a rate, in bytes; more is dropped.
const QUEUE_MAX: usize = 128 << 10;
/// The longest time for which a relay does not look at its stop flag.
const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// The flags of packets that make or end a connection.
const FIN_SYN_RST: u8 = 7;

/// Which end sends the packets that are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    Client,
    Server,
}

/// Which packets are lost: of those that carry data (or of those that do not), the `nth`, then each `every`-th after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    pub from: From,
    /// Counts packets without data instead.
    #[serde(default)]
    pub pure_acks: bool,
    pub nth: u64,
    #[serde(default)]
    pub every: Option<u64>,
}

impl Loss {
    fn hits(&self, count: u64) -> bool {
        match self.every {
            Some(every) if count > self.nth => (count - self.nth).is_multiple_of(every),
            _ => count == self.nth,
        }
    }
}

/// What the link does to packets, in each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// From one end to the other.
    pub delay: Duration,
    /// Bytes per second.
    pub rate: Option<u32>,
    pub losses: Vec<Loss>,
}

/// A running relay.
pub struct Relay {
    stop: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// Joins the client's device and the server's.
    pub fn start(client: &File, server: &File, line: &Line) -> io::Result<Self> {
        let mut relay = Self { stop: Arc::default(), dropped: Arc::default(), threads: Vec::new() };
        relay.join(client, server, line, From::Client)?;
        relay.join(server, client, line, From::Server)?;
        Ok(relay)
    }

    fn join(&mut self, from: &File, to: &File, line: &Line, direction: From) -> io::Result<()> {
        let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
        let (stop, dropped, waiting) =
            (Arc::clone(&self.stop), Arc::clone(&self.dropped), Arc::<AtomicUsize>::default());
        let losses = line.losses.iter().filter(|loss| loss.from == direction).copied().collect();
        let mut gate = Gate { losses, data: 0, pure: 0, delay: line.delay, rate: line.rate, free: Instant::now() };
        let (queue, packets) = channel();
        let left = Arc::clone(&waiting);
        self.threads.push(thread::spawn(move || take_in(&mut from, &mut gate, &queue, &waiting, &stop, &dropped)));
        let stop = Arc::clone(&self.stop);
        self.threads.push(thread::spawn(move || give_out(&packets, &mut to, &left, &stop)));
        Ok(())
    }

    /// Packets dropped so far because a [`Loss`] chose them.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A relay that panicked has shown in the traffic already.
            thread.join().ok();
        }
    }
}

struct Packet {
    due: Instant,
    bytes: Vec<u8>,
}

/// Decides for each packet of one direction whether and when it arrives.
struct Gate {
    losses: Vec<Loss>,
    data: u64,
    pure: u64,
    delay: Duration,
    rate: Option<u32>,
    free: Instant,
}

impl Gate {
    /// Whether the packet is one of those to be lost.
    fn loses(&mut self, packet: &[u8]) -> bool {
        let Some(payload) = tcp_payload(packet) else { return false };
        let pure = payload == 0;
        let count = if pure { &mut self.pure } else { &mut self.data };
        *count += 1;
        let count = *count;
        self.losses.iter().any(|loss| loss.pure_acks == pure && loss.hits(count))
    }

    /// When a packet of this size that came at `now` arrives.
    fn due(&mut self, size: usize, now: Instant) -> Instant {
        let time = self.rate.map_or(0.0, |rate| size as f64 / f64::from(rate));
        self.free = self.free.max(now) + Duration::from_secs_f64(time);
        self.free + self.delay
    }
}

/// The bytes that a TCP packet over IPv4 or IPv6 (without extension headers) carries; `None` for any other packet, and for
/// SYN, FIN and RST, which are never lost here.
fn tcp_payload(packet: &[u8]) -> Option<usize> {
    let (start, protocol) = match packet.first()? >> 4 {
        4 => (usize::from(packet[0] & 15) * 4, *packet.get(9)?),
        6 => (40, *packet.get(6)?),
        _ => return None,
    };
    let header = packet.get(start..)?;
    let flags = *header.get(13)?;
    let length = usize::from(header.get(12)? >> 4) * 4;
    (protocol == TCP && flags & FIN_SYN_RST == 0).then(|| header.len().saturating_sub(length))
}

fn take_in(
    from: &mut File,
    gate: &mut Gate,
    queue: &Sender<Packet>,
    waiting: &AtomicUsize,
    stop: &AtomicBool,
    dropped: &AtomicU64,
) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        let mut fds = [PollFd::new(from, PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&STEP)), Ok(1..)) {
            continue;
        }
        let Ok(size) = from.read(&mut buffer) else { return };
        if gate.loses(&buffer[..size]) {
            dropped.fetch_add(1, Ordering::Relaxed);
        } else if gate.rate.is_none() || waiting.load(Ordering::Relaxed) + size <= QUEUE_MAX {
            waiting.fetch_add(size, Ordering::Relaxed);
            let due = gate.due(size, Instant::now());
            if queue.send(Packet { due, bytes: buffer[..size].to_vec() }).is_err() {
                return;
            }
        }
    }
}

fn give_out(packets: &Receiver<Packet>, to: &mut File, waiting: &AtomicUsize, stop: &AtomicBool) {
    loop {
        match packets.recv_timeout(Duration::from_millis(50)) {
            Ok(packet) => {
                thread::sleep(packet.due.saturating_duration_since(Instant::now()));
                waiting.fetch_sub(packet.bytes.len(), Ordering::Relaxed);
                // A device that refuses a packet has lost it, as a link may.
                to.write_all(&packet.bytes).ok();
            }
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return,
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

#[test]
fn a_loss_hits_the_nth_and_each_every_th_after() {
    let once = Loss { from: From::Client, pure_acks: false, nth: 3, every: None };
    assert_eq!((1..10).filter(|&count| once.hits(count)).collect::<Vec<_>>(), [3]);
    let again = Loss { every: Some(4), ..once };
    assert_eq!((1..13).filter(|&count| again.hits(count)).collect::<Vec<_>>(), [3, 7, 11]);
}
