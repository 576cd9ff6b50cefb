//! `struct tcp_info`, read by offset and by the length that the kernel sent.
//!
//! The structure only ever grows (`include/uapi/linux/tcp.h`), so a field whose bytes lie beyond the length received is
//! *absent*: the accessors answer `None`, which is not zero. Bytes beyond the last field known here are ignored by the
//! accessors; recordings keep the raw message, so a later version can still read them.

use super::field::{Field, Unit, Width};

/// Length of the largest `tcp_info` known here, in bytes (Linux 6.18).
pub const TCP_INFO_MAX: usize = 280;

/// Length of the shortest `tcp_info` in use, in bytes (Linux 2.6.12).
pub const TCP_INFO_MIN: usize = 104;

/// A copy of the `tcp_info` bytes of one socket, as far as the kernel sent them and this version knows them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    len: u16,
    bytes: [u8; TCP_INFO_MAX],
}

impl std::fmt::Debug for TcpInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut map = f.debug_map();
        for field in FIELDS {
            if let Some(value) = self.get(field) {
                map.entry(&field.name, &value);
            }
        }
        map.finish()
    }
}

impl TcpInfo {
    /// Copies what an `INET_DIAG_INFO` attribute carries. Any length is accepted; what is not there is absent.
    pub fn from_bytes(source: &[u8]) -> Self {
        let len = source.len().min(TCP_INFO_MAX);
        let mut bytes = [0; TCP_INFO_MAX];
        bytes[..len].copy_from_slice(&source[..len]);
        Self { len: known(len), bytes }
    }

    /// How many bytes of the structure are known, at most [`TCP_INFO_MAX`].
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// True when the attribute was there but empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes themselves.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Reads any field of [`FIELDS`]; `None` when the kernel did not send it.
    pub fn get(&self, field: &Field) -> Option<u64> {
        let at = usize::from(field.offset);
        match field.width {
            Width::U8 => self.u8_at(at).map(u64::from),
            Width::LowNibble => self.u8_at(at).map(|byte| u64::from(byte & 0x0f)),
            Width::HighNibble => self.u8_at(at).map(|byte| u64::from(byte >> 4)),
            Width::Bit0 => self.u8_at(at).map(|byte| u64::from(byte & 1)),
            Width::U16 => self.array_at(at).map(u16::from_ne_bytes).map(u64::from),
            Width::U32 => self.u32_at(at).map(u64::from),
            Width::U64 => self.u64_at(at),
        }
    }

    /// Writes a field, for building records from text; lengthens the known part to cover it.
    pub fn set(&mut self, field: &Field, value: u64) {
        let at = usize::from(field.offset);
        let bytes = value.to_ne_bytes();
        let low = |n: usize| if cfg!(target_endian = "little") { &bytes[..n] } else { &bytes[8 - n..] };
        let byte = value.to_le_bytes()[0];
        match field.width {
            Width::U8 => self.bytes[at] = byte,
            Width::LowNibble => self.bytes[at] = (self.bytes[at] & 0xf0) | (byte & 0x0f),
            Width::HighNibble => self.bytes[at] = (self.bytes[at] & 0x0f) | (byte << 4),
            Width::Bit0 => self.bytes[at] = (self.bytes[at] & 0xfe) | (byte & 1),
            Width::U16 => self.bytes[at..at + 2].copy_from_slice(low(2)),
            Width::U32 => self.bytes[at..at + 4].copy_from_slice(low(4)),
            Width::U64 => self.bytes[at..at + 8].copy_from_slice(&bytes),
        }
        self.extend_to(at + field.width.bytes());
    }

    /// Declares everything up to `len` bytes known (zero where nothing was set), for building records from text.
    pub fn extend_to(&mut self, len: usize) {
        self.len = self.len.max(known(len));
    }

