//! What to change, on which side, in which order.

use super::verdict::Verdict;

/// Who can act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdvisedSide {
    /// The program that writes.
    Sender,
    /// The program that reads.
    Receiver,
    /// Whoever administers the reading host.
    ReceiverHost,
}

impl AdvisedSide {
    /// The word of the output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::ReceiverHost => "receiver-host",
        }
    }
}

/// One thing to change.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Advice {
    /// Who.
    pub side: AdvisedSide,
    /// What.
    pub fix: String,
    /// Why, and what it costs.
    pub why: String,
}

/// What a program runs on, as far as its command name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Runtime {
    /// A Java virtual machine.
    Jvm,
    /// `CPython`, `PyPy`.
    Python,
    /// Ruby.
    Ruby,
    /// Node.js.
    Node,
    /// PHP.
    Php,
    /// Erlang or Elixir.
    Beam,
    /// .NET.
    DotNet,
    /// Go, told by its build information.
    Go,
    /// Rust, told by its panic machinery.
    Rust,
    /// None of these, or not told.
    Other,
}

impl Runtime {
    /// Tells the runtime from the command name or the executable's file name.
    pub fn of_name(name: &str) -> Self {
        let name = name.rsplit('/').next().unwrap_or(name);
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if starts(&["java"]) {
            Self::Jvm
        } else if starts(&["python", "pypy", "gunicorn", "uwsgi", "celery"]) {
            Self::Python
        } else if starts(&["ruby", "puma", "unicorn", "sidekiq", "rails"]) {
            Self::Ruby
        } else if name == "node" || starts(&["nodejs", "node "]) {
            Self::Node
        } else if starts(&["php"]) {
            Self::Php
        } else if starts(&["beam."]) {
            Self::Beam
        } else if name == "dotnet" {
            Self::DotNet
        } else {
            Self::Other
        }
    }

    /// How a program on it sends one message with one write.
    pub fn one_write(self) -> &'static str {
        match self {
            Self::Jvm => {
                "wrap the socket's stream in a BufferedOutputStream and flush() once per message, or use a gathering write"
            }
            Self::Python => {
                "join the parts before one sendall(), or use sendmsg() with a list, or makefile('wb') and flush()"
            }
            Self::Ruby => "join the parts before one write, or write(header, body), which Ruby gathers",
            Self::Node => "socket.cork(), the writes, then socket.uncork() on the next tick",
            Self::Php => "concatenate the parts before one fwrite()",
            Self::Beam => "hand gen_tcp:send/2 one iolist with all the parts",
            Self::DotNet => "write the parts to a BufferedStream and flush once, or send a list of segments",
            Self::Go => "put a bufio.Writer before the connection and Flush once per message, or net.Buffers.WriteTo",
            Self::Rust => "put a BufWriter before the stream and flush() once per message, or write_vectored",
            Self::Other => "gather the parts with writev() or sendmsg(), or buffer them and flush once per message",
        }
    }

    /// How a program on it turns Nagle's algorithm off.
    pub fn nodelay(self) -> &'static str {
        match self {
            Self::Jvm => "socket.setTcpNoDelay(true) (for com.sun.net.httpserver: -Dsun.net.httpserver.nodelay=true)",
            Self::Python => "sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)",
            Self::Ruby => "sock.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)",
            Self::Node => "socket.setNoDelay(true) (raw net.Socket has it off)",
            Self::Php => "socket_set_option($socket, SOL_TCP, TCP_NODELAY, 1)",
            Self::Beam => "inet:setopts(Socket, [{nodelay, true}])",
            Self::DotNet => "socket.NoDelay = true",
            Self::Go => "conn.SetNoDelay(true), which is Go's default: look for a SetNoDelay(false)",
            Self::Rust => "stream.set_nodelay(true) (a hand-built hyper HttpConnector has it off)",
            Self::Other => "setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)",
        }
    }
}

/// What to do about a verdict, first things first.
pub fn advise(verdict: Verdict, sender: Runtime, held_bytes: Option<u32>) -> Vec<Advice> {
    match verdict {
        Verdict::NagleDelayedAck => stall(sender, held_bytes),
        Verdict::CorkHold => vec![
            advice(
                AdvisedSide::Sender,
                "clear TCP_CORK after the last write of a message, and leave MSG_MORE off that write",
                "a cork holds the last partial segment until it is pulled or 200 ms have passed; clearing it sends at once",
            ),
            advice(AdvisedSide::Sender, sender.one_write(), "one write per message needs no cork at all"),
        ],
        Verdict::Pacing => vec![advice(
            AdvisedSide::Sender,
            "raise or remove SO_MAX_PACING_RATE",
            "the program asked for this rate; the kernel keeps to it",
        )],
        Verdict::ReceiverWindow => vec![
            advice(
                AdvisedSide::Receiver,
                "read faster: more readers, or less work between reads",
                "the receive buffer is full, so the sender must wait; nothing at the sender mends that",
            ),
            advice(
                AdvisedSide::Receiver,
                "leave SO_RCVBUF alone, or raise it, if the program does keep up",
                "a fixed small buffer closes the window although the program reads",
            ),
        ],
        Verdict::HeldUnread => vec![advice(
            AdvisedSide::Receiver,
            "find out what the receiving program does instead of reading",
            "it has not read what arrived; sending the rest sooner would not make it read",
        )],
        Verdict::LossRecovery => vec![advice(
            AdvisedSide::ReceiverHost,
            "look for loss on the path: drops at an interface, a full queue, a firewall",
            "the wait is a retransmission timeout (200 ms and more), whatever the socket options are",
        )],
        Verdict::ReleasedByReply => vec![advice(
            AdvisedSide::Sender,
            "nothing is needed for the timer; TCP_NODELAY lets a pipelined request travel while the first is served",
            "the receiver's answer ended the holds; it may have been busy with the first part",
        )],
        Verdict::RttBoundNagle => vec![advice(
            AdvisedSide::Sender,
            "TCP_NODELAY, if small writes must not wait for the round trip",
            "Nagle's algorithm lets one small segment travel per round trip; no timer is involved",
        )],
        Verdict::Healthy | Verdict::Idle => Vec::new(),
    }
}

fn stall(sender: Runtime, held_bytes: Option<u32>) -> Vec<Advice> {
    let held = held_bytes.map_or_else(|| "the rest of a message".to_owned(), |bytes| format!("a write of {bytes} B"));
    vec![
        advice(
            AdvisedSide::Sender,
            &format!("send each message with one write: {}", sender.one_write()),
            &format!("{held} waits because the part before it was sent alone; one write also halves the segments"),
        ),
        advice(
            AdvisedSide::Sender,
            "MSG_MORE on every write but the last of a message, or TCP_CORK before it and off after it",
            "the kernel gathers the parts; a cork that is forgotten turns 40 ms into 200 ms",
        ),
        advice(
            AdvisedSide::Sender,
            &format!("TCP_NODELAY: {}", sender.nodelay()),
            "ends the wait, but keeps two segments per message, and one-byte writes become one packet each",
        ),
        advice(
            AdvisedSide::Receiver,
            "TCP_QUICKACK before every read, where the sender cannot be changed",
            "it does not stick: set once per connection it does nothing",
        ),
        advice(
            AdvisedSide::ReceiverHost,
            "ip route change PREFIX … quickack 1, on the route back to the sender",
            "acknowledges at once for every program on that route; needs root",
        ),
    ]
}

fn advice(side: AdvisedSide, fix: &str, why: &str) -> Advice {
    Advice { side, fix: fix.to_owned(), why: why.to_owned() }
}
