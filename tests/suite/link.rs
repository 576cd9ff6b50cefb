//! The links that scenarios run over: loopback, veth, and two TUN devices joined by a relay.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use stallscope::lab::{Family, Places};

use super::netns::{Room, ip, sysctl};
use super::relay::{Line, Loss, Relay};
use super::sys;

/// How the two ends are joined.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Link {
    #[default]
    Loopback,
    Veth,
    /// Two TUN devices and a relay.
    Relay {
        #[serde(deserialize_with = "humane")]
        rtt: Duration,
        /// Bytes per second, each way.
        #[serde(default)]
        rate: Option<u32>,
        #[serde(default)]
        losses: Vec<Loss>,
    },
}

/// Whose namespace is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// Both ends are in the one namespace that is watched.
    #[default]
    Both,
    /// The ends are in two namespaces, and the client's is watched.
    Client,
    /// The ends are in two namespaces, and the server's is watched.
    Server,
}

/// A link that is up.
pub struct Joined {
    pub client: Arc<Room>,
    pub server: Arc<Room>,
    pub relay: Option<Relay>,
    kind: Link,
}

const CLIENT4: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const SERVER4: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
const CLIENT6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1);
const SERVER6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2);

impl Joined {
    /// Makes the link. The error says what the system refused.
    pub fn new(link: &Link, seen: Seen) -> Result<Self, String> {
        let client = Arc::new(Room::here().map_err(words)?);
        let apart = seen != Seen::Both && *link != Link::Loopback;
        let server = if apart { Arc::new(Room::new().map_err(words)?) } else { Arc::clone(&client) };
        let relay = match link {
            Link::Loopback => None,
            Link::Veth => {
                join_veth(&client, &server)?;
                None
            }
            Link::Relay { rtt, rate, losses } => {
                let line = Line { delay: *rtt / 2, rate: *rate, losses: losses.clone() };
                Some(join_tun(&client, &server, &line)?)
            }
        };
        if *link != Link::Loopback {
            let both = Arc::ptr_eq(&client, &server);
            client.run(move || addresses(End::CLIENT, both))?;
            server.run(move || addresses(End::SERVER, both))?;
        }
        Ok(Self { client, server, relay, kind: link.clone() })
    }

    /// The addresses to use.
    pub fn places(&self, family: Family) -> Places {
        match (&self.kind, family) {
            (Link::Loopback, _) => Places::loopback(family),
            (_, Family::V4) => places(SERVER4.into(), SERVER4.into(), CLIENT4.into()),
            (_, Family::V6) => places(SERVER6.into(), SERVER6.into(), CLIENT6.into()),
            (_, Family::Mapped) => places(Ipv6Addr::UNSPECIFIED.into(), SERVER4.into(), CLIENT4.into()),
        }
    }

    /// The room that is watched.
    pub fn watched(&self, seen: Seen) -> &Arc<Room> {
        if seen == Seen::Server { &self.server } else { &self.client }
    }
}

fn places(listen: IpAddr, connect: IpAddr, bind: IpAddr) -> Places {
    Places { listen, connect, bind: Some(bind) }
}

/// One end of a link that has devices.
#[derive(Clone, Copy)]
struct End {
    device: &'static str,
    mac: &'static str,
    peer_mac: &'static str,
    own4: Ipv4Addr,
    peer4: Ipv4Addr,
    own6: Ipv6Addr,
    peer6: Ipv6Addr,
    /// The routing table and rule number that lead to the peer when both ends are in one namespace.
    table: u32,
}

impl End {
    const CLIENT: Self = Self {
        device: "lab0",
        mac: "02:00:00:00:00:01",
        peer_mac: "02:00:00:00:00:02",
        own4: CLIENT4,
        peer4: SERVER4,
        own6: CLIENT6,
        peer6: SERVER6,
        table: 10,
    };
    const SERVER: Self = Self {
        device: "lab1",
        mac: "02:00:00:00:00:02",
        peer_mac: "02:00:00:00:00:01",
        own4: SERVER4,
        peer4: CLIENT4,
        own6: SERVER6,
        peer6: CLIENT6,
        table: 11,
    };
}