    fn array_at<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.as_bytes().get(at..at + N)?.try_into().ok()
    }

    fn u8_at(&self, at: usize) -> Option<u8> {
        self.as_bytes().get(at).copied()
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        self.array_at(at).map(u32::from_ne_bytes)
    }

    fn u64_at(&self, at: usize) -> Option<u64> {
        self.array_at(at).map(u64::from_ne_bytes)
    }
}

/// A length as it is kept: never more than [`TCP_INFO_MAX`].
#[expect(clippy::cast_possible_truncation, reason = "TCP_INFO_MAX fits 16 bits")]
fn known(len: usize) -> u16 {
    len.min(TCP_INFO_MAX) as u16
}

impl Default for TcpInfo {
    fn default() -> Self {
        Self { len: 0, bytes: [0; TCP_INFO_MAX] }
    }
}

/// One table makes the typed accessors and [`FIELDS`], so that a field cannot be in one and not in the other.
macro_rules! tcp_info_fields {
    ($($name:ident: $ty:ident @ $offset:literal, $width:ident, $unit:ident, $since:literal, $about:literal;)*) => {
        /// Every field of `struct tcp_info` known here, in the order of the structure.
        pub static FIELDS: &[Field] = &[$(
            Field {
                name: stringify!($name), offset: $offset, width: Width::$width, unit: Unit::$unit,
                since: $since, about: $about,
            },
        )*];

        impl TcpInfo {$(
            #[doc = $about]
            #[doc = ""]
            #[doc = concat!("`tcpi_", stringify!($name), "`; `None` before Linux ", $since, ".")]
            pub fn $name(&self) -> Option<$ty> {
                tcp_info_fields!(@read self $width $offset)
            }
        )*}
    };
    (@read $s:ident U8 $o:literal) => { $s.u8_at($o) };
    (@read $s:ident LowNibble $o:literal) => { $s.u8_at($o).map(|b| b & 0x0f) };
    (@read $s:ident HighNibble $o:literal) => { $s.u8_at($o).map(|b| b >> 4) };
    (@read $s:ident Bit0 $o:literal) => { $s.u8_at($o).map(|b| b & 1) };
    (@read $s:ident U16 $o:literal) => { $s.array_at($o).map(u16::from_ne_bytes) };
    (@read $s:ident U32 $o:literal) => { $s.u32_at($o) };
    (@read $s:ident U64 $o:literal) => { $s.u64_at($o) };
}

