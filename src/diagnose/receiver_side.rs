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
    last: Option<Last>,
    /// Rounds with the pattern, and how long R held its ACK in each.
    pub rounds: Lengths,
    /// Rounds in which R's data carried the ACK, or data came without a wait.
    pub other: u64,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    at: Moment,
    data_in: u32,
    data_out: u32,
    pure_out: u32,
    /// R's data age, µs.
    age_us: u64,
    /// Whether R has sent nothing since that data came, and its program has read it.
    waiting: bool,
}

impl ReceiverSide {
    /// Takes a look at R.
    pub fn look(&mut self, at: Moment, r: &Socket, tick: Tick) {
        let Some(now) = reading(at, r) else { return };
        if let Some(last) = self.last.replace(now) {
            self.compare(&last, &now, tick);
        }
    }

    /// Whether the pattern repeats often enough to suspect S.
    pub fn tells(&self) -> bool {
        self.rounds.count >= ROUNDS_THAT_TELL && self.rounds.count > self.other
    }

    fn compare(&mut self, last: &Last, now: &Last, tick: Tick) {
        let more_data = now.data_in.wrapping_sub(last.data_in);
        let gap = now.at.since(last.at);
        if more_data == 0 || gap > CLOSE_LOOKS_US {
            return;
        }
        // R's ACK went out between the two looks: R's data was that old then, at least and at most.
        let (soonest, latest) = (last.age_us, last.age_us + gap + tick.times(1));
        let delay = u64::from(DELACK_MIN_US);
        let timed = latest + tick.times(1) >= delay && soonest <= delay + tick.times(2);
        let pure = now.pure_out.wrapping_sub(last.pure_out) > 0;
        // R answers once it has the rest: data in both directions in one round tells a request in two parts from a stream.
        let answered = now.data_out != last.data_out;
        if last.waiting && timed && pure && answered {
            self.rounds.add(delay.max(soonest));
        } else if last.age_us > tick.times(2) {
            self.other += 1;
        }
    }
}

fn reading(at: Moment, r: &Socket) -> Option<Last> {
    let info = r.info.as_ref()?;
    Some(Last {
        at,
        data_in: info.data_segs_in()?,
        data_out: info.data_segs_out()?,
        pure_out: r.pure_acks_out()?,
        age_us: u64::from(info.last_data_recv()?) * 1000,
        waiting: info.last_data_sent()? >= info.last_data_recv()?
            && info.unacked()? == 0
            && r.rqueue == 0
            && r.wqueue == 0,
    })
}
