//! The benchmark: every figure that docs/performance.md promises, against a raw dump or `ss` in the same run.
//!
//! `cargo bench` uses 1 000 sockets. A busy host, ten minutes of the display and a minute of churn (about 25 minutes in all):
//!
//! ```text
//! STALLSCOPE_BENCH_SOCKETS=40000 STALLSCOPE_BENCH_LONG=1 cargo bench
//! ```
//!
//! `STALLSCOPE_BENCH_ROUNDS` is how often what is short is repeated; 1 is for seeing that everything works, and shortens the
//! rest too. `STALLSCOPE_BENCH_ONLY=churn,growth` runs these groups alone. Everything happens in a network namespace of its own;
//! sockets are held by child processes of this program, 19 000 each, since a process may have 20 000 descriptors.
//!
//! A target that is missed is printed and fails nothing: the machine may be busy. What is wrong on any machine does fail: a stall
//! that was not found, a survey that saw nothing.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod churn;
mod cold;
mod crowd;
mod display;
mod growth;
mod measure;
mod memory;
mod namespace;
mod probing;
mod recording;
mod results;
mod role;
mod survey;
mod terminal;

use crowd::Crowd;
use results::Results;

/// Sockets of a quiet host.
const QUIET: usize = 200;

/// How much to measure.
#[derive(Clone, Copy)]
pub struct Scale {
    /// Sockets of the busy host.
    pub sockets: usize,
    /// How often what is short is repeated.
    pub rounds: usize,
    /// Whether what takes minutes is measured for as long as the target says.
    pub long: bool,
}

impl Scale {
    fn of_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        Self {
            sockets: number("STALLSCOPE_BENCH_SOCKETS").unwrap_or(1_000),
            rounds: number("STALLSCOPE_BENCH_ROUNDS").unwrap_or(9).max(1),
            long: std::env::var_os("STALLSCOPE_BENCH_LONG").is_some(),
        }
    }

    /// Seconds for a figure that needs `full` of them to be steady.
    pub fn seconds(&self, full: u64) -> u64 {
        if self.rounds > 1 { full } else { full.min(2) }
    }

    /// The same for what takes minutes.
    pub fn minutes(&self, full: u64) -> u64 {
        if self.long { full } else { self.seconds(12) }
    }
}

fn main() {
    if role::play() {
        return;
    }
    if !namespace::is_inside() {
        std::process::exit(namespace::enter());
    }
    let scale = Scale::of_environment();
    println!(
        "{} sockets where many are held, {QUIET} where few are; {} rounds; {}",
        scale.sockets,
        scale.rounds,
        if scale.long { "long rows in full" } else { "long rows shortened (STALLSCOPE_BENCH_LONG=1 for all of them)" }
    );
    let mut results = Results::default();
    quiet_host(scale, &mut results);
    busy_host(scale, &mut results);
    if wanted("churn") {
        churn::run(scale, &mut results);
    }
    if wanted("growth") {
        growth::run(scale, &mut results);
    }
    if wanted("size") {
        results.size();
    }
    results.print();
}

fn quiet_host(scale: Scale, results: &mut Results) {
    let groups = ["cold", "rest", "probing"];
    if !groups.into_iter().any(wanted) {
        return;
    }
    let _crowd = Crowd::gather(QUIET);
    if wanted("cold") {
        cold::run(scale, results);
    }
    if wanted("rest") {
        display::rest(scale, results);
    }
    if wanted("probing") {
        probing::run(scale, results);
    }
}

fn busy_host(scale: Scale, results: &mut Results) {
    let groups = ["survey", "display", "recording", "memory"];
    if !groups.into_iter().any(wanted) {
        return;
    }
    let crowd = Crowd::gather(scale.sockets);
    if wanted("survey") {
        survey::run(scale, &crowd, results);
    }
    if wanted("display") {
        display::busy(scale, &crowd, results);
    }
    if wanted("recording") {
        recording::run(scale, &crowd, results);
    }
    if wanted("memory") {
        memory::run(scale, &crowd, results);
    }
}

/// Whether a group of rows was asked for.
fn wanted(group: &str) -> bool {
    std::env::var("STALLSCOPE_BENCH_ONLY").map_or(true, |only| only.split(',').any(|name| name == group))
}
