//! Whether a segment of R is on its way to S: identity I4, `R.segs_out - S.segs_in`.
//!
//! At rest the difference is constant: -1 when R accepted (its SYN-ACK is counted by S and not by R), 0 when R opened. It is
//! larger while a segment travels, and for good once one was lost; so the smallest of the last seconds counts as rest too, and
//! a retransmission of S, which a lost acknowledgement leads to, begins those seconds anew.

use crate::model::Moment;
use crate::wire::{Socket, TcpInfo};

/// Length of one of the two windows that the minimum is kept over, µs.
const WINDOW_US: u64 = 2_000_000;

/// Looks that a minimum needs before it is trusted alone.
const ENOUGH_LOOKS: u32 = 16;

/// Keeps the running minimum.
#[derive(Clone, Debug, Default)]
pub struct AckGap {
    current: Window,
    previous: Window,
    retransmitted: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    began: Moment,
    min: Option<i32>,
    looks: u32,
}

impl AckGap {
    /// Takes a consistent cut of both ends; answers whether nothing of R is on its way to S. `None` before Linux 4.2, and while
    /// neither the opener nor enough looks tell what the difference is at rest.
    pub fn observe(&mut self, at: Moment, s: &Socket, r: &Socket, s_opened: Option<bool>) -> Option<bool> {
        let gap = gap(s, r)?;
        let retransmitted = s.info.as_ref().and_then(TcpInfo::total_retrans).unwrap_or(0);
        if std::mem::replace(&mut self.retransmitted, retransmitted) != retransmitted {
            (self.previous, self.current) = (Window::default(), Window { began: at, ..Window::default() });
        }
        if at.since(self.current.began) > WINDOW_US {
            self.previous = std::mem::take(&mut self.current);
            self.current.began = at;
        }
        self.current.looks += 1;
        self.current.min = Some(self.current.min.map_or(gap, |min| min.min(gap)));
        if is_rest(gap, s_opened) {
            return Some(true);
        }
        let min = self.current.min.into_iter().chain(self.previous.min).min()?;
        let looks = self.current.looks + self.previous.looks;
        // A gap below rest was never seen; where the opener is known, above rest and at a trusted minimum means past losses.
        (looks >= ENOUGH_LOOKS).then_some(gap == min)
    }
}

/// The same from readings that are not of one instant: what they tell when it is certain, which no other look can learn from.
pub fn glance(s: &Socket, r: &Socket, s_opened: Option<bool>) -> Option<bool> {
    is_rest(gap(s, r)?, s_opened).then_some(true)
}

/// What R sent less what S received. Both wrap together; the difference is small.
fn gap(s: &Socket, r: &Socket) -> Option<i32> {
    let sent = r.info.as_ref()?.segs_out()?;
    let received = s.info.as_ref()?.segs_in()?;
    Some(sent.wrapping_sub(received).cast_signed())
}

fn is_rest(gap: i32, s_opened: Option<bool>) -> bool {
    s_opened.is_some_and(|s_opened| gap == if s_opened { -1 } else { 0 })
}
