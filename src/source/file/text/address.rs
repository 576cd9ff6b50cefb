//! Addresses as ss has printed them over the years, and as people blank them.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustc_hash::FxHasher;

use crate::wire::{Endpoint, Family};

/// An address and port, and how much of it was printed as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is one thing that the text showed or did not.
pub(super) struct Printed {
    pub(super) endpoint: Endpoint,
    pub(super) family: Family,
    /// `::ffff:a.b.c.d`.
    pub(super) mapped: bool,
    /// Both address and port are numbers, or `*`.
    pub(super) numeric: bool,
    /// The port is `*`.
    pub(super) any_port: bool,
    /// The address is `*`, which stands for either family.
    pub(super) any_address: bool,
}

/// Reads `address:port`; `None` when it is neither numbers nor names.
pub(super) fn printed(text: &str) -> Option<Printed> {
    let text = text.trim_end_matches(',');
    let (host, port) = text.rsplit_once(':')?;
    let (port, port_numeric) = self::port(port)?;
    let (host, zone) = split_zone(host);
    if zone.is_some_and(str::is_empty) {
        return None;
    }
    let host = host.strip_prefix('[').map_or(Some(host), |inner| inner.strip_suffix(']'))?;
    let (ip, numeric) = self::host(host)?;
    let (ip, family, mapped) = match ip {
        IpAddr::V4(_) => (ip, Family::V4, false),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => (IpAddr::V4(v4), Family::V6, true),
            None => (ip, Family::V6, false),
        },
    };
    Some(Printed {
        endpoint: Endpoint { ip, port: port.unwrap_or(0) },
        family,
        mapped,
        numeric: numeric && port_numeric,
        any_port: port.is_none(),
        any_address: host == "*",
    })
}

/// Takes `%interface` off, which stands before the port, inside the brackets or behind them.
fn split_zone(host: &str) -> (&str, Option<&str>) {
    match host.split_once('%') {
        Some((address, zone)) => match zone.strip_suffix(']') {
            Some(zone) => (address.trim_start_matches('['), Some(zone)),
            None => (address, Some(zone)),
        },
        None => (host, None),
    }
}

fn host(text: &str) -> Option<(IpAddr, bool)> {
    if text == "*" {
        return Some((IpAddr::V6(Ipv6Addr::UNSPECIFIED), true));
    }
    if let Ok(ip) = text.parse() {
        return Some((ip, true));
    }
    if text == "localhost" {
        return Some((IpAddr::V4(Ipv4Addr::LOCALHOST), false));
    }
    let named = !text.is_empty()
        && text.len() <= 253
        && text.chars().all(|c| c.is_alphanumeric() || "-._<>[]:*".contains(c))
        && text.chars().any(char::is_alphanumeric);
    named.then(|| (stand_in(text), false))
}

/// A number for a name, the same for the same name: in the discard prefix `100::/64` (RFC 6666), where no host is.
fn stand_in(name: &str) -> IpAddr {
    let hash = hash(name.to_ascii_lowercase().as_bytes());
    IpAddr::V6(Ipv6Addr::from(0x0100_u128 << 112 | u128::from(hash)))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The port, `None` for `*`, and whether it was a number.
fn port(text: &str) -> Option<(Option<u16>, bool)> {
    if text == "*" {
        return Some((None, true));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((Some(text.parse().ok()?), true));
    }
    let named = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.len() <= 32
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+".contains(&byte));
    let known = SERVICES.iter().find(|(name, _)| *name == text).map(|(_, port)| *port);
    // A name that is not known stands for a port of its own, below the ports of clients.
    named.then(|| (Some(known.unwrap_or_else(|| 1 + (hash(text.as_bytes()) % 1023) as u16)), false))
}

/// Services that ss prints by name without `-n`, from the registry that `/etc/services` comes from.
static SERVICES: [(&str, u16); 40] = [
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("http", 80),
    ("kerberos", 88),
    ("pop3", 110),
    ("sunrpc", 111),
    ("ntp", 123),
    ("netbios-ssn", 139),
    ("imap2", 143),
    ("imap", 143),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("microsoft-ds", 445),
    ("submission", 587),
    ("ipp", 631),
    ("ldaps", 636),
    ("domain-s", 853),
    ("rsync", 873),
    ("imaps", 993),
    ("pop3s", 995),
    ("socks", 1080),
    ("openvpn", 1194),
    ("ms-sql-s", 1433),
    ("mqtt", 1883),
    ("nfs", 2049),
    ("iscsi-target", 3260),
    ("mysql", 3306),
    ("ms-wbt-server", 3389),
    ("postgresql", 5432),
    ("amqp", 5672),
    ("x11", 6000),
    ("redis", 6379),
    ("http-alt", 8080),
    ("webcache", 8080),
    ("mongodb", 27017),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> String {
        printed(text).unwrap().endpoint.to_string()
    }

    #[test]
    fn every_way_to_print_an_address() {
        for (text, want) in [
            ("*:22", "[::]:22"),
            (":::22", "[::]:22"),
            ("[::]:22", "[::]:22"),
            ("0.0.0.0%virbr0:67", "0.0.0.0:67"),
            ("127.0.0.53%lo:53", "127.0.0.53:53"),
            ("10.0.1.3%mgmt:ssh", "10.0.1.3:22"),
            ("2100:1::2%red:ssh", "[2100:1::2]:22"),
            ("fe80::1%eth2:99", "[fe80::1]:99"),
            ("[fe80::1]%eth0:22", "[fe80::1]:22"),
            ("[fe80::1%eth0]:22", "[fe80::1]:22"),
            ("::ffff:10.0.0.1:443", "10.0.0.1:443"),
            ("[::ffff:10.0.0.1]:443", "10.0.0.1:443"),
            ("localhost:ipp", "127.0.0.1:631"),
        ] {
            assert_eq!(endpoint(text), want, "{text}");
        }
        assert!(printed("[::ffff:10.0.0.1]:443").unwrap().mapped);
        assert!(printed("*:*").unwrap().any_port);
    }

    #[test]
    fn names_stand_for_the_same_number_everywhere() {
        assert_eq!(printed("db.example:rpc.nfs_acl"), printed("db.example:rpc.nfs_acl"));
        assert_ne!(endpoint("x.x.x.1:80"), endpoint("x.x.x.2:80"));
        assert!(!printed("x.x.x.1:80").unwrap().numeric);
    }

    #[test]
    fn other_words_are_no_addresses() {
        for text in ["rto:", "10.0.0.1", "10.0.0.1:99999", ":", "a:b:", "[::1:22", "timer:(on,204ms,0)"] {
            assert_eq!(printed(text), None, "{text}");
        }
    }
}
