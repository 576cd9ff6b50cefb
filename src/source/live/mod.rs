//! The kernel of this host, through `NETLINK_SOCK_DIAG`.

mod channel;
mod error;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::engine::Planned;
use crate::model::{Event, Moment, SurveyReport};
use crate::wire::{Family, dump_both_request, dump_request, exact_request};

use channel::{Channel, Ended};
pub use error::LookError;

/// Look-ups in one `send()`: the answers of 128 fit the default receive buffer, those of 192 do not.
const BATCH: usize = 64;

/// What to look at.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Families to survey.
    pub families: Vec<Family>,
    /// The kernel's filter program; empty for none.
    pub bytecode: Vec<u8>,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self { families: vec![Family::V4, Family::V6], bytecode: Vec::new() }
    }
}

/// The monotonic clock, as moments since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    /// The same on `CLOCK_MONOTONIC`, µs.
    started_us: Option<u64>,
}

impl Clock {
    /// Starts at zero.
    pub fn new() -> Self {
        let monotonic = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let us = |time: rustix::time::Timespec| {
            Some(u64::try_from(time.tv_sec).ok()? * 1_000_000 + u64::try_from(time.tv_nsec / 1000).ok()?)
        };
        Self { start: Instant::now(), started_us: us(monotonic) }
    }

    /// When it was made, µs on this boot's monotonic clock.
    pub fn started_us(&self) -> Option<u64> {
        self.started_us
    }

    /// Now.
    pub fn now(&self) -> Moment {
        Moment(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// An open channel to the kernel's socket table.
#[derive(Debug)]
pub struct Live {
    channel: Channel,
    options: LiveOptions,
    clock: Clock,
    /// Whether the kernel refused to list both families in one dump.
    by_family: bool,
    /// Average cost of one look-up, answer read, in ns.
    lookup_ns: f64,
}

impl Live {
    /// Opens the channel.
    ///
    /// # Errors
    /// The kernel or a sandbox refuses netlink.
    pub fn open(options: LiveOptions) -> Result<Self, LookError> {
        Ok(Self { channel: Channel::open()?, options, clock: Clock::new(), by_family: false, lookup_ns: 4_000.0 })
    }

    /// The clock that all moments of this source are on.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Lists all sockets once. How it went is in the last event.
    ///
    /// # Errors
    /// The kernel refused, so that there is nothing to show: no dump of any family could be made.
    pub fn survey(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> Result<(), LookError> {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let wall_us = wall.and_then(|wall| i64::try_from(wall.as_micros()).ok());
        sink(Event::SurveyBegin { at: self.clock.now(), wall_us });
        let mut report = SurveyReport::default();
        let result = self.dumps(sink, &mut report);
        sink(Event::SurveyEnd { at: self.clock.now(), report: &report });
        result
    }

    /// Both families in one dump where the kernel can, else one dump for each.
    fn dumps(&mut self, sink: &mut dyn FnMut(Event<'_>), report: &mut SurveyReport) -> Result<(), LookError> {
        let families = self.options.families.clone();
        if families.len() > 1 && !self.by_family {
            let sequence = self.channel.next_sequence();
            let request = dump_both_request(sequence, &self.options.bytecode);
            match self.dump(&request, sequence, sink, report) {
                // The kernel may have dropped the old form; what is wrong otherwise, the new form tells as well.
                Err(error) if error.is_refusal() => self.by_family = true,
                result => return result.inspect_err(|error| report.failures.push(error.to_string())),
            }
        }
        let mut refusals = Vec::new();
        for family in &families {
            let sequence = self.channel.next_sequence();
            let request = dump_request(*family, sequence, &self.options.bytecode);
            if let Err(error) = self.dump(&request, sequence, sink, report) {
                report.failures.push(error.to_string());
                refusals.push(error);
            }
        }
        match refusals.pop() {
            Some(error) if refusals.len() + 1 == families.len() => Err(error),
            _ => Ok(()),
        }
    }

    fn dump(
        &mut self,
        request: &[u8],
        sequence: u32,
        sink: &mut dyn FnMut(Event<'_>),
        report: &mut SurveyReport,
    ) -> Result<(), LookError> {
        self.channel.send(request)?;
        loop {
            let received = self.channel.receive(sequence, report)?;
            let Some(received) = received else { continue };
            sink(Event::Run(received.run));
            report.interrupted |= received.interrupted;
            match received.ended {
                None => {}
                Some(Ended::Done) => return Ok(()),
                Some(Ended::Refused(errno)) => return Err(LookError::refused_dump(errno)),
            }
        }
    }

    /// Carries out a plan: both ends of each connection, in one `send()` for up to 64 look-ups.
    ///
    /// # Errors
    /// The channel broke, or an answer did not come in time; what was answered before was handed on.
    pub fn probe(&mut self, plan: &[Planned], sink: &mut dyn FnMut(Event<'_>)) -> Result<(), LookError> {
        let mut rest = plan;
        while !rest.is_empty() {
            let mut asked = 0;
            let here = rest.iter().take_while(|planned| {
                asked += lookups(planned);
                asked <= BATCH
            });
            let n = here.count().max(1);
            let (batch, later) = rest.split_at(n);
            self.probe_batch(batch, sink)?;
            rest = later;
        }
        Ok(())
    }

    fn probe_batch(&mut self, batch: &[Planned], sink: &mut dyn FnMut(Event<'_>)) -> Result<(), LookError> {
        let began = Instant::now();
        let at = self.clock.now();
        let first_sequence = self.channel.reserve_sequences(batch.iter().map(lookups).sum());
        let mut sequence = first_sequence;
        let mut requests = Vec::new();
        for planned in batch {
            for socket in order(planned) {
                requests.extend_from_slice(&exact_request(socket, sequence));
                sequence = sequence.wrapping_add(1);
            }
        }
        self.channel.send(&requests)?;
        let mut answers = Vec::new();
        let mut sequence = first_sequence;
        for planned in batch {
            answers.clear();
            for _ in order(planned) {
                self.channel.receive_answer(sequence, &mut answers)?;
                sequence = sequence.wrapping_add(1);
            }
            sink(Event::Probe { at, target: planned.target, answers: &answers });
        }
        self.learn_cost(began.elapsed(), sequence.wrapping_sub(first_sequence));
        Ok(())
    }

    fn learn_cost(&mut self, took: Duration, lookups: u32) {
        let each = took.as_nanos() as f64 / f64::from(lookups.max(1));
        // A batch that was scheduled away in the middle must not close the budget for long.
        self.lookup_ns += (each.min(50_000.0) - self.lookup_ns) / 16.0;
    }

    /// How many connections can be looked at every `interval` within `share` of one core.
    pub fn room(&self, interval: Duration, share: f64) -> usize {
        const LOOKUPS_EACH: f64 = 3.0;
        let budget_ns = interval.as_nanos() as f64 * share;
        let room = (budget_ns / (self.lookup_ns * LOOKUPS_EACH)).clamp(1.0, 4_096.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1..=4096 above")]
        let room = room as usize;
        room
    }
}

fn lookups(planned: &Planned) -> usize {
    order(planned).count()
}

/// S, R, S; then R once more when both directions are of interest. A lone end once.
fn order(planned: &Planned) -> impl Iterator<Item = &crate::wire::Socket> {
    let first = &planned.first;
    let second = planned.second.as_ref();
    let again = second.map(|_| first);
    let both = second.filter(|_| planned.both);
    [Some(first), second, again, both].into_iter().flatten()
}
