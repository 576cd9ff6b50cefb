//! `--from`: what other people's files hold, judged as if it were watched.

use std::path::PathBuf;

use crate::engine::Engine;
use crate::evidence;
use crate::filter::Filter;
use crate::report::{Report, Selection};
use crate::source::file::{FileSource, SourceError};

use super::args::CheckArgs;
use super::stop::Stop;

/// Time between two close looks, µs: nothing is looked at, so it does not matter.
const NO_LOOKS_US: u64 = 10_000;

/// The FILTER that stands among the files because no `--` parts them, as a message that names the way out: the
/// arguments `before` it.
pub(super) fn stray_filter(files: &[PathBuf], before: &str) -> Option<String> {
    let at = files.iter().position(|file| file.as_os_str() != "-" && !file.exists())?;
    let words: Vec<_> = files[at..].iter().map(|file| file.to_string_lossy()).collect();
    let filter = words.join(" ");
    Filter::parse(&filter).ok().filter(|_| at > 0 || filter.contains(' '))?;
    Some(format!(
        "error: there is no file {:?}, and it reads as a FILTER\n  filter with: {before} '{filter}'",
        files[at].display()
    ))
}

/// One report for each file, in their order.
///
/// # Errors
/// One of them cannot be read, or holds no socket.
pub(super) fn reports(args: &CheckArgs, filter: &Filter, stop: &Stop) -> Result<Vec<Report>, SourceError> {
    let text = args.filter_text();
    let selection = Selection { filter, filter_text: &text, all: args.all };
    let mut reports = Vec::new();
    for path in &args.from {
        let mut source = FileSource::open(path)?;
        let mut report = report(&mut source, &selection, stop)?;
        if args.from.len() > 1 {
            report.notes.push("several files: each was read as a picture of its own".to_owned());
        }
        reports.push(report);
    }
    Ok(reports)
}

/// The report on one source.
///
/// # Errors
/// It cannot be read, or holds no socket.
pub(super) fn report(source: &mut FileSource, selection: &Selection<'_>, stop: &Stop) -> Result<Report, SourceError> {
    let mut engine = Engine::new(NO_LOOKS_US);
    evidence::read(source, &mut engine, &stop.any)?;
    let mut report = Report::of(&engine, selection);
    evidence::told(&mut report, source);
    Ok(report)
}
