//! The stall as R alone shows it, when S is on another host: small data in, nothing for about `ato`, a pure ACK out, and more
//! data at once, again and again.

use crate::model::Moment;
use crate::wire::Socket;

use super::cut::DELACK_MIN_US;
use super::log::Lengths;
use super::tick::Tick;

/// Rounds that tell. One or two also happen where a sender pauses by itself.
const ROUNDS_THAT_TELL: u64 = 3;

/// Looks further apart than this cannot tell what came first, µs.
const CLOSE_LOOKS_US: u64 = 30_000;

/// Follows one receiver.
#[derive(Clone, Debug, Default)]
pub struct ReceiverSide {
    last: Option<Reading>,
    /// When R sent a pure ACK for data that it had kept waiting, since when nothing moved.
    acked: Option<Acked>,
    /// Rounds with the pattern, and how long R held its ACK in each.
    pub rounds: Lengths,
    /// Rounds in which R's data carried the ACK, or data came without a wait.
    pub other: u64,
    /// A round that only R's answer completes, and how long R held its ACK in it.
    pending_us: Option<u64>,
    /// `DelayedACKs` of R's network namespace when R was first looked at, and latest.
    timer_acks: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Acked {
    at: Moment,
    /// How old R's data was, µs.
    age_us: u64,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Moment,
    data_in: u32,
    data_out: u32,
    pure_out: u32,
    /// R's data age, µs.
    age_us: u64,
    /// R's round-trip time, µs.
    rtt_us: u64,
    /// Whether R has sent nothing since that data came, and its program has read it.
    waiting: bool,
}

impl ReceiverSide {
    /// Takes a look at R.
    pub fn look(&mut self, at: Moment, r: &Socket, tick: Tick) {
        let Some(now) = Reading::of(at, r) else { return };
        if let Some(last) = self.last.replace(now) {
            self.compare(&last, &now, tick);
        }
    }

    /// Takes the host's count of acknowledgements that a delayed-ACK timer sent.
    pub fn count_timer_acks(&mut self, delayed_acks: u64) {
        let first = self.timer_acks.map_or(delayed_acks, |(first, _)| first);
        self.timer_acks = Some((first, delayed_acks));
    }

    /// Whether the pattern repeats often enough to suspect S. Timers that did not fire rule it out, whatever it looks like: a
    /// receiver that acknowledges at once and answers after 40 ms makes the same counts.
    pub fn tells(&self) -> bool {
        let fired = self.timer_acks.is_none_or(|(first, latest)| latest.saturating_sub(first) * 2 >= self.rounds.count);
        self.rounds.count >= ROUNDS_THAT_TELL && self.rounds.count > self.other && fired
    }

    fn compare(&mut self, last: &Reading, now: &Reading, tick: Tick) {
        let gap = now.at.since(last.at);
        if gap > CLOSE_LOOKS_US {
            self.acked = None;
            return;
        }
        // R's ACK went out between the two looks, when its data was as old as at the last look, or up to the gap older.
        let delay = u64::from(DELACK_MIN_US);
        let latest = last.age_us + gap + tick.times(2);
        let timed = last.waiting && latest >= delay && last.age_us <= delay + tick.times(2);
        let acked = timed && now.pure_out != last.pure_out;
        let answered = now.data_out != last.data_out;
        if answered && let Some(waited_us) = self.pending_us.take() {
            // What came with it is the next request.
            self.rounds.add(waited_us);
            self.acked = None;
            return;
        }
        if now.data_in == last.data_in {
            if acked {
                self.acked = Some(Acked { at: now.at, age_us: last.age_us.max(delay) });
            }
            return;
        }
        let earlier = self.acked.take();
        if last.age_us <= tick.times(2) {
            return;
        }
        if self.pending_us.take().is_some() {
            self.other += 1;
        }
        // R answers once it has the rest: data in both directions in one round tells a request in two parts from a stream.
        let at_once = |acked: Acked| now.at.since(acked.at) <= now.rtt_us + CLOSE_LOOKS_US;
        let waited_us = match (acked, earlier.filter(|acked| at_once(*acked))) {
            (true, _) => delay.max(last.age_us),
            (false, Some(acked)) => acked.age_us,
            (false, None) => {
                self.other += 1;
                return;
            }
        };
        if answered {
            self.rounds.add(waited_us);
        } else {
            self.pending_us = Some(waited_us);
        }
    }
}

impl Reading {
    fn of(at: Moment, r: &Socket) -> Option<Self> {
        let info = r.info.as_ref()?;
        let answered = info.last_data_sent()? < info.last_data_recv()? || info.unacked()? != 0;
        Some(Self {
            at,
            data_in: info.data_segs_in()?,
            data_out: info.data_segs_out()?,
            pure_out: r.pure_acks_out()?,
            age_us: u64::from(info.last_data_recv()?) * 1000,
            rtt_us: info.rtt().unwrap_or(0).into(),
            waiting: !answered && r.rqueue == 0 && r.wqueue == 0,
        })
    }
}
