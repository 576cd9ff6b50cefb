//! The two ends of one direction at one instant, and what follows from their numbers alone.
//!
//! S is the end that holds data back, R its peer. The identities I1 to I8 are explained in docs/diagnoses.md.

use crate::wire::{Socket, TcpInfo};

use super::tick::Tick;

/// Age from which a hold is no longer the ordinary coming and going of a fast connection, µs: below it a non-atomic
/// reading of two busy ends can look like a pair (measured: up to 0.9 % of cuts below 8 ms, none above).
pub const SETTLE_US: u64 = 8_000;

/// Below this `ato` the hold itself is shorter than the usual thresholds, and they scale with it, µs.
pub const SHORT_ATO_US: u32 = 24_000;

/// `TCP_DELACK_MIN` and `TCP_ATO_MIN`: HZ/25 (`include/net/tcp.h`), µs.
pub const DELACK_MIN_US: u32 = 40_000;

/// One direction of a connection at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    /// The sender.
    pub s: &'a Socket,
    /// The receiver, when it is visible.
    pub r: Option<&'a Socket>,
    /// Whether S opened the connection, when known.
    pub s_opened: Option<bool>,
    /// Whether the counters say that no segment of R is on its way to S; `None` when they cannot tell.
    pub quiet: Option<bool>,
    /// How long before the instant R was read, µs: 0 where both ends were read together, negative where R was read later.
    pub r_lag_us: i64,
    /// The kernel's tick.
    pub tick: Tick,
}

impl Cut<'_> {
    /// S's `tcp_info`.
    pub fn s_info(&self) -> Option<&TcpInfo> {
        self.s.info.as_ref()
    }

    /// R's `tcp_info`.
    pub fn r_info(&self) -> Option<&TcpInfo> {
        self.r.and_then(|r| r.info.as_ref())
    }

    /// Bytes that S wrote and has not sent.
    pub fn notsent(&self) -> Option<u32> {
        self.s_info()?.notsent_bytes()
    }

    /// Time since S last sent data, µs.
    pub fn s_age_us(&self) -> Option<u64> {
        Some(u64::from(self.s_info()?.last_data_sent()?) * 1000)
    }

    /// Time since R last received data, µs.
    pub fn r_age_us(&self) -> Option<u64> {
        Some((u64::from(self.r_info()?.last_data_recv()?) * 1000).saturating_add_signed(self.r_lag_us))
    }

    /// Time since R last sent data, µs.
    pub fn r_sent_age_us(&self) -> Option<u64> {
        Some((u64::from(self.r_info()?.last_data_sent()?) * 1000).saturating_add_signed(self.r_lag_us))
    }

    /// Smallest round-trip time of the connection, µs; 0 when no end knows one.
    pub fn min_rtt_us(&self) -> u64 {
        let known = |info: Option<&TcpInfo>| info.and_then(TcpInfo::min_rtt).filter(|us| *us != u32::MAX);
        known(self.s_info()).or_else(|| known(self.r_info())).unwrap_or(0).into()
    }

    /// D of identity I3: bytes that R has received and S has not seen acknowledged. Both values when it is not known which
    /// end's SYN is counted.
    pub fn unacknowledged_at_r(&self) -> Option<[i64; 2]> {
        let received = i64::try_from(self.r_info()?.bytes_received()?).ok()?;
        let acked = i64::try_from(self.s_info()?.bytes_acked()?).ok()?;
        let without_syn = |syn: bool| received - (acked - i64::from(syn));
        Some(match self.s_opened {
            Some(syn) => [without_syn(syn); 2],
            None => [without_syn(false), without_syn(true)],
        })
    }

    /// Identity I3: all that is in flight from S has arrived at R, and its acknowledgement has not reached S.
    pub fn all_arrived_unacknowledged(&self) -> Option<bool> {
        let in_flight = i64::from(self.s.in_flight()?);
        Some(in_flight > 0 && self.unacknowledged_at_r()?.contains(&in_flight))
    }

    /// How old what R received must be before an ACK that was sent at once would have reached S, µs.
    pub fn settle_us(&self) -> u64 {
        let usual = SETTLE_US.max(self.tick.times(2));
        let settle = match self.r_info().and_then(TcpInfo::ato) {
            Some(ato) if ato > 0 && ato < SHORT_ATO_US => usual.min(u64::from(ato / 2).max(self.tick.times(1))),
            _ => usual,
        };
        settle + self.min_rtt_us()
    }

    /// Age from which a hold can be proven, µs: 12 ms, never under two ticks, and half of a short `ato`.
    pub fn proof_age_us(&self) -> u64 {
        let usual = 12_000.max(self.tick.times(2));
        match self.r_info().and_then(TcpInfo::ato) {
            Some(ato) if ato > 0 && ato < SHORT_ATO_US => usual.min(u64::from(ato / 2).max(self.tick.times(1))),
            _ => usual,
        }
    }

    /// The soonest that R's delayed-ACK timer can fire after data arrived, µs (`tcp_send_delayed_ack`: `ato`, at least
    /// `TCP_DELACK_MIN` unless a lowered maximum shortens it), less one tick of quantisation.
    pub fn shortest_delay_us(&self) -> u64 {
        let ato = match self.r_info().and_then(TcpInfo::ato) {
            Some(ato) if ato > 0 => ato.min(DELACK_MIN_US),
            _ => DELACK_MIN_US,
        };
        u64::from(ato).saturating_sub(self.tick.times(1))
    }

    /// How long R's delayed-ACK timer usually runs after data arrived, µs: `ato` bounded by `max(srtt, TCP_DELACK_MIN)`
    /// (`tcp_send_delayed_ack`), and the tick in which it fires.
    pub fn expected_delay_us(&self) -> u64 {
        let info = self.r_info();
        let ato = info.and_then(TcpInfo::ato).filter(|ato| *ato > 0).unwrap_or(DELACK_MIN_US);
        let ceiling = info.and_then(TcpInfo::rtt).unwrap_or(0).max(DELACK_MIN_US);
        u64::from(ato.min(ceiling)) + self.tick.times(1)
    }

    /// The latest that R's delayed-ACK timer can have let S wait, µs: `ato` bounded by `max(srtt, TCP_DELACK_MIN)`
    /// (`tcp_send_delayed_ack`), a round trip and two ticks. A longer wait is not the timer's: the ACK was lost.
    pub fn longest_delay_us(&self) -> u64 {
        let rtt = self.r_info().and_then(TcpInfo::rtt).unwrap_or(0);
        let ato = self.r_info().and_then(TcpInfo::ato).unwrap_or(0);
        u64::from(DELACK_MIN_US.max(rtt).max(ato)) + self.min_rtt_us() + self.tick.times(2)
    }
}
