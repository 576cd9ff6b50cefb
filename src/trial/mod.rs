//! Trials: each mode of the lab's traffic, measured by its own client and judged by a watch that runs beside it.
//!
//! Figures and verdict come from two connections to the same server. The first makes exactly the requests asked for, so that
//! its sockets' counters belong to them alone. Fast modes are over in less than a millisecond, before anybody could see them;
//! where the first took less time than a watch needs, a second goes on with the same traffic until the watch is over.
//!
//! **Architecture invariant:** nothing is judged here but whether the kernel stalled where it was expected to; the verdict is
//! the engine's, by the same way as any other connection's.
#![allow(clippy::disallowed_methods)]

mod look;
mod reason;
mod run;

use std::time::Duration;

use crate::diagnose::{Level, Tick, Verdict};
use crate::lab::{LabError, Mode, Sizes, Summary};
use crate::model::Host;
use crate::source::LookError;

pub use run::run;

/// The shortest time for which each mode is watched: several surveys, and seven holds of the 200 ms that a cork takes.
pub const WATCH: Duration = Duration::from_millis(1_500);

/// What to try.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The modes, in the order in which they run.
    pub modes: Vec<Mode>,
    /// How much each sends.
    pub sizes: Sizes,
}

/// What came of one mode.
#[derive(Clone, Debug)]
pub struct Row {
    /// The mode.
    pub mode: Mode,
    /// Requests that were made; less than asked for when interrupted.
    pub requests: u64,
    /// The latency of each request in order, ms; empty where no replies are expected.
    pub latencies_ms: Vec<f64>,
    /// The latencies in a few figures.
    pub summary: Summary,
    /// All requests together, ms: the sum of the latencies, or where there are none the time until all had arrived.
    pub total_ms: f64,
    /// Segments with data that the tried end sent: the server where its reply is tried, else the client. `None` before
    /// Linux 4.6.
    pub data_segments: Option<u32>,
    /// Segments without data that its peer sent back, the handshake's left out. `None` before Linux 4.6.
    pub pure_acks: Option<u32>,
    /// What `DelayedACKs` grew by meanwhile, in the whole network namespace.
    pub delayed_acks: Option<u64>,
    /// What stallscope said of the connection; `None` when interrupted before it could say anything.
    pub verdict: Option<Verdict>,
    /// How sure it was; `None` where nothing is held.
    pub level: Option<Level>,
    /// Why the kernel does not do what is expected of the mode, most likely first: not stall, or not send one-byte writes as
    /// Nagle's algorithm alone has it. Empty where it does.
    pub reasons: Vec<String>,
    /// What went wrong at either end, in words.
    pub errors: Vec<String>,
}

/// What came of all modes.
#[derive(Clone, Debug)]
pub struct Results {
    /// The host.
    pub host: Host,
    /// Its tick.
    pub tick: Tick,
    /// What was tried.
    pub sizes: Sizes,
    /// One for each mode that was begun.
    pub rows: Vec<Row>,
}

/// A trial that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The traffic could not be started.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The sockets could not be looked at.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The watch ended in a way that it never should.
    #[error("cannot watch the lab's own traffic: the watching thread ended unexpectedly; please report it")]
    Watch,
}
