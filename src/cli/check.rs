//! `stallscope check`: watch for a while, report, and say by the exit status whether there was a stall.

use crate::filter::Filter;
use crate::report::{Report, Selection, to_json, to_markdown, to_text};
use crate::source::{LiveOptions, LookError};
use crate::watch::{Watch, WatchOptions};
use crate::wire::Family;

use super::Exit;
use super::args::{CheckArgs, Format};
use super::from;
use super::output::{complain, paint, print};
use super::stop::Stop;

/// Runs the command.
pub(super) fn run(args: &CheckArgs) -> Exit {
    let filter = match args.parse_filter() {
        Ok(filter) => filter,
        Err(message) => {
            complain(&message);
            return Exit::Usage;
        }
    };
    if let Some(message) = from::stray_filter(&args.from, "stallscope check --from FILE… --") {
        complain(&message);
        return Exit::Usage;
    }
    let stop = Stop::install();
    let report = if args.from.is_empty() {
        watch(args, &filter, &stop).map_err(|error| (error.to_string(), Exit::CouldNotLook))
    } else {
        from::reported(args, &filter, &stop).map_err(|error| (error.to_string(), Exit::Usage))
    };
    let report = match report {
        Ok(report) => report,
        Err((message, exit)) => {
            complain(&format!("error: {message}"));
            return exit;
        }
    };
    if let Err(message) = write(args, &report) {
        complain(&format!("error: writing the report to standard output: {message}"));
        return Exit::CouldNotWrite;
    }
    stop.exit().unwrap_or(match report.surest_stall() {
        Some(level) if level >= args.fail_on => Exit::Stall,
        _ => Exit::Clean,
    })
}

fn watch(args: &CheckArgs, filter: &Filter, stop: &Stop) -> Result<Report, LookError> {
    let mut watch = Watch::start(options(args, filter), &mut |_| {})?;
    watch.run(args.duration, &stop.any, &mut |_| {})?;
    let text = args.filter_text();
    let names_matter = filter.asks_owners();
    if names_matter {
        let inodes = watch.engine.table().entries().map(|entry| entry.socket.inode).collect();
        watch.look_up_owners(&inodes, &mut |_| {});
    }
    let selection = Selection { filter, filter_text: &text, all: args.all };
    let mut report = Report::of(&watch.engine, &selection);
    if !names_matter {
        watch.look_up_owners(&report.inodes(), &mut |_| {});
        report.name_owners(&watch.engine);
    }
    Ok(report)
}

fn options(args: &CheckArgs, filter: &Filter) -> WatchOptions {
    let families = match (args.ipv4, args.ipv6) {
        (true, _) => vec![Family::V4],
        (_, true) => vec![Family::V6],
        _ => vec![Family::V4, Family::V6],
    };
    WatchOptions {
        live: LiveOptions { families, bytecode: filter.bytecode() },
        interval: args.interval,
        probe_interval: args.probe_interval,
        probe: !args.no_probe && !args.duration.is_zero(),
    }
}

fn write(args: &CheckArgs, report: &Report) -> Result<(), String> {
    let text = match args.format {
        Format::Text => to_text(report, paint(args.color)),
        Format::Json => to_json(report).map_err(|error| error.to_string())?,
        Format::Markdown => to_markdown(report),
    };
    print(&text).map_err(|error| error.to_string())
}
