//! Every field that a filter can compare: names, units, and where the value comes from.

use std::sync::LazyLock;

use super::number::{Dimension, NANO};
use super::own::{DIRECTIONS, LEVELS, OwnField, PEERS, ROLES, SEVERITIES, VERDICTS};
use crate::wire::{self, Family, Socket, Unit};

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// `struct tcp_info`.
    Info(&'static wire::Field),
    /// The socket's header and other attributes.
    Header(fn(&Socket) -> Option<u64>),
    /// The congestion control's name.
    Congestion,
    /// What stallscope found out.
    Own(OwnField),
}

/// What a field's values are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Number(Quantity),
    Words(&'static Words),
    Text { ignore_case: bool },
}

/// A number's dimension, and how many billionths of its base unit the field's own unit is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity {
    pub(super) dimension: Dimension,
    pub(super) scale: u128,
    /// The field's own unit, for people.
    pub(super) unit: &'static str,
}

const COUNT: Quantity = Quantity { dimension: Dimension::Count, scale: NANO, unit: "" };
const SEGMENTS: Quantity = Quantity { unit: "segments", ..COUNT };
const BYTES: Quantity = Quantity { dimension: Dimension::Bytes, scale: NANO, unit: "bytes" };
const RATE: Quantity = Quantity { dimension: Dimension::BytesPerSecond, scale: NANO, unit: "bytes/s" };
const MICROS: Quantity = Quantity { dimension: Dimension::Time, scale: 1_000, unit: "us" };
const MILLIS: Quantity = Quantity { dimension: Dimension::Time, scale: 1_000_000, unit: "ms" };
const PER_SECOND: Quantity = Quantity { dimension: Dimension::PerSecond, scale: NANO, unit: "1/s" };
const FRACTION: Quantity = Quantity { dimension: Dimension::Fraction, scale: NANO, unit: "share" };

/// A word for a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// The canonical name first.
    pub(super) names: &'static [&'static str],
    /// The number, by which words are ordered.
    pub(super) code: u64,
}

/// The words of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    pub(super) list: &'static [Word],
    /// Whether `<` and `>` mean something.
    pub(super) ordered: bool,
}

impl Words {
    /// The code of a name, in any case of letters.
    pub(super) fn code(&self, name: &str) -> Option<u64> {
        let is = |word: &&Word| word.names.iter().any(|known| known.eq_ignore_ascii_case(name));
        self.list.iter().find(is).map(|word| word.code)
    }

    /// The canonical name of a code.
    pub(super) fn name(&self, code: u64) -> Option<&'static str> {
        self.names().zip(self.list).find(|(_, word)| word.code == code).map(|(name, _)| name)
    }

    /// The canonical names, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.list.iter().map(|word| word.names.first().copied().unwrap_or_default())
    }
}

const fn word(names: &'static [&'static str], code: u64) -> Word {
    Word { names, code }
}

/// `idiag_timer`, with the names that `ss` prints.
static TIMERS: Words = Words {
    list: &[
        word(&["off", "none"], 0),
        word(&["on", "retransmit"], 1),
        word(&["keepalive"], 2),
        word(&["timewait"], 3),
        word(&["persist", "probe"], 4),
        word(&["delack", "delayed-ack"], 5),
    ],
    ordered: false,
};

/// `tcpi_ca_state` (`enum tcp_ca_state`, `include/uapi/linux/tcp.h`).
static CA_STATES: Words = Words {
    list: &[word(&["open"], 0), word(&["disorder"], 1), word(&["cwr"], 2), word(&["recovery"], 3), word(&["loss"], 4)],
    ordered: true,
};

static FAMILIES: Words =
    Words { list: &[word(&["inet", "ipv4", "4"], 4), word(&["inet6", "ipv6", "6"], 6)], ordered: false };

/// One field.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) about: &'static str,
    /// The first kernel that reports it.
    pub(super) since: Option<&'static str>,
    pub(super) kind: Kind,
    pub(super) source: Source,
}

/// A field is its name.
impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Names that `ss` prints for fields which the kernel calls otherwise.
const INFO_ALIASES: [(&str, &[&str]); 14] = [
    ("snd_wscale", &["wscale"]),
    ("delivery_rate_app_limited", &["app_limited"]),
    ("snd_mss", &["mss"]),
    ("rcv_mss", &["rcvmss"]),
    ("last_data_sent", &["lastsnd"]),
    ("last_data_recv", &["lastrcv"]),
    ("last_ack_recv", &["lastack"]),
    ("snd_ssthresh", &["ssthresh"]),
    ("snd_cwnd", &["cwnd"]),
    ("total_retrans", &["retrans_total"]),
    ("notsent_bytes", &["notsent"]),
    ("min_rtt", &["minrtt"]),
    ("busy_time", &["busy"]),
    ("rcv_ooopack", &["ooopack"]),
];

/// All fields: the kernel's header, `tcp_info`, ours.
static FIELDS: LazyLock<Vec<Field>> =
    LazyLock::new(|| header().into_iter().chain(wire::FIELDS.iter().filter_map(info)).chain(own()).collect());

