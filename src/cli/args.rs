//! The arguments, as clap reads them.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};

use super::evidence_args::{ExportArgs, RecordArgs, RedactArgs, SnapshotArgs};
use crate::diagnose::Level;
use crate::filter::Filter;
use crate::lab::Mode;

/// Shows which TCP connections wait on a kernel timer, and proves it.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) live: LiveArgs,
    /// Replay what these files hold instead of watching this host, several as one picture: recordings, what `ss -D` wrote, text
    /// of `ss -tinmoe`, nlmon captures
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "interval")]
    pub(super) from: Vec<PathBuf>,
}

/// The live display.
#[derive(Debug, clap::Args)]
pub(super) struct LiveArgs {
    /// Survey period
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = positive)]
    pub(super) interval: Duration,
    /// When to use colour
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) color: Color,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub(super) ascii: bool,
    /// Which connections to show: those of which either end matches
    #[arg(long, value_name = "FILTER", default_value = "")]
    pub(super) filter: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Watch this host's connections for a while and report what they wait for.
    Check(CheckArgs),
    /// Make the stall and each of its cures on loopback, measure them, and show what stallscope says of each.
    Lab(LabArgs),
    /// Make a real stall on loopback and show it live: the first thing to run.
    Demo(LiveArgs),
    /// Record this host's connections into a file that somebody else can look at.
    Record(RecordArgs),
    /// Record one second, with close looks at what is odd: the thing to attach to a bug report.
    Snapshot(SnapshotArgs),
    /// Write a file's surveys, or its report, in another format.
    Export(ExportArgs),
    /// Copy a file with pseudonyms for addresses, ports, hosts, users and processes.
    Redact(RedactArgs),
}

/// How to write the lab's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LabFormat {
    /// For a person, with a plot.
    Text,
    /// For a program: one object, described in docs/lab.md.
    Json,
    /// For a spreadsheet: one line for each mode.
    Csv,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Sizes are writes in bytes joined by `+`: `--request 100+70000` is a request of two writes. \
`tiny-writes` always makes 20000 one-byte writes, with Nagle and with TCP_NODELAY.

Exit status: 0 measured; 2 wrong usage; 3 could not make or look at sockets; 130 interrupted, after printing what was \
measured. See docs/lab.md.")]
pub(super) struct LabArgs {
    /// Requests of each mode
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) requests: u64,
    /// A mode to try, may be repeated [default: all]
    #[arg(long = "mode", value_name = "NAME", value_parser = mode_parser())]
    pub(super) modes: Vec<Mode>,
    /// The writes of a request, in bytes
    #[arg(long, value_name = "BYTES[+BYTES…]", default_value = "10+10", value_parser = writes)]
    pub(super) request: Writes,
    /// The writes of a reply, in bytes
    #[arg(long, value_name = "BYTES[+BYTES…]", default_value = "20", value_parser = writes)]
    pub(super) reply: Writes,
    /// Pause before each request
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = humantime::parse_duration)]
    pub(super) think: Duration,
    /// How to write the results
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: LabFormat,
    /// When to use colour
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) color: Color,
}

/// The writes of a message.
#[derive(Clone, Debug)]
pub(super) struct Writes(pub(super) Vec<usize>);

/// The largest message, in bytes: each end keeps one in memory.
const MESSAGE_MAX: usize = 64 << 20;

