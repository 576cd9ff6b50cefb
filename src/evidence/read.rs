//! Reading a file as if it were watched.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::Engine;
use crate::report::Report;
use crate::source::file::{FileSource, SourceError};

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
    report.came_from(&origin, &provenance.limits(), source.notes());
}
