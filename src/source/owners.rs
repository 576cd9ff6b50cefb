//! Which processes hold a socket, from `/proc/PID/fd`. Costs a walk of all processes: for shown connections only.

use std::fs;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

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
        let fds = match fs::read_dir(path.join("fd")) {
            Ok(fds) => fds,
            // A process that vanished meanwhile holds nothing; one that may not be read could hold anything.
            Err(error) => {
                self.unreadable |= error.kind() == std::io::ErrorKind::PermissionDenied;
                return;
            }
        };
        let mut identity = None;
        for fd in fds.flatten() {
            let Some(inode) = fs::read_link(fd.path()).ok().and_then(|link| socket_inode(&link)) else { continue };
            if !self.inodes.contains(&inode) {
                continue;
            }
            let Some(number) = fd.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let (comm, cmdline, exe) = identity.get_or_insert_with(|| identify(path)).clone();
            self.found.entry(inode).or_default().push(Owner { pid, comm, fd: number, cmdline, exe });
        }
    }
}

/// The inode behind `socket:[12345]`.
fn socket_inode(link: &Path) -> Option<u32> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn identify(process: &Path) -> (String, String, Option<String>) {
    let read = |name| fs::read(process.join(name)).unwrap_or_default();
    let comm = String::from_utf8_lossy(&read("comm")).trim_end_matches('\n').to_owned();
    let cmdline = read("cmdline");
    let cmdline: Vec<_> = cmdline.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let exe = fs::read_link(process.join("exe")).ok().map(|path| path.to_string_lossy().into_owned());
    (comm, cmdline.join(" ").trim_end().to_owned(), exe)
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