/// All fields, in the order of the help.
pub(super) fn fields() -> &'static [Field] {
    &FIELDS
}

/// Finds a field by its name or an alias, in any case of letters, with `-` for `_` and with or without `tcpi_`.
pub(super) fn find(name: &str) -> Option<&'static Field> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let name = name.strip_prefix("tcpi_").unwrap_or(&name);
    fields().iter().find(|field| field.name == name || field.aliases.contains(&name))
}

/// Every name and alias, for suggestions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    fields().iter().flat_map(|field| std::iter::once(field.name).chain(field.aliases.iter().copied()))
}

/// A field of `tcp_info`. `state` is left to the language's own term, which knows its names.
fn info(field: &'static wire::Field) -> Option<Field> {
    if field.name == "state" {
        return None;
    }
    let aliases = INFO_ALIASES.iter().find(|(name, _)| *name == field.name).map_or(&[][..], |(_, aliases)| aliases);
    let kind = match (field.name, field.unit) {
        ("ca_state", _) => Kind::Words(&CA_STATES),
        (_, Unit::Count | Unit::Bits) => Kind::Number(COUNT),
        (_, Unit::Segments) => Kind::Number(SEGMENTS),
        (_, Unit::Bytes) => Kind::Number(BYTES),
        (_, Unit::BytesPerSecond) => Kind::Number(RATE),
        (_, Unit::Micros) => Kind::Number(MICROS),
        (_, Unit::Millis) => Kind::Number(MILLIS),
    };
    let source = Source::Info(field);
    Some(Field { name: field.name, aliases, about: field.about, since: Some(field.since), kind, source })
}

