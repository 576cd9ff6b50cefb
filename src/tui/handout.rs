//! Handing a finding out: to the clipboard, or into a file.
#![allow(clippy::disallowed_methods)]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crossterm::clipboard::CopyToClipboard;

use super::view::Detail;
use crate::report::finding_to_markdown;

/// Files of one name that are tried before giving up.
const TRIES: u32 = 1_000;

/// A finding as Markdown; empty when the connection has no such direction.
pub(super) fn markdown(detail: &Detail, direction: usize) -> String {
    let shown = detail.directions.get(direction).or_else(|| detail.directions.first());
    shown.map_or_else(String::new, |shown| finding_to_markdown(&shown.finding))
}

/// Sends the text to the terminal's clipboard (OSC 52), which the terminal may ignore.
///
/// # Errors
/// The terminal is gone.
pub(super) fn copy(text: &str, out: &mut impl Write) -> io::Result<String> {
    crossterm::execute!(out, CopyToClipboard::to_clipboard_from(text))?;
    Ok(format!("copied {} B of Markdown, if the terminal allows it (OSC 52)", text.len()))
}

/// Writes the text to a new file in `folder`, for its owner only; never over another one.
///
/// # Errors
/// The file cannot be made; the message names it.
pub(super) fn write(text: &str, detail: &Detail, folder: &Path) -> io::Result<String> {
    let port = |side: usize| {
        detail.directions.first().map_or(0, |shown| {
            let ends = [&shown.finding.sender, &shown.finding.receiver];
            ends[side].port
        })
    };
    let verdict = detail.directions.first().map_or("finding", |shown| shown.finding.verdict.as_str());
    let stem = format!("stallscope-{verdict}-{}-{}", port(0), port(1));
    for n in 0..TRIES {
        let name = if n == 0 { format!("{stem}.md") } else { format!("{stem}-{}.md", n + 1) };
        match write_new(&folder.join(name), text) {
            Ok(path) => return Ok(format!("wrote {}", path.display())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{stem}.md and {TRIES} more exist already in {}", folder.display())))
}

fn write_new(path: &Path, text: &str) -> io::Result<PathBuf> {
    let told = |error: io::Error| io::Error::new(error.kind(), format!("writing {}: {error}", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(told)?;
    file.write_all(text.as_bytes()).map_err(told)?;
    Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_for_its_owner_only_and_never_written_over() {
        let folder = std::env::temp_dir().join(format!("stallscope-handout-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("finding.md");
        let written = write_new(&path, "text").unwrap();
        assert!(written.is_absolute());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = write_new(&path, "other").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert!(again.to_string().contains("finding.md"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_copy_is_one_osc_52_sequence() {
        let mut out = Vec::new();
        copy("## finding", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("\x1b]52;c;") && text.contains("IyMgZmluZGluZw=="), "{text:?}");
    }
}
