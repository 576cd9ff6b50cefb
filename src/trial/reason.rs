//! Why a kernel does not do what is expected of a mode.

use std::net::Ipv4Addr;

use crate::lab::{Mode, Sizes};
use crate::model::Host;
use crate::source::route_has_quickack;
use crate::wire::Socket;

/// A request that took this long waited for a timer, ms: half the kernel's shortest delay of an ACK (`TCP_DELACK_MIN`, HZ/25).
const STALLED_MS: f64 = 20.0;

/// `TCP_DELACK_MIN` (`include/net/tcp.h`): HZ/25.
const DELACK_MIN_US: u32 = 40_000;

/// Modules whose ACKs are the protocol's own business.
const ORDINARY_CONGESTION: [&str; 3] = ["cubic", "reno", "bbr"];

/// The start of the names of modules that pace what they send: bbr, and what was made of it.
const PACES: &str = "bbr";

/// The congestion control for one-byte writes where the host's own paces them. Every kernel has it built in.
pub(super) const UNPACED: &str = "reno";

/// Whether one-byte writes wait for this host's pace, so that Nagle's algorithm is not what gathers them.
pub(super) fn paces(host: &Host) -> bool {
    host.congestion.as_ref().is_some_and(|name| name.starts_with(PACES))
}

/// What the trial of a mode knows.
pub(super) struct Trial<'a> {
    pub(super) mode: Mode,
    pub(super) sizes: &'a Sizes,
    pub(super) host: &'a Host,
    /// The end whose writes are tried, then its peer.
    pub(super) ends: [Option<Socket>; 2],
    pub(super) latencies_ms: &'a [f64],
}

impl Trial<'_> {
    /// Why most requests after the first were fast, or what else gathers one-byte writes, most likely first; empty where they
    /// stalled, or are expected not to.
    pub(super) fn reasons(&self) -> Vec<String> {
        match self.mode {
            Mode::TinyWrites => return self.pacing().into_iter().collect(),
            // Said once for both rows.
            Mode::TinyWritesNoDelay => return Vec::new(),
            _ => {}
        }
        let expected = matches!(self.mode, Mode::Nagle | Mode::QuickAckOnce | Mode::Response);
        if !expected || self.latencies_ms.len() < 3 || self.mostly_stalled() {
            return Vec::new();
        }
        if let Some(reason) = self.by_size() {
            return vec![reason];
        }
        let known = [route(), self.pingpong(), self.short_ato(), self.congestion()];
        let mut reasons: Vec<String> = known.into_iter().flatten().collect();
        if reasons.is_empty() {
            reasons.push(
                "unknown why: neither the sockets nor the route to 127.0.0.1 show it. A BPF program or a module that is not \
                 the kernel's own may acknowledge at once"
                    .to_owned(),
            );
        }
        reasons
    }

    fn pacing(&self) -> Option<String> {
        let host = self.host.congestion.as_ref().filter(|_| paces(self.host))?;
        let used = self.ends[0]?.congestion;
        Some(if used.as_str() == UNPACED {
            format!(
                "both rows were tried under {UNPACED}, because this host's {host} paces what it sends, and gathers one-byte \
                 writes behind the pace with TCP_NODELAY as well"
            )
        } else {
            format!(
                "{host} paces what it sends, and gathers one-byte writes behind the pace with TCP_NODELAY as well; \
                 {UNPACED}, which does not, is not in net.ipv4.tcp_allowed_congestion_control"
            )
        })
    }

    fn mostly_stalled(&self) -> bool {
        let later = &self.latencies_ms[1..];
        later.iter().filter(|ms| **ms >= STALLED_MS).count() * 2 > later.len()
    }

    fn writes(&self) -> &[usize] {
        if self.mode.server_sends(self.sizes) { &self.sizes.reply } else { &self.sizes.request }
    }

    fn by_size(&self) -> Option<String> {
        let writes = self.writes();
        if writes.len() < 2 && self.mode != Mode::Response {
            return Some("a message of one write leaves Nagle nothing to hold back".to_owned());
        }
        let mss = self.ends[0]?.info?.snd_mss()?;
        let full = writes.iter().find(|bytes| u32::try_from(**bytes).is_ok_and(|bytes| bytes >= mss))?;
        Some(format!(
            "a write of {full} bytes fills a segment (the MSS here is {mss}), which is sent, and acknowledged, at once"
        ))
    }

    fn pingpong(&self) -> Option<String> {
        let thresh = self.host.pingpong_thresh.filter(|thresh| *thresh > 1)?;
        Some(format!(
            "net.ipv4.tcp_pingpong_thresh is {thresh}: the receiver delays its ACK only after {thresh} replies in a row, so \
             about one request in {thresh} pays"
        ))
    }

    fn short_ato(&self) -> Option<String> {
        let ato = self.ends[1]?.info?.ato().filter(|ato| (1..DELACK_MIN_US).contains(ato))?;
        Some(format!(
            "the receiver delays its ACK by {} ms, not 40: by `rto_min` of its route, TCP_DELACK_MAX_US or a BPF program",
            ato / 1000
        ))
    }

    fn congestion(&self) -> Option<String> {
        let socket = self.ends[1]?;
        let name = socket.congestion.as_str();
        let ordinary = name.is_empty() || ORDINARY_CONGESTION.contains(&name);
        (!ordinary).then(|| format!("the congestion control is {name}, which may ask for ACKs of its own"))
    }
}

fn route() -> Option<String> {
    let quickack = route_has_quickack(Ipv4Addr::LOCALHOST)?;
    quickack.then(|| {
        "the route to 127.0.0.1 has `quickack 1`, so that the receiver acknowledges each segment at once \
         (`ip route get 127.0.0.1` shows it)"
            .to_owned()
    })
}
