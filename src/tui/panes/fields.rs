//! Every field of a socket as the *Ends* pane lists it: name, value in words, meaning.

use super::super::text;
use super::meaning::meaning;
use crate::diagnose::Verdict;
use crate::wire::{FIELDS, Field, SkMem, Socket, Unit, field};

/// One line of the pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The kernel's name.
    pub(super) name: String,
    /// The name that `ss -ti` gives it, where that differs.
    pub(super) ss: Option<&'static str>,
    /// The sender's value; `None` when absent.
    pub(super) sender: Option<String>,
    /// The receiver's value.
    pub(super) receiver: Option<String>,
    /// What it means.
    pub(super) about: String,
    /// What its value means here.
    pub(super) here: Option<String>,
    /// Whether the verdict rests on it.
    pub(super) matters: bool,
}

/// A field of the socket outside `tcp_info`.
struct Outer {
    name: &'static str,
    ss: Option<&'static str>,
    about: &'static str,
    read: fn(&Socket) -> Option<String>,
}

static OUTER: [Outer; 13] = [
    Outer { name: "state", ss: None, about: "TCP state.", read: |s| Some(s.state.name().to_owned()) },
    Outer {
        name: "rqueue",
        ss: Some("Recv-Q"),
        about: "Bytes received that the program has not read. 0 at the receiver of a stall: it has read, and waits.",
        read: |s| Some(text::bytes(s.rqueue.into())),
    },
    Outer {
        name: "wqueue",
        ss: Some("Send-Q"),
        about: "Bytes written and not acknowledged, sent or not. Less notsent: what is in flight.",
        read: |s| Some(text::bytes(s.wqueue.into())),
    },
    Outer {
        name: "timer",
        ss: None,
        about: "The timer that runs: on = retransmission, persist = window probe or cork, delack = delayed ACK (Linux 7).",
        read: |s| Some(timer(s)),
    },
    Outer {
        name: "timer retrans",
        ss: None,
        about: "Retransmissions or probes that the timer counts.",
        read: |s| Some(s.retrans.to_string()),
    },
    Outer { name: "shutdown", ss: None, about: "What was shut down.", read: |s| s.shutdown.map(shut) },
    Outer {
        name: "congestion",
        ss: None,
        about: "Congestion control.",
        read: |s| (!s.congestion.as_str().is_empty()).then(|| s.congestion.as_str().to_owned()),
    },
    Outer { name: "uid", ss: None, about: "User of the socket.", read: |s| Some(s.uid.to_string()) },
    Outer {
        name: "inode",
        ss: Some("ino"),
        about: "Inode of the socket's file; 0 when no process holds it.",
        read: |s| Some(s.inode.to_string()),
    },
    Outer {
        name: "cookie",
        ss: Some("sk"),
        about: "The kernel's identity of the socket.",
        read: |s| Some(format!("{:x}", s.cookie.0)),
    },
    Outer {
        name: "interface",
        ss: None,
        about: "Index of the interface that the socket is bound to; 0 for none.",
        read: |s| Some(s.interface.to_string()),
    },
    Outer {
        name: "family",
        ss: None,
        about: "The socket's own family; v4-mapped ones live in IPv6.",
        read: |s| Some(format!("{:?}{}", s.family, if s.mapped { " mapped" } else { "" })),
    },
    Outer {
        name: "skmem",
        ss: None,
        about: "Socket memory, as `ss -m` prints it.",
        read: |s| s.skmem.as_ref().map(memory),
    },
];

fn timer(socket: &Socket) -> String {
    match socket.timer {
        crate::wire::Timer::NONE => "off".to_owned(),
        timer => format!("{}, {}", timer.name(), text::millis(socket.expires_ms.into())),
    }
}

fn shut(bits: u8) -> String {
    ["none", "receive", "send", "both"]
        .get(usize::from(bits))
        .map_or_else(|| bits.to_string(), |word| (*word).to_owned())
}

fn memory(mem: &SkMem) -> String {
    let known = SkMem::NAMES.iter().zip(mem.0).filter_map(|(name, value)| Some(format!("{name}{}", value?)));
    known.collect::<Vec<_>>().join(",")
}

/// Names that `ss -ti` shortens.
const SS_NAMES: [(&str, &str); 17] = [
    ("last_data_sent", "lastsnd"),
    ("last_data_recv", "lastrcv"),
    ("last_ack_recv", "lastack"),
    ("notsent_bytes", "notsent"),
    ("snd_cwnd", "cwnd"),
    ("snd_mss", "mss"),
    ("rcv_mss", "rcvmss"),
    ("snd_ssthresh", "ssthresh"),
    ("min_rtt", "minrtt"),
    ("total_retrans", "retrans:_/N"),
    ("retrans", "retrans:N/_"),
    ("busy_time", "busy"),
    ("snd_wscale", "wscale:N,_"),
    ("rcv_wscale", "wscale:_,N"),
    ("delivery_rate_app_limited", "app_limited"),
    ("rttvar", "rtt:_/N"),
    ("rtt", "rtt:N/_"),
];

