//! One rule, one file: its name, its thresholds with unit and reason, its facts, and the words that a person reads.
//!
//! A rule looks at one cut. What many cuts tell together (the same hold seen twice, what ended it) is `direction`'s.

pub mod cork_hold;
pub mod held_unread;
pub mod loss_recovery;
pub mod nagle_delayed_ack;
pub mod pacing;
pub mod receiver_window;
pub mod released_by_reply;
pub mod rtt_bound_nagle;

use crate::wire::TcpState;

use super::cut::Cut;
use super::fact::{Test, all_hold, none_fails, nothing};

/// What Nagle's algorithm and a cork have in common.
pub(super) const SMALL_WRITE_HELD: Test = Test {
    fact: "a write smaller than a segment is held back",
    holds: |cut| {
        let notsent = cut.notsent()?;
        Some(notsent > 0 && notsent < cut.s_info()?.snd_mss()?)
    },
    sender: |cut| Some(format!("notsent {} B of mss {}", cut.notsent()?, cut.s_info()?.snd_mss()?)),
    receiver: nothing,
};

/// What one cut looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A segment is being retransmitted.
    Loss,
    /// The receiver's window stops the sender.
    Window,
    /// The application's pacing rate spaces the data.
    Pacing,
    /// A cork holds a small write.
    Cork,
    /// Nagle holds a small write; how much of the proof this cut gives.
    Nagle(NagleView),
}

/// How much of the two-ended proof a cut with Nagle's shape gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NagleView {
    /// Old enough that a round trip alone does not explain it.
    pub aged: bool,
    /// R has what is in flight, has not acknowledged and not answered it.
    pub paired: bool,
    /// R's application has not read it.
    pub unread: bool,
    /// R's kernel reports its delayed-ACK timer.
    pub timer_seen: bool,
}

/// Tells the shape of a cut. Branches are taken in the order of the decision procedure: what explains more comes first.
pub fn shape(cut: &Cut<'_>) -> Option<Shape> {
    // The common case of a survey: nothing is held, and nothing below can match.
    let notsent = cut.notsent()?;
    if notsent == 0 && !loss_recovery::is_timeout(cut.s) {
        return None;
    }
    if !matches!(cut.s.state, TcpState::ESTABLISHED | TcpState::CLOSE_WAIT) {
        return None;
    }
    if all_hold(receiver_window::TESTS, cut) {
        Some(Shape::Window)
    } else if loss_recovery::is_timeout(cut.s) {
        Some(Shape::Loss)
    } else if all_hold(pacing::TESTS, cut) {
        Some(Shape::Pacing)
    } else if none_fails(cork_hold::TESTS, cut) {
        Some(Shape::Cork)
    } else if none_fails(nagle_delayed_ack::SENDER, cut) {
        Some(Shape::Nagle(nagle_view(cut)))
    } else {
        None
    }
}

fn nagle_view(cut: &Cut<'_>) -> NagleView {
    let paired = cut.r.is_some() && all_hold(nagle_delayed_ack::RECEIVER, cut);
    NagleView {
        aged: all_hold(nagle_delayed_ack::AGE, cut),
        paired,
        unread: cut.r.is_some_and(|r| r.rqueue > 0),
        timer_seen: paired && all_hold(nagle_delayed_ack::TIMER, cut),
    }
}
