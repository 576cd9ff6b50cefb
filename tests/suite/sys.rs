//! The system calls that no safe interface offers.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// Makes `command` run in a sandbox in which `socket(AF_NETLINK, …)` fails with EPERM, as under many seccomp profiles.
pub fn without_netlink(command: &mut Command) {
    #[expect(clippy::cast_possible_truncation, reason = "the codes of classic BPF fit 16 bits")]
    const fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt, jf, k }
    }
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const IS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    /// Offset of the first argument's low half in `struct seccomp_data`.
    const FIRST_ARGUMENT: u32 = if cfg!(target_endian = "little") { 16 } else { 20 };
    #[expect(clippy::cast_possible_truncation, reason = "the numbers of system calls fit 32 bits")]
    const PROGRAM: [libc::sock_filter; 6] = [
        step(LOAD, 0, 0, 0),
        step(IS, 0, 3, libc::SYS_socket as u32),
        step(LOAD, 0, 0, FIRST_ARGUMENT),
        step(IS, 0, 1, libc::AF_NETLINK as u32),
        step(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let confine = || {
        let mut steps = PROGRAM;
        let program = libc::sock_fprog { len: 6, filter: steps.as_mut_ptr() };
        // SAFETY: both calls are system calls without memory of their own; the program outlives the second.
        let confined = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        if confined { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec the closure makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(confine) };
}
