//! The stall and each of its cures, as traffic.

use std::time::Duration;

use super::options::{Options, QuickAck};
use super::traffic::{Client, Message, Part, Reading, Sending, Server, Traffic};

/// Writes that `tiny-writes` makes: enough for its ratio of bytes to segments to be steady.
const TINY_WRITES: u64 = 20_000;

/// One way of sending a message and acknowledging it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Write, write, read: the stall.
    Nagle,
    /// The same with `TCP_NODELAY`.
    NoDelay,
    /// The writes copied into one.
    OneWrite,
    /// The writes as one `writev`.
    Writev,
    /// `TCP_CORK` set before the first write and cleared after the last.
    Cork,
    /// `MSG_MORE` on all writes but the last.
    MsgMore,
    /// `TCP_QUICKACK` set once at the receiver.
    QuickAckOnce,
    /// `TCP_QUICKACK` set at the receiver before each read.
    QuickAckEveryRead,
    /// A request of one write, a reply of several: the stall in the other direction.
    Response,
    /// `TCP_CORK` set and never cleared.
    CorkForgotten,
    /// One-byte writes that nobody answers, with Nagle.
    TinyWrites,
    /// The same with `TCP_NODELAY`.
    TinyWritesNoDelay,
}

/// How much a mode sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The writes of a request, in bytes.
    pub request: Vec<usize>,
    /// The writes of a reply, in bytes.
    pub reply: Vec<usize>,
    /// Pause before each request.
    pub think: Duration,
    /// Requests of each mode, except tiny writes, which are always 20 000.
    pub requests: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { request: vec![10, 10], reply: vec![20], think: Duration::ZERO, requests: 50 }
    }
}

impl Mode {
    /// All modes, in the order in which they explain each other.
    pub const ALL: [Self; 12] = [
        Self::Nagle,
        Self::NoDelay,
        Self::OneWrite,
        Self::Writev,
        Self::Cork,
        Self::MsgMore,
        Self::QuickAckOnce,
        Self::QuickAckEveryRead,
        Self::Response,
        Self::CorkForgotten,
        Self::TinyWrites,
        Self::TinyWritesNoDelay,
    ];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nagle => "nagle",
            Self::NoDelay => "nodelay",
            Self::OneWrite => "one-write",
            Self::Writev => "writev",
            Self::Cork => "cork",
            Self::MsgMore => "msg-more",
            Self::QuickAckOnce => "quickack-once",
            Self::QuickAckEveryRead => "quickack-every-read",
            Self::Response => "response",
            Self::CorkForgotten => "cork-forgotten",
            Self::TinyWrites => "tiny-writes",
            Self::TinyWritesNoDelay => "tiny-writes-nodelay",
        }
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// What it does, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Nagle => "a message in several writes, then a read: the stall",
            Self::NoDelay => "the same with TCP_NODELAY at the sender",
            Self::OneWrite => "the parts copied together, one write",
            Self::Writev => "the parts in one writev",
            Self::Cork => "TCP_CORK around the writes",
            Self::MsgMore => "MSG_MORE on all writes but the last",
            Self::QuickAckOnce => "TCP_QUICKACK at the receiver, once per connection",
            Self::QuickAckEveryRead => "TCP_QUICKACK at the receiver, before each read",
            Self::Response => "the reply in several writes: the server waits",
            Self::CorkForgotten => "TCP_CORK set and never cleared",
            Self::TinyWrites => "20 000 one-byte writes, gathered by Nagle",
            Self::TinyWritesNoDelay => "20 000 one-byte writes, a segment each",
        }
    }

    /// The traffic of this mode: one connection, which stays open after the last request so that its sockets can be read.
    pub fn traffic(self, sizes: &Sizes) -> Traffic {
        let mut traffic = Traffic::new(self.name());
        traffic.client = Client {
            request: Message::of(&sizes.request),
            think: sizes.think,
            requests: Some(sizes.requests),
            stay: true,
            ..Client::default()
        };
        traffic.server = Server { reply: Message::of(&sizes.reply), ..Server::default() };
        self.shape(&mut traffic);
        traffic
    }

    /// Whether the server's writes are what is tried: its reply comes in several writes, or is halved, and the request in one.
    pub fn server_sends(self, sizes: &Sizes) -> bool {
        self == Self::Response || (sizes.request.len() < 2 && sizes.reply.len() > 1)
    }

    /// Whether it is one-byte writes that nobody answers: they are counted in segments, not measured.
    pub const fn is_tiny(self) -> bool {
        matches!(self, Self::TinyWrites | Self::TinyWritesNoDelay)
    }

    fn shape(self, traffic: &mut Traffic) {
        let Traffic { client, server, .. } = traffic;
        match self {
            Self::Nagle => {}
            Self::NoDelay => client.options.nodelay = true,
            Self::OneWrite => client.send = Sending::OneWrite,
            Self::Writev => client.send = Sending::Writev,
            Self::Cork => client.send = Sending::Cork,
            Self::MsgMore => all_but_last_with_more(&mut client.request),
            Self::QuickAckOnce => server.options.quickack = QuickAck::Once,
            Self::QuickAckEveryRead => server.options.quickack = QuickAck::EveryRead,
            Self::Response => {
                client.send = Sending::OneWrite;
                server.reply = in_two(&server.reply);
            }
            Self::CorkForgotten => client.options.cork = true,
            Self::TinyWrites => tiny(client, server, false),
            Self::TinyWritesNoDelay => tiny(client, server, true),
        }
    }
}

