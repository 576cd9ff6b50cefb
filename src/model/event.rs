//! What a source says. The live kernel, a recording and pasted text all speak in these, so that everything behind them is one
//! path.

use std::sync::Arc;

use crate::wire::Cookie;

use super::time::Moment;

/// One thing that a source saw.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Where the sockets live. Comes first; a later one replaces it.
    Host(&'a Host),
    /// A survey begins: runs of messages follow until [`Event::SurveyEnd`].
    SurveyBegin {
        /// When the first request was sent.
        at: Moment,
        /// The same on the wall clock, µs since 1970 (UTC); `None` when the source has no wall clock.
        wall_us: Option<i64>,
    },
    /// Netlink messages as received, several in a run.
    Run(&'a [u8]),
    /// The survey is over.
    SurveyEnd {
        /// When the last reply was read.
        at: Moment,
        /// How it went.
        report: &'a SurveyReport,
    },
    /// The answers to the exact look-ups of one connection, in the order asked: first, second, first, second.
    Probe {
        /// When the requests were sent.
        at: Moment,
        /// Who was asked.
        target: ProbeTarget,
        /// The netlink messages that answered, in order.
        answers: &'a [u8],
    },
    /// Host-wide counters.
    Counters {
        /// When they were read.
        at: Moment,
        /// Their values.
        counters: Counters,
    },
    /// Who holds the sockets named in it.
    Owners(&'a [(u32, Owners)]),
    /// A word that the user set.
    Mark {
        /// When.
        at: Moment,
        /// The word.
        word: &'a str,
    },
}

/// The sockets of one exact look-up: both ends of a connection, or the one that can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProbeTarget {
    /// The end asked first (and third).
    pub first: Cookie,
    /// The end asked second (and fourth); `None` when the peer is remote.
    pub second: Option<Cookie>,
}

/// How a survey went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SurveyReport {
    /// The dumps that ended without `NLMSG_DONE`, or were refused, in words.
    pub failures: Vec<String>,
    /// Reads that were cut off (`MSG_TRUNC`).
    pub truncated_reads: u32,
    /// Times that the receive queue overflowed (`ENOBUFS`).
    pub overflows: u32,
    /// The kernel said that the table changed meanwhile (`NLM_F_DUMP_INTR`).
    pub interrupted: bool,
}

impl SurveyReport {
    /// Whether everything that was there was received, as far as the kernel tells.
    pub fn is_complete(&self) -> bool {
        self.failures.is_empty() && self.truncated_reads == 0 && self.overflows == 0 && !self.interrupted
    }
}

/// The host that the sockets live on, as its own user sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Host {
    /// Node name (`uname`).
    pub hostname: String,
    /// Kernel release (`uname`).
    pub kernel: String,
    /// Machine architecture (`uname`).
    pub machine: String,
    /// Inode of the network namespace; addresses are unique only within it.
    pub netns: Option<u64>,
    /// Effective user id of who looked.
    pub uid: u32,
    /// User name of who looked, when it is known.
    pub user: Option<String>,
    /// Length of a tick in µs as the coarse clock's resolution says (`clock_getres`).
    pub tick_us: Option<u32>,
    /// `net.ipv4.tcp_pingpong_thresh`, from Linux 6.3 on: how many interactions make a connection interactive.
    pub pingpong_thresh: Option<u32>,
    /// `net.ipv4.tcp_autocorking`.
    pub autocorking: Option<u32>,
    /// `net.ipv4.tcp_congestion_control`.
    pub congestion: Option<String>,
    /// Identity of the boot (`/proc/sys/kernel/random/boot_id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The source's moment zero on the boot's monotonic clock (`CLOCK_MONOTONIC`), µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monotonic_us: Option<u64>,
    /// Version of the stallscope that looked.
    pub tool_version: String,
}

/// Counters of `/proc/net/netstat`, of the reader's network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// `DelayedACKs`: acknowledgements sent by the delayed-ACK timer.
    pub delayed_acks: Option<u64>,
    /// `DelayedACKLocked`: the timer fired while the socket was locked.
    pub delayed_ack_locked: Option<u64>,
    /// `TCPAutoCorking`: small writes that the kernel corked by itself.
    pub auto_corking: Option<u64>,
}

/// A process that holds a socket. Its names are shared: a process may hold tens of thousands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Command name, as in `/proc/PID/comm`.
    pub comm: Arc<str>,
    /// File descriptor.
    pub fd: u32,
    /// Command line, its arguments joined by blanks; empty when unreadable.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub cmdline: Arc<str>,
    /// Path of the executable, when readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<Arc<str>>,
}

/// What is known of who holds a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Owners {
    /// Nobody has looked yet.
    #[default]
    NotLooked,
    /// These processes hold it.
    Known(Vec<Owner>),
    /// No readable process holds it; others could not be read.
    Unreadable,
    /// Every process was readable and none holds it: it is orphaned, or held outside this PID namespace.
    Nobody,
}
