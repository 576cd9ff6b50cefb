//! Which processes hold a socket, from `/proc/PID/fd`. Costs a walk of all processes: for shown connections only.

use std::fs;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use crate::model::{Owner, Owners};

/// Looks up who holds the sockets with these inodes. Answers for each of them.
#[expect(clippy::implicit_hasher, reason = "called by this crate alone, always with its own kind of set")]
pub fn look_up(inodes: &FxHashSet<u32>) -> Vec<(u32, Owners)> {
    let mut found: FxHashMap<u32, Vec<Owner>> = FxHashMap::default();
    let mut walk = Walk { inodes, found: &mut found, unreadable: false };
    if inodes.iter().any(|inode| *inode != 0) {
        walk.all();
    }
    let unreadable = walk.unreadable;
    let tell = |inode: &u32| {
        let owners = match found.remove(inode) {
            Some(owners) => Owners::Known(owners),
            None if *inode != 0 && unreadable => Owners::Unreadable,
            None => Owners::Nobody,
        };
        (*inode, owners)
    };
    inodes.iter().map(tell).collect()
}

struct Walk<'a> {
    inodes: &'a FxHashSet<u32>,
    found: &'a mut FxHashMap<u32, Vec<Owner>>,
    unreadable: bool,
}

impl Walk<'_> {
    fn all(&mut self) {
        let Ok(processes) = fs::read_dir("/proc") else {
            self.unreadable = true;
            return;
        };
        // Where not even this process shows, others hide too.
        self.unreadable |= !Path::new("/proc/self/fd").exists();
        for process in processes.flatten() {
            let pid = process.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid {
                self.process(pid, &process.path());
            }
        }
    }

    fn process(&mut self, pid: u32, path: &Path) {
        // A process that may not be read could hold anything; one that vanished meanwhile holds nothing.
        if let Err(Errno::ACCESS | Errno::PERM) = self.files(pid, path) {
            self.unreadable = true;
        }
    }

    /// Reads the links of all open files, relative to their directory: a path from the root would be walked anew for each.
    fn files(&mut self, pid: u32, path: &Path) -> Result<(), Errno> {
        let folder = openat(CWD, path.join("fd"), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut process = None;
        let mut link = Vec::new();
        for file in Dir::read_from(&folder)? {
            let file = file?;
            let Ok(target) = readlinkat(&folder, file.file_name(), link) else {
                link = Vec::new();
                continue;
            };
            link = target.into_bytes();
            let Some(inode) = socket_inode(&link).filter(|inode| self.inodes.contains(inode)) else { continue };
            let Some(fd) = file.file_name().to_str().ok().and_then(|name| name.parse().ok()) else { continue };
            let process: &Owner = process.get_or_insert_with(|| identify(pid, path));
            // Nearly always there is one.
            let owners = self.found.entry(inode).or_insert_with(|| Vec::with_capacity(1));
            owners.push(Owner { fd, ..process.clone() });
        }
        Ok(())
    }
}

/// The inode behind `socket:[12345]`.
fn socket_inode(link: &[u8]) -> Option<u32> {
    let number = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// A process as the owner of a file that is yet to be told.
fn identify(pid: u32, process: &Path) -> Owner {
    let read = |name| fs::read(process.join(name)).unwrap_or_default();
    let comm = String::from_utf8_lossy(&read("comm")).trim_end_matches('\n').into();
    let cmdline = read("cmdline");
    let cmdline: Vec<_> = cmdline.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let exe = fs::read_link(process.join("exe")).ok().map(|path| path.to_string_lossy().into());
    Owner { pid, comm, fd: 0, cmdline: cmdline.join(" ").trim_end().into(), exe }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn this_process_holds_its_own_socket() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
        let inode = fs::metadata(format!("/proc/self/fd/{fd}")).unwrap().ino();
        let inode = u32::try_from(inode).unwrap();
        let found = look_up(&FxHashSet::from_iter([inode, 0]));
        let owners = &found.iter().find(|(this, _)| *this == inode).unwrap().1;
        let Owners::Known(owners) = owners else { panic!("{owners:?}") };
        assert_eq!((owners[0].pid, owners[0].fd), (std::process::id(), u32::try_from(fd).unwrap()));
        assert_eq!(found.iter().find(|(this, _)| *this == 0).unwrap().1, Owners::Nobody);
    }
}
