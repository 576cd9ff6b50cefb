//! Everything that the screen shows and the keys change.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{ConnectionId, Moment};

use super::columns::Column;
use super::message::Drawn;
use super::order::{Sort, order};
use super::prompt::Prompt;
use super::view::{Detail, Row, Shown, View};

/// A page of the drill-down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    /// The latest hold as a sequence drawing.
    Happening,
    /// The facts.
    Evidence,
    /// Charts and figures.
    Holds,
    /// Every field of both sockets.
    Ends,
    /// What to change.
    Fix,
    /// Who holds the sockets.
    Process,
}

impl Pane {
    /// Every pane, in the order of their digits.
    pub const ALL: [Self; 6] = [Self::Happening, Self::Evidence, Self::Holds, Self::Ends, Self::Fix, Self::Process];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Happening => "What is happening",
            Self::Evidence => "Evidence",
            Self::Holds => "Holds",
            Self::Ends => "Ends",
            Self::Fix => "Fix",
            Self::Process => "Process",
        }
    }

    /// The pane so many steps on, round the end.
    #[must_use]
    pub fn step(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

/// The two screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// All connections.
    #[default]
    Overview,
    /// One connection.
    Detail,
}

/// What can lie over a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// Keys, signs and the filter's fields.
    Help,
    /// What went wrong while looking.
    Notes,
    /// The choice of columns.
    Columns,
}

/// Where what is shown comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The kernel of this host.
    #[default]
    Live,
    /// A file, through which time can be moved.
    Replay,
}

/// How an effect went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What to say.
    pub text: String,
    /// Whether it went wrong.
    pub failed: bool,
}

/// The state.
#[derive(Clone, Debug)]
pub struct State {
    /// Where what is shown comes from.
    pub mode: Mode,
    /// What is shown.
    pub view: Arc<View>,
    /// What was published last; another one than `view` while the display is frozen.
    pub latest: Arc<View>,
    /// Since when the display is frozen.
    pub frozen: Option<Moment>,
    /// The screen.
    pub screen: Screen,
    /// What lies over it.
    pub overlay: Option<Overlay>,
    /// The prompt, when open.
    pub prompt: Option<Prompt>,
    /// Filters used.
    pub history: Vec<String>,
    /// The order of the table.
    pub sort: Sort,
    /// The columns wanted.
    pub columns: Vec<Column>,
    /// Places in `view.rows`, in the order shown.
    pub order: Vec<u32>,
    /// The connection chosen; `None` follows the first row.
    pub chosen: Option<ConnectionId>,
    /// The first row on screen.
    pub top: usize,
    /// The focused pane.
    pub pane: Pane,
    /// Lines scrolled in each pane; in `Ends` the entry that is explained.
    pub scrolled: [usize; 6],
    /// Lines scrolled in the overlay, or its chosen entry.
    pub overlay_at: usize,
    /// Which of the connection's directions is shown.
    pub direction: usize,
    /// How the latest effect went, until the next key.
    pub notice: Option<Notice>,
    /// What the latest frame looked like.
    pub drawn: Drawn,
    /// Survey period asked for.
    pub period: Duration,
    /// The connection whose detail was asked for last, and whether it was chosen.
    pub(super) asked: (Option<ConnectionId>, bool),
    /// How many things the producer had told when it was last listened to.
    pub(super) heard: u64,
    ordered: Option<(u64, Sort)>,
}

impl State {
    /// The state before anything was seen, with the survey period asked for.
    pub fn new(period: Duration, filter: &str) -> Self {
        let history = if filter.is_empty() { Vec::new() } else { vec![filter.to_owned()] };
        Self {
            mode: Mode::Live,
            view: Arc::default(),
            latest: Arc::default(),
            frozen: None,
            screen: Screen::Overview,
            overlay: None,
            prompt: None,
            history,
            sort: Sort::default(),
            columns: Column::ALL.to_vec(),
            order: Vec::new(),
            chosen: None,
            top: 0,
            pane: Pane::Happening,
            scrolled: [0; 6],
            overlay_at: 0,
            direction: 0,
            notice: None,
            drawn: Drawn { page: 1, ..Drawn::default() },
            period,
            asked: (None, false),
            heard: 0,
            ordered: None,
        }
    }

    /// The row at a place of the order shown.
    pub fn row(&self, place: usize) -> Option<&Row> {
        self.view.rows.get(*self.order.get(place)? as usize)
    }

    /// The place of the selected row in the order shown.
    pub fn place(&self) -> Option<usize> {
        match self.chosen {
            Some(id) => (0..self.order.len()).find(|place| self.row(*place).is_some_and(|row| row.id == id)),
            None => (!self.order.is_empty()).then_some(0),
        }
    }

    /// The selected connection.
    pub fn selected(&self) -> Option<ConnectionId> {
        self.chosen.or_else(|| self.row(0).map(|row| row.id))
    }

    /// Everything known about the selected connection, once it was published.
    pub fn detail(&self) -> Option<&Arc<Detail>> {
        let selected = self.selected()?;
        let of = |view: &'_ Arc<View>| view.detail.as_ref().is_some_and(|detail| detail.id == selected);
        let view = if of(&self.view) { &self.view } else { &self.latest };
        view.detail.as_ref().filter(|detail| detail.id == selected)
    }

    /// The direction shown of the selected connection.
    pub fn shown(&self) -> Option<&Shown> {
        let detail = self.detail()?;
        detail.directions.get(self.direction).or_else(|| detail.directions.first())
    }

    /// Brings the order up to date; rows are ordered anew only when their set, the survey or the sorting changed.
    pub(super) fn reorder(&mut self) {
        let wanted = (self.view.generation, self.sort);
        if self.ordered == Some(wanted) {
            return;
        }
        let before = self.place().map(|place| place.saturating_sub(self.top));
        self.order = order(&self.view.rows, &self.view.names, self.sort);
        self.ordered = Some(wanted);
        // The chosen row stays at its line of the screen.
        if let (Some(line), Some(place), Some(_)) = (before, self.place(), self.chosen) {
            self.top = place.saturating_sub(line);
        }
        self.keep_in_sight();
    }

    /// Scrolls no further than it must so that the selected row is on screen.
    pub(super) fn keep_in_sight(&mut self) {
        let height = usize::from(self.drawn.table.height).max(1);
        self.top = self.top.min(self.order.len().saturating_sub(height));
        if let Some(place) = self.place() {
            self.top = self.top.clamp((place + 1).saturating_sub(height), place);
        }
    }
}
