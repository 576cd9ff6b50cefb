//! The arguments of the commands that make and give evidence.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::args::positive;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 recorded, also when ended by a signal; 2 wrong usage; 3 could not look at the sockets, or \
could not write: what was written before that opens still.

A connection that matches FILTER once is recorded from then on, both ends. See docs/evidence.md."
)]
pub(super) struct RecordArgs {
    /// The file; `-` is standard output. Else stallscope-HOST-TIME.ssrec in this directory
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// How long to record; else until it is interrupted
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(super) duration: Option<Duration>,
    /// Survey period
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = positive)]
    pub(super) interval: Duration,
    /// Overwrite the file
    #[arg(long)]
    pub(super) force: bool,
    /// Which connections to record: those of which either end matches
    #[arg(value_name = "FILTER")]
    pub(super) filter: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct SnapshotArgs {
    /// The file; `-` is standard output. Else stallscope-HOST-TIME.ssrec in this directory
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    pub(super) force: bool,
    /// Which connections to record: those of which either end matches
    #[arg(value_name = "FILTER")]
    pub(super) filter: Vec<String>,
}

/// What a file is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// One JSON object a socket and survey, a line each.
    Json,
    /// One line a socket and survey, with a header.
    Csv,
    /// The report, for a ticket.
    Markdown,
    /// Netlink messages, for `TCPDIAG_FILE=FILE ss -tin`.
    SsDump,
    /// What `ss -tinmoeO` prints.
    SsText,
}

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// What to read; a lone `-` is standard input. Several make one picture, for the Markdown report
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// What to write
    #[arg(long, value_enum)]
    pub(super) format: ExportFormat,
    /// Where to; else to standard output
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,
    /// Overwrite OUT
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "What stays: kernel, settings, counters, times, every number that a diagnosis looks at, and ports up to \
1023. A recording stays a recording; what `ss -D` wrote and captures become dumps, text stays text."
)]
pub(super) struct RedactArgs {
    /// What to read; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Where to; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: PathBuf,
    /// Keep all ports
    #[arg(long)]
    pub(super) keep_ports: bool,
    /// Keep the names of processes; command lines and paths are replaced still
    #[arg(long)]
    pub(super) keep_names: bool,
    /// Overwrite OUT
    #[arg(long)]
    pub(super) force: bool,
}
