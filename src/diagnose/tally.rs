//! What a connection's own counters say of waits whose end nobody saw: whether the receiver's delayed-ACK timer can be to blame.
//!
//! A look at a random moment meets the wait that fills the most time. S's `busy_time` is all of that time; each time R's timer
//! fires, R sends a pure ACK. So few pure ACKs in a long busy time say that S waits for something else, most likely answers.

use super::cut::Cut;
use super::fact::{Answer, Fact};
use super::hold::rise;

/// Pure ACKs that R sends as a connection begins, whatever comes: the handshake's last, and the first in quick-ACK mode.
const AT_THE_START: u32 = 3;

/// Less waiting than this tells nothing, µs: some ten holds.
const LEAST_BUSY_US: u64 = 500_000;

/// The timer can be to blame where it explains one part in so many of the waiting, or more.
const MOST: u64 = 2;

/// It is not where it explains less than one part in so many.
const LITTLE: u64 = 10;

/// How much of S's waiting R's timer can explain at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerShare {
    /// Most of it: R sends pure ACKs as often as stalls make it.
    Most,
    /// Not enough is known, or a part of it.
    Unclear,
    /// Next to nothing.
    Little,
}

/// Both counters at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    /// Pure ACKs from R to S since the connection began.
    pure_acks: u32,
    /// Whether R counted them; S counts one more where it opened, the SYN-ACK.
    by_r: bool,
    /// S's `busy_time` since then, µs; `None` before Linux 4.10.
    busy_us: Option<u64>,
    /// Segments with data from S to R since then.
    data_segs: u32,
    /// The longest that S waits for one ACK of R's timer as a rule, µs.
    wait_us: u64,
}

impl Counts {
    fn of(cut: &Cut<'_>) -> Option<Self> {
        let s = cut.s_info()?;
        Some(Self {
            pure_acks: cut.r.map_or_else(|| cut.s.pure_acks_in(), crate::wire::Socket::pure_acks_out)?,
            by_r: cut.r.is_some(),
            busy_us: s.busy_time(),
            data_segs: s.data_segs_out()?,
            wait_us: cut.expected_delay_us() + cut.min_rtt_us(),
        })
    }
}

/// The counters at the first and at the latest look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    span: Option<(Counts, Counts)>,
}

impl Tally {
    /// Takes a look.
    pub fn see(&mut self, cut: &Cut<'_>) {
        if let Some(counts) = Counts::of(cut) {
            self.add(counts);
        }
    }

    fn add(&mut self, counts: Counts) {
        let first = self.span.map(|(first, _)| first).filter(|first| first.by_r == counts.by_r);
        self.span = Some((first.unwrap_or(counts), counts));
    }

    /// How much the timer explains: between the looks where enough happened there, else since the connection began.
    pub fn timer_share(&self) -> TimerShare {
        let Some(told) = self.told() else { return TimerShare::Unclear };
        match told.busy_us {
            Some(busy_us) => share(told.pure_acks, told.wait_us, busy_us),
            // Each stall makes two pure ACKs for two segments or some more.
            None if told.pure_acks > 0 && told.pure_acks >= told.data_segs / 8 => TimerShare::Most,
            None => TimerShare::Unclear,
        }
    }

    /// The counts by which it is told.
    fn told(&self) -> Option<Counts> {
        let (first, latest) = self.span?;
        let grown = latest.busy_us.zip(first.busy_us).map(|(latest, first)| latest.saturating_sub(first));
        Some(match grown {
            Some(busy) if busy >= LEAST_BUSY_US => {
                Counts { pure_acks: rise(first.pure_acks, latest.pure_acks), busy_us: grown, ..latest }
            }
            _ => Counts { pure_acks: latest.pure_acks.saturating_sub(AT_THE_START), ..latest },
        })
    }

    /// The same as a fact, with the numbers; `None` where the ends do not give them.
    pub fn fact(&self) -> Option<Fact> {
        let told = self.told()?;
        Some(Fact {
            fact: "pure ACKs came often enough for the receiver's timer to explain most of the waiting".to_owned(),
            sender: told.busy_us.map(|busy_us| format!("busy for {} ms", busy_us / 1000)),
            receiver: Some(format!("{} pure ACKs, {} ms each at most", told.pure_acks, told.wait_us / 1000)),
            answer: match self.timer_share() {
                TimerShare::Most => Answer::Yes,
                TimerShare::Unclear => Answer::Unknown,
                TimerShare::Little => Answer::No,
            },
        })
    }
}

fn share(pure_acks: u32, wait_us: u64, busy_us: u64) -> TimerShare {
    let explained = u64::from(pure_acks).saturating_mul(wait_us);
    if explained > 0 && explained.saturating_mul(MOST) >= busy_us {
        TimerShare::Most
    } else if busy_us >= LEAST_BUSY_US && explained.saturating_mul(LITTLE) < busy_us {
        TimerShare::Little
    } else {
        TimerShare::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(pure_acks: u32, busy_ms: u64) -> Counts {
        Counts { pure_acks, by_r: true, busy_us: Some(busy_ms * 1000), data_segs: 100, wait_us: 44_000 }
    }

    fn told(first: Counts, latest: Counts) -> TimerShare {
        Tally { span: Some((first, latest)) }.timer_share()
    }

    #[test]
    fn a_stalled_connection_sends_the_pure_acks_that_its_waiting_takes() {
        // Two pure ACKs and 44 ms of waiting in each of 50 requests.
        assert_eq!(told(counts(100, 2_200), counts(100, 2_200)), TimerShare::Most);
        // One stall after a hundred requests that took no time.
        assert_eq!(told(counts(5, 60), counts(5, 60)), TimerShare::Most);
    }

    #[test]
    fn waits_for_answers_come_without_pure_acks() {
        assert_eq!(told(counts(3, 2_000), counts(3, 2_000)), TimerShare::Little);
        assert_eq!(told(counts(3, 100), counts(3, 100)), TimerShare::Unclear, "too young to tell");
        assert_eq!(told(counts(12, 2_000), counts(12, 2_000)), TimerShare::Unclear, "a fifth of it");
    }

    #[test]
    fn what_grew_between_the_looks_says_more_than_what_was_before() {
        assert_eq!(told(counts(1_000, 44_000), counts(1_001, 46_000)), TimerShare::Little);
        assert_eq!(told(counts(3, 44_000), counts(53, 45_100)), TimerShare::Most);
    }

    #[test]
    fn a_count_of_the_other_end_or_one_that_fell_is_no_growth() {
        assert_eq!(told(counts(4, 44_000), counts(3, 46_000)), TimerShare::Little, "the count fell");
        let mut tally = Tally { span: Some((Counts { by_r: false, ..counts(4, 44_000) }, counts(4, 44_000))) };
        let end = |counts| Tally { span: Some((counts, counts)) };
        tally.add(counts(3, 46_000));
        assert_eq!(tally.span, end(counts(3, 46_000)).span, "S counted the SYN-ACK too");
    }

    #[test]
    fn without_busy_time_only_counts_tell() {
        let old = |pure_acks| Counts { busy_us: None, ..counts(pure_acks, 0) };
        assert_eq!(told(old(90), old(90)), TimerShare::Most);
        assert_eq!(told(old(5), old(5)), TimerShare::Unclear);
        assert_eq!(Tally::default().timer_share(), TimerShare::Unclear);
    }
}
