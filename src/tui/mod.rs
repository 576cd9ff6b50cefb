//! The live display: all connections with the stalls first, and for each the proof.
//!
//! A producer's thread owns the source and the engine and publishes immutable `view::View`s. The display's thread turns
//! keys into `message::Message`s through the one table of `keys`, `update::update` changes the `state::State` and
//! answers with effects, and `draw::draw` makes a frame from the state.
//!
//! **Architecture invariant:** `update` and everything it calls is pure; `draw` and the panes read only; `app`, `terminal`,
//! `worker`, `live`, `recorder`, `replay` and `handout` alone touch the system.

mod app;
mod build;
mod columns;
mod detail;
mod draw;
mod drive;
mod handout;
mod keys;
mod live;
mod message;
mod order;
mod panes;
mod prompt;
mod recorder;
mod replay;
mod state;
mod terminal;
mod text;
mod theme;
mod update;
mod view;
mod worker;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use crate::source::LookError;
use crate::watch::{Watch, WatchOptions};

pub use app::Ended;
pub use replay::OpenError;
pub use theme::ColorChoice;

use drive::Drive;
use live::Live;
use replay::Replay;
use theme::Theme;

/// How to show.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How to watch.
    pub watch: WatchOptions,
    /// The filter to begin with, in the filter language; it must parse.
    pub filter: String,
    /// What colours are used.
    pub color: ColorChoice,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
}

/// Why there is no display.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Input or output is not a terminal.
    #[error(
        "the display needs a terminal, and standard input or output is none\n  `stallscope check` prints a report instead"
    )]
    NotATerminal,
    /// The sockets cannot be looked at.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The file cannot be replayed.
    #[error(transparent)]
    File(#[from] OpenError),
    /// The terminal failed.
    #[error("drawing on the terminal: {0}\n  `stallscope check` prints a report instead")]
    Terminal(#[from] io::Error),
}

/// Whether standard input and output are a terminal.
pub fn has_terminal() -> bool {
    terminal::Screen::is_there()
}

/// Shows this host's connections until the user leaves.
///
/// # Errors
/// There is no terminal, it fails, or the kernel refuses to be looked at.
pub fn run(options: &Options) -> Result<Ended, TuiError> {
    if !has_terminal() {
        return Err(TuiError::NotATerminal);
    }
    let watch = Watch::start(options.watch.clone(), &mut |_| {})?;
    show(Box::new(Live::new(watch, PathBuf::new())), options)
}

/// Shows what files hold, several as one picture, with its time under control, until the user leaves.
///
/// # Errors
/// There is no terminal, it fails, or the file cannot be replayed.
pub fn replay(paths: &[PathBuf], options: &Options) -> Result<Ended, TuiError> {
    if !has_terminal() {
        return Err(TuiError::NotATerminal);
    }
    show(Box::new(Replay::open(paths)?), options)
}

/// Shows whatever drives an engine: the live kernel, or a recording.
#[allow(clippy::disallowed_methods)]
fn show(drive: Box<dyn Drive>, options: &Options) -> Result<Ended, TuiError> {
    let var = |name: &str| std::env::var(name).ok();
    let theme = Theme::of_environment(options.color, options.ascii, &var);
    let period = options.watch.interval;
    Ok(app::run(drive, theme, &options.filter, period)?)
}
