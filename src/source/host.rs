//! What the host tells about itself: kernel, tick, settings, counters.

use std::fs;

use crate::model::{Counters, Host};

/// Reads the host. What cannot be read is absent, and so is what the clock of a source tells.
pub fn host() -> Host {
    let uname = rustix::system::uname();
    let uid = rustix::process::geteuid().as_raw();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    Host {
        hostname: text(uname.nodename()),
        kernel: text(uname.release()),
        machine: text(uname.machine()),
        netns: netns(),
        uid,
        user: user_name(uid),
        tick_us: tick_us(),
        pingpong_thresh: setting("tcp_pingpong_thresh").and_then(|text| text.parse().ok()),
        autocorking: setting("tcp_autocorking").and_then(|text| text.parse().ok()),
        congestion: setting("tcp_congestion_control"),
        boot_id: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned()),
        monotonic_us: None,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn setting(name: &str) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?.trim().to_owned())
}

/// The inode behind `net:[4026531840]`.
fn netns() -> Option<u64> {
    let link = fs::read_link("/proc/thread-self/ns/net").ok()?;
    link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

fn user_name(uid: u32) -> Option<String> {
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    let uid = uid.to_string();
    passwd.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == uid).then(|| name.to_owned())
    })
}

/// The coarse clock advances once per tick, and says so (`clock_getres(2)`).
fn tick_us() -> Option<u32> {
    let resolution = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    let us = u32::try_from(resolution.tv_nsec / 1000).ok()?;
    (resolution.tv_sec == 0 && us > 0).then_some(us)
}

/// Reads the delayed-ACK counters of this network namespace. Absent ones were not there.
pub fn counters() -> Counters {
    let text = fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default();
    Counters {
        delayed_acks: counter(&text, "DelayedACKs"),
        delayed_ack_locked: counter(&text, "DelayedACKLocked"),
        auto_corking: counter(&text, "TCPAutoCorking"),
    }
}

/// The file has pairs of lines: names, then values in the same order.
fn counter(netstat: &str, name: &str) -> Option<u64> {
    let mut lines = netstat.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let found = names.split_whitespace().zip(values.split_whitespace()).find(|(this, _)| *this == name);
        if let Some((_, value)) = found {
            return value.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_under_its_name() {
        let text = "TcpExt: A DelayedACKs B\nTcpExt: 1 22 3\nIpExt: C\nIpExt: 4\n";
        assert_eq!(counter(text, "DelayedACKs"), Some(22));
        assert_eq!(counter(text, "C"), Some(4));
        assert_eq!(counter(text, "D"), None);
        assert_eq!(counter("", "A"), None);
    }

    #[test]
    fn this_host_tells_its_kernel_and_tick() {
        let host = host();
        assert!(!host.kernel.is_empty());
        assert!(host.tick_us.is_some_and(|us| (1_000..=10_000).contains(&us)), "{:?}", host.tick_us);
        assert!(host.netns.is_some());
    }
}
