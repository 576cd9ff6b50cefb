//! What the next reading of a socket will look like, given the one before: an idle socket changes only by the time that
//! passed, so that it costs nothing but a count.
//!
//! Writer and reader run this code on the same bytes, in the same order. It must stay as it is for format version 1.

use super::varint::{Cursor, put, unzigzag, zigzag};

/// Most bytes of messages that one survey leaves for the next to refer to. What is past it is written whole.
const STORE_LIMIT: usize = 32 << 20;

/// Length of `struct nlmsghdr` and `struct inet_diag_msg` together, in bytes.
const ATTRIBUTES_AT: usize = 88;

/// Offset of `nlmsg_seq` in a message.
const SEQUENCE_AT: usize = 8;
/// Offset of `idiag_state` in a message.
const STATE_AT: usize = 17;
/// Offset of `idiag_timer` in a message.
const TIMER_AT: usize = 18;
/// Offset of `idiag_cookie` in a message.
const COOKIE_AT: usize = 60;
/// Offset of `idiag_expires` in a message.
const EXPIRES_AT: usize = 68;
/// Offset of `idiag_inode` in a message.
const INODE_AT: usize = 84;
/// `TCP_LISTEN`: its ages do not run.
const LISTEN: u8 = 10;
/// `INET_DIAG_INFO`.
const INFO: u16 = 2;
/// `SOCK_DIAG_BY_FAMILY`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Offsets in `struct tcp_info` of `last_data_sent`, `last_data_recv` and `last_ack_recv`: ages in ms.
const AGES_AT: [usize; 3] = [44, 52, 56];

/// Longest message that is referred to, in bytes.
const MESSAGE_MAX: usize = 64 << 10;

/// Messages of one survey in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Store {
    /// Keeps a message; answers its index, or `None` when the store is full.
    pub(super) fn push(&mut self, message: &[u8]) -> Option<u32> {
        if self.bytes.len() + message.len() > STORE_LIMIT {
            return None;
        }
        let index = u32::try_from(self.ends.len()).ok()?;
        let end = u32::try_from(self.bytes.len() + message.len()).ok()?;
        self.bytes.extend_from_slice(message);
        self.ends.push(end);
        Some(index)
    }

    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        self.bytes.get(start..end)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|index| self.get(index))
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Splits a run into messages with their padding. What is not a whole message is one last piece.
pub(super) fn pieces(run: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = run;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, tail) = rest.split_at(piece_len(rest));
        rest = tail;
        Some(piece)
    })
}

fn piece_len(run: &[u8]) -> usize {
    let Some(len) = word(run, 0) else { return run.len() };
    let padded = (len as usize).saturating_add(3) & !3;
    if (16..=run.len()).contains(&padded) { padded } else { run.len() }
}

/// The cookie of a piece that is a socket's whole message, which alone is referred to later.
pub(super) fn cookie_of(piece: &[u8]) -> Option<u64> {
    let len = word(piece, 0)? as usize;
    let kind = u16::from_ne_bytes([*piece.get(4)?, *piece.get(5)?]);
    let whole = (ATTRIBUTES_AT..=MESSAGE_MAX).contains(&len) && len.next_multiple_of(4) == piece.len();
    (whole && kind == SOCK_DIAG_BY_FAMILY)
        .then(|| piece[COOKIE_AT..].first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)))?
}

/// The inode of a socket's whole message.
pub(super) fn inode_of(message: &[u8]) -> Option<u32> {
    word(message, INODE_AT)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

fn set_word(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(slot) = bytes.get_mut(at..at + 4) {
        slot.copy_from_slice(&value.to_ne_bytes());
    }
}

/// Where the `tcp_info` of a message begins and ends.
fn info_range(message: &[u8]) -> Option<(usize, usize)> {
    let mut at = ATTRIBUTES_AT;
    while let Some(header) = message.get(at..at + 4) {
        let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]);
        if len < 4 {
            return None;
        }
        if kind == INFO {
            return (at + len <= message.len()).then_some((at + 4, at + len));
        }
        at += len.next_multiple_of(4);
    }
    None
}

