//! Writing to standard output.
#![allow(clippy::disallowed_methods)]

use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::report::Paint;

use super::args::Color;

/// Whether to paint what goes to standard output. `NO_COLOR` is honoured when not empty (no-color.org).
pub(super) fn paint(color: Color) -> Paint {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let wanted = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => io::stdout().is_terminal() && !no_color,
    };
    if wanted { Paint::Always } else { Paint::Never }
}

/// Writes all of it. A reader that went away is no error: nobody is left to be told.
///
/// # Errors
/// Anything else, such as a full disk.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Tells a person what went wrong.
pub(super) fn complain(message: &str) {
    // When standard error is gone too, there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{}", message.trim_end());
}
