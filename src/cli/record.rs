//! `stallscope record` and `stallscope snapshot`: what this host's kernel says, into a file.
#![allow(clippy::disallowed_methods)]

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::evidence::{Progress, TakeError, TakeOptions, take};
use crate::filter::Filter;
use crate::record::default_name;
use crate::source::{self, LiveOptions};
use crate::watch::WatchOptions;

use super::Exit;
use super::args::parse_filter;
use super::evidence_args::{RecordArgs, SnapshotArgs};
use super::output::{complain, print};
use super::sink::{Sink, size};
use super::stop::Stop;

/// How long a snapshot looks closely.
const SNAPSHOT: Duration = Duration::from_secs(1);

/// What is recorded, and where to.
struct Wanted<'a> {
    output: Option<&'a Path>,
    force: bool,
    duration: Option<Duration>,
    interval: Duration,
    filter: &'a [String],
}

/// Records until the time is up or somebody says stop.
pub(super) fn record(args: &RecordArgs) -> Exit {
    run(&Wanted {
        output: args.output.as_deref(),
        force: args.force,
        duration: args.duration,
        interval: args.interval,
        filter: &args.filter,
    })
}

/// Records one survey, a second of close looks, and a survey to measure growth by.
pub(super) fn snapshot(args: &SnapshotArgs) -> Exit {
    run(&Wanted {
        output: args.output.as_deref(),
        force: args.force,
        duration: Some(SNAPSHOT),
        interval: SNAPSHOT * 2,
        filter: &args.filter,
    })
}

fn run(wanted: &Wanted<'_>) -> Exit {
    let filter = match parse_filter(&wanted.filter.join(" ")) {
        Ok(filter) => filter,
        Err(message) => return refused(&message),
    };
    // Before the file is made: a signal from then on must leave it whole.
    let stop = Stop::install_with_hang_up();
    let path = wanted.output.map_or_else(default_path, Path::to_owned);
    let sink = match Sink::open(&path, wanted.force, true) {
        Ok(sink) => sink,
        Err(message) => return refused(&format!("error: {message}")),
    };
    let mut line = ProgressLine::new(&path, wanted.duration);
    let result = take(&options(wanted, filter), sink, &stop.any, &mut |progress| line.draw(progress));
    line.end();
    match result {
        Ok(progress) => told(&path, &progress),
        // Nobody reads any more: the recording is over.
        Err(TakeError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Clean,
        Err(error) => {
            let error = match error {
                TakeError::Look(error) => error.to_string(),
                TakeError::Write(error) => format!(
                    "writing {} failed: {error}; what was written before can be read: make room, or record elsewhere with -o",
                    path.display()
                ),
            };
            complain(&format!("error: {error}"));
            Exit::CouldNotLook
        }
    }
}

fn refused(message: &str) -> Exit {
    complain(message);
    Exit::Usage
}

fn options(wanted: &Wanted<'_>, filter: Filter) -> TakeOptions {
    let live = LiveOptions { bytecode: filter.bytecode(), ..LiveOptions::default() };
    let watch = WatchOptions { live, interval: wanted.interval, ..WatchOptions::default() };
    TakeOptions { watch, duration: wanted.duration, filter }
}

fn default_path() -> PathBuf {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let wall_us = wall.and_then(|wall| i64::try_from(wall.as_micros()).ok()).unwrap_or(0);
    PathBuf::from(default_name(&source::host().hostname, wall_us))
}

/// The last word, unless standard output is the recording.
fn told(path: &Path, progress: &Progress) -> Exit {
    if path.as_os_str() == "-" {
        return Exit::Clean;
    }
    let text = format!("{}: {}\n", path.display(), words(progress));
    // The recording is whole, whether or not anybody hears of it.
    let _ = print(&text);
    Exit::Clean
}

fn words(progress: &Progress) -> String {
    let stretched = progress.stretched.map_or_else(String::new, |period| {
        format!(", a survey only every {:.1} s because surveys take long", period.as_secs_f64())
    });
    format!(
        "{:.1} s, {} surveys, {} probes, {} connections, {} odd, {}{stretched}",
        progress.watched.as_secs_f64(),
        progress.surveys,
        progress.probes,
        progress.connections,
        progress.odd,
        size(progress.written),
    )
}

/// How far it is, on one line of a terminal.
struct ProgressLine {
    shown: bool,
    what: String,
}

impl ProgressLine {
    fn new(path: &Path, duration: Option<Duration>) -> Self {
        let until = duration
            .map_or_else(|| "until Ctrl-C".to_owned(), |time| format!("for {}", humantime::format_duration(time)));
        Self { shown: io::stderr().is_terminal(), what: format!("recording to {} {until}", path.display()) }
    }

    fn draw(&mut self, progress: &Progress) {
        if self.shown {
            // A terminal that went away sends a signal; nothing else is lost.
            let _ = write!(io::stderr(), "\r{}: {}\x1b[K", self.what, words(progress));
        }
    }

    fn end(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
