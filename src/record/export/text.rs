//! A socket as `ss -tinmoeO` prints it. Control groups, and what a congestion control tells of itself, are not kept in
//! [`Socket`] and are left out.

use std::fmt::Write;
use std::net::IpAddr;

use crate::wire::{Endpoint, Family, Socket, TcpInfo, TcpState, Timer};

/// Whose text is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SsVersion {
    /// iproute2 6.1: it knows neither the delayed-ACK timer nor `rcv_wnd`, and prints 2.972 seconds as `2.972ms`.
    V6_1,
    /// iproute2 7.1.
    V7_1,
}

/// The header line.
pub fn ss_header() -> &'static str {
    "State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process"
}

/// Appends one line without its end.
pub fn ss_row(out: &mut String, socket: &Socket, version: SsVersion) {
    let local = address(socket, socket.local);
    let remote = address(socket, socket.remote);
    let _ =
        write!(out, "{:<6} {:<6} {:<6} {local:>18} {remote:>18}", socket.state.name(), socket.rqueue, socket.wqueue);
    identity(out, socket, version);
    if let Some(mem) = socket.skmem {
        let known: Vec<String> = crate::wire::SkMem::NAMES
            .iter()
            .zip(mem.0)
            .filter_map(|(name, value)| value.map(|value| format!("{name}{value}")))
            .collect();
        let _ = write!(out, " skmem:({})", known.join(","));
    }
    if let Some(info) = &socket.info {
        options(out, socket, info);
        sizes(out, info);
        counts(out, info);
        rates(out, info);
        state(out, socket, info);
        if version == SsVersion::V7_1 {
            nonzero(out, "rcv_wnd", info.rcv_wnd());
            nonzero(out, "rehash", info.rehash());
        }
    } else if !socket.congestion.as_str().is_empty() {
        let _ = write!(out, " {}", socket.congestion.as_str());
    }
}

