//! What is remembered of a connection that ever looked odd: both directions, and its ends as last seen.

use crate::model::{Moment, Opener, Side};
use crate::wire::Socket;

use super::direction::{Direction, Look};
use super::tick::Tick;
use super::verdict::{Level, Severity, Verdict};
use super::weave::{Lay, Left, Reading, Weave};

/// A connection under watch.
#[derive(Clone, Debug)]
pub struct Track {
    /// The direction in which side A sends, then the one in which side B does.
    pub directions: [Direction; 2],
    /// Both ends as last seen by survey or probe.
    pub ends: [Option<Socket>; 2],
    /// Who opened it.
    pub opener: Opener,
    /// The latest probe that was answered.
    pub probed: Option<Moment>,
    /// Probes that were answered.
    pub probes: u64,
    /// When it was found to be gone.
    pub gone: Option<Moment>,
    /// When it was first seen.
    pub since: Moment,
    /// The readings of both ends, where they are on two hosts.
    weave: Option<Box<Weave>>,
}

impl Track {
    /// Begins to watch a connection that was first seen at `since`. `delayed_acks` is what the host had counted by then: rounds
    /// of the receiver that are seen from now on are held against what it grows by.
    pub fn new(since: Moment, delayed_acks: Option<u64>) -> Self {
        let mut directions: [Direction; 2] = Default::default();
        if let Some(count) = delayed_acks {
            for direction in &mut directions {
                direction.count_timer_acks(count, None);
            }
        }
        Self {
            directions,
            ends: [None; 2],
            opener: Opener::Unknown,
            probed: None,
            probes: 0,
            gone: None,
            since,
            weave: None,
        }
    }

    /// Takes a look at the direction in which `sender` sends; `is_cut` as in [`Look::is_cut`].
    pub fn look(&mut self, at: Moment, sender: Side, s: &Socket, r: Option<&Socket>, tick: Tick, is_cut: bool) {
        self.look_apart(at, sender, s, r.map(|r| (r, 0)), tick, is_cut);
    }

    /// The same, of an R that was read some time before S, µs.
    fn look_apart(
        &mut self,
        at: Moment,
        sender: Side,
        s: &Socket,
        r: Option<(&Socket, i64)>,
        tick: Tick,
        is_cut: bool,
    ) {
        let s_opened = self.opener.side().map(|opener| opener == sender);
        let (r, r_lag_us) = (r.map(|r| r.0), r.map_or(0, |r| r.1));
        self.directions[sender as usize].look(&Look { at, s, r, r_lag_us, s_opened, tick, is_cut });
        self.ends[sender as usize] = Some(*s);
        if let Some(r) = r {
            self.ends[sender.other() as usize] = Some(*r);
        }
    }

    /// Whether a probe or a survey of the end's host read it in the last tenth of a second.
    pub fn was_read_lately(&self, side: Side, at: Moment) -> bool {
        const LATELY_US: u64 = 100_000;
        let read = match &self.weave {
            Some(weave) => weave.last_read(side),
            None => self.probed,
        };
        read.is_some_and(|read| at.since(read) < LATELY_US)
    }

    /// Takes a reading of one end alone.
    pub fn look_alone(&mut self, at: Moment, side: Side, socket: &Socket, tick: Tick) {
        self.look(at, side, socket, None, tick, true);
        self.directions[side.other() as usize].look_at_receiver(at, socket, tick);
    }

    /// Takes a reading of one end, whose peer is read on another host. What both ends tell together takes the place of what
    /// one of them suggested before, and what one tells alone later is not mixed into it. Answers whether it told anything.
    pub fn look_across(&mut self, side: Side, reading: Reading<'_>, uncertainty_us: Option<u64>, tick: Tick) -> bool {
        let Reading { from, socket, .. } = reading;
        let weave = self.weave.get_or_insert_default();
        let were_together = weave.were_together();
        let (left, lay) = (weave.left(side, reading, uncertainty_us), weave.take(side, reading, uncertainty_us));
        if !were_together && weave.were_together() {
            self.directions = Default::default();
        }
        if let Some(Left { at, s, r_lag_us }) = left {
            let s_opened = self.opener.side().map(|opener| opener != side);
            let look = Look { at, s: &s, r: Some(socket), r_lag_us, s_opened, tick, is_cut: false };
            self.directions[side.other() as usize].look_after(&look);
        }
        match lay {
            Lay::Together(woven) => {
                let r = Some((&woven.r, woven.r_lag_us));
                self.look_apart(woven.at, side, socket, r, tick, true);
            }
            Lay::Alone if !were_together => self.look_alone(from, side, socket, tick),
            Lay::Alone | Lay::Nothing => {
                self.ends[side as usize] = Some(*socket);
                return false;
            }
        }
        true
    }

    /// The worse of the two directions: which side sends in it, what it is and how sure that is.
    pub fn verdict(&self) -> Option<(Side, Verdict, Level)> {
        let of = |side: Side| {
            let (verdict, level) = self.directions[side as usize].verdict()?;
            Some((side, verdict, level))
        };
        let rank = |found: &(Side, Verdict, Level)| (found.1.severity(), found.2, found.1 == Verdict::NagleDelayedAck);
        match (of(Side::A), of(Side::B)) {
            (Some(a), Some(b)) => Some(if rank(&b) > rank(&a) { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// Whether either direction is in a stall.
    pub fn is_stalled(&self) -> bool {
        self.verdict().is_some_and(|(_, verdict, _)| verdict.severity() == Severity::Stall)
    }
}