tcp_info_fields! {
    state: u8 @ 0, U8, Count, "2.4", "TCP state (`include/net/tcp_states.h`).";
    ca_state: u8 @ 1, U8, Count, "2.4", "Congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.";
    retransmits: u8 @ 2, U8, Count, "2.4", "Retransmission timeouts in a row without progress.";
    probes: u8 @ 3, U8, Count, "2.4", "Zero-window or keepalive probes sent without an answer.";
    backoff: u8 @ 4, U8, Count, "2.4", "How many times the retransmission or probe timeout has doubled.";
    options: u8 @ 5, U8, Bits, "2.4", "Negotiated options: 1 timestamps, 2 SACK, 4 window scaling, 8 ECN, 16 ECN seen, 32 Fast Open data acknowledged.";
    snd_wscale: u8 @ 6, LowNibble, Count, "2.4", "Window scale that the peer asked for (shift).";
    rcv_wscale: u8 @ 6, HighNibble, Count, "2.4", "Window scale of this end (shift).";
    delivery_rate_app_limited: u8 @ 7, Bit0, Count, "4.9", "1 when the delivery rate was limited by the application.";
    rto: u32 @ 8, U32, Micros, "2.4", "Retransmission timeout now in force, in whole ticks.";
    ato: u32 @ 12, U32, Micros, "2.4", "Delayed-ACK timeout of this end as a receiver, in whole ticks; 40 ms on nearly every healthy connection too.";
    snd_mss: u32 @ 16, U32, Bytes, "2.4", "Maximum segment size for sending; a write below it is what Nagle holds.";
    rcv_mss: u32 @ 20, U32, Bytes, "2.4", "This end's estimate of the segment size it receives; more than that much unacknowledged data is acknowledged at once.";
    unacked: u32 @ 24, U32, Segments, "2.4", "Segments sent and not yet acknowledged; exactly 1 at the sender in the stall.";
    sacked: u32 @ 28, U32, Segments, "2.4", "Segments acknowledged selectively.";
    lost: u32 @ 32, U32, Segments, "2.4", "Segments believed lost.";
    retrans: u32 @ 36, U32, Segments, "2.4", "Retransmitted segments now in flight.";
    fackets: u32 @ 40, U32, Segments, "2.4", "Forward-acknowledged segments; unused since 4.15.";
    last_data_sent: u32 @ 44, U32, Millis, "2.4", "Time since this end last sent data, in whole ticks.";
    last_ack_sent: u32 @ 48, U32, Millis, "2.4", "Always 0: the kernel does not keep it.";
    last_data_recv: u32 @ 52, U32, Millis, "2.4", "Time since this end last received data, in whole ticks.";
    last_ack_recv: u32 @ 56, U32, Millis, "2.4", "Time since this end last received an acknowledgement, in whole ticks.";
    pmtu: u32 @ 60, U32, Bytes, "2.4", "Path MTU.";
    rcv_ssthresh: u32 @ 64, U32, Bytes, "2.4", "Ceiling that the receive window may grow to now.";
    rtt: u32 @ 68, U32, Micros, "2.4", "Smoothed round-trip time; a stall pollutes it with the waits.";
    rttvar: u32 @ 72, U32, Micros, "2.4", "Mean deviation of the round-trip time.";
    snd_ssthresh: u32 @ 76, U32, Segments, "2.4", "Slow-start threshold.";
    snd_cwnd: u32 @ 80, U32, Segments, "2.4", "Congestion window.";
    advmss: u32 @ 84, U32, Bytes, "2.4", "Segment size that this end advertised.";
    reordering: u32 @ 88, U32, Segments, "2.4", "Reordering that is tolerated before a loss is assumed.";
    rcv_rtt: u32 @ 92, U32, Micros, "2.6.10", "Round-trip time as estimated by the receiver.";
    rcv_space: u32 @ 96, U32, Bytes, "2.6.10", "Receive space that the window tuning aims at.";
    total_retrans: u32 @ 100, U32, Segments, "2.6.12", "Segments retransmitted over the connection's life.";
    pacing_rate: u64 @ 104, U64, BytesPerSecond, "3.15", "Rate at which the sender paces.";
    max_pacing_rate: u64 @ 112, U64, BytesPerSecond, "3.15", "Ceiling of the pacing rate (`SO_MAX_PACING_RATE`); all ones when there is none.";
    bytes_acked: u64 @ 120, U64, Bytes, "4.1", "Bytes of this end that were acknowledged; one more for the SYN at the end that opened, one more for an acknowledged FIN.";
    bytes_received: u64 @ 128, U64, Bytes, "4.1", "Bytes received in order; one more for a FIN.";
    segs_out: u32 @ 136, U32, Segments, "4.2", "Segments sent, pure ACKs among them.";
    segs_in: u32 @ 140, U32, Segments, "4.2", "Segments received, pure ACKs among them.";
    notsent_bytes: u32 @ 144, U32, Bytes, "4.6", "Bytes written by the application and not yet sent once; what a stall holds back.";
    min_rtt: u32 @ 148, U32, Micros, "4.6", "Smallest round-trip time seen.";
    data_segs_in: u32 @ 152, U32, Segments, "4.6", "Segments with data received.";
    data_segs_out: u32 @ 156, U32, Segments, "4.6", "Segments with data sent.";
    delivery_rate: u64 @ 160, U64, BytesPerSecond, "4.9", "Most recent delivery rate.";
    busy_time: u64 @ 168, U64, Micros, "4.10", "Time with anything queued or in flight, over the connection's life, in whole ticks.";
    rwnd_limited: u64 @ 176, U64, Micros, "4.10", "Time limited by the receiver's window, in whole ticks.";
    sndbuf_limited: u64 @ 184, U64, Micros, "4.10", "Time limited by the send buffer, in whole ticks.";
    delivered: u32 @ 192, U32, Segments, "4.18", "Segments delivered to the peer; starts at 1.";
    delivered_ce: u32 @ 196, U32, Segments, "4.18", "Segments delivered with a congestion mark.";
    bytes_sent: u64 @ 200, U64, Bytes, "4.19", "Bytes sent, retransmissions included.";
    bytes_retrans: u64 @ 208, U64, Bytes, "4.19", "Bytes retransmitted.";
    dsack_dups: u32 @ 216, U32, Segments, "4.19", "Duplicates that the peer reported.";
    reord_seen: u32 @ 220, U32, Count, "4.19", "Reordering events seen.";
    rcv_ooopack: u32 @ 224, U32, Segments, "5.4", "Segments received out of order.";
    snd_wnd: u32 @ 228, U32, Bytes, "5.4", "Window that the peer advertised, scaled.";
    rcv_wnd: u32 @ 232, U32, Bytes, "6.2", "Window that this end advertised, scaled.";
    rehash: u32 @ 236, U32, Count, "6.2", "Times the flow label was changed after timeouts.";
    total_rto: u16 @ 240, U16, Count, "6.7", "Retransmission timeouts over the connection's life.";
    total_rto_recoveries: u16 @ 242, U16, Count, "6.7", "Recoveries from retransmission timeouts.";
    total_rto_time: u32 @ 244, U32, Millis, "6.7", "Time spent in such recoveries.";
    received_ce: u32 @ 248, U32, Segments, "6.18", "Segments received with a congestion mark (accurate ECN).";
    delivered_e1_bytes: u32 @ 252, U32, Bytes, "6.18", "Bytes delivered with ECT(1) (accurate ECN).";
    delivered_e0_bytes: u32 @ 256, U32, Bytes, "6.18", "Bytes delivered with ECT(0) (accurate ECN).";
    delivered_ce_bytes: u32 @ 260, U32, Bytes, "6.18", "Bytes delivered with a congestion mark (accurate ECN).";
    received_e1_bytes: u32 @ 264, U32, Bytes, "6.18", "Bytes received with ECT(1) (accurate ECN).";
    received_e0_bytes: u32 @ 268, U32, Bytes, "6.18", "Bytes received with ECT(0) (accurate ECN).";
    received_ce_bytes: u32 @ 272, U32, Bytes, "6.18", "Bytes received with a congestion mark (accurate ECN).";
}

