//! What is remembered of a connection that ever looked odd: both directions, and its ends as last seen.

use crate::model::{Moment, Opener, Side};
use crate::wire::Socket;

use super::direction::{Direction, Look};
use super::tick::Tick;
use super::verdict::{Level, Severity, Verdict};

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
}

impl Track {
    /// Begins to watch.
    pub fn new(since: Moment) -> Self {
        Self {
            directions: Default::default(),
            ends: [None; 2],
            opener: Opener::Unknown,
            probed: None,
            probes: 0,
            gone: None,
            since,
        }
    }

    /// Takes a look at the direction in which `sender` sends; `is_cut` as in [`Look::is_cut`].
    pub fn look(&mut self, at: Moment, sender: Side, s: &Socket, r: Option<&Socket>, tick: Tick, is_cut: bool) {
        let s_opened = self.opener.side().map(|opener| opener == sender);
        self.directions[sender as usize].look(&Look { at, s, r, s_opened, tick, is_cut });
        self.ends[sender as usize] = Some(*s);
        if let Some(r) = r {
            self.ends[sender.other() as usize] = Some(*r);
        }
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
