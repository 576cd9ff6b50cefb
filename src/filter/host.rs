//! Addresses and ports as ss(8) writes them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::{did_you_mean, quoted};
use crate::wire::Endpoint;

/// Ports that go by a name. A table rather than /etc/services, so that a filter means the same on every host and in a
/// recording; the names are those of the IANA registry, and `postgres`, `memcached`, `mongodb` as people call them.
const SERVICES: [(&str, u16); 28] = [
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("http", 80),
    ("kerberos", 88),
    ("pop3", 110),
    ("sunrpc", 111),
    ("imap2", 143),
    ("imap", 143),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("submission", 587),
    ("ldaps", 636),
    ("imaps", 993),
    ("pop3s", 995),
    ("ms-sql-s", 1433),
    ("nfs", 2049),
    ("mysql", 3306),
    ("postgresql", 5432),
    ("postgres", 5432),
    ("amqp", 5672),
    ("redis", 6379),
    ("http-alt", 8080),
    ("memcached", 11211),
    ("mongodb", 27017),
];

/// A network: an address without its host bits, and the length of the prefix in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) ip: IpAddr,
    pub(super) prefix: u8,
}

impl Network {
    /// Clears the host bits; a v4-mapped network becomes the IPv4 one, as the sockets' addresses are unmapped.
    fn new(ip: IpAddr, prefix: u8) -> Self {
        match ip {
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) if prefix >= 96 => Self::new(IpAddr::V4(v4), prefix - 96),
                _ => Self { ip: IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask6(prefix))), prefix },
            },
            IpAddr::V4(v4) => Self { ip: IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask4(prefix))), prefix },
        }
    }

    pub(super) fn contains(&self, ip: IpAddr) -> bool {
        match (self.ip, ip) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => (net.to_bits() ^ ip.to_bits()) & mask4(self.prefix) == 0,
            (IpAddr::V6(net), IpAddr::V6(ip)) => (net.to_bits() ^ ip.to_bits()) & mask6(self.prefix) == 0,
            _ => false,
        }
    }
}

fn mask4(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0)
}

fn mask6(prefix: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0)
}

/// What `src` and `dst` compare with: an address or network, a port, both, or neither (`*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) network: Option<Network>,
    pub(super) port: Option<u16>,
}

impl Host {
    /// Whether an end's address and port are these.
    pub(super) fn matches(&self, end: &Endpoint) -> bool {
        self.port.is_none_or(|port| port == end.port) && self.network.is_none_or(|network| network.contains(end.ip))
    }

    /// Reads `ADDRESS`, `ADDRESS:PORT`, `[IPV6]:PORT`, `:PORT` or `*:PORT`, each address with or without `/PREFIX`.
    ///
    /// # Errors
    /// The message says what was expected.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (address, port) = split(text)?;
        let network = if matches!(address.as_str(), "" | "*") { None } else { Some(network(&address)?) };
        let port = match port {
            None | Some("*") => None,
            Some(port) => Some(parse_port(port)?),
        };
        if text.is_empty() { Err(EXPECTED.to_owned()) } else { Ok(Self { network, port }) }
    }
}

const EXPECTED: &str = "expected an address such as 10.0.0.1, 10.0.0.0/8:443, [::1]:22, :5432 or *";

/// Parts the address with its prefix from the port.
fn split(text: &str) -> Result<(String, Option<&str>), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, rest) = rest.split_once(']').ok_or("expected a closing ] after the IPv6 address")?;
        let (prefix, port) = rest.split_once(':').map_or((rest, None), |(prefix, port)| (prefix, Some(port)));
        if !prefix.is_empty() && !prefix.starts_with('/') {
            return Err("expected /PREFIX or :PORT after the ]".to_owned());
        }
        return Ok((format!("{inside}{prefix}"), port));
    }
    match text.split_once(':') {
        Some((ip, port)) if !port.contains(':') => Ok((ip.to_owned(), Some(port))),
        // An IPv6 address without brackets, which cannot have a port.
        _ => Ok((text.to_owned(), None)),
    }
}

fn network(text: &str) -> Result<Network, String> {
    let (address, prefix) = text.split_once('/').map_or((text, None), |(ip, prefix)| (ip, Some(prefix)));
    let ip = match address.parse::<IpAddr>() {
        Ok(ip) => ip,
        Err(_) => prefix.and_then(|_| abbreviated(address)).ok_or_else(|| not_an_address(address))?,
    };
    let (longest, family) = if ip.is_ipv4() { (32, 4) } else { (128, 6) };
    let prefix = match prefix.map(number) {
        None => longest,
        Some(Some(bits)) if bits <= u16::from(longest) => u8::try_from(bits).unwrap_or(longest),
        Some(_) => {
            return Err(format!("expected a prefix of 0 to {longest} bits after the / of an IPv{family} address"));
        }
    };
    Ok(Network::new(ip, prefix))
}

/// `193.233.7` of `193.233.7/24`: the octets left out are 0.
fn abbreviated(address: &str) -> Option<IpAddr> {
    let mut octets = [0; 4];
    let mut slots = octets.iter_mut();
    for part in address.split('.') {
        *slots.next()? = u8::try_from(number(part)?).ok()?;
    }
    Some(IpAddr::V4(octets.into()))
}

fn not_an_address(text: &str) -> String {
    if text.contains('%') {
        return "an address is compared without its %zone; leave it out".to_owned();
    }
    if text.matches(':').count() > 1 {
        return format!("{} is no IPv6 address; with a port it is written [ADDRESS]:PORT", quoted(text));
    }
    format!("{} is no address; names are not looked up. {EXPECTED}", quoted(text))
}

/// A port's number or name, without its colon.
///
/// # Errors
/// The message says what was expected.
pub(super) fn parse_port(text: &str) -> Result<u16, String> {
    let by_name = || SERVICES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, port)| *port);
    number(text).or_else(by_name).ok_or_else(|| {
        if !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) {
            return "a port is at most 65535".to_owned();
        }
        let near = did_you_mean(text, SERVICES.iter().map(|(name, _)| *name));
        format!("expected a port's number, or a well-known service such as ssh, https or postgresql{near}")
    })
}

/// Plain digits.
fn number(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.network {
            None => f.write_str("*")?,
            Some(Network { ip: IpAddr::V4(ip), prefix: 32 }) => write!(f, "{ip}")?,
            Some(Network { ip: IpAddr::V6(ip), prefix: 128 }) => write!(f, "[{ip}]")?,
            Some(Network { ip: IpAddr::V4(ip), prefix }) => write!(f, "{ip}/{prefix}")?,
            Some(Network { ip: IpAddr::V6(ip), prefix }) => write!(f, "[{ip}]/{prefix}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}
