//! Events that outlive what they were read from.

use super::event::{Counters, Event, Host, Owners, ProbeTarget, SurveyReport};
use super::time::Moment;

/// An [`Event`] that owns what it says.
#[derive(Clone, Debug, PartialEq)]
pub enum EventBuf {
    /// [`Event::Host`].
    Host(Host),
    /// [`Event::SurveyBegin`]: when, and the same on the wall clock, µs since 1970.
    SurveyBegin(Moment, Option<i64>),
    /// [`Event::Run`].
    Run(Vec<u8>),
    /// [`Event::SurveyEnd`].
    SurveyEnd(Moment, SurveyReport),
    /// [`Event::Probe`].
    Probe(Moment, ProbeTarget, Vec<u8>),
    /// [`Event::Counters`].
    Counters(Moment, Counters),
    /// [`Event::Owners`].
    Owners(Vec<(u32, Owners)>),
    /// [`Event::Mark`].
    Mark(Moment, String),
}

impl EventBuf {
    /// A copy of an event.
    pub fn of(event: &Event<'_>) -> Self {
        match *event {
            Event::Host(host) => Self::Host(host.clone()),
            Event::SurveyBegin { at, wall_us } => Self::SurveyBegin(at, wall_us),
            Event::Run(run) => Self::Run(run.to_vec()),
            Event::SurveyEnd { at, report } => Self::SurveyEnd(at, report.clone()),
            Event::Probe { at, target, answers } => Self::Probe(at, target, answers.to_vec()),
            Event::Counters { at, counters } => Self::Counters(at, counters),
            Event::Owners(owners) => Self::Owners(owners.to_vec()),
            Event::Mark { at, word } => Self::Mark(at, word.to_owned()),
        }
    }

    /// The event.
    pub fn event(&self) -> Event<'_> {
        match self {
            Self::Host(host) => Event::Host(host),
            Self::SurveyBegin(at, wall_us) => Event::SurveyBegin { at: *at, wall_us: *wall_us },
            Self::Run(run) => Event::Run(run),
            Self::SurveyEnd(at, report) => Event::SurveyEnd { at: *at, report },
            Self::Probe(at, target, answers) => Event::Probe { at: *at, target: *target, answers },
            Self::Counters(at, counters) => Event::Counters { at: *at, counters: *counters },
            Self::Owners(owners) => Event::Owners(owners),
            Self::Mark(at, word) => Event::Mark { at: *at, word },
        }
    }

    /// When it was, for events that know.
    pub fn at(&self) -> Option<Moment> {
        match self {
            Self::SurveyBegin(at, _)
            | Self::SurveyEnd(at, _)
            | Self::Probe(at, ..)
            | Self::Counters(at, _)
            | Self::Mark(at, _) => Some(*at),
            Self::Host(_) | Self::Run(_) | Self::Owners(_) => None,
        }
    }
}
