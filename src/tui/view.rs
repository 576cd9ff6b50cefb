//! What a producer publishes: one immutable picture of the engine, cheap to make and to share.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::diagnose::{EndedHold, Finding, Level, OpenHold, STRIP_SECONDS, Severity, Verdict};
use crate::model::{ConnectionId, Host, Moment};
use crate::wire::HostId;

use super::replay::index::Index;

/// One picture of everything.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Counts up when rows were added, removed or moved; between two such changes a row keeps its place in `rows`.
    pub generation: u64,
    /// The header's figures.
    pub head: Head,
    /// The connections that the filter passes, in no particular order.
    pub rows: Arc<Vec<Row>>,
    /// Who holds which socket.
    pub names: Arc<Names>,
    /// Everything about the selected connection.
    pub detail: Option<Arc<Detail>>,
    /// The filter that `rows` passed.
    pub filter: String,
    /// What was survived, one line each.
    pub notes: Arc<Vec<String>>,
    /// What the producer told last, and how many things it told before and with it.
    pub said: Option<Arc<(u64, Said)>>,
    /// The recording that is being made.
    pub recording: Option<Recording>,
    /// Where a replay stands; `None` live.
    pub playback: Option<Arc<Playback>>,
}

/// How something that was asked for went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What to say.
    pub text: String,
    /// Whether it went wrong.
    pub failed: bool,
}

impl Said {
    /// The words of a result.
    pub fn of(result: Result<String, String>) -> Self {
        let failed = result.is_err();
        Self { text: result.unwrap_or_else(|why| why), failed }
    }
}

/// A recording in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Bytes written so far.
    pub written: u64,
}

/// Where a replay stands.
#[derive(Clone, Debug, Default)]
pub struct Playback {
    /// The file.
    pub name: String,
    /// What it was read as.
    pub kind: &'static str,
    /// The moment shown.
    pub position: Moment,
    /// Whether time passes.
    pub playing: bool,
    /// How fast, in percent of the recorded time.
    pub speed_percent: u32,
    /// Whether another moment was asked for and is on its way.
    pub seeking: bool,
    /// The change or mark that was jumped to.
    pub here: Option<String>,
    /// What the whole file holds, as far as it was read.
    pub index: Arc<Index>,
}

/// Figures of the whole host.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The host.
    pub host: Arc<Host>,
    /// The other hosts of the picture, and how their clocks relate to this one's.
    pub others: Vec<String>,
    /// Latest moment that the engine knows.
    pub now: Moment,
    /// Surveys that ended.
    pub surveys: u64,
    /// When the latest survey that got anything ended.
    pub surveyed: Option<Moment>,
    /// Survey period.
    pub period: Duration,
    /// Whether that is longer than was asked for, because surveys take long.
    pub stretched: bool,
    /// Sockets known.
    pub sockets: usize,
    /// Connections known, whatever the filter.
    pub connections: usize,
    /// Connections stalled now.
    pub stalled: usize,
    /// Of those, the ones that the filter hides.
    pub hidden: usize,
    /// Milliseconds that stalls held data, over all connections, per second.
    pub held_ms_per_s: f64,
    /// Delayed ACKs that timers sent, per second; `None` until two readings are there.
    pub delayed_acks_per_s: Option<f64>,
    /// Connections looked at closely.
    pub probed: usize,
    /// Why the latest survey failed or is not whole.
    pub trouble: Option<String>,
}

/// One end of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowEnd {
    /// Its address.
    pub ip: IpAddr,
    /// Its port.
    pub port: u16,
    /// The host that its socket is on.
    pub host: HostId,
    /// Inode of its socket; `None` when the end is on another host, 0 when no process holds it.
    pub inode: Option<u32>,
    /// Its user, when the socket is visible.
    pub uid: Option<u32>,
}

