//! The system calls that no safe interface offers.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::thread::UnshareFlags;
use stallscope::lab::RawOption;

/// `IFF_TUN` and `IFF_NO_PI` (`include/uapi/linux/if_tun.h`): whole IP packets, nothing in front of them.
const TUN_FLAGS: libc::c_short = 0x0001 | 0x1000;

/// Sets a socket option that is a plain 32-bit integer.
pub fn set_option(fd: BorrowedFd<'_>, option: RawOption) -> io::Result<()> {
    let value = option.value;
    let size = libc::socklen_t::try_from(size_of_val(&value)).expect("4 bytes");
    // SAFETY: the descriptor is open for as long as it is borrowed, and the pointer and length are those of `value`.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), option.level, option.number, (&raw const value).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a TUN device in the calling thread's network namespace.
pub fn open_tun(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    // SAFETY: `ifreq` is plain data, for which all zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *slot = byte.cast_signed();
    }
    request.ifr_ifru.ifru_flags = TUN_FLAGS;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

/// Moves the calling thread into a network namespace of its own.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: only the network namespace is left; descriptors and memory stay shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)
}