/// Finds a field of [`FIELDS`] by its name.
pub fn field(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_past_the_end_is_absent_and_zero_is_a_measurement() {
        let info = TcpInfo::from_bytes(&[0; 148]);
        assert_eq!(info.notsent_bytes(), Some(0));
        assert_eq!(info.min_rtt(), None);
        assert_eq!(TcpInfo::from_bytes(&[0; 150]).min_rtt(), None);
    }

    #[test]
    fn a_longer_structure_is_read_as_far_as_it_is_known() {
        let mut bytes = vec![0; 400];
        bytes[144..148].copy_from_slice(&10u32.to_ne_bytes());
        let info = TcpInfo::from_bytes(&bytes);
        assert_eq!(info.len(), TCP_INFO_MAX);
        assert_eq!(info.notsent_bytes(), Some(10));
    }

    #[test]
    fn what_is_set_is_read_back_for_every_field() {
        for field in FIELDS {
            let mut info = TcpInfo::default();
            info.set(field, 1);
            assert_eq!(info.get(field), Some(1), "{}", field.name);
        }
    }

    #[test]
    fn fields_do_not_overlap_and_end_inside_the_structure() {
        let mut end = 0;
        for field in FIELDS {
            let at = usize::from(field.offset);
            assert!(at >= end || field.width == Width::HighNibble, "{}", field.name);
            end = at + field.width.bytes();
            assert!(end <= TCP_INFO_MAX, "{}", field.name);
        }
    }
}
