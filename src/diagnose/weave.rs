//! Two ends that were read on two hosts, each on its own, laid side by side.
//!
//! On one host S, R, S are asked in one `send()`, and a cut is consistent where S did not change between its two answers. Here
//! the readings come as they come, and their times are known to within an uncertainty. The rule is the same: R's reading
//! belongs to S's state where S was in that state from before R was read until after it, by more than the uncertainty on both
//! sides. Whatever the offset of the clocks really is within its bounds, R was then read while S was as it is shown.

use std::collections::VecDeque;

use crate::model::{Moment, Side};
use crate::wire::Socket;

/// Of readings that show the same, those closer than this need not all be kept, µs.
const SAME_APART_US: u64 = 5_000;

/// Readings of one end that are kept: of those that show the same, more than fit in twice the largest uncertainty.
const KEPT: usize = 24;

/// Beyond this uncertainty no hold of the timer is long enough to be met from both sides, µs: 40 ms and two round trips of 30.
pub const TOO_UNSURE_US: u64 = 50_000;

/// An end that was not read for so long is not read any more: its file has ended, or has a gap, µs. Surveys are a second apart.
const SILENT_US: u64 = 2_500_000;

/// One reading of one end.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// No sooner than this.
    pub from: Moment,
    /// No later than this.
    pub until: Moment,
    /// What was read.
    pub socket: &'a Socket,
}

/// A reading that is kept.
#[derive(Clone, Copy, Debug)]
struct Kept {
    from: Moment,
    until: Moment,
    /// By when the end was as it is here, at the latest.
    since: Moment,
    socket: Socket,
}

/// Both ends at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Woven {
    /// When S was read.
    pub at: Moment,
    /// The receiver.
    pub r: Socket,
    /// How long before S it was read, at the least, µs.
    pub r_lag_us: i64,
}

/// An S that changed and was not met together with an R since.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// When it was read.
    pub at: Moment,
    /// What was read.
    pub s: Socket,
    /// How long before that R was read, µs: negative, since it was read later.
    pub r_lag_us: i64,
}

/// How a reading is to be taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Lay {
    /// The other end is not to be had: the reading stands alone.
    Alone,
    /// Both ends, at this instant.
    Together(Box<Woven>),
    /// It tells nothing by itself, and may with the next.
    Nothing,
}

/// The latest readings of both ends.
#[derive(Clone, Debug, Default)]
pub struct Weave {
    ends: [VecDeque<Kept>; 2],
    /// The R of the latest cut of each direction: none is used twice.
    used: [Option<Moment>; 2],
    /// The first reading of each end after it changed, until there is a cut.
    changed: [Option<Kept>; 2],
    /// Whether there was a cut since either end was last silent.
    together: bool,
    /// Whether there ever was one.
    ever_together: bool,
}

impl Weave {
    /// Takes a reading of the end `side`, and answers what is to be made of it as the sender. `uncertainty_us` is that of the
    /// two hosts' clocks; `None` when it is not known.
    pub fn take(&mut self, side: Side, reading: Reading<'_>, uncertainty_us: Option<u64>) -> Lay {
        let Reading { from, until, socket } = reading;
        let kept = &mut self.ends[side as usize];
        let since = kept.back().filter(|last| unchanged(&last.socket, socket)).map_or(until, |last| last.since);
        let close = |last: &Kept| from.since(last.from) < SAME_APART_US;
        if since < from && kept.len() > 1 && kept.get(kept.len() - 2).is_some_and(close) {
            kept.pop_back();
        } else if kept.len() == KEPT {
            kept.pop_front();
        }
        let now = Kept { from, until, since, socket: *socket };
        kept.push_back(now);
        if since == until {
            self.changed[side as usize].get_or_insert(now);
        }
        let silent = self.ends[side.other() as usize].back().is_none_or(|other| from.since(other.until) > SILENT_US);
        if silent {
            self.together = false;
        }
        match uncertainty_us.filter(|us| *us <= TOO_UNSURE_US && !silent).and_then(|us| self.cut(side, us)) {
            Some(woven) => {
                self.together = true;
                self.ever_together = true;
                self.changed[side as usize] = None;
                Lay::Together(Box::new(woven))
            }
            None if self.together => Lay::Nothing,
            None => Lay::Alone,
        }
    }

    /// The S that had changed by the time at which `reading` is made of its peer, of the end `receiver`. What ended its hold can
    /// then be told from R's counts. Each change is given once.
    pub fn left(&mut self, receiver: Side, reading: Reading<'_>, uncertainty_us: Option<u64>) -> Option<Left> {
        let changed = &mut self.changed[receiver.other() as usize];
        let after = |s: &Kept| uncertainty_us.is_some_and(|us| reading.from >= s.until.after(us));
        let s = changed.filter(|s| self.together && after(s))?;
        *changed = None;
        let later = i64::try_from(reading.from.since(s.from)).unwrap_or(i64::MAX);
        Some(Left { at: s.from, s: s.socket, r_lag_us: -later })
    }

    /// Whether there ever was a cut.
    pub fn were_together(&self) -> bool {
        self.ever_together
    }

    /// When the end was read last.
    pub fn last_read(&self, side: Side) -> Option<Moment> {
        self.ends[side as usize].back().map(|kept| kept.from)
    }

    /// The latest reading of R that lies within what S's latest reading stands for.
    fn cut(&mut self, sender: Side, uncertainty_us: u64) -> Option<Woven> {
        let s = *self.ends[sender as usize].back()?;
        let mut others = self.ends[sender.other() as usize].iter().rev();
        let r = others.find(|r| r.until.after(uncertainty_us) <= s.from)?;
        let fresh = self.used[sender as usize].is_none_or(|used| r.from > used);
        if !fresh || r.from < s.since.after(uncertainty_us) {
            return None;
        }
        self.used[sender as usize] = Some(r.from);
        let r_lag_us = s.from.since(r.until).saturating_sub(uncertainty_us);
        Some(Woven { at: s.from, r: r.socket, r_lag_us: i64::try_from(r_lag_us).unwrap_or(i64::MAX) })
    }
}

