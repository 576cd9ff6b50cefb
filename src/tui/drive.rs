//! What brings an engine forward: the seam between the display and the live kernel or a file.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::Engine;
use crate::filter::Filter;
use crate::model::Owners;
use crate::wire::HostId;

use super::message::{Control, Take};
use super::view::{Playback, Recording, Said};

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// Nothing that the display shows at once.
    Waited,
    /// Something to show, in the rows as they are.
    Moved,
    /// A survey ended.
    Surveyed,
    /// The engine is another one: everything is built anew.
    Rewound,
}

/// Something that brings an engine forward.
pub trait Drive: Send {
    /// The engine.
    fn engine(&mut self) -> &mut Engine;

    /// Does what is due, and does not wait for more.
    ///
    /// # Errors
    /// What could not be looked at, in words. Earlier data stay, and stepping may go on.
    fn step(&mut self) -> Result<Stepped, String>;

    /// How long nothing is due, as of the latest step.
    fn rest(&mut self) -> Duration;

    /// The survey period in force.
    fn period(&self) -> Duration;

    /// Whether that is longer than was asked for, because surveys take long.
    fn is_stretched(&self) -> bool {
        false
    }

    /// Asks for another survey period.
    fn set_period(&mut self, period: Duration);

    /// Whether the sockets' holders can be looked up on this host.
    fn names_are_here(&self) -> bool;

    /// Takes holders that were looked up on this host.
    fn learn(&mut self, found: &[(u32, Owners)]);

    /// The holders that the source named since this was last asked.
    fn named(&mut self) -> Vec<((HostId, u32), Owners)> {
        Vec::new()
    }

    /// Moves through recorded time. The live kernel has none.
    fn control(&mut self, _control: Control) {}

    /// Begins or ends a recording of what `filter` passes, or sets a mark in it. A recording cannot be recorded.
    fn take(&mut self, _take: &Take, _filter: &Filter) {}

    /// Where a replay stands; `None` for the live kernel.
    fn playback(&self) -> Option<Arc<Playback>> {
        None
    }

    /// The recording in progress.
    fn recording(&self) -> Option<Recording> {
        None
    }

    /// What there is to tell since this was last asked.
    fn said(&mut self) -> Option<Said> {
        None
    }
}