/// How far the readings of one survey are behind those of the survey before; the sockets of a dump share it but for a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Milliseconds by which ages grow.
    pub(super) ms: u32,
    /// What is added to the dump's sequence number.
    pub(super) sequence: u32,
}

impl Pace {
    /// Turns a reading into the next one as it will be if nothing but time passes.
    pub(super) fn advance(self, message: &mut [u8]) {
        let add = |message: &mut [u8], at: usize, by: u32| {
            if let Some(value) = word(message, at) {
                set_word(message, at, value.wrapping_add(by));
            }
        };
        add(message, SEQUENCE_AT, self.sequence);
        let expires = word(message, EXPIRES_AT).unwrap_or(0);
        if message.get(TIMER_AT).is_some_and(|timer| *timer != 0) && expires >= self.ms {
            set_word(message, EXPIRES_AT, expires - self.ms);
        }
        if let Some((start, end)) = running_info(message) {
            for at in AGES_AT.map(|at| start + at).into_iter().filter(|at| at + 4 <= end) {
                add(message, at, self.ms);
            }
        }
    }

    /// Learns from a reading and the one before. A socket that moved data tells nothing of the time.
    pub(super) fn learn(&mut self, before: &[u8], now: &[u8]) {
        let step = |at: usize| Some(word(now, at)?.wrapping_sub(word(before, at)?));
        self.sequence = step(SEQUENCE_AT).unwrap_or(0);
        let (Some((start, end)), Some((start_now, _))) = (running_info(before), running_info(now)) else { return };
        let steps = AGES_AT.map(|at| if start + at + 4 <= end { step(start + at) } else { None });
        if start == start_now && steps[0] == steps[1] && steps[1] == steps[2] {
            self.ms = steps[0].unwrap_or(self.ms);
        }
    }
}

fn running_info(message: &[u8]) -> Option<(usize, usize)> {
    if message.get(STATE_AT) == Some(&LISTEN) { None } else { info_range(message) }
}

/// Appends what turns `from` into `to`, both of the same length: per changed word the distance and the difference.
/// Answers how many words changed.
pub(super) fn put_changes(out: &mut Vec<u8>, from: &[u8], to: &[u8]) -> u64 {
    let mut count = 0;
    let mut last = 0;
    for (index, (a, b)) in from.as_chunks::<4>().0.iter().zip(to.as_chunks::<4>().0).enumerate() {
        if a != b {
            put(out, (index - last) as u64);
            let step = u32::from_ne_bytes(*b).wrapping_sub(u32::from_ne_bytes(*a)).cast_signed();
            put(out, zigzag(step.into()));
            last = index;
            count += 1;
        }
    }
    count
}

/// Applies `count` changes in place; `None` when they do not fit.
pub(super) fn apply_changes(message: &mut [u8], count: u64, cursor: &mut Cursor<'_>) -> Option<()> {
    let mut index = 0usize;
    for _ in 0..count {
        index = index.checked_add(cursor.len()?)?;
        let step = i32::try_from(unzigzag(cursor.varint()?)).ok()?;
        let at = index.checked_mul(4)?;
        let value = word(message.get(..at.checked_add(4)?)?, at)?;
        set_word(message, at, value.wrapping_add(step.cast_unsigned()));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::field;

    #[test]
    fn the_offsets_are_those_of_the_structure() {
        let at = |name| usize::from(field(name).unwrap().offset);
        assert_eq!(AGES_AT, [at("last_data_sent"), at("last_data_recv"), at("last_ack_recv")]);
    }

    #[test]
    fn a_run_is_split_without_losing_a_byte() {
        let mut run = vec![20, 0, 0, 0];
        run.extend([0; 16]);
        run.extend([7, 0]);
        let parts: Vec<&[u8]> = pieces(&run).collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [20, 2]);
        assert_eq!(parts.concat(), run);
    }

    #[test]
    fn changes_that_do_not_fit_are_refused() {
        let mut message = [0; 8];
        assert_eq!(apply_changes(&mut message, 1, &mut Cursor(&[2, 2])), None);
        assert_eq!(apply_changes(&mut message, 1, &mut Cursor(&[1, 2])), Some(()));
        assert_eq!(word(&message, 4), Some(1));
    }
}