/// Whether a socket did nothing between two readings. Times are left out: they run by themselves.
pub fn unchanged(before: &Socket, after: &Socket) -> bool {
    let still = |socket: &Socket| {
        let info = socket.info?;
        let queues = (socket.state, socket.rqueue, socket.wqueue, info.notsent_bytes(), info.unacked());
        Some((queues, info.bytes_acked(), info.bytes_received(), info.segs_in(), info.segs_out(), info.bytes_sent()))
    };
    still(before) == still(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Cookie, Endpoint, Family, HostId, TcpInfo, TcpState, Timer, field};

    /// A socket that has received so many bytes.
    fn socket(received: u64) -> Socket {
        let mut info = TcpInfo::from_bytes(&[0; 232]);
        info.set(field("bytes_received").unwrap(), received);
        let end = Endpoint { ip: [10, 0, 0, 1].into(), port: 1 };
        Socket {
            host: HostId::default(),
            cookie: Cookie(1),
            family: Family::V4,
            state: TcpState::ESTABLISHED,
            timer: Timer::NONE,
            retrans: 0,
            expires_ms: 0,
            local: end,
            remote: end,
            mapped: false,
            interface: 0,
            rqueue: 0,
            wqueue: 0,
            uid: 0,
            inode: 0,
            info: Some(info),
            congestion: crate::wire::Congestion::default(),
            skmem: None,
            shutdown: None,
        }
    }

    fn take(weave: &mut Weave, side: Side, ms: u64, received: u64, uncertainty_us: Option<u64>) -> Lay {
        let at = Moment(ms * 1_000);
        weave.take(side, Reading { from: at, until: at.after(500), socket: &socket(received) }, uncertainty_us)
    }

    fn is_together(lay: &Lay) -> bool {
        matches!(lay, Lay::Together(_))
    }

    #[test]
    fn r_belongs_to_s_where_s_stood_still_around_it_by_more_than_the_uncertainty() {
        for (uncertainty_ms, together) in [(0_u32, true), (4, true), (5, false), (9, false), (60, false)] {
            let mut weave = Weave::default();
            take(&mut weave, Side::A, 100, 7, Some(u64::from(uncertainty_ms) * 1_000));
            take(&mut weave, Side::B, 105, 1, Some(u64::from(uncertainty_ms) * 1_000));
            let lay = take(&mut weave, Side::A, 110, 7, Some(u64::from(uncertainty_ms) * 1_000));
            assert_eq!(is_together(&lay), together, "± {uncertainty_ms} ms");
            if let Lay::Together(woven) = lay {
                // The least that it can be: its reading took up to half a millisecond.
                assert_eq!(woven.r_lag_us, 4_500 - i64::from(uncertainty_ms) * 1_000);
            }
        }
    }

    #[test]
    fn an_s_that_changed_around_r_tells_nothing() {
        let mut weave = Weave::default();
        take(&mut weave, Side::A, 100, 7, Some(0));
        take(&mut weave, Side::B, 105, 1, Some(0));
        assert!(!is_together(&take(&mut weave, Side::A, 110, 8, Some(0))));
        take(&mut weave, Side::B, 115, 1, Some(0));
        assert!(is_together(&take(&mut weave, Side::A, 120, 8, Some(0))));
    }

    #[test]
    fn an_s_that_left_its_state_is_given_once_with_the_first_r_after_it() {
        let mut weave = Weave::default();
        take(&mut weave, Side::A, 100, 7, Some(0));
        take(&mut weave, Side::B, 105, 1, Some(0));
        assert!(is_together(&take(&mut weave, Side::A, 110, 7, Some(0))));
        take(&mut weave, Side::A, 120, 8, Some(3_000));
        let r = socket(1);
        let left = |weave: &mut Weave, ms: u64| {
            let reading = Reading { from: Moment(ms * 1_000), until: Moment(ms * 1_000), socket: &r };
            weave.left(Side::B, reading, Some(3_000)).map(|left| (left.at, left.r_lag_us))
        };
        assert_eq!(left(&mut weave, 122), None, "it may have been read before");
        assert_eq!(left(&mut weave, 125), Some((Moment(120_000), -5_000)));
        assert_eq!(left(&mut weave, 135), None);
    }

    #[test]
    fn no_reading_of_r_is_used_twice() {
        let mut weave = Weave::default();
        take(&mut weave, Side::A, 100, 7, Some(0));
        take(&mut weave, Side::B, 105, 1, Some(0));
        assert!(is_together(&take(&mut weave, Side::A, 110, 7, Some(0))));
        assert_eq!(take(&mut weave, Side::A, 120, 7, Some(0)), Lay::Nothing);
    }

    #[test]
    fn without_an_offset_or_a_peer_that_is_read_each_end_stands_alone() {
        let mut weave = Weave::default();
        for ms in [100, 110] {
            assert_eq!(take(&mut weave, Side::A, ms, 7, None), Lay::Alone);
            assert_eq!(take(&mut weave, Side::B, ms + 5, 1, None), Lay::Alone);
        }
        take(&mut weave, Side::A, 120, 7, Some(0));
        assert!(is_together(&take(&mut weave, Side::B, 125, 1, Some(0))));
        assert_eq!(take(&mut weave, Side::A, 120 + SILENT_US / 1_000 + 10, 7, Some(0)), Lay::Alone);
        assert!(weave.were_together());
    }
}
