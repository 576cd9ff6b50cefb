//! What can go wrong on the way to traffic, in words.

use std::io;

/// A step that failed before any traffic ran: what was tried, on what, why not, and what would help.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {object}: {source}; {way_out}")]
pub struct LabError {
    /// What was tried, as a verb.
    pub operation: &'static str,
    /// What it was tried on.
    pub object: String,
    /// The system's reason.
    pub source: io::Error,
    /// What would help.
    pub way_out: &'static str,
}

impl LabError {
    pub(super) fn new(
        operation: &'static str,
        object: impl Into<String>,
        source: impl Into<io::Error>,
        way_out: &'static str,
    ) -> Self {
        Self { operation, object: object.into(), source: source.into(), way_out }
    }

    /// A description that contradicts itself.
    pub(super) fn description(object: impl Into<String>, reason: &str) -> Self {
        let source = io::Error::new(io::ErrorKind::InvalidInput, reason.to_owned());
        Self::new("use", object, source, "correct the description of the traffic")
    }
}