fn address(socket: &Socket, end: Endpoint) -> String {
    let port = if end.port == 0 { "*".to_owned() } else { end.port.to_string() };
    match (socket.family, end.ip) {
        (Family::V4, ip) => format!("{ip}:{port}"),
        (Family::V6, IpAddr::V4(ip)) => format!("[::ffff:{ip}]:{port}"),
        (Family::V6, IpAddr::V6(ip)) if ip.is_unspecified() => format!("*:{port}"),
        (Family::V6, IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
    }
}

fn identity(out: &mut String, socket: &Socket, version: SsVersion) {
    if socket.timer != Timer::NONE {
        let known = version == SsVersion::V7_1 || socket.timer.0 <= Timer::PROBE.0;
        let name = if known { socket.timer.name() } else { "unknown" };
        let _ = write!(out, " timer:({name},{},{})", time(socket.expires_ms, version), socket.retrans);
    }
    if socket.uid != 0 {
        let _ = write!(out, " uid:{}", socket.uid);
    }
    let _ = write!(out, " ino:{} sk:{:x}", socket.inode, socket.cookie.0);
    // `sk_shutdown`: 1 receive, 2 send; ss draws the directions that are open.
    let arrow = match socket.shutdown {
        None => return,
        Some(0) => "<->",
        Some(1) => "-->",
        Some(2) => "<--",
        Some(_) => "---",
    };
    let _ = write!(out, " {arrow}");
}

/// The longer a time, the less of it is printed.
fn time(ms: u32, version: SsVersion) -> String {
    let (minutes, seconds, rest) = (ms / 60_000, ms / 1000 % 60, ms % 1000);
    let rest = if minutes > 0 || seconds > 9 { 0 } else { rest };
    let seconds = if minutes > 9 { 0 } else { seconds };
    let mut out = if minutes > 0 { format!("{minutes}min") } else { String::new() };
    let unit = if version == SsVersion::V6_1 { "ms" } else { "sec" };
    let _ = match (seconds, rest) {
        (0, 0) => Ok(()),
        (0, rest) => write!(out, "{rest:03}ms"),
        (seconds, 0) => write!(out, "{seconds}sec"),
        (seconds, rest) => write!(out, "{seconds}.{rest:03}{unit}"),
    };
    out
}

/// A time in µs, printed in ms with six digits.
fn millis(us: u32) -> String {
    let value = f64::from(us) / 1000.0;
    // Digits before the point, from the µs: 1 000 µs have one.
    let decimals = 8usize.saturating_sub(us.checked_ilog10().unwrap_or(0) as usize);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn nonzero<T: Into<u64>>(out: &mut String, key: &str, value: Option<T>) {
    if let Some(value) = value.map(Into::into).filter(|value| *value != 0) {
        let _ = write!(out, " {key}:{value}");
    }
}

fn nonzero_millis(out: &mut String, key: &str, value: Option<u32>) {
    if let Some(value) = value.filter(|value| *value != 0) {
        let _ = write!(out, " {key}:{}", millis(value));
    }
}

fn options(out: &mut String, socket: &Socket, info: &TcpInfo) {
    let options = info.options().unwrap_or(0);
    for (bit, name) in [(1, "ts"), (2, "sack"), (8, "ecn"), (16, "ecnseen"), (32, "fastopen")] {
        if options & bit != 0 {
            let _ = write!(out, " {name}");
        }
    }
    if !socket.congestion.as_str().is_empty() {
        let _ = write!(out, " {}", socket.congestion.as_str());
    }
    if options & 4 != 0 {
        let _ = write!(out, " wscale:{},{}", info.snd_wscale().unwrap_or(0), info.rcv_wscale().unwrap_or(0));
    }
    nonzero_millis(out, "rto", info.rto().filter(|rto| *rto != 3_000_000));
    nonzero(out, "backoff", info.backoff());
    if let Some(rtt) = info.rtt().filter(|rtt| *rtt != 0) {
        let _ = write!(out, " rtt:{}/{}", millis(rtt), millis(info.rttvar().unwrap_or(0)));
    }
    nonzero_millis(out, "ato", info.ato());
}

fn sizes(out: &mut String, info: &TcpInfo) {
    nonzero(out, "mss", info.snd_mss());
    nonzero(out, "pmtu", info.pmtu());
    nonzero(out, "rcvmss", info.rcv_mss());
    nonzero(out, "advmss", info.advmss());
    nonzero(out, "cwnd", info.snd_cwnd());
    nonzero(out, "ssthresh", info.snd_ssthresh().filter(|threshold| *threshold < 0xffff));
}

fn counts(out: &mut String, info: &TcpInfo) {
    nonzero(out, "bytes_sent", info.bytes_sent());
    nonzero(out, "bytes_retrans", info.bytes_retrans());
    nonzero(out, "bytes_acked", info.bytes_acked());
    nonzero(out, "bytes_received", info.bytes_received());
    nonzero(out, "segs_out", info.segs_out());
    nonzero(out, "segs_in", info.segs_in());
    nonzero(out, "data_segs_out", info.data_segs_out());
    nonzero(out, "data_segs_in", info.data_segs_in());
}

fn rates(out: &mut String, info: &TcpInfo) {
    let word = |value: Option<u32>| f64::from(value.unwrap_or(0));
    let (rtt, window) = (word(info.rtt()), word(info.snd_cwnd()) * word(info.snd_mss()));
    if rtt > 0.0 && window > 0.0 {
        let _ = write!(out, " send {:.0}bps", window * 8e6 / rtt);
    }
    nonzero(out, "lastsnd", info.last_data_sent());
    nonzero(out, "lastrcv", info.last_data_recv());
    nonzero(out, "lastack", info.last_ack_recv());
    let bits = |bytes: u64| u128::from(bytes) * 8;
    if let Some(pacing) = info.pacing_rate().filter(|rate| *rate != 0 && *rate != u64::MAX) {
        let _ = write!(out, " pacing_rate {}bps", bits(pacing));
        if let Some(max) = info.max_pacing_rate().filter(|rate| *rate != u64::MAX) {
            let _ = write!(out, "/{}bps", bits(max));
        }
    }
    if let Some(rate) = info.delivery_rate().filter(|rate| *rate != 0) {
        let _ = write!(out, " delivery_rate {}bps", bits(rate));
    }
    nonzero(out, "delivered", info.delivered());
    nonzero(out, "delivered_ce", info.delivered_ce());
    if info.delivery_rate_app_limited() == Some(1) {
        out.push_str(" app_limited");
    }
    limits(out, info);
}

fn limits(out: &mut String, info: &TcpInfo) {
    let Some(busy) = info.busy_time().filter(|busy| *busy != 0) else { return };
    let _ = write!(out, " busy:{}ms", busy / 1000);
    for (key, part) in [("rwnd_limited", info.rwnd_limited()), ("sndbuf_limited", info.sndbuf_limited())] {
        if let Some(part) = part.filter(|part| *part != 0) {
            let _ = write!(out, " {key}:{}ms({:.1}%)", part / 1000, 100.0 * part as f64 / busy as f64);
        }
    }
}

fn state(out: &mut String, socket: &Socket, info: &TcpInfo) {
    let listens = socket.state == TcpState::LISTEN;
    nonzero(out, "unacked", info.unacked().filter(|_| !listens));
    let (now, total) = (info.retrans().unwrap_or(0), info.total_retrans().unwrap_or(0));
    if now != 0 || total != 0 {
        let _ = write!(out, " retrans:{now}/{total}");
    }
    nonzero(out, "lost", info.lost());
    nonzero(out, "sacked", info.sacked().filter(|_| !listens));
    nonzero(out, "dsack_dups", info.dsack_dups());
    nonzero(out, "fackets", info.fackets());
    if let Some(reordering) = info.reordering().filter(|reordering| *reordering != 3) {
        let _ = write!(out, " reordering:{reordering}");
    }
    nonzero(out, "reord_seen", info.reord_seen());
    nonzero_millis(out, "rcv_rtt", info.rcv_rtt());
    nonzero(out, "rcv_space", info.rcv_space());
    nonzero(out, "rcv_ssthresh", info.rcv_ssthresh());
    nonzero(out, "notsent", info.notsent_bytes());
    nonzero_millis(out, "minrtt", info.min_rtt());
    nonzero(out, "rcv_ooopack", info.rcv_ooopack());
    nonzero(out, "snd_wnd", info.snd_wnd());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits() {
        for (us, text) in [(21_600, "21.6"), (316, "0.316"), (1_234_567, "1234.57"), (40_000, "40"), (12, "0.012")] {
            assert_eq!(millis(us), text);
        }
        assert_eq!(time(2972, SsVersion::V6_1), "2.972ms");
        assert_eq!(time(2972, SsVersion::V7_1), "2.972sec");
        assert_eq!(time(83_500, SsVersion::V6_1), "1min23sec");
        assert_eq!(time(16, SsVersion::V6_1), "016ms");
        assert_eq!(time(30_400, SsVersion::V6_1), "30sec");
    }
}
