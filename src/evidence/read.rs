//! Reading files as if they were watched.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::Engine;
use crate::report::Report;
use crate::source::file::{FileSource, Picture, SourceError};

/// Feeds everything that the source holds to the engine, or as much as there is until `stop` is set.
///
/// # Errors
/// The file cannot be read further, or holds no socket.
pub fn read(source: &mut FileSource, engine: &mut Engine, stop: &AtomicBool) -> Result<(), SourceError> {
    while !stop.load(Ordering::Relaxed) && source.next(&mut |event| engine.feed(event))? {}
    Ok(())
}

/// Adds to the report what it was read from, what that cannot tell, and what was damaged.
pub fn told(report: &mut Report, source: &FileSource) {
    let provenance = source.provenance();
    let origin = format!("read from {}, {}", source.name(), provenance.kind.name());
    report.came_from(&origin, &[provenance.limits()], source.notes());
}

/// Feeds everything that several files hold to the engine, in the order of time, or as much as there is until `stop` is set.
///
/// # Errors
/// A file cannot be read further.
pub fn read_together(picture: &mut Picture, engine: &mut Engine, stop: &AtomicBool) -> Result<(), SourceError> {
    engine.relate(picture.clocks());
    while !stop.load(Ordering::Relaxed) && picture.unit(&mut |host, event| engine.feed_from(host, *event))?.is_some() {}
    Ok(())
}

/// Adds to the report which files and hosts it is about, what those cannot tell, and what was damaged.
pub fn told_together(report: &mut Report, picture: &Picture, engine: &Engine) {
    let files = || picture.sources().map(|source| source.name().to_owned());
    let origin = format!("read as one picture from {}", files().collect::<Vec<_>>().join(", "));
    let limits: Vec<_> = picture.sources().map(|source| source.provenance().limits()).collect();
    report.came_from(&origin, &limits, picture.notes());
    report.tell_hosts(engine, files());
}
