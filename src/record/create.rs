//! Making the file of a recording.
#![allow(clippy::disallowed_methods)]

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use thiserror::Error;

/// Only the owner reads and writes: a recording tells who talks to whom.
const MODE: u32 = 0o600;

/// Why a file for evidence could not be made.
#[derive(Debug, Error)]
pub enum CreateError {
    /// It is there already.
    #[error("{} exists already: choose another name, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    /// The system refused.
    #[error("creating {} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes a file that only its owner can read, and refuses to overwrite one unless `force` is set.
///
/// # Errors
/// The file exists and `force` is not set, or the system refuses.
pub fn create(path: &Path, force: bool) -> Result<File, CreateError> {
    let mut options = OpenOptions::new();
    options.write(true).mode(MODE);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists(path.to_owned()),
        _ => CreateError::Io { path: path.to_owned(), source },
    };
    let file = options.open(path).map_err(refused)?;
    // A file that was there keeps its old mode; a device or pipe is not ours to change.
    if force && file.metadata().is_ok_and(|data| data.is_file()) {
        file.set_permissions(Permissions::from_mode(MODE)).map_err(refused)?;
    }
    Ok(file)
}

/// The name of a recording made on `host` at `wall_us` (µs since 1970, UTC): `stallscope-HOST-20260131T235959Z.ssrec`.
pub fn default_name(host: &str, wall_us: i64) -> String {
    let host: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let since = Duration::from_micros(u64::try_from(wall_us).unwrap_or(0));
    let time = SystemTime::UNIX_EPOCH
        .checked_add(since)
        .map(|time| humantime::format_rfc3339_seconds(time).to_string().replace(['-', ':'], ""))
        .unwrap_or_default();
    format!("stallscope-{host}-{time}.ssrec")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_owners_and_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ssrec");
        let mode = |file: &File| file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&create(&path, false).unwrap()), 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        std::fs::write(&path, "precious").unwrap();
        let refused = create(&path, false).unwrap_err().to_string();
        assert!(refused.contains("a.ssrec exists already"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(mode(&create(&path, true).unwrap()), 0o600);
    }

    #[test]
    fn the_name_says_where_and_when() {
        assert_eq!(default_name("a/b.c", 1_700_000_000_000_000), "stallscope-a_b.c-20231114T221320Z.ssrec");
    }
}