/// What the verdicts rest on, in the order in which a person follows the proof.
const STALL: &[&str] = &[
    "notsent_bytes",
    "unacked",
    "wqueue",
    "timer",
    "bytes_sent",
    "bytes_acked",
    "bytes_received",
    "rqueue",
    "last_data_sent",
    "last_data_recv",
    "segs_out",
    "segs_in",
    "ato",
    "snd_mss",
    "rcv_mss",
    "snd_wnd",
    "snd_cwnd",
    "min_rtt",
    "rtt",
    "busy_time",
];
const CORK: &[&str] = &["notsent_bytes", "unacked", "wqueue", "timer", "snd_wnd", "snd_mss", "rto", "max_pacing_rate"];
const PACING: &[&str] = &["notsent_bytes", "unacked", "timer", "max_pacing_rate", "pacing_rate", "snd_wnd"];
const WINDOW: &[&str] =
    &["notsent_bytes", "wqueue", "snd_wnd", "rcv_wnd", "rqueue", "timer", "backoff", "rwnd_limited"];
const LOSS: &[&str] =
    &["retransmits", "backoff", "lost", "retrans", "total_retrans", "ca_state", "rto", "total_rto", "unacked", "timer"];
const PLAIN: &[&str] = &["notsent_bytes", "unacked", "rqueue", "wqueue", "timer", "min_rtt", "rtt", "ato", "busy_time"];

fn that_matter(verdict: Verdict) -> &'static [&'static str] {
    match verdict {
        Verdict::CorkHold => CORK,
        Verdict::Pacing => PACING,
        Verdict::ReceiverWindow => WINDOW,
        Verdict::LossRecovery => LOSS,
        Verdict::Healthy | Verdict::Idle => PLAIN,
        _ => STALL,
    }
}

/// Every field of both ends: first those that the verdict rests on, then the others as the kernel orders them.
pub(super) fn entries(verdict: Verdict, s: Option<&Socket>, r: Option<&Socket>) -> Vec<Entry> {
    let first = that_matter(verdict);
    let named = first.iter().filter_map(|name| entry(name, s, r, true));
    let outer = OUTER.iter().map(|outer| outer.name);
    let inner = FIELDS.iter().map(|field| field.name).filter(|name| *name != "state");
    let rest = outer.chain(inner).filter(|name| !first.contains(name)).filter_map(|name| entry(name, s, r, false));
    named.chain(rest).collect()
}

fn entry(name: &'static str, s: Option<&Socket>, r: Option<&Socket>, matters: bool) -> Option<Entry> {
    if let Some(outer) = OUTER.iter().find(|outer| outer.name == name) {
        let read = |socket: Option<&Socket>| socket.and_then(outer.read);
        let about = outer.about.to_owned();
        let here = meaning(name, s, r);
        return Some(Entry {
            name: name.to_owned(),
            ss: outer.ss,
            sender: read(s),
            receiver: read(r),
            about,
            here,
            matters,
        });
    }
    let field = field(name)?;
    let read = |socket: Option<&Socket>| Some(value(field, socket?.info.as_ref()?.get(field)?));
    let ss = SS_NAMES.iter().find(|(this, _)| *this == name).map(|(_, ss)| *ss);
    let about = format!("{} {}", field.about, since(field));
    Some(Entry {
        name: name.to_owned(),
        ss,
        sender: read(s),
        receiver: read(r),
        about: about.trim_end().to_owned(),
        here: meaning(name, s, r),
        matters,
    })
}

/// Says since when a field is there, where a kernel in use may lack it.
fn since(field: &Field) -> String {
    if field.since.starts_with("2.") { String::new() } else { format!("Since Linux {}.", field.since) }
}

/// A value with its unit.
fn value(field: &Field, value: u64) -> String {
    /// What the kernel sends for "no limit yet".
    const NONE_32: u64 = u32::MAX as u64;
    match (field.unit, field.name) {
        (_, "min_rtt" | "snd_ssthresh") if value >= 0x7fff_ffff => "none yet".to_owned(),
        (Unit::BytesPerSecond, _) if value == u64::MAX || value == NONE_32 => "no limit".to_owned(),
        (Unit::Count | Unit::Segments, _) => value.to_string(),
        (Unit::Bits, _) => format!("{value:#x}"),
        (Unit::Bytes, _) => format!("{value} B"),
        (Unit::BytesPerSecond, _) => format!("{}/s", text::bytes(value)),
        (Unit::Micros, _) => text::millis(value as f64 / 1e3),
        (Unit::Millis, _) => format!("{value} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_lists_every_field_once() {
        for verdict in Verdict::ALL {
            let entries = entries(verdict, None, None);
            // `state` is in both structures and listed once.
            assert_eq!(entries.len(), OUTER.len() + FIELDS.len() - 1, "{verdict}");
            assert_eq!(entries.iter().filter(|entry| entry.matters).count(), that_matter(verdict).len(), "{verdict}");
            let mut names: Vec<_> = entries.iter().map(|entry| &entry.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), entries.len(), "{verdict}");
        }
    }

    #[test]
    fn names_of_ss_belong_to_fields() {
        for (name, _) in SS_NAMES {
            assert!(field(name).is_some(), "{name}");
        }
    }
}
