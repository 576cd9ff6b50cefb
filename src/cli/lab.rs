//! `stallscope lab`: the stall and each of its cures on this kernel, measured and judged.
#![allow(clippy::disallowed_methods)]

use std::io::{self, IsTerminal, Write};

use crate::lab::{Mode, Sizes};
use crate::report::{Charset, trials_to_csv, trials_to_json, trials_to_text, unexpected};
use crate::trial::{self, Plan, Results};

use super::Exit;
use super::args::{LabArgs, LabFormat};
use super::output::{complain, paint, print};
use super::stop::Stop;

/// Runs the command.
pub(super) fn run(args: &LabArgs) -> Exit {
    let stop = Stop::install();
    let mut progress = Progress::new();
    let results =
        trial::run(&plan(args), &stop.any, &mut |mode, requests| progress.show(mode, requests, args.requests));
    progress.clear();
    let results = match results {
        Ok(results) => results,
        Err(error) => {
            complain(&format!("error: {error}"));
            return Exit::CouldNotLook;
        }
    };
    if let Err(message) = write(args, &results) {
        complain(&format!("error: writing the results to standard output: {message}"));
        return Exit::CouldNotLook;
    }
    stop.exit().unwrap_or(Exit::Clean)
}

fn plan(args: &LabArgs) -> Plan {
    let all = Mode::ALL.into_iter();
    let asked = |mode: &Mode| {
        // One name for both rows of tiny writes.
        let name = if *mode == Mode::TinyWritesNoDelay { Mode::TinyWrites } else { *mode };
        args.modes.is_empty() || args.modes.contains(&name)
    };
    Plan {
        modes: all.filter(asked).collect(),
        sizes: Sizes {
            request: args.request.0.clone(),
            reply: args.reply.0.clone(),
            think: args.think,
            requests: args.requests,
        },
    }
}

fn write(args: &LabArgs, results: &Results) -> Result<(), String> {
    let text = match args.format {
        LabFormat::Text => trials_to_text(results, paint(args.color), charset()),
        LabFormat::Json => trials_to_json(results).map_err(|error| error.to_string())?,
        LabFormat::Csv => trials_to_csv(results),
    };
    if args.format != LabFormat::Text {
        tell_apart(results);
    }
    print(&text).map_err(|error| error.to_string())
}

/// What has no place in the formats for programs.
fn tell_apart(results: &Results) {
    for row in &results.rows {
        for reason in &row.reasons {
            complain(&format!("{} {}: {reason}", row.mode.name(), unexpected(row)));
        }
        for error in &row.errors {
            complain(&format!("{}: {error}", row.mode.name()));
        }
    }
}

/// What the locale can show, by the first of the variables that is set (`locale(7)`).
fn charset() -> Charset {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
    let locale = set.into_iter().find(|value| !value.is_empty()).unwrap_or_default().to_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { Charset::Unicode } else { Charset::Ascii }
}

/// One line on standard error that says how far it is, where somebody can see it.
struct Progress {
    terminal: bool,
    shown: String,
}

impl Progress {
    fn new() -> Self {
        Self { terminal: io::stderr().is_terminal(), shown: String::new() }
    }

    fn show(&mut self, mode: Mode, requests: u64, of: u64) {
        let line = if mode.is_tiny() { mode.name().to_owned() } else { format!("{} {requests}/{of}", mode.name()) };
        if self.terminal && line != self.shown {
            // A terminal that went away needs no progress.
            let _ = write!(io::stderr(), "\r\x1b[K{line}");
            self.shown = line;
        }
    }

    fn clear(&mut self) {
        if !self.shown.is_empty() {
            let _ = write!(io::stderr(), "\r\x1b[K");
            self.shown.clear();
        }
    }
}