fn all_but_last_with_more(message: &mut Message) {
    let count = message.parts.len();
    for part in message.parts.iter_mut().take(count.saturating_sub(1)) {
        part.more = true;
    }
}

/// The message in at least two writes: a single one is halved.
fn in_two(message: &Message) -> Message {
    match message.parts.as_slice() {
        [Part { bytes, .. }] if *bytes > 1 => Message::of(&[bytes / 2, bytes - bytes / 2]),
        _ => message.clone(),
    }
}

fn tiny(client: &mut Client, server: &mut Server, nodelay: bool) {
    client.request = Message::of(&[1]);
    client.requests = Some(TINY_WRITES);
    client.think = Duration::ZERO;
    client.options = Options { nodelay, ..Options::default() };
    server.reply = Message::default();
    // A read for each byte would measure the reader, not the segments.
    server.read = Reading::Drain;
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::{Places, Stop, start};
    use super::*;

    fn latencies(mode: Mode, requests: u64) -> Vec<Duration> {
        let traffic = mode.traffic(&Sizes { requests, ..Sizes::default() });
        let running = start(&traffic, Places::loopback(traffic.family), None, &Stop::after(Duration::from_secs(20)))
            .expect("loopback");
        assert!(running.wait_for(requests), "{}: stopped early", mode.name());
        let outcome = running.stop();
        assert_eq!(outcome.errors, Vec::<String>::new());
        outcome.clients[0].samples.iter().map(|sample| sample.took).collect()
    }

    fn median(mut all: Vec<Duration>) -> Duration {
        all.sort();
        all[all.len() / 2]
    }

    #[test]
    fn every_mode_has_a_name_of_its_own_and_a_description_that_agrees_with_itself() {
        for mode in Mode::ALL {
            assert_eq!(Mode::named(mode.name()), Some(mode));
            assert!(mode.traffic(&Sizes::default()).check().is_ok(), "{}", mode.name());
        }
    }

    #[test]
    fn cures_are_fast() {
        use Mode::{Cork, MsgMore, NoDelay, OneWrite, QuickAckEveryRead, Writev};
        for mode in [NoDelay, OneWrite, Writev, Cork, MsgMore, QuickAckEveryRead] {
            let took = median(latencies(mode, 200));
            assert!(took < Duration::from_millis(5), "{}: {took:?}", mode.name());
        }
    }

    #[test]
    fn a_stop_ends_traffic_without_a_limit_at_once() {
        let mut chatter = Traffic::new("both ends send without a pause that a read could time out in");
        chatter.two_way = true;
        chatter.client.think = Duration::from_millis(2);
        chatter.server.think = Duration::from_millis(2);
        for traffic in [Traffic::new("endless"), chatter] {
            let stop = Stop::after(Duration::from_secs(60));
            let running = start(&traffic, Places::loopback(traffic.family), None, &stop).expect("loopback");
            assert!(running.wait_for(2));
            let before = Instant::now();
            let outcome = running.stop();
            assert!(before.elapsed() < Duration::from_secs(2), "{}: {:?}", traffic.name, before.elapsed());
            assert_eq!(outcome.errors, Vec::<String>::new());
            assert!(!stop.is_set(), "only its own traffic is stopped");
        }
    }

    #[test]
    fn tiny_writes_all_arrive() {
        let running = start(
            &Mode::TinyWrites.traffic(&Sizes::default()),
            Places::loopback(super::super::Family::V4),
            None,
            &Stop::after(Duration::from_secs(20)),
        )
        .expect("loopback");
        assert!(running.wait_for(TINY_WRITES));
        assert_eq!(running.stop().errors, Vec::<String>::new());
    }
}
