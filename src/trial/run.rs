//! One mode at a time: traffic, figures, watch.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::diagnose::{Finding, Level, Verdict};
use crate::engine::Engine;
use crate::lab::{Mode, Running, Serving, Sizes, Stop, Summary, Traffic, allows_congestion, connect, serve};
use crate::model::{Counters, Host};
use crate::source::{Live, counters, host};
use crate::watch::{Watch, WatchOptions};

use super::look::{Pair, only, segments};
use super::reason::{Trial, UNPACED, paces};
use super::{Plan, Results, Row, TrialError, WATCH};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Several surveys must fit into a short watch.
const SURVEY_EVERY: Duration = Duration::from_millis(250);
/// Two surveys at least must see a connection for the watch to tell that it moves.
const SEEN_MOVING: Duration = Duration::from_millis(750);
/// The longest watch; nobody waits for a lab longer than a day.
const LONGEST: Duration = Duration::from_secs(86_400);
/// How often progress and an interruption are looked at.
const STEP: Duration = Duration::from_millis(1);
/// The longest wait for unanswered bytes to arrive after the last write.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Runs the modes of a plan one after the other. `progress` is told each mode and the requests that it has done, many times a
/// second; once `interrupted` is set, the mode that runs is ended and what was measured so far is returned.
///
/// # Errors
/// A socket cannot be made or looked at: without that there is nothing to measure.
pub fn run(plan: &Plan, interrupted: &AtomicBool, progress: &mut dyn FnMut(Mode, u64)) -> Result<Results, TrialError> {
    let host = host();
    let mut results = Results { tick: Engine::new(1).tick(), host, sizes: plan.sizes.clone(), rows: Vec::new() };
    for mode in &plan.modes {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let bench = Bench::set_up(*mode, &plan.sizes, &results.host, interrupted)?;
        let (row, tick) = bench.run(&results.host, progress)?;
        results.rows.push(row);
        results.tick = tick;
    }
    Ok(results)
}

/// One mode with its server.
struct Bench<'a> {
    mode: Mode,
    sizes: &'a Sizes,
    traffic: Traffic,
    serving: Serving,
    stop: Stop,
    interrupted: &'a AtomicBool,
}

/// What the first connection showed.
struct Figures {
    pair: Pair,
    delayed_acks: Option<u64>,
    /// Until the last request was done.
    done: Duration,
    elapsed: Duration,
    requests: u64,
}

/// What the watch said.
struct Said {
    verdict: Option<(Verdict, Option<Level>)>,
    tick: crate::diagnose::Tick,
}

impl<'a> Bench<'a> {
    fn set_up(mode: Mode, sizes: &'a Sizes, host: &Host, interrupted: &'a AtomicBool) -> Result<Self, TrialError> {
        let mut traffic = mode.traffic(sizes);
        if mode.is_tiny() && paces(host) && allows_congestion(UNPACED) {
            traffic.client.options.congestion = Some(UNPACED.to_owned());
        }
        let stop = Stop::after(LONGEST);
        let serving = serve(&traffic, LOOPBACK, None, &stop)?;
        Ok(Self { mode, sizes, traffic, serving, stop, interrupted })
    }

    fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn run(self, host: &Host, progress: &mut dyn FnMut(Mode, u64)) -> Result<(Row, crate::diagnose::Tick), TrialError> {
        let over = AtomicBool::new(false);
        let port = self.address().port();
        let (row, said) = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(port, &over));
            let result = self.measure(progress, host, || end_watch(watcher, &over));
            // Where measuring failed, the watch must still end for the scope to.
            over.store(true, Ordering::Relaxed);
            result
        })?;
        let errors = self.serving.finish();
        Ok((Row { errors: row.errors.into_iter().chain(errors).collect(), ..row }, said.tick))
    }

    /// Measures on one connection, goes on with a second for the rest of the watch, and ends the watch while it lasts.
    fn measure(
        &self,
        progress: &mut dyn FnMut(Mode, u64),
        host: &Host,
        end_watch: impl FnOnce() -> Result<Said, TrialError>,
    ) -> Result<(Row, Said), TrialError> {
        let began = Instant::now();
        let mut live = Live::open(only(self.address().port()))?;
        let before = counters();
        let first = connect(&self.traffic, self.address(), None, None, &self.stop)?;
        let figures = self.figures(&first, &mut live, before, began, progress)?;
        let (outcome, said) = if figures.done < self.watch_time() && !self.is_interrupted() {
            // On a busy host the time may be over already; requests that were done before the first survey were never seen.
            let until = (began + self.watch_time()).max(Instant::now() + SEEN_MOVING);
            let outcome = first.stop();
            let second = self.go_on(until)?;
            let said = end_watch()?;
            drop(second.stop());
            (outcome, said)
        } else {
            let said = end_watch()?;
            (first.stop(), said)
        };
        let samples = outcome.clients.first().map_or(&[][..], |client| &client.samples);
        Ok((self.row(host, &figures, samples, &said, outcome.errors.clone()), said))
    }

    fn figures(
        &self,
        running: &Running,
        live: &mut Live,
        before: Counters,
        began: Instant,
        progress: &mut dyn FnMut(Mode, u64),
    ) -> Result<Figures, TrialError> {
        let wanted = self.traffic.client.requests.unwrap_or(u64::MAX);
        while running.requests() < wanted && !running.is_over() && !self.is_interrupted() {
            progress(self.mode, running.requests());
            thread::sleep(STEP);
        }
        let done = began.elapsed();
        progress(self.mode, running.requests());
        let ends = running.ends()[0];
        let mut pair = Pair::read(live, &ends)?;
        let drained = Instant::now() + DRAIN_LIMIT;
        while self.traffic.server.reply.is_empty() && in_queues(&pair) && Instant::now() < drained {
            thread::sleep(STEP);
            pair = Pair::read(live, &ends)?;
        }
        let grown = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
        let delayed_acks = grown(before.delayed_acks, counters().delayed_acks);
        Ok(Figures { pair, delayed_acks, done, elapsed: began.elapsed(), requests: running.requests() })
    }

    /// Rare requests need a longer watch: a few must fall into it.
    fn watch_time(&self) -> Duration {
        WATCH.saturating_add(self.sizes.think.saturating_mul(4)).min(LONGEST)
    }

    /// The same traffic without a limit, until the watch is over.
    fn go_on(&self, until: Instant) -> Result<Running, TrialError> {
        let mut traffic = self.traffic.clone();
        traffic.client.requests = None;
        let running = connect(&traffic, self.address(), None, None, &self.stop)?;
        while Instant::now() < until && !running.is_over() && !self.is_interrupted() {
            thread::sleep(STEP);
        }
        Ok(running)
    }

    fn row(
        &self,
        host: &Host,
        figures: &Figures,
        samples: &[crate::lab::Sample],
        said: &Said,
        errors: Vec<String>,
    ) -> Row {
        let summary = Summary::of(samples);
        let latencies_ms: Vec<f64> = samples.iter().map(|sample| sample.took.as_secs_f64() * 1e3).collect();
        let server_sends = self.mode.server_sends(self.sizes);
        let (data_segments, pure_acks) = segments(&figures.pair, server_sends);
        let ends = figures.pair.sender_first(server_sends);
        let trial = Trial { mode: self.mode, sizes: self.sizes, host, ends, latencies_ms: &latencies_ms };
        Row {
            mode: self.mode,
            requests: figures.requests,
            reasons: trial.reasons(),
            total_ms: if samples.is_empty() { figures.elapsed.as_secs_f64() * 1e3 } else { summary.total_ms },
            latencies_ms,
            summary,
            data_segments,
            pure_acks,
            delayed_acks: figures.delayed_acks,
            verdict: said.verdict.map(|(verdict, _)| verdict),
            level: said.verdict.and_then(|(_, level)| level),
            errors,
        }
    }
}

fn in_queues(pair: &Pair) -> bool {
    pair.client.is_some_and(|socket| socket.wqueue > 0) || pair.server.is_some_and(|socket| socket.rqueue > 0)
}

/// Watches the connections of one server until `over`.
fn watch(port: u16, over: &AtomicBool) -> Result<Said, TrialError> {
    let options = WatchOptions { live: only(port), interval: SURVEY_EVERY, ..WatchOptions::default() };
    let mut watch = Watch::start(options, &mut |_| {})?;
    watch.run(LONGEST, over, &mut |_| {})?;
    // One more, so that the growth of the counters covers all of it. A failure leaves what was seen before.
    let _ = watch.survey(&mut |_| {});
    let engine = &watch.engine;
    let findings = engine.connections().filter_map(|id| engine.finding(id));
    let worst =
        findings.filter(|finding| [finding.sender.port, finding.receiver.port].contains(&port)).max_by_key(rank);
    Ok(Said { verdict: worst.map(|finding| (finding.verdict, finding.level)), tick: engine.tick() })
}

/// The worst comes last; what moves comes after what does not.
fn rank(finding: &Finding) -> impl Ord + use<> {
    (finding.severity(), finding.level, finding.verdict != Verdict::Idle)
}

fn end_watch(watcher: ScopedJoinHandle<'_, Result<Said, TrialError>>, over: &AtomicBool) -> Result<Said, TrialError> {
    over.store(true, Ordering::Relaxed);
    watcher.join().map_err(|_| TrialError::Watch)?
}
