//! Scenario files: what happens on which link, and what is right to say of it.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use stallscope::lab::Traffic;

use super::link::{Link, Seen, humane};

/// One scenario, as in `fixtures/scenarios/NAME.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, for the table.
    pub about: String,
    #[serde(default)]
    pub link: Link,
    #[serde(default)]
    pub seen: Seen,
    /// How long it is watched.
    #[serde(deserialize_with = "humane", default = "two_seconds")]
    pub watch: Duration,
    /// Settings under `net.ipv4`, of both ends' namespaces.
    #[serde(default)]
    pub sysctl: Vec<(String, String)>,
    /// Attributes of the loopback route, such as `quickack 1`.
    #[serde(default)]
    pub route: Option<String>,
    /// The congestion control of both ends.
    #[serde(default = "cubic")]
    pub congestion: String,
    pub traffic: Vec<Traffic>,
    /// Findings that must be made.
    #[serde(default)]
    pub right: Vec<Finding>,
    /// Findings that may be made. Any other finding of a stall or of a limit is wrong.
    #[serde(default)]
    pub allowed: Vec<Finding>,
    /// What the clients themselves must measure.
    #[serde(default)]
    pub latency: Vec<Latency>,
    /// What the kernel must show.
    #[serde(default)]
    pub shape: Vec<Shown>,
    /// The link must lose at least this many packets.
    #[serde(default)]
    pub lost: u64,
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Client,
    Server,
}

/// How sure a finding is, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Suspected,
    Paired,
    Proven,
    Confirmed,
}

impl Level {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Suspected => "suspected",
            Self::Paired => "paired",
            Self::Proven => "proven",
            Self::Confirmed => "confirmed",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Suspected, Self::Paired, Self::Proven, Self::Confirmed].into_iter().find(|level| level.name() == name)
    }
}

/// A finding that is right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub verdict: String,
    /// The traffic it is about; any when left out.
    #[serde(default)]
    pub traffic: Option<String>,
    /// The leg of a proxy: 0 in front, 1 behind.
    #[serde(default)]
    pub leg: u32,
    /// The end that holds data back.
    pub from: Side,
    /// The lowest level that will do.
    #[serde(default)]
    pub level: Option<Level>,
    /// The highest level that is true.
    #[serde(default)]
    pub at_most: Option<Level>,
    /// Compares the holds found with the latencies that the client measured.
    #[serde(default)]
    pub compare: Option<Compare>,
}

/// How holds and latencies relate.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Requests that took longer than this stalled.
    #[serde(deserialize_with = "humane", default = "stalled_above")]
    pub above: Duration,
    /// What a stalled request takes besides the hold: thinking, the round trip of the rest and the reply.
    #[serde(deserialize_with = "humane", default)]
    pub beside: Duration,
    /// Holds in each stalled request.
    #[serde(default = "one")]
    pub holds: u32,
}

/// The median latency that a client must measure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    #[serde(default)]
    pub traffic: Option<String>,
    /// Counts only requests that took longer than this.
    #[serde(deserialize_with = "humane", default)]
    pub above: Duration,
    #[serde(deserialize_with = "humane")]
    pub least: Duration,
    #[serde(deserialize_with = "humane")]
    pub most: Duration,
    /// The smallest and the largest share of requests that `above` lets through.
    #[serde(default)]
    pub share: Option<(f64, f64)>,
}

/// What the kernel must show of the sockets at one end: shares of the samples, smallest and largest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    #[serde(default)]
    pub traffic: Option<String>,
    #[serde(default)]
    pub leg: u32,
    pub end: Side,
    #[serde(default)]
    pub stalled: Option<(f64, f64)>,
    #[serde(default)]
    pub corked: Option<(f64, f64)>,
    #[serde(default)]
    pub unread: Option<(f64, f64)>,
    #[serde(default)]
    pub empty: Option<(f64, f64)>,
    /// How long a segment is in flight before unsent data in 19 of 20 samples, smallest and largest, ms.
    #[serde(default)]
    pub age_ms: Option<(f64, f64)>,
    /// The same of the longest, ms.
    #[serde(default)]
    pub oldest_ms: Option<(f64, f64)>,
    /// Segments retransmitted, smallest and largest.
    #[serde(default)]
    pub retransmitted: Option<(f64, f64)>,
}

impl Scenario {
    /// Reads a scenario.
    pub fn load(name: &str) -> Result<Self, String> {
        let path = folder().join(format!("{name}.toml"));
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let scenario: Self = toml::from_str(&text).map_err(|error| format!("{name}.toml: {error}"))?;
        scenario.check().map_err(|reason| format!("{name}.toml: {reason}"))?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        for traffic in &self.traffic {
            traffic.check().map_err(|error| error.to_string())?;
        }
        let named = self.right.iter().chain(&self.allowed).map(|finding| &finding.traffic);
        let named = named.chain(self.latency.iter().map(|latency| &latency.traffic));
        let named = named.chain(self.shape.iter().map(|shown| &shown.traffic));
        match named.flatten().find(|name| !self.traffic.iter().any(|traffic| traffic.name == **name)) {
            Some(name) => Err(format!("there is no traffic called `{name}`")),
            None if self.latency.is_empty() && self.shape.is_empty() => {
                Err("neither `latency` nor `shape` says what shows that it happens".to_owned())
            }
            None => Ok(()),
        }
    }
}

/// Where scenario files are.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios")
}

fn two_seconds() -> Duration {
    Duration::from_secs(2)
}

fn stalled_above() -> Duration {
    Duration::from_millis(20)
}

fn cubic() -> String {
    "cubic".to_owned()
}

fn one() -> u32 {
    1
}