/// One connection, small enough for tens of thousands.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Identity.
    pub id: ConnectionId,
    /// When it was first seen: what keeps rows in place.
    pub since: Moment,
    /// The end that sends in the direction judged.
    pub sender: RowEnd,
    /// Its peer.
    pub receiver: RowEnd,
    /// What it is.
    pub verdict: Verdict,
    /// How sure that is.
    pub level: Option<Level>,
    /// Bytes held: of the latest hold, else as last surveyed.
    pub held: Option<u32>,
    /// The sender's unacknowledged segments.
    pub unacked: Option<u32>,
    /// The receiver's delayed-ACK timeout, µs.
    pub ato_us: Option<u32>,
    /// Smallest round-trip time, µs.
    pub min_rtt_us: Option<u32>,
    /// When the connection was found to be gone.
    pub gone: Option<Moment>,
    /// What its holds amount to. Nearly no connection has any: apart, they take no room in the others' rows.
    pub figures: Option<Box<Figures>>,
}

/// What the holds of one direction amount to.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Age of the hold that lasts, µs.
    pub age_us: Option<u64>,
    /// Holds per second of close watching.
    pub rate: Option<f64>,
    /// Share of the time of close watching that was held.
    pub share: Option<f64>,
    /// When the latest hold ended; `None` while none ended.
    pub last_held: Option<Moment>,
    /// Milliseconds held in each of the last 60 seconds, oldest first.
    pub strip: [u16; STRIP_SECONDS],
}

/// How long after its last hold a stall still counts as lasting, µs: a stalled connection holds again within one think time.
const LASTS_US: u64 = 2_000_000;

impl Row {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.verdict.severity()
    }

    /// Age of the hold that lasts, µs.
    pub fn age_us(&self) -> Option<u64> {
        self.figures.as_ref()?.age_us
    }

    /// Holds per second of close watching.
    pub fn rate(&self) -> Option<f64> {
        self.figures.as_ref()?.rate
    }

    /// Share of the time of close watching that was held.
    pub fn share(&self) -> Option<f64> {
        self.figures.as_ref()?.share
    }

    /// Milliseconds held in each of the last 60 seconds, oldest first, where anything ever was.
    pub fn strip(&self) -> Option<&[u16; STRIP_SECONDS]> {
        self.figures.as_ref().map(|figures| &figures.strip)
    }

    fn last_held(&self) -> Option<Moment> {
        self.figures.as_ref()?.last_held
    }

    /// When it ended, for a finding that ceased.
    pub fn ended(&self, now: Moment) -> Option<Moment> {
        if self.severity() < Severity::Limit {
            return None;
        }
        self.gone.or_else(|| self.last_held().filter(|_| !self.is_fresh(now)))
    }

    /// Whether a hold lasts, or ended a moment ago.
    pub fn is_fresh(&self, now: Moment) -> bool {
        self.age_us().is_some() || self.last_held().is_some_and(|last| now.since(last) <= LASTS_US)
    }

    /// Whether it is in a stall now.
    pub fn is_stalled(&self, now: Moment) -> bool {
        self.severity() == Severity::Stall && self.ended(now).is_none()
    }
}

/// The first process that holds a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Command name, made safe.
    pub comm: Arc<str>,
    /// Process id.
    pub pid: u32,
}

/// Who holds which socket inode of which host. An inode that is not in it was not looked up yet.
pub type Names = FxHashMap<(HostId, u32), Option<Name>>;

/// Everything about one connection.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Identity.
    pub id: ConnectionId,
    /// When it was first seen.
    pub since: Moment,
    /// Probes that were answered.
    pub probes: u64,
    /// The findings, worst first; at least one.
    pub directions: Vec<Shown>,
}

/// One direction's finding, with what charts need.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The finding.
    pub finding: Finding,
    /// The bytes in flight and held at the look that shows it best.
    pub exhibit: Exhibited,
    /// The hold that lasts.
    pub open: Option<OpenHold>,
    /// The latest ended holds, oldest first.
    pub recent: Vec<EndedHold>,
    /// How many of the finding's holds lasted that many ms.
    pub lengths: Vec<u32>,
    /// Milliseconds held in each of the last 60 seconds.
    pub strip: [u32; STRIP_SECONDS],
}

/// Numbers of the look that shows a finding best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exhibited {
    /// Bytes sent and not acknowledged.
    pub in_flight: Option<u32>,
    /// Bytes written and not sent.
    pub held: Option<u32>,
    /// The receiver's unread bytes.
    pub unread: Option<u32>,
    /// Smallest round-trip time, µs.
    pub min_rtt_us: Option<u32>,
}
