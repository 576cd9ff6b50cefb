//! What can happen to the state, and what it asks for in return.

use std::sync::Arc;
use std::time::Duration;

use ratatui::layout::Rect;

use crate::filter::Filter;
use crate::model::ConnectionId;

use super::columns::Column;
use super::replay::aim::Aim;
use super::state::Pane;
use super::view::{Detail, View};

/// What a key of the table means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave the program.
    Quit,
    /// Stop the program like any job (`fg` resumes it).
    Suspend,
    /// Draw everything anew.
    Repaint,
    /// Show or leave the help.
    Help,
    /// Show or leave the notes.
    Notes,
    /// One screen back; in the overview, show everything again.
    Back,
    /// Drill down; in a list, choose.
    Enter,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first line.
    Top,
    /// To the last line.
    Bottom,
    /// The next pane.
    NextPane,
    /// The pane before.
    PreviousPane,
    /// That pane, counted from 1.
    Pane(u8),
    /// The other direction of the connection.
    OtherDirection,
    /// Open the filter prompt.
    Filter,
    /// Sort by the next column.
    SortNext,
    /// Turn the order round.
    SortReverse,
    /// Choose columns.
    Columns,
    /// Stop and resume the display; in a list, tick.
    Freeze,
    /// Survey more often.
    Faster,
    /// Survey less often.
    Slower,
    /// Copy the finding.
    Copy,
    /// Write the finding to a file.
    Write,
    /// Begin or end a recording.
    Record,
    /// Record for a second.
    Snapshot,
    /// Open the prompt for a mark.
    Mark,
    /// Move through recorded time.
    Replay(Control),
    /// Open the prompt for a time.
    GoTo,
}

/// A move through recorded time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Let time pass, or stop it.
    PlayPause,
    /// To the survey or probe before.
    StepBack,
    /// To the next survey or probe.
    StepOn,
    /// To the change of a verdict, or the mark, before.
    PreviousChange,
    /// To the next change of a verdict, or mark.
    NextChange,
    /// To the first moment.
    Start,
    /// To the last moment.
    End,
    /// Slower.
    Slower,
    /// Faster.
    Faster,
    /// To that moment.
    To(Aim),
}

/// What the user asks of recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// Begin one, or end the one in progress.
    Toggle,
    /// Make one of a second.
    Snapshot,
    /// Set a mark with this word.
    Mark(String),
}

/// An edit of the prompt's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A character typed.
    Insert(char),
    /// The character before the cursor goes.
    Backspace,
    /// The character under the cursor goes.
    Delete,
    /// The word before the cursor goes.
    DeleteWord,
    /// Everything goes.
    Clear,
    /// One to the left.
    Left,
    /// One to the right.
    Right,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// The filter used before.
    Older,
    /// The filter used after.
    Newer,
    /// Use it.
    Submit,
    /// Leave everything as it was.
    Cancel,
}

/// Where drawing put things: what a click and a page mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// The rows of the overview's table.
    pub table: Rect,
    /// The columns of its head: which, first cell, cells.
    pub columns: Vec<(Column, u16, u16)>,
    /// The panes on screen.
    pub panes: Vec<(Pane, Rect)>,
    /// Lines that a page has on this screen.
    pub page: usize,
    /// The furthest that the focused text can be scrolled.
    pub furthest: usize,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Message {
    /// A key of the table.
    Do(Action),
    /// A key in the prompt.
    Prompt(Edit),
    /// Text pasted into the prompt.
    Paste(String),
    /// The left button went down at that cell.
    Click {
        /// Cells from the left.
        x: u16,
        /// Cells from the top.
        y: u16,
    },
    /// The wheel turned by so many notches, down if positive.
    Wheel(i8),
    /// The producer published.
    View(Arc<View>),
    /// A frame was drawn.
    Drawn(Drawn),
    /// An effect went well.
    Done(String),
    /// An effect failed.
    Failed(String),
}

/// Something that the outside is asked to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Leave the program.
    Quit,
    /// Stop the program.
    Suspend,
    /// Draw everything anew.
    Repaint,
    /// Give every detail of that connection.
    Select {
        /// Which.
        id: Option<ConnectionId>,
        /// Whether the user chose it: then it is probed whatever it does. The first row alone is no choice.
        probe: bool,
    },
    /// Show only what passes.
    Filter(Filter, String),
    /// Survey that often.
    Period(Duration),
    /// Put the finding on the clipboard: the connection and which of its directions.
    Copy(Arc<Detail>, usize),
    /// Write the finding to a file.
    Write(Arc<Detail>, usize),
    /// Move through recorded time.
    Control(Control),
    /// Begin, end or mark a recording.
    Take(Take),
}
