//! Giving evidence away without telling who took it: addresses, ports, names and words become pseudonyms, the same one
//! everywhere, inside the raw messages as well. Everything that a diagnosis looks at stays.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustc_hash::FxHashMap;

use crate::model::{Event, Host, Owner, Owners};
use crate::record::delta::pieces;
use crate::wire::messages;

/// What is left as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct RedactOptions {
    /// Keep all ports, not only the well-known.
    pub keep_ports: bool,
    /// Keep the names of processes; their command lines and paths are replaced still.
    pub keep_names: bool,
}

/// Ports up to this one say what a service is, and nothing of who runs it.
const WELL_KNOWN: u16 = 1023;

/// First of the ports that stand for others.
const FIRST_PORT: u16 = 10_001;

/// `INET_DIAG_MD5SIG`, `INET_DIAG_MARK`, `INET_DIAG_ULP_INFO`, `INET_DIAG_SK_BPF_STORAGES`, `INET_DIAG_CGROUP_ID` and
/// `INET_DIAG_LOCALS`, `INET_DIAG_PEERS` (`include/uapi/linux/inet_diag.h`): keys, routing marks, other layers' secrets, further
/// addresses. Their content is zeroed.
const WIPED: [u16; 7] = [18, 15, 19, 20, 21, 13, 14];

/// Makes pseudonyms and remembers them.
#[derive(Debug)]
pub struct Redactor {
    options: RedactOptions,
    addresses: FxHashMap<IpAddr, IpAddr>,
    next_v4: u32,
    next_v6: u64,
    ports: FxHashMap<u16, u16>,
    next_port: u16,
    names: FxHashMap<(&'static str, String), String>,
    replaced: BTreeMap<&'static str, u64>,
    buffer: Vec<u8>,
}

impl Redactor {
    /// A redactor without any pseudonym yet.
    pub fn new(options: RedactOptions) -> Self {
        Self {
            options,
            addresses: FxHashMap::default(),
            next_v4: 0,
            next_v6: 0,
            ports: FxHashMap::default(),
            next_port: FIRST_PORT,
            names: FxHashMap::default(),
            replaced: BTreeMap::new(),
            buffer: Vec::new(),
        }
    }

    /// Gives the event to `sink` with pseudonyms in it. What cannot be read as netlink messages is left out, since it might
    /// hold anything.
    pub fn redact<R>(&mut self, event: &Event<'_>, sink: impl FnOnce(Event<'_>) -> R) -> R {
        match *event {
            Event::Host(host) => {
                let host = self.host(host);
                sink(Event::Host(&host))
            }
            Event::Run(run) => {
                let run = self.run(run);
                let result = sink(Event::Run(&run));
                self.buffer = run;
                result
            }
            Event::Probe { at, target, answers } => {
                let answers = self.run(answers);
                let result = sink(Event::Probe { at, target, answers: &answers });
                self.buffer = answers;
                result
            }
            Event::Owners(owners) => {
                let owners: Vec<_> = owners.iter().map(|(inode, owners)| (*inode, self.owners(owners))).collect();
                sink(Event::Owners(&owners))
            }
            Event::Mark { at, word } => {
                let word = self.name("mark", word);
                sink(Event::Mark { at, word: &word })
            }
            other @ (Event::SurveyBegin { .. } | Event::SurveyEnd { .. } | Event::Counters { .. }) => sink(other),
        }
    }

    /// What was replaced: kinds, and how many different ones of each.
    pub fn replaced(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.replaced.iter().map(|(kind, count)| (*kind, *count))
    }

    fn host(&mut self, host: &Host) -> Host {
        Host {
            hostname: self.name("host", &host.hostname),
            user: host.user.as_ref().map(|user| self.name("user", user)),
            // Both would tell one boot from all others. Two files are to be read together before they are redacted.
            boot_id: None,
            monotonic_us: None,
            ..host.clone()
        }
    }

    fn owners(&mut self, owners: &Owners) -> Owners {
        match owners {
            Owners::Known(owners) => Owners::Known(owners.iter().map(|owner| self.owner(owner)).collect()),
            other => other.clone(),
        }
    }

    fn owner(&mut self, owner: &Owner) -> Owner {
        let comm = if self.options.keep_names { owner.comm.clone() } else { self.name("process", &owner.comm).into() };
        let exe = owner.exe.as_ref().map(|exe| self.name("path", exe).into());
        Owner { comm, cmdline: self.name("command", &owner.cmdline).into(), exe, ..owner.clone() }
    }

    /// `kind-N`, the same for the same name; nothing for nothing.
    fn name(&mut self, kind: &'static str, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let key = (kind, name.to_owned());
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let count = self.replaced.entry(kind).or_default();
        *count += 1;
        let pseudonym = format!("{kind}-{count}");
        self.names.insert(key, pseudonym.clone());
        pseudonym
    }

