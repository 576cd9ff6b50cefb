//! `--from`: what other people's files hold, judged as if it were watched.

use std::path::PathBuf;

use crate::engine::Engine;
use crate::evidence;
use crate::filter::Filter;
use crate::report::{Report, Selection};
use crate::source::file::{FileSource, Picture, SourceError};

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

/// The report on one file, or on the one picture that several make.
///
/// # Errors
/// One of them cannot be read, or holds no socket.
pub(super) fn reported(args: &CheckArgs, filter: &Filter, stop: &Stop) -> Result<Report, SourceError> {
    let text = args.filter_text();
    let selection = Selection { filter, filter_text: &text, all: args.all };
    together(&args.from, &selection, stop)
}

/// The same, of these files.
///
/// # Errors
/// One of them cannot be read, or holds no socket.
pub(super) fn together(files: &[PathBuf], selection: &Selection<'_>, stop: &Stop) -> Result<Report, SourceError> {
    if let [file] = files {
        return report(&mut FileSource::open(file)?, selection, stop);
    }
    let mut picture = Picture::open(files)?;
    let mut engine = Engine::new(NO_LOOKS_US);
    evidence::read_together(&mut picture, &mut engine, &stop.any)?;
    let mut report = Report::of(&engine, selection);
    evidence::told_together(&mut report, &picture, &engine);
    Ok(report)
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
