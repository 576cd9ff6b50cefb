//! The command line: arguments in, exit status out.
//!
//! **Architecture invariant:** what is decided about connections is decided elsewhere; here arguments become options, and
//! results become output and an exit status.

mod args;
mod check;
mod evidence_args;
mod from;
mod give;
mod lab;
mod live;
mod output;
mod record;
mod sink;
mod stop;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// Exit statuses of every command. Part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Watched, and found no stall.
    Clean,
    /// Found a stall.
    Stall,
    /// The command line was wrong, or a file that it names cannot be read.
    Usage,
    /// The socket table could not be looked at.
    CouldNotLook,
    /// The result could not be written.
    CouldNotWrite,
    /// Interrupted by SIGINT, after printing what was seen.
    Interrupted,
    /// Ended by SIGTERM, after printing what was seen.
    Terminated,
    /// The terminal went away (SIGHUP).
    HungUp,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Stall => 1,
            Exit::Usage => 2,
            Exit::CouldNotLook => 3,
            Exit::CouldNotWrite => 4,
            Exit::HungUp => 129,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        })
    }
}

/// Runs the program with the process's own arguments.
pub fn run() -> Exit {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Clean };
            // Nothing can be told when the place to tell it is gone.
            let _ = error.print();
            return exit;
        }
    };
    match args.command {
        None if args.from.is_empty() => live::run(&args.live),
        None => live::replay(&args.live, &args.from),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Demo(args)) => live::demo(&args),
        Some(Command::Record(args)) => record::record(&args),
        Some(Command::Snapshot(args)) => record::snapshot(&args),
        Some(Command::Export(args)) => give::export(&args),
        Some(Command::Redact(args)) => give::redact(&args),
        Some(Command::Lab(args)) => lab::run(&args),
    }
}
