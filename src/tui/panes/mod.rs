//! The panes of the drill-down: what each says, as lines of a given width. Reads only.

pub(super) mod chart;
mod ends;
mod evidence;
mod fields;
mod fix;
mod happening;
mod holds;
mod meaning;
mod process;
mod sequence;
pub(super) mod words;

use ratatui::text::Line;

use super::state::Pane;
use super::theme::Theme;
use super::view::{Detail, Head, Shown};

/// What a pane is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    /// The host's figures.
    pub(super) head: &'a Head,
    /// The connection.
    pub(super) detail: &'a Detail,
    /// The direction shown.
    pub(super) shown: &'a Shown,
    /// How it looks.
    pub(super) theme: Theme,
    /// Cells inside the pane.
    pub(super) width: usize,
    /// Lines inside the pane.
    pub(super) height: usize,
}

/// What a pane says.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// Its lines.
    pub(super) lines: Vec<Line<'static>>,
    /// Lines that stay at the bottom.
    pub(super) foot: Vec<Line<'static>>,
    /// How many entries there are, where scrolling moves a cursor through them.
    pub(super) cursor: Option<usize>,
    /// Lines above the first entry.
    pub(super) above: usize,
}

impl From<Vec<Line<'static>>> for Content {
    fn from(lines: Vec<Line<'static>>) -> Self {
        Self { lines, ..Self::default() }
    }
}

/// What that pane says; `at` is the entry under the cursor, where it has one.
pub(super) fn content(pane: Pane, context: &Context<'_>, at: usize) -> Content {
    match pane {
        Pane::Happening => happening::lines(context).into(),
        Pane::Evidence => evidence::lines(context).into(),
        Pane::Holds => holds::lines(context).into(),
        Pane::Ends => ends::content(context, at),
        Pane::Fix => fix::lines(context).into(),
        Pane::Process => process::lines(context).into(),
    }
}
