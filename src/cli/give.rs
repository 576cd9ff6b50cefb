//! `stallscope export` and `stallscope redact`: a file for another program, or for somebody who must not see everything.
#![allow(clippy::disallowed_methods)]

use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::evidence::{self, ConvertError};
use crate::filter::Filter;
use crate::record::RedactOptions;
use crate::record::export::{Format, SsVersion};
use crate::report::{Selection, to_markdown};
use crate::source::file::FileSource;

use super::Exit;
use super::evidence_args::{ExportArgs, ExportFormat, RedactArgs};
use super::from;
use super::output::{complain, print};
use super::sink::Sink;
use super::stop::Stop;

/// Why a command failed: the message and the exit status.
type Failure = (String, Exit);

/// Runs the command.
pub(super) fn export(args: &ExportArgs) -> Exit {
    told(try_export(args))
}

/// Runs the command.
pub(super) fn redact(args: &RedactArgs) -> Exit {
    told(try_redact(args))
}

fn told(result: Result<(), Failure>) -> Exit {
    match result {
        Ok(()) => Exit::Clean,
        Err((message, exit)) => {
            complain(&format!("error: {message}"));
            exit
        }
    }
}

fn try_export(args: &ExportArgs) -> Result<(), Failure> {
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let Some(format) = rows_format(args.format) else { return markdown(&args.files, output, args.force) };
    let [file] = args.files.as_slice() else {
        let advice = "export them one at a time, or as one report with --format markdown";
        return Err(usage(format!("only a Markdown report is made of several files: {advice}")));
    };
    let mut source = open(file, output)?;
    let sink = Sink::open(output, args.force, format == Format::SsDump).map_err(usage)?;
    let result = evidence::export(&mut source, format, BufWriter::new(sink)).map(drop);
    result.or_else(|error| failure(error, output))?;
    damage(&source);
    Ok(())
}

/// The format that has a row for each socket; `None` for the report.
fn rows_format(format: ExportFormat) -> Option<Format> {
    match format {
        ExportFormat::Json => Some(Format::Json),
        ExportFormat::Csv => Some(Format::Csv),
        ExportFormat::SsDump => Some(Format::SsDump),
        ExportFormat::SsText => Some(Format::SsText(SsVersion::V7_1)),
        ExportFormat::Markdown => None,
    }
}

fn markdown(files: &[PathBuf], output: &Path, force: bool) -> Result<(), Failure> {
    files.iter().try_for_each(|file| not_itself(file, output))?;
    let stop = Stop::install();
    let selection = Selection { filter: &Filter::default(), filter_text: "", all: false };
    let report = from::together(files, &selection, &stop).map_err(|error| (error.to_string(), Exit::Usage))?;
    let mut sink = Sink::open(output, force, false).map_err(usage)?;
    let result = sink.write_all(to_markdown(&report).as_bytes());
    result.or_else(|error| failure(error.into(), output))
}

fn try_redact(args: &RedactArgs) -> Result<(), Failure> {
    let mut source = open(&args.file, &args.output)?;
    let sink = Sink::open(&args.output, args.force, true).map_err(usage)?;
    let options = RedactOptions { keep_ports: args.keep_ports, keep_names: args.keep_names };
    let replaced = match evidence::redact(&mut source, options, sink) {
        Ok(replaced) => replaced,
        Err(error) => return failure(error, &args.output),
    };
    damage(&source);
    let words: Vec<_> = replaced.iter().map(|(kind, count)| format!("{kind}: {count}\n")).collect();
    let words = if words.is_empty() { "nothing\n".to_owned() } else { words.concat() };
    let text = format!("replaced in {}\n{words}", args.output.display());
    if args.output.as_os_str() == "-" {
        complain(&text);
        return Ok(());
    }
    print(&text).map_err(|error| (format!("writing to standard output failed: {error}"), Exit::CouldNotWrite))
}

fn usage(message: String) -> Failure {
    (message, Exit::Usage)
}

/// Opens the source, unless it is what would be written over.
fn open(file: &Path, output: &Path) -> Result<FileSource, Failure> {
    not_itself(file, output)?;
    FileSource::open(file).map_err(|error| usage(error.to_string()))
}

/// Refuses to write over what is read.
fn not_itself(file: &Path, output: &Path) -> Result<(), Failure> {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    if output.as_os_str() != "-" && identity(file).is_some_and(|this| identity(output) == Some(this)) {
        return Err(usage(format!("{} would be written over itself: name another file with -o", file.display())));
    }
    Ok(())
}

/// A reader that went away is no failure.
fn failure(error: ConvertError, output: &Path) -> Result<(), Failure> {
    match error {
        ConvertError::Read(error) => Err(usage(error.to_string())),
        ConvertError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ConvertError::Write(error) => {
            Err((format!("writing {} failed: {error}", output.display()), Exit::CouldNotWrite))
        }
    }
}

/// Says what of the source was not readable.
fn damage(source: &FileSource) {
    for note in source.notes() {
        complain(&format!("note: {}: {note}", source.name()));
    }
}
