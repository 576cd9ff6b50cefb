//! From one file to another: for other programs, and without telling who took it.

use std::io::{self, Write};

use thiserror::Error;

use crate::model::Event;
use crate::record::export::{Exporter, Format, SsVersion};
use crate::record::{RedactOptions, Redactor, Writer};
use crate::source::file::{FileSource, SourceError, SourceKind};

/// Why a file was not converted.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The source cannot be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The result cannot be written.
    #[error("{0}")]
    Write(#[from] io::Error),
}

/// Gives every event to `sink`, which may fail.
fn each(source: &mut FileSource, sink: &mut dyn FnMut(&Event<'_>) -> io::Result<()>) -> Result<(), ConvertError> {
    let mut result = Ok(());
    loop {
        let more = source.next(&mut |event| {
            if result.is_ok() {
                result = sink(&event);
            }
        })?;
        std::mem::replace(&mut result, Ok(()))?;
        if !more {
            return Ok(());
        }
    }
}

/// Writes all surveys of the source in another format.
///
/// # Errors
/// The source cannot be read, or `out` not written.
pub fn export<W: Write>(source: &mut FileSource, format: Format, out: W) -> Result<W, ConvertError> {
    let mut exporter = Exporter::new(out, format)?;
    each(source, &mut |event| exporter.write(event))?;
    Ok(exporter.finish()?)
}

/// Writes the source with pseudonyms in it, in its own kind: a recording stays one, what `ss -D` wrote or a capture becomes a
/// dump, text stays text. Answers what was replaced: kinds, and how many different ones of each.
///
/// # Errors
/// The source cannot be read, or `out` not written.
pub fn redact<W: Write>(
    source: &mut FileSource,
    options: RedactOptions,
    out: W,
) -> Result<Vec<(&'static str, u64)>, ConvertError> {
    let mut redactor = Redactor::new(options);
    let format = match source.provenance().kind {
        SourceKind::Recording => None,
        SourceKind::Dump | SourceKind::Capture => Some(Format::SsDump),
        SourceKind::Text => Some(Format::SsText(SsVersion::V7_1)),
    };
    if let Some(format) = format {
        let mut exporter = Exporter::new(out, format)?.with_dates();
        each(source, &mut |event| redactor.redact(event, |event| exporter.write(&event)))?;
        exporter.finish()?.flush()?;
    } else {
        let mut writer = Writer::new(out)?;
        each(source, &mut |event| redactor.redact(event, |event| writer.write(&event)))?;
        writer.finish()?.flush()?;
    }
    Ok(redactor.replaced().collect())
}
