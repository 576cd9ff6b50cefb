//! The kernel's tick, as the sockets' own numbers tell it.
//!
//! Delays come in whole jiffies. A value such as `last_data_sent` = 12 ms says that the tick divides 12 ms; enough values
//! leave one common tick length standing.

use crate::wire::{Socket, TcpState};

/// Length of one jiffy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick {
    /// Microseconds.
    pub us: u32,
}

impl Tick {
    /// HZ=100. The coarsest tick in use: what thresholds assume until more is known.
    pub const COARSEST: Self = Self { us: 10_000 };

    /// Ticks per second, as `CONFIG_HZ` has it.
    pub fn hz(self) -> u32 {
        1_000_000 / self.us.max(1)
    }

    /// `n` ticks in µs.
    pub fn times(self, n: u32) -> u64 {
        u64::from(self.us) * u64::from(n)
    }
}

/// The tick rates that kernels are built with (`kernel/Kconfig.hz`), slowest first.
const RATES: [u32; 4] = [100, 250, 300, 1000];

/// How many values must agree before the measurement is believed. A value of a 1000 Hz kernel fits 250 Hz one time in four,
/// so thirty-two values that all fit by chance have odds of 2^-64.
const ENOUGH: u32 = 32;

/// Finds the tick from values that come in whole ticks.
#[derive(Clone, Debug)]
pub struct TickMeter {
    fits: [bool; RATES.len()],
    values: u32,
    /// What the reader's own clock says, when the source is this host.
    clock: Option<Tick>,
}

impl Default for TickMeter {
    fn default() -> Self {
        Self { fits: [true; RATES.len()], values: 0, clock: None }
    }
}

impl TickMeter {
    /// Takes the resolution of the host's coarse clock, in µs, which is one tick.
    pub fn set_clock(&mut self, us: Option<u32>) {
        self.clock = us.filter(|us| (500..=20_000).contains(us)).map(|us| Tick { us });
    }

    /// Takes a socket's times.
    pub fn observe(&mut self, socket: &Socket) {
        let Some(info) = &socket.info else { return };
        if self.values > 1 << 20 || socket.state == TcpState::LISTEN {
            return;
        }
        for ms in [info.last_data_sent(), info.last_data_recv(), info.last_ack_recv()].into_iter().flatten() {
            self.observe_ms(ms);
        }
    }

    /// Long waits say nothing that short ones do not, and `jiffies_to_msecs` may round them.
    fn observe_ms(&mut self, ms: u32) {
        if ms == 0 || ms > 60_000 {
            return;
        }
        self.values += 1;
        for (fits, hz) in self.fits.iter_mut().zip(RATES) {
            // At 300 Hz `jiffies_to_msecs` rounds down to 3, 6, 10 ms …: some whole number of ticks must land in this ms.
            let jiffies = (u64::from(ms) * u64::from(hz)).div_ceil(1000);
            *fits &= jiffies * 1000 / u64::from(hz) == u64::from(ms);
        }
    }

    /// The tick that the values show, once there are enough of them.
    pub fn measured(&self) -> Option<Tick> {
        let hz = RATES.into_iter().zip(self.fits).find(|(_, fits)| *fits)?.0;
        (self.values >= ENOUGH).then(|| Tick { us: 1_000_000 / hz })
    }

    /// The tick to reckon with: measured, else the host's clock, else the coarsest.
    pub fn tick(&self) -> Tick {
        self.measured().or(self.clock).unwrap_or(Tick::COARSEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(values: impl IntoIterator<Item = u32>) -> TickMeter {
        let mut meter = TickMeter::default();
        values.into_iter().for_each(|ms| meter.observe_ms(ms));
        meter
    }

    #[test]
    fn each_rate_is_told_from_its_own_values() {
        for hz in RATES {
            let values = (1..200u32).map(|jiffies| jiffies * 1000 / hz);
            assert_eq!(meter(values).measured().unwrap().hz(), 1_000_000 / (1_000_000 / hz), "{hz} Hz");
        }
    }

    #[test]
    fn few_values_prove_nothing() {
        let mut few = meter([20, 40, 100]);
        assert_eq!(few.measured(), None);
        assert_eq!(few.tick(), Tick::COARSEST);
        few.set_clock(Some(4_000));
        assert_eq!(few.tick().hz(), 250);
    }
}
