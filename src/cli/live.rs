//! The live display.

use super::Exit;
use super::args::{Color, LiveArgs};
use crate::tui::{self, ColorChoice, Ended, Options, TuiError};
use crate::watch::WatchOptions;

/// Shows this host's connections, or with `demo` those of a demonstration among them, until the user leaves.
pub(super) fn run(args: &LiveArgs, demo: bool) -> Exit {
    let options = Options {
        watch: WatchOptions { interval: args.interval, ..WatchOptions::default() },
        filter: args.filter.to_string(),
        color: match args.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        },
        ascii: args.ascii,
    };
    let ended = if demo { tui::demo(&options) } else { tui::run(&options) };
    match ended {
        Ok(Ended::Quit) => Exit::Clean,
        Ok(Ended::Signal(signal_hook::consts::SIGINT)) => Exit::Interrupted,
        Ok(Ended::Signal(_)) => Exit::Terminated,
        Err(error) => {
            eprintln!("error: {error}");
            if matches!(error, TuiError::NotATerminal) { Exit::Usage } else { Exit::CouldNotLook }
        }
    }
}