type Read = fn(&Socket) -> Option<u64>;
type HeaderRow = (&'static str, &'static [&'static str], Kind, Read, &'static str);

/// Numbers of the socket's header and attributes.
const HEADER: [HeaderRow; 15] = [
    ("family", &[], Kind::Words(&FAMILIES), family, "Address family of the socket itself; a v4-mapped one is inet6."),
    ("timer", &[], Kind::Words(&TIMERS), |s| Some(s.timer.0.into()), "Which timer runs."),
    ("expires", &["expires_ms"], Kind::Number(MILLIS), |s| Some(s.expires_ms.into()), "Time until that timer fires."),
    (
        "timer_retrans",
        &[],
        Kind::Number(COUNT),
        |s| Some(s.retrans.into()),
        "Retransmissions or probes that it counts.",
    ),
    (
        "rqueue",
        &["recv_q", "recvq"],
        Kind::Number(BYTES),
        |s| Some(s.rqueue.into()),
        "Received, not read by the application.",
    ),
    ("wqueue", &["send_q", "sendq"], Kind::Number(BYTES), |s| Some(s.wqueue.into()), "Written, not acknowledged yet."),
    (
        "inflight",
        &["in_flight"],
        Kind::Number(BYTES),
        |s| s.in_flight().map(u64::from),
        "Sent, not acknowledged: wqueue - notsent.",
    ),
    ("uid", &[], Kind::Number(COUNT), |s| Some(s.uid.into()), "User id of the owner."),
    (
        "inode",
        &["ino"],
        Kind::Number(COUNT),
        |s| Some(s.inode.into()),
        "Inode of the socket's file; 0 when no process holds it.",
    ),
    ("cookie", &["sk"], Kind::Number(COUNT), cookie, "The kernel's identity of the socket; 0x… as ss prints it."),
    (
        "interface",
        &["ifindex"],
        Kind::Number(COUNT),
        |s| Some(s.interface.into()),
        "Index of the interface it is bound to, 0 for none.",
    ),
    (
        "shutdown",
        &[],
        Kind::Number(COUNT),
        |s| s.shutdown.map(u64::from),
        "Directions shut down: 1 receive, 2 send, 3 both.",
    ),
    ("pure_acks_out", &[], Kind::Number(SEGMENTS), |s| s.pure_acks_out().map(u64::from), "Segments sent without data."),
    (
        "pure_acks_in",
        &[],
        Kind::Number(SEGMENTS),
        |s| s.pure_acks_in().map(u64::from),
        "Segments received without data.",
    ),
    (
        "mapped",
        &[],
        Kind::Number(COUNT),
        |s| Some(s.mapped.into()),
        "1 for IPv4 over an IPv6 socket (v4-mapped), else 0.",
    ),
];

/// Socket memory, with the letters of `ss -m`.
const MEMORY: [HeaderRow; 9] = [
    ("skmem_r", &[], Kind::Number(BYTES), |s| memory(s, 0), "Memory of received packets."),
    ("skmem_rb", &["rcvbuf"], Kind::Number(BYTES), |s| memory(s, 1), "Receive buffer (SO_RCVBUF)."),
    ("skmem_t", &[], Kind::Number(BYTES), |s| memory(s, 2), "Memory of packets on their way to the device."),
    ("skmem_tb", &["sndbuf"], Kind::Number(BYTES), |s| memory(s, 3), "Send buffer (SO_SNDBUF)."),
    ("skmem_f", &[], Kind::Number(BYTES), |s| memory(s, 4), "Memory reserved for later use."),
    ("skmem_w", &[], Kind::Number(BYTES), |s| memory(s, 5), "Memory of the send queue."),
    ("skmem_o", &[], Kind::Number(BYTES), |s| memory(s, 6), "Memory of options."),
    ("skmem_bl", &[], Kind::Number(COUNT), |s| memory(s, 7), "Packets in the backlog."),
    ("skmem_d", &["drops"], Kind::Number(COUNT), |s| memory(s, 8), "Packets dropped."),
];

// The signature is that of a row's reader.
#[allow(clippy::unnecessary_wraps)]
fn family(socket: &Socket) -> Option<u64> {
    Some(match socket.family {
        Family::V4 => 4,
        Family::V6 => 6,
    })
}

/// Sources without cookies have 0.
fn cookie(socket: &Socket) -> Option<u64> {
    (socket.cookie.0 != 0).then_some(socket.cookie.0)
}

fn memory(socket: &Socket, index: usize) -> Option<u64> {
    socket.skmem.as_ref()?.0.get(index).copied().flatten().map(u64::from)
}

fn header() -> Vec<Field> {
    let row = |(name, aliases, kind, read, about): HeaderRow| Field {
        name,
        aliases,
        about,
        since: None,
        kind,
        source: Source::Header(read),
    };
    let mut fields: Vec<Field> = HEADER.into_iter().chain(MEMORY).map(row).collect();
    fields.push(Field {
        name: "congestion",
        aliases: &["cong"],
        about: "Congestion control's name; * and ? are wildcards.",
        since: None,
        kind: Kind::Text { ignore_case: true },
        source: Source::Congestion,
    });
    fields
}

type OwnRow = (&'static str, &'static [&'static str], Kind, OwnField, &'static str);

/// What only stallscope knows. A new field is a row here and a variant of [`OwnField`].
const OWN: [OwnRow; 18] = [
    ("verdict", &[], Kind::Words(&VERDICTS), OwnField::Verdict, "The verdict on this direction of the connection."),
    ("level", &[], Kind::Words(&LEVELS), OwnField::Level, "How sure the verdict is; ordered."),
    ("severity", &[], Kind::Words(&SEVERITIES), OwnField::Severity, "How grave it is; ordered."),
    ("role", &[], Kind::Words(&ROLES), OwnField::Role, "Whether this end sends or receives in the direction judged."),
    (
        "direction",
        &[],
        Kind::Words(&DIRECTIONS),
        OwnField::Direction,
        "Whether this end opened the connection (out) or accepted it (in).",
    ),
    (
        "peer",
        &[],
        Kind::Words(&PEERS),
        OwnField::Peer,
        "Whether the other end is a socket seen here (local) or not (remote).",
    ),
    ("pid", &[], Kind::Number(COUNT), OwnField::Pid, "Id of a process that holds this end."),
    (
        "comm",
        &["command"],
        Kind::Text { ignore_case: false },
        OwnField::Comm,
        "Its command name, 15 characters at most; * and ? are wildcards.",
    ),
    ("age", &["age_ms"], Kind::Number(MILLIS), OwnField::Age, "Age of the hold under way."),
    ("holds", &["observed"], Kind::Number(COUNT), OwnField::Holds, "Holds observed."),
    ("released_by_timer", &[], Kind::Number(COUNT), OwnField::ByTimer, "Of those, released by the delayed-ACK timer."),
    ("released_by_reply", &[], Kind::Number(COUNT), OwnField::ByReply, "Of those, released by the receiver's reply."),
    ("rate", &[], Kind::Number(PER_SECOND), OwnField::Rate, "Holds per second."),
    ("held", &["held_ms"], Kind::Number(MILLIS), OwnField::Held, "Time held, in total."),
    ("share", &[], Kind::Number(FRACTION), OwnField::Share, "Share of the watched time that was held."),
    ("p50", &["p50_ms"], Kind::Number(MILLIS), OwnField::P50, "Median length of the holds."),
    ("p90", &["p90_ms"], Kind::Number(MILLIS), OwnField::P90, "90th percentile of their lengths."),
    ("max", &["max_ms"], Kind::Number(MILLIS), OwnField::Max, "Longest hold."),
];

fn own() -> impl Iterator<Item = Field> {
    OWN.into_iter().map(|(name, aliases, kind, field, about)| Field {
        name,
        aliases,
        about,
        since: None,
        kind,
        source: Source::Own(field),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_name_stands_for_two_fields() {
        let mut seen = HashSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn every_alias_of_the_kernels_fields_belongs_to_one() {
        for (name, _) in INFO_ALIASES {
            assert!(wire::field(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_kernel_field_is_found_by_its_name_with_and_without_prefix() {
        for field in wire::FIELDS.iter().filter(|field| field.name != "state") {
            assert_eq!(find(field.name).map(|found| found.name), Some(field.name));
            assert!(find(&format!("TCPI_{}", field.name)).is_some());
        }
        assert_eq!(find("Recv-Q").map(|found| found.name), Some("rqueue"));
    }
}
