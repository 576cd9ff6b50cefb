//! What is known of each host.

use rustc_hash::FxHashMap;

use crate::diagnose::{Tick, TickMeter, TimerAcks};
use crate::model::{Counters, Host, HostClock, Moment, Owners};
use crate::wire::HostId;

/// One host, as far as it was read.
#[derive(Clone, Debug, Default)]
pub struct HostState {
    /// As its source told.
    pub host: Host,
    /// Its clock, against that of the others.
    pub clock: HostClock,
    pub(super) meter: TickMeter,
    /// Sockets of the survey in progress that the tick was measured on.
    pub(super) tick_samples: u32,
    pub(super) survey_began: Moment,
    pub(super) counters: Option<[(Moment, Counters); 2]>,
    pub(super) timer_acks: TimerAcks,
    pub(super) owners: FxHashMap<u32, Owners>,
}

impl HostState {
    /// The tick to reckon with.
    pub fn tick(&self) -> Tick {
        self.meter.tick()
    }

    /// The tick as the sockets' own numbers show it, once there are enough.
    pub fn measured_tick(&self) -> Option<Tick> {
        self.meter.measured()
    }

    /// `DelayedACKs` as counted last.
    pub(super) fn delayed_acks(&self) -> Option<u64> {
        self.counters.and_then(|[_, (_, latest)]| latest.delayed_acks)
    }

    /// The first and the latest counters.
    pub fn counters(&self) -> Option<&[(Moment, Counters); 2]> {
        self.counters.as_ref()
    }
}

/// All hosts: at least one.
#[derive(Clone, Debug)]
pub(super) struct Hosts(Vec<HostState>);

impl Hosts {
    pub(super) fn new() -> Self {
        Self(vec![HostState::default()])
    }

    /// The host of that number; the last one for numbers beyond.
    pub(super) fn of(&self, host: HostId) -> &HostState {
        &self.0[usize::from(host.0).min(self.0.len() - 1)]
    }

    /// The same, made where it is not there.
    pub(super) fn at(&mut self, host: HostId) -> &mut HostState {
        let place = usize::from(host.0);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, HostState::default);
        }
        &mut self.0[place]
    }

    /// The host's name; where another bears the same, with its network namespace or its number.
    pub(super) fn name(&self, host: HostId) -> String {
        let this = &self.of(host).host;
        let twins = self.0.iter().filter(|other| other.host.hostname == this.hostname).count();
        let number = host.0 + 1;
        match (this.hostname.as_str(), this.netns) {
            ("", _) => format!("host {number}"),
            (name, _) if twins < 2 => name.to_owned(),
            (name, Some(netns)) => format!("{name} net:[{netns}]"),
            (name, None) => format!("{name} ({number})"),
        }
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = ((HostId, u32), &Owners)> {
        let numbered = (0..).map(HostId).zip(&self.0);
        numbered.flat_map(|(host, state)| state.owners.iter().map(move |(inode, owners)| ((host, *inode), owners)))
    }

    pub(super) fn all(&self) -> &[HostState] {
        &self.0
    }
}