fn writes(text: &str) -> Result<Writes, String> {
    let size = |part: &str| match part.trim().parse() {
        Ok(0) => Err("a write needs at least one byte".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(format!("{part:?} is no number of bytes; write sizes joined by `+`, such as 10+10")),
    };
    let sizes: Vec<usize> = text.split('+').map(size).collect::<Result<_, _>>()?;
    let total = sizes.iter().fold(0, |sum: usize, bytes| sum.saturating_add(*bytes));
    if total > MESSAGE_MAX { Err("a message may have at most 64 MiB".to_owned()) } else { Ok(Writes(sizes)) }
}

fn mode_parser() -> impl TypedValueParser<Value = Mode> {
    // `tiny-writes` stands for both of its rows.
    let names = Mode::ALL.into_iter().filter(|mode| *mode != Mode::TinyWritesNoDelay);
    let values = names.map(|mode| PossibleValue::new(mode.name()).help(mode.about()));
    PossibleValuesParser::new(values).try_map(|name| Mode::named(&name).ok_or("no such mode"))
}

/// When to paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How to write the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For a person.
    Text,
    /// For a program: one object, described in docs/json.md.
    Json,
    /// For a ticket.
    Markdown,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 no stall; 1 a stall at the --fail-on level or above; 2 wrong usage, or a file \
that cannot be read; 3 could not look at the sockets; 4 could not write the report; 130 interrupted, after printing what was seen.

FILTER is the language of ss(8), extended to every field: `dport = :5432`, `notsent > 0 and unacked = 1`, `rtt > 10ms`, \
`verdict = nagle-delayed-ack`, `pid = 42`. See docs/filter.md.")]
pub(super) struct CheckArgs {
    /// Judge what these files hold instead of this host, several as one picture: recordings, what `ss -D` wrote, text of
    /// `ss -tinmoe`, nlmon captures; a lone `-` is standard input. A FILTER behind them goes behind `--`
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["duration", "interval", "probe_interval", "no_probe", "ipv4", "ipv6"])]
    pub(super) from: Vec<PathBuf>,
    /// How long to watch; 0s makes one survey and no probe
    #[arg(long = "for", value_name = "TIME", default_value = "3s", value_parser = humantime::parse_duration)]
    pub(super) duration: Duration,
    /// Survey period
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = positive)]
    pub(super) interval: Duration,
    /// Time between two close looks at one connection
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = positive)]
    pub(super) probe_interval: Duration,
    /// Survey only: no close looks, so nothing can be proven
    #[arg(long)]
    pub(super) no_probe: bool,
    /// IPv4 sockets only (v4-mapped ones are IPv6 sockets)
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub(super) ipv4: bool,
    /// IPv6 sockets only
    #[arg(short = '6', long)]
    pub(super) ipv6: bool,
    /// How to write the report
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
    /// List healthy and idle connections too
    #[arg(long)]
    pub(super) all: bool,
    /// Level from which a stall makes the exit status 1: suspected, paired or proven
    #[arg(long, value_name = "LEVEL", default_value = "paired", value_parser = level)]
    pub(super) fail_on: Level,
    /// When to use colour
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) color: Color,
    /// Which connections to show: those of which either end matches
    #[arg(value_name = "FILTER")]
    pub(super) filter: Vec<String>,
}

impl CheckArgs {
    /// The filter's text, its arguments joined as a shell would.
    pub(super) fn filter_text(&self) -> String {
        self.filter.join(" ")
    }

    /// The filter itself, or the message that says what is wrong with it.
    pub(super) fn parse_filter(&self) -> Result<Filter, String> {
        parse_filter(&self.filter_text())
    }
}

/// A filter, or the message that says what is wrong with it.
pub(super) fn parse_filter(text: &str) -> Result<Filter, String> {
    Filter::parse(text).map_err(|error| format!("error: the filter cannot be read\n\n{error}\n"))
}

pub(super) fn positive(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_millis(1) {
        return Err("must be 1ms or more".to_owned());
    }
    Ok(duration)
}

fn level(text: &str) -> Result<Level, String> {
    match text.parse() {
        Ok(level) if level != Level::Confirmed => Ok(level),
        _ => Err("expected one of suspected, paired, proven".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_filter_is_joined_and_its_error_points_at_the_column() {
        let args = Args::try_parse_from(["stallscope", "check", "dport", "=", ":80"]).unwrap();
        let Some(Command::Check(args)) = args.command else { panic!("{args:?}") };
        assert_eq!(args.filter_text(), "dport = :80");
        assert!(args.parse_filter().is_ok());
        let args = Args::try_parse_from(["stallscope", "check", "notsentt > 0"]).unwrap();
        let Some(Command::Check(args)) = args.command else { panic!("{args:?}") };
        assert!(args.parse_filter().unwrap_err().contains('^'));
    }

    #[test]
    fn sizes_are_writes_joined_by_plus() {
        assert_eq!(writes("10+70000").unwrap().0, [10, 70_000]);
        for wrong in ["", "10+", "0", "-1", "10,10", "99999999999", "18446744073709551615+1"] {
            assert!(writes(wrong).is_err(), "{wrong}");
        }
        assert!(Args::try_parse_from(["stallscope", "lab", "--mode", "nagle", "--mode", "cork"]).is_ok());
        assert!(Args::try_parse_from(["stallscope", "lab", "--mode", "nagel"]).is_err());
    }

    #[test]
    fn times_must_be_positive_and_levels_known() {
        assert!(Args::try_parse_from(["stallscope", "check", "-i", "0s"]).is_err());
        assert!(Args::try_parse_from(["stallscope", "check", "--for", "0s"]).is_ok());
        assert!(Args::try_parse_from(["stallscope", "check", "--fail-on", "sure"]).is_err());
    }
}
