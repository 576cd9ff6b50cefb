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
    /// Whether R has answered what came last.
    answered: bool,
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
    /// Whether R sent data after what came last, as far as whole ticks tell: an answer that is not acknowledged counts.
    answered: bool,
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

    /// Whether no round had the pattern or may still turn out to.
    pub fn is_blank(&self) -> bool {
        self.rounds.count == 0 && self.pending_us.is_none()
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
            self.answered = now.answered;
            return;
        }
        if now.data_in == last.data_in {
            self.without_data(last, now, acked, answered, tick);
        } else {
            self.more_data(last, now, acked, answered, tick);
        }
    }

    /// Nothing came. R may have acknowledged what came before, or answered it.
    fn without_data(&mut self, last: &Reading, now: &Reading, acked: bool, answered: bool, tick: Tick) {
        if answered {
            // R needed no more to answer: the round is over, whatever it acknowledged before.
            let waited = self.acked.take().is_some() || last.age_us > tick.times(2);
            self.other += u64::from(waited && !self.answered);
            self.answered = true;
        } else if acked {
            self.acked = Some(Acked { at: now.at, age_us: last.age_us.max(u64::from(DELACK_MIN_US)) });
        }
    }

    /// More came: the rest that R waited for, or the next request.
    fn more_data(&mut self, last: &Reading, now: &Reading, acked: bool, answered: bool, tick: Tick) {
        let earlier = self.acked.take();
        // What R had answered is over, and what comes then is the next request, a round trip later.
        let over = std::mem::replace(&mut self.answered, answered && now.answered);
        if last.age_us <= tick.times(2) {
            return;
        }
        if self.pending_us.take().is_some() {
            self.other += 1;
        }
        let at_once = |acked: Acked| now.at.since(acked.at) <= now.rtt_us + CLOSE_LOOKS_US;
        let waited_us = match (acked, earlier.filter(|acked| at_once(*acked))) {
            (true, _) => last.age_us.max(u64::from(DELACK_MIN_US)),
            (false, Some(acked)) => acked.age_us,
            (false, None) => {
                self.other += u64::from(!over);
                return;
            }
        };
        // R answers once it has the rest: data in both directions in one round tells a request in two parts from a stream. An
        // answer that came before this data had needed no rest: then one segment came, and it acknowledged the answer.
        let rest_first = now.data_in.wrapping_sub(last.data_in) > 1 || now.answered;
        match (answered, rest_first) {
            (true, true) => self.rounds.add(waited_us),
            (true, false) => self.other += 1,
            (false, _) => self.pending_us = Some(waited_us),
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
            answered,
            waiting: !answered && r.rqueue == 0 && r.wqueue == 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Tick = Tick { us: 4_000 };

    /// R over time, looked at every 10 ms, as a script of what happens when (ms).
    #[derive(Default)]
    struct Script {
        side: ReceiverSide,
        now: Option<Reading>,
        received_at: u64,
        sent_at: u64,
    }

    #[derive(Clone, Copy)]
    enum Step {
        Data,
        PureAck,
        Answer,
        /// The peer acknowledges R's answer.
        Acknowledged,
    }

    impl Script {
        /// Repeats a round of `length` ms.
        fn repeat(rounds: u64, length: u64, rtt_ms: u64, steps: &[(u64, Step)]) -> ReceiverSide {
            let mut script = Self::default();
            let (mut counts, mut unacked) = ([0_u32; 3], false);
            for ms in 0..rounds * length {
                for (_, step) in steps.iter().filter(|(at, _)| *at == ms % length) {
                    match step {
                        Step::Data => {
                            (counts[0], unacked, script.received_at) = (counts[0] + 1, false, ms);
                        }
                        Step::PureAck => counts[1] += 1,
                        Step::Answer => (counts[2], unacked, script.sent_at) = (counts[2] + 1, true, ms),
                        Step::Acknowledged => unacked = false,
                    }
                }
                if ms % 10 == 3 {
                    script.look(ms, counts, unacked, rtt_ms);
                }
            }
            script.side
        }

        fn look(&mut self, ms: u64, [data_in, pure_out, data_out]: [u32; 3], unacked: bool, rtt_ms: u64) {
            let age = |at: u64| (ms - at) / 4 * 4;
            let answered = age(self.sent_at) < age(self.received_at) || unacked;
            let now = Reading {
                at: Moment(ms * 1000),
                data_in,
                data_out,
                pure_out,
                age_us: age(self.received_at) * 1000,
                rtt_us: rtt_ms * 1000,
                answered,
                waiting: !answered,
            };
            if let Some(last) = self.now.replace(now) {
                self.side.compare(&last, &now, TICK);
            }
        }
    }

    #[test]
    fn a_stall_tells_at_any_round_trip_and_any_thinking_of_either_end() {
        use Step::{Acknowledged, Answer, Data, PureAck};
        for rtt in [0, 1, 20, 60, 80] {
            for server in [0, 5, 10, 30] {
                for client in [0, 5, 50] {
                    let (rest, answer) = (41 + rtt, 41 + rtt + server);
                    let length = answer + rtt + client + 2;
                    // The client's own ACK rides on its next request, or its timer sends it after 40 ms.
                    let steps =
                        [(0, Data), (41, PureAck), (rest, Data), (answer, Answer), (answer + rtt + 41, Acknowledged)];
                    let side = Script::repeat(30, length, rtt, &steps);
                    let (found, other) = (side.rounds.count, side.other);
                    assert!(side.tells(), "rtt {rtt} server {server} client {client}: {found} rounds, {other} others");
                    assert!(found >= 25, "rtt {rtt} server {server} client {client}: {found} of 30");
                    // The next request is no evidence against: counted as such, it would leave the word to chance.
                    assert!(other <= 2, "rtt {rtt} server {server} client {client}: {other} others");
                }
            }
        }
    }

    #[test]
    fn one_write_answered_after_the_timer_fired_does_not_tell() {
        use Step::{Answer, Data, PureAck};
        for rtt in [0, 1, 20, 80] {
            for server in [42, 45, 50, 60, 100] {
                let steps = [(0, Data), (41, PureAck), (server, Answer)];
                let side = Script::repeat(30, server + rtt + 1, rtt, &steps);
                let (found, other) = (side.rounds.count, side.other);
                assert!(found == 0 && !side.tells(), "rtt {rtt} server {server}: {found} rounds, {other} others");
            }
        }
    }

    #[test]
    fn answers_before_the_timer_and_streams_without_answers_do_not_tell() {
        use Step::{Answer, Data, PureAck};
        for rtt in [0, 20, 80] {
            for server in [5, 20, 35] {
                let side = Script::repeat(30, server + rtt + 1, rtt, &[(0, Data), (server, Answer)]);
                assert!(!side.tells() && side.rounds.count == 0, "rtt {rtt} server {server}");
            }
        }
        for every in [42, 44, 50, 60] {
            let side = Script::repeat(30, every, 0, &[(0, Data), (41, PureAck)]);
            assert!(!side.tells(), "a stream every {every} ms");
        }
    }

    #[test]
    fn timers_that_did_not_fire_rule_it_out() {
        use Step::{Answer, Data, PureAck};
        let mut side = Script::repeat(30, 43, 0, &[(0, Data), (41, PureAck), (41, Data), (41, Answer)]);
        assert!(side.tells());
        side.count_timer_acks(7);
        side.count_timer_acks(7);
        assert!(!side.tells());
        side.count_timer_acks(40);
        assert!(side.tells());
    }
}
