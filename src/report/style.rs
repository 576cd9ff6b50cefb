//! Colour for text output. Nothing is told by colour alone.

use std::fmt::Display;

use crate::diagnose::Severity;

/// Whether to paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Never,
    /// With the terminal's own sixteen colours.
    Always,
}

impl Paint {
    /// `text` in the colour of a severity.
    pub(super) fn severity(self, severity: Severity, text: impl Display) -> String {
        let code = match severity {
            Severity::Stall => "1;31",
            Severity::Limit => "1;33",
            Severity::Note => "36",
            Severity::None => "32",
        };
        self.wrap(code, text)
    }

    /// `text` set off from the rest.
    pub(super) fn strong(self, text: impl Display) -> String {
        self.wrap("1", text)
    }

    fn wrap(self, code: &str, text: impl Display) -> String {
        match self {
            Self::Never => text.to_string(),
            Self::Always => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