    fn run(&mut self, run: &[u8]) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.buffer);
        out.clear();
        for piece in pieces(run) {
            let start = out.len();
            match messages(piece).next() {
                Some(crate::wire::Message::Socket { .. }) => {
                    out.extend_from_slice(piece);
                    self.message(&mut out[start..]);
                }
                Some(crate::wire::Message::Done { .. } | crate::wire::Message::Error { .. }) => {
                    // Behind an error stands the request, with addresses in it.
                    let kept = piece.len().min(20);
                    out.extend_from_slice(&piece[..kept]);
                    if let Some(len) = out.get_mut(start..start + 4) {
                        len.copy_from_slice(&u32::try_from(kept).unwrap_or(0).to_ne_bytes());
                    }
                }
                _ => *self.replaced.entry("unreadable message").or_default() += 1,
            }
        }
        out
    }

    /// Rewrites a socket's message in place; it holds `struct inet_diag_msg` whole.
    fn message(&mut self, message: &mut [u8]) {
        let v6 = message[16] == 10;
        for at in [20, 22] {
            let port = self.port(u16::from_be_bytes([message[at], message[at + 1]]));
            message[at..at + 2].copy_from_slice(&port.to_be_bytes());
        }
        for at in [24, 40] {
            let mut octets = [0; 16];
            octets.copy_from_slice(&message[at..at + 16]);
            let octets = if v6 { self.octets_v6(octets) } else { self.octets_v4(octets) };
            message[at..at + 16].copy_from_slice(&octets);
        }
        self.attributes(message);
    }

    fn attributes(&mut self, message: &mut [u8]) {
        let mut at = 88;
        while let Some(header) = message.get(at..at + 4) {
            let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
            let kind = u16::from_ne_bytes([header[2], header[3]]) & 0x3fff;
            if len < 4 {
                break;
            }
            if WIPED.contains(&kind)
                && let Some(value) = message.get_mut(at + 4..at + len)
            {
                value.fill(0);
                *self.replaced.entry("attribute of keys or marks").or_default() += 1;
            }
            at += len.next_multiple_of(4);
        }
    }

    fn octets_v4(&mut self, octets: [u8; 16]) -> [u8; 16] {
        let mut out = [0; 16];
        if let IpAddr::V4(ip) = self.address(IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]))) {
            out[..4].copy_from_slice(&ip.octets());
        }
        out
    }

    fn octets_v6(&mut self, octets: [u8; 16]) -> [u8; 16] {
        let ip = Ipv6Addr::from(octets);
        match self.address(ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)) {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        }
    }

    /// The pseudonym of an address. Loopback and unspecified addresses tell nothing and stay, so that what is on one host
    /// stays on one host.
    fn address(&mut self, ip: IpAddr) -> IpAddr {
        if ip.is_loopback() || ip.is_unspecified() {
            return ip;
        }
        if let Some(known) = self.addresses.get(&ip) {
            return *known;
        }
        let kind = if ip.is_ipv4() { "IPv4 address" } else { "IPv6 address" };
        *self.replaced.entry(kind).or_default() += 1;
        let pseudonym = match ip {
            IpAddr::V4(_) => {
                self.next_v4 += 1;
                IpAddr::V4(documentation_v4(self.next_v4 - 1))
            }
            IpAddr::V6(_) => {
                self.next_v6 += 1;
                IpAddr::V6(Ipv6Addr::from(0x2001_0db8_u128 << 96 | u128::from(self.next_v6)))
            }
        };
        self.addresses.insert(ip, pseudonym);
        pseudonym
    }

    fn port(&mut self, port: u16) -> u16 {
        if port <= WELL_KNOWN || self.options.keep_ports {
            return port;
        }
        if let Some(known) = self.ports.get(&port) {
            return *known;
        }
        *self.replaced.entry("port").or_default() += 1;
        let pseudonym = self.next_port;
        // There are as many pseudonyms as ports, so none is given twice.
        self.next_port = if pseudonym == u16::MAX { WELL_KNOWN + 1 } else { pseudonym + 1 };
        self.ports.insert(port, pseudonym);
        pseudonym
    }
}

/// The nth address for documentation (RFC 5737); past the 762 of them those for benchmarks (198.18.0.0/15, RFC 2544), past
/// those the reserved ones (240.0.0.0/4).
fn documentation_v4(n: u32) -> Ipv4Addr {
    const HOSTS: u32 = 254;
    const BENCHMARK: u32 = 1 << 17;
    let nets = [[192, 0, 2], [198, 51, 100], [203, 0, 113]];
    match nets.get((n / HOSTS) as usize) {
        Some([a, b, c]) => Ipv4Addr::new(*a, *b, *c, (n % HOSTS + 1).to_le_bytes()[0]),
        None if n - 3 * HOSTS < BENCHMARK => Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + n - 3 * HOSTS),
        None => Ipv4Addr::from(u32::from(Ipv4Addr::new(240, 0, 0, 0)) | (n - 3 * HOSTS - BENCHMARK)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_addresses_get_the_same_pseudonym() {
        let all: HashSet<Ipv4Addr> = (0..200_000).map(documentation_v4).collect();
        assert_eq!(all.len(), 200_000);
        assert_eq!(documentation_v4(0), Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!(documentation_v4(254), Ipv4Addr::new(198, 51, 100, 1));
        assert_eq!(documentation_v4(762), Ipv4Addr::new(198, 18, 0, 0));
    }

    #[test]
    fn no_two_ports_get_the_same_pseudonym() {
        let mut redactor = Redactor::new(RedactOptions::default());
        let all: HashSet<u16> = (0..=u16::MAX).map(|port| redactor.port(port)).collect();
        assert_eq!(all.len(), 65536);
        assert_eq!(redactor.port(443), 443);
        assert_eq!(redactor.port(1024), FIRST_PORT);
    }
}
