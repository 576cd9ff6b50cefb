//! Opinions: what each direction of a connection waits for, how sure that is, and why.
//!
//! **Architecture invariant:** pure. It knows `model` and `wire` and no front end: no clock, no file, no socket, no colour. One
//! rule is one file under [`rules`]; thresholds are named there, with unit and reason.

mod ack_gap;
mod advice;
mod candidates;
mod cut;
mod direction;
mod fact;
mod finding;
mod hold;
mod log;
mod receiver_side;
pub mod rules;
mod tally;
mod tick;
mod timer_acks;
mod track;
mod verdict;
mod weave;
mod words;

pub use advice::{Advice, AdvisedSide, Runtime};
pub use candidates::{Candidates, Class, Interest, interest_of};
pub use cut::Cut;
pub use direction::{Direction, Exhibit, Look};
pub use fact::{Answer, Fact, Test};
pub use finding::{Finding, FindingEnd, HoldFigures, Subject};
pub use hold::{Cause, Ending, OpenHold};
pub use log::{EndedHold, HoldLog, Lengths, STRIP_SECONDS};
pub use tick::{Tick, TickMeter};
pub use timer_acks::TimerAcks;
pub use track::Track;
pub use verdict::{Level, Severity, Verdict};
pub use weave::{Lay, Left, Reading, TOO_UNSURE_US, Weave, Woven, unchanged};