fn join_veth(client: &Arc<Room>, server: &Arc<Room>) -> Result<(), String> {
    let (End { device: ours, mac, peer_mac, .. }, theirs) = (End::CLIENT, End::SERVER.device);
    let move_to = if Arc::ptr_eq(client, server) { String::new() } else { format!("netns {}", server.id) };
    client.run(move || {
        ip(&format!("link add {ours} address {mac} type veth peer name {theirs} address {peer_mac} {move_to}"))
    })
}

fn join_tun(client: &Arc<Room>, server: &Arc<Room>, line: &Line) -> Result<Relay, String> {
    let open = |device: &'static str| {
        move || sys::open_tun(device).map_err(|error| format!("cannot make a TUN device: {error}"))
    };
    let ours = client.run(open(End::CLIENT.device))?;
    let theirs = server.run(open(End::SERVER.device))?;
    Relay::start(&ours, &theirs, line).map_err(words)
}

/// Gives one end its addresses and the way to the other. Where both ends are in one namespace, the kernel would take the
/// short cut over loopback, so the table of local addresses is asked only after a rule for what is sent from here.
fn addresses(end: End, both: bool) -> Result<(), String> {
    let End { device, own4, own6, peer4, peer6, peer_mac, table, .. } = end;
    ip(&format!("link set {device} up"))?;
    ip(&format!("addr add {own4}/32 dev {device}"))?;
    ip(&format!("-6 addr add {own6}/128 dev {device} nodad"))?;
    let table = if both { format!("table {table}") } else { String::new() };
    if both {
        sysctl(&format!("conf.{device}.accept_local"), "1")?;
        sysctl("conf.all.rp_filter", "0")?;
        sysctl(&format!("conf.{device}.rp_filter"), "0")?;
        local_table_last("-4")?;
        local_table_last("-6")?;
        let pref = end.table;
        // A link made before in this namespace has left its rules; the devices and routes went with it.
        ip(&format!("-4 rule del pref {pref}")).ok();
        ip(&format!("-6 rule del pref {pref}")).ok();
        ip(&format!("-4 rule add pref {pref} iif lo to {peer4} lookup {pref}"))?;
        ip(&format!("-6 rule add pref {pref} iif lo to {peer6} lookup {pref}"))?;
    }
    ip(&format!("-4 route add {peer4} dev {device} src {own4} {table}"))?;
    ip(&format!("-6 route add {peer6} dev {device} src {own6} {table}"))?;
    neighbour(end, peer_mac)
}

/// Names the peer's hardware address: an end does not answer questions that come from its own namespace. TUN devices have
/// none.
fn neighbour(end: End, peer_mac: &str) -> Result<(), String> {
    let End { device, peer4, peer6, .. } = end;
    if !has_hardware_address(device)? {
        return Ok(());
    }
    ip(&format!("-4 neigh replace {peer4} lladdr {peer_mac} dev {device} nud permanent"))?;
    ip(&format!("-6 neigh replace {peer6} lladdr {peer_mac} dev {device} nud permanent"))
}

fn has_hardware_address(device: &str) -> Result<bool, String> {
    let output = std::process::Command::new("ip").args(["link", "show", "dev", device]).output().map_err(words)?;
    Ok(String::from_utf8_lossy(&output.stdout).contains("link/ether"))
}

fn local_table_last(family: &str) -> Result<(), String> {
    // The second end finds the rule moved already.
    if ip(&format!("{family} rule add pref 100 lookup local")).is_ok() {
        ip(&format!("{family} rule del pref 0"))?;
    }
    Ok(())
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A duration as people write it.
pub fn humane<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    humantime::parse_duration(&text).map_err(serde::de::Error::custom)
}
