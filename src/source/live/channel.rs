//! One netlink socket: sending, receiving, and telling our answers from stale ones.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use netlink_packet_core::NetlinkBuffer;
use netlink_packet_sock_diag::SOCK_DIAG_BY_FAMILY;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::model::SurveyReport;
use crate::wire::{Message, TCPDIAG_GETSOCK, messages};

use super::error::LookError;

/// The kernel fills at most 32 KiB of a dump per read (`netlink_recvmsg` → `max_recvmsg_len`); twice that leaves room.
const READ_BUFFER: usize = 65_536;

/// Room for the answers of a batch and a dump's first part, bytes.
const RECEIVE_QUEUE: i32 = 1 << 20;

/// How long the kernel may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a dump ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// `NLMSG_DONE`.
    Done,
    /// With this negative errno.
    Refused(i32),
}

/// One read of a dump.
#[derive(Debug)]
pub(super) struct Received<'a> {
    /// The messages.
    pub(super) run: &'a [u8],
    /// Set by the read that ends the dump.
    pub(super) ended: Option<Ended>,
    /// `NLM_F_DUMP_INTR` was set.
    pub(super) interrupted: bool,
}

/// The channel. `netlink_sys::Socket` closes its descriptor when any clone is dropped, so it is never cloned.
#[derive(Debug)]
pub(super) struct Channel {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Channel {
    pub(super) fn open() -> Result<Self, LookError> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG).map_err(LookError::open)?;
        socket.bind_auto().map_err(LookError::open)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(LookError::open)?;
        // A smaller queue still works: an overflow is counted and said.
        let _ = socket.set_rx_buf_sz(RECEIVE_QUEUE);
        Ok(Self { socket, buffer: vec![0; READ_BUFFER], sequence: 0 })
    }

    pub(super) fn next_sequence(&mut self) -> u32 {
        self.reserve_sequences(1)
    }

    /// The first of `n` sequence numbers in a row.
    pub(super) fn reserve_sequences(&mut self, n: usize) -> u32 {
        let first = self.sequence.wrapping_add(1);
        self.sequence = self.sequence.wrapping_add(u32::try_from(n).unwrap_or(u32::MAX));
        first
    }

    pub(super) fn send(&self, requests: &[u8]) -> Result<(), LookError> {
        let flags = SendFlags::NOSIGNAL.bits().cast_signed();
        self.socket.send(requests, flags).map(|_| ()).map_err(LookError::send)
    }

    /// Reads once. `None` when what came was not an answer to `sequence`, or the queue had overflowed.
    pub(super) fn receive(
        &mut self,
        sequence: u32,
        report: &mut SurveyReport,
    ) -> Result<Option<Received<'_>>, LookError> {
        let len = match self.read() {
            Ok(len) => len,
            Err(Failure::Overflow) => {
                report.overflows += 1;
                return Ok(None);
            }
            Err(Failure::Other(error)) => return Err(error),
        };
        if len > self.buffer.len() {
            report.truncated_reads += 1;
        }
        let len = len.min(self.buffer.len());
        let run = &mut self.buffer[..len];
        if sequence_of(run) != Some(sequence) {
            return Ok(None);
        }
        let (ended, interrupted) = end_of(run);
        Ok(Some(Received { run, ended, interrupted }))
    }

    /// Reads the one message that answers an exact look-up, and appends it to `answers`. An answer that was lost is appended
    /// as the error that stands for it.
    pub(super) fn receive_answer(&mut self, sequence: u32, answers: &mut Vec<u8>) -> Result<(), LookError> {
        loop {
            let len = match self.read() {
                Ok(len) => len.min(self.buffer.len()),
                // Which answer was lost is not known; the look of this round is given up, the next round asks anew.
                Err(Failure::Overflow) => return Err(LookError::receive(Errno::NOBUFS.into())),
                Err(Failure::Other(error)) => return Err(error),
            };
            let run = &self.buffer[..len];
            if sequence_of(run) == Some(sequence) {
                answers.extend_from_slice(run);
                answers.resize(answers.len().next_multiple_of(4), 0);
                return Ok(());
            }
        }
    }

    /// Reads one datagram into the buffer; its full length, which is larger than the buffer when it was cut off.
    fn read(&mut self) -> Result<usize, Failure> {
        let flags = (RecvFlags::TRUNC | RecvFlags::DONTWAIT).bits().cast_signed();
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.socket.recv(&mut &mut self.buffer[..], flags) {
                Ok(len) => return Ok(len),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => self.wait(deadline)?,
                    Some(Errno::INTR) => {}
                    Some(Errno::NOBUFS) => return Err(Failure::Overflow),
                    _ => return Err(Failure::Other(LookError::receive(error))),
                },
            }
        }
    }

    fn wait(&self, deadline: Instant) -> Result<(), Failure> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(0) => Err(Failure::Other(LookError::silent())),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Failure::Other(LookError::receive(io::Error::from(error)))),
        }
    }
}

enum Failure {
    Overflow,
    Other(LookError),
}

fn sequence_of(run: &[u8]) -> Option<u32> {
    (run.len() >= 16).then(|| NetlinkBuffer::new(run).sequence_number())
}

/// Whether a read ends its dump. Only the header of each message is looked at; the sockets are decoded by who takes the run.
/// Sockets are given the one type that look-ups answer with, whichever request they answer: nothing else differs, and a
/// recording holds one kind.
fn end_of(run: &mut [u8]) -> (Option<Ended>, bool) {
    let mut at = 0;
    let mut interrupted = false;
    while let Some(rest) = run.get_mut(at..).filter(|rest| rest.len() >= 16) {
        let mut header = NetlinkBuffer::new(&mut *rest);
        let len = usize::try_from(header.length()).unwrap_or(usize::MAX);
        interrupted |= header.flags() & netlink_packet_core::NLM_F_DUMP_INTR != 0;
        match header.message_type() {
            SOCK_DIAG_BY_FAMILY => {}
            TCPDIAG_GETSOCK => header.set_message_type(SOCK_DIAG_BY_FAMILY),
            _ => match messages(rest).next() {
                Some(Message::Done { errno: 0 }) => return (Some(Ended::Done), interrupted),
                Some(Message::Done { errno } | Message::Error { errno }) => {
                    return (Some(Ended::Refused(errno)), interrupted);
                }
                _ => {}
            },
        }
        if len < 16 {
            break;
        }
        at = at.saturating_add(len.checked_next_multiple_of(4).unwrap_or(usize::MAX));
    }
    (None, interrupted)
}
