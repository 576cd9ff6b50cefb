//! From a stream of dumps to surveys: the IPv4 and the IPv6 dump of one instant belong together.

use crate::model::{Event, Moment, SurveyReport};
use crate::wire::{Family, Message};

/// Bytes of messages that are handed on at once.
const RUN_TARGET: usize = 64 << 10;

/// When the first survey of a file was that bears no monotonic time: a day after the clock's zero, so that what began before
/// it (data that was sent, a hold) has a place on the clock.
pub(super) const FIRST: Moment = Moment(86_400_000_000);

/// Puts the dumps of one instant into one survey.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is one thing that was seen or was not.
pub(super) struct Grouping {
    open: bool,
    /// Families seen in the survey, and dumps ended in it.
    v4: bool,
    v6: bool,
    ended: u8,
    between: bool,
    run: Vec<u8>,
    report: SurveyReport,
    at: Moment,
}

/// When a message came.
#[derive(Clone, Copy, Debug)]
pub(super) struct When {
    pub(super) at: Moment,
    pub(super) wall_us: Option<i64>,
}

impl Grouping {
    /// Takes one message of a dump, with its padding.
    pub(super) fn take(&mut self, raw: &[u8], message: &Message<'_>, when: When, sink: &mut dyn FnMut(Event<'_>)) {
        if self.begins_another(message) {
            self.close(sink);
        }
        if !self.open && matches!(message, Message::Done { .. }) {
            return;
        }
        if !self.open {
            self.open = true;
            sink(Event::SurveyBegin { at: when.at, wall_us: when.wall_us });
        }
        self.at = when.at;
        match message {
            Message::Socket { socket, .. } => {
                self.between = false;
                self.v4 |= socket.family == Family::V4;
                self.v6 |= socket.family == Family::V6;
            }
            Message::Done { errno } => self.done(*errno),
            Message::Error { errno } if *errno != 0 => {
                self.report.failures.push(format!("the kernel refused the dump (errno {})", errno.saturating_neg()));
            }
            _ => {}
        }
        self.run.extend_from_slice(raw);
        if self.run.len() >= RUN_TARGET {
            self.flush(sink);
        }
    }

    fn done(&mut self, errno: i32) {
        self.ended = self.ended.saturating_add(1);
        self.between = true;
        if errno < 0 {
            self.report.failures.push(format!("a dump failed on its way (errno {})", errno.saturating_neg()));
        }
    }

    /// A dump has ended, and this belongs to one that the survey has already.
    fn begins_another(&self, message: &Message<'_>) -> bool {
        match message {
            Message::Socket { socket, .. } if self.between => match socket.family {
                Family::V4 => self.v4 || self.v6,
                Family::V6 => self.v6,
            },
            Message::Done { .. } => self.between && self.ended >= 2,
            _ => false,
        }
    }

    fn flush(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if !self.run.is_empty() {
            sink(Event::Run(&self.run));
            self.run.clear();
        }
    }

    /// Where surveys are numbered rather than timed: whether the next message would begin one.
    pub(super) fn begins(&self, message: &Message<'_>) -> bool {
        !matches!(message, Message::Done { .. }) && (!self.open || self.begins_another(message))
    }

    /// Ends the survey that is open, if any.
    pub(super) fn close(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        self.flush(sink);
        if !self.between {
            self.report.failures.push("the dump ends without NLMSG_DONE: sockets may be missing".to_owned());
        }
        sink(Event::SurveyEnd { at: self.at, report: &self.report });
        *self = Self { run: std::mem::take(&mut self.run), ..Self::default() };
    }
}
