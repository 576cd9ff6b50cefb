//! The live display, over this host's connections or over those of a demonstration.

use std::path::PathBuf;
use std::time::Duration;

use super::Exit;
use super::args::{Color, LiveArgs, parse_filter};
use super::from;
use super::output::complain;
use crate::lab::{self, LabError, Places, Running, Stop};
use crate::tui::{self, ColorChoice, Ended, Options, TuiError};
use crate::watch::WatchOptions;

/// Nobody looks at a demonstration for longer than a day.
const DEMO_LIMIT: Duration = Duration::from_secs(86_400);

/// Shows this host's connections until the user leaves.
pub(super) fn run(args: &LiveArgs) -> Exit {
    if let Err(message) = parse_filter(&args.filter) {
        complain(&message);
        return Exit::Usage;
    }
    told(tui::run(&options(args)))
}

/// Replays what a file holds until the user leaves.
pub(super) fn replay(args: &LiveArgs, files: &[PathBuf]) -> Exit {
    if let Some(message) = from::stray_filter(files, "stallscope --from FILE --filter") {
        complain(&message);
        return Exit::Usage;
    }
    if let Err(message) = parse_filter(&args.filter) {
        complain(&message);
        return Exit::Usage;
    }
    told(tui::replay(files, &options(args)))
}

/// Makes a real stall on loopback, with a healthy connection and others beside it, and shows this host's connections.
pub(super) fn demo(args: &LiveArgs) -> Exit {
    if !tui::has_terminal() {
        return told(Err(TuiError::NotATerminal));
    }
    let stop = Stop::after(DEMO_LIMIT);
    let start = |traffic: &lab::Traffic| lab::start(traffic, Places::loopback(traffic.family), None, &stop);
    let running: Result<Vec<Running>, LabError> = lab::demo().iter().map(start).collect();
    let running = match running {
        Ok(running) => running,
        Err(error) => {
            stop.set();
            eprintln!("error: making the demonstration's traffic on loopback: {error}");
            return Exit::CouldNotLook;
        }
    };
    let exit = run(args);
    stop.set();
    for traffic in running {
        // What the clients measured is not wanted here.
        let _ = traffic.stop();
    }
    exit
}

fn options(args: &LiveArgs) -> Options {
    Options {
        watch: WatchOptions { interval: args.interval, ..WatchOptions::default() },
        filter: args.filter.clone(),
        color: match args.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        },
        ascii: args.ascii,
    }
}

fn told(ended: Result<Ended, TuiError>) -> Exit {
    match ended {
        Ok(Ended::Quit) => Exit::Clean,
        Ok(Ended::Signal(signal_hook::consts::SIGINT)) => Exit::Interrupted,
        Ok(Ended::Signal(signal_hook::consts::SIGHUP)) => Exit::HungUp,
        Ok(Ended::Signal(_)) => Exit::Terminated,
        Err(error) => {
            eprintln!("error: {error}");
            if matches!(error, TuiError::NotATerminal | TuiError::File(_)) { Exit::Usage } else { Exit::CouldNotLook }
        }
    }
}
