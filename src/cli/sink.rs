//! Where evidence is written to: a new file of its owner's, or standard output.
#![allow(clippy::disallowed_methods)]

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

use crate::record;

/// An open file, without a buffer: what is written is on its way.
pub(super) struct Sink(File);

impl Sink {
    /// Makes the file, or takes standard output for `-`. `binary` output is not for a terminal.
    ///
    /// # Errors
    /// The file is there already and `force` is not set, the system refuses, or a terminal would get what is not text.
    pub(super) fn open(path: &Path, force: bool, binary: bool) -> Result<Self, String> {
        if path.as_os_str() != "-" {
            return record::create(path, force).map(Self).map_err(|error| error.to_string());
        }
        let stdout = io::stdout();
        if binary && stdout.is_terminal() {
            return Err(
                "this is not text, and standard output is a terminal: name a file with -o, or send it to a pipe"
                    .to_owned(),
            );
        }
        let fd = stdout.as_fd().try_clone_to_owned();
        fd.map(|fd| Self(fd.into())).map_err(|error| format!("opening standard output failed: {error}"))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Bytes as people say them.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1e3;
    let mut unit = 0;
    while value >= 1e3 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_said_in_the_largest_unit_that_fits() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_500), "1.5 kB");
        assert_eq!(size(2_000_000_000_000_000), "2000.0 TB");
    }
}
