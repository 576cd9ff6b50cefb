//! Why the socket table could not be looked at, and what would help.

use std::io;

use rustix::io::Errno;

/// Looking at the kernel's socket table failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation}: {cause}\n  {way_out}")]
pub struct LookError {
    operation: &'static str,
    cause: io::Error,
    way_out: &'static str,
}

const REFUSED_DUMP: &str = "listing TCP sockets through NETLINK_SOCK_DIAG";
const MODULES: &str = "the kernel has no TCP socket diagnosis loaded; as root: modprobe tcp_diag inet_diag";
const SANDBOX: &str = "a sandbox forbids netlink (a seccomp profile, an LSM, gVisor); run outside it, or with a profile that allows AF_NETLINK";

impl LookError {
    /// A netlink socket could not be opened.
    pub(super) fn open(cause: io::Error) -> Self {
        Self { operation: "opening a NETLINK_SOCK_DIAG socket", way_out: Self::way_out(&cause), cause }
    }

    /// Sending a request failed.
    pub(super) fn send(cause: io::Error) -> Self {
        Self { operation: "sending a request to NETLINK_SOCK_DIAG", way_out: Self::way_out(&cause), cause }
    }

    /// Receiving an answer failed.
    pub(super) fn receive(cause: io::Error) -> Self {
        Self { operation: "receiving from NETLINK_SOCK_DIAG", way_out: Self::way_out(&cause), cause }
    }

    /// The kernel did not answer in time.
    pub(super) fn silent() -> Self {
        Self {
            operation: "waiting for the kernel's answer on NETLINK_SOCK_DIAG",
            cause: io::ErrorKind::TimedOut.into(),
            way_out: "the kernel did not answer within 5 s; if this sandbox emulates Linux, run outside it",
        }
    }

    /// The kernel answered a dump with an error.
    pub(super) fn refused_dump(errno: i32) -> Self {
        let cause = io::Error::from_raw_os_error(errno.saturating_neg());
        Self { operation: REFUSED_DUMP, way_out: Self::way_out(&cause), cause }
    }

    /// Whether the kernel answered, with an error.
    pub(super) fn is_refusal(&self) -> bool {
        self.operation == REFUSED_DUMP
    }

    fn way_out(cause: &io::Error) -> &'static str {
        let is = |errnos: &[Errno]| errnos.iter().any(|errno| cause.raw_os_error() == Some(errno.raw_os_error()));
        if is(&[Errno::NOENT, Errno::PROTONOSUPPORT, Errno::OPNOTSUPP, Errno::INVAL]) {
            MODULES
        } else if is(&[Errno::PERM, Errno::ACCESS, Errno::AFNOSUPPORT, Errno::NOSYS]) {
            SANDBOX
        } else if is(&[Errno::MFILE, Errno::NFILE]) {
            "too many open files; raise the limit (ulimit -n) or close some"
        } else {
            "try again; if it stays, report it with the output of `uname -a`"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_its_way_out() {
        assert!(LookError::refused_dump(-2).to_string().contains("modprobe tcp_diag"));
        let forbidden = LookError::open(io::Error::from_raw_os_error(Errno::ACCESS.raw_os_error()));
        assert!(forbidden.to_string().contains("sandbox"));
        assert!(forbidden.to_string().starts_with("opening a NETLINK_SOCK_DIAG socket"));
        assert!(LookError::refused_dump(i32::MIN).to_string().contains("listing"));
    }
}
