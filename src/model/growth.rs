//! What a socket's counters gained between two surveys.

use crate::wire::Socket;

/// Differences of cumulative counters between two surveys. A stall of any length leaves its trace here even when no survey
/// met it: `busy_time` runs while anything is queued or in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Time between the two readings, µs.
    pub elapsed_us: u64,
    /// `busy_time`, µs; `None` before Linux 4.10.
    pub busy_us: Option<u64>,
    /// Segments with data sent.
    pub data_segs_out: u32,
    /// Segments with data received.
    pub data_segs_in: u32,
    /// Pure ACKs sent.
    pub pure_acks_out: u32,
    /// Pure ACKs received.
    pub pure_acks_in: u32,
    /// Segments retransmitted.
    pub retrans: u32,
}

impl Growth {
    /// Compares two readings of one socket. `None` when a counter went back (another socket's life, or a reset), or when the
    /// kernel does not send segment counts (before 4.6).
    pub fn between(older: &Socket, newer: &Socket, elapsed_us: u64) -> Option<Self> {
        let (old, new) = (older.info.as_ref()?, newer.info.as_ref()?);
        Some(Self {
            elapsed_us,
            busy_us: match (old.busy_time(), new.busy_time()) {
                (Some(old), Some(new)) => Some(new.checked_sub(old)?),
                _ => None,
            },
            data_segs_out: forward(old.data_segs_out()?, new.data_segs_out()?)?,
            data_segs_in: forward(old.data_segs_in()?, new.data_segs_in()?)?,
            pure_acks_out: forward(older.pure_acks_out()?, newer.pure_acks_out()?)?,
            pure_acks_in: forward(older.pure_acks_in()?, newer.pure_acks_in()?)?,
            retrans: forward(old.total_retrans()?, new.total_retrans()?)?,
        })
    }

    /// Whether any data moved.
    pub fn has_data(&self) -> bool {
        self.data_segs_out > 0 || self.data_segs_in > 0
    }
}

/// The kernel's 32-bit counters wrap; a step of more than half their range is a step back.
fn forward(old: u32, new: u32) -> Option<u32> {
    let step = new.wrapping_sub(old);
    (step <= u32::MAX / 2).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_wraps_goes_forward_and_one_that_went_back_is_a_reset() {
        assert_eq!(forward(u32::MAX, 1), Some(2));
        assert_eq!(forward(10, 9), None);
    }
}
