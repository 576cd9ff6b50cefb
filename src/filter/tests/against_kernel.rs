//! Programs run by the real kernel on real loopback connections, against the evaluation here.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::properties::{address_term, joined, port_term};
use crate::filter::Filter;
use crate::wire::{Endpoint, Family, Message, Socket, TcpState, dump_request, messages};

/// A socket as its two endpoints and its family, for comparing sets.
type Identity = (Family, Endpoint, Endpoint);

fn identity(socket: &Socket) -> Identity {
    (socket.family, socket.local, socket.remote)
}

/// What a dump of one family with a program answers.
fn dump(family: Family, bytecode: &[u8]) -> io::Result<Vec<Socket>> {
    let mut netlink = netlink_sys::Socket::new(NETLINK_SOCK_DIAG)?;
    netlink.bind_auto()?;
    netlink.connect(&netlink_sys::SocketAddr::new(0, 0))?;
    netlink.send(&dump_request(family, 1, bytecode), 0)?;
    let mut sockets = Vec::new();
    loop {
        let (run, _) = netlink.recv_from_full()?;
        for message in messages(&run) {
            match message {
                Message::Socket { socket, .. } => sockets.push(socket),
                Message::Done { errno: 0 } => return Ok(sockets),
                Message::Done { errno } | Message::Error { errno } => return Err(io::Error::from_raw_os_error(-errno)),
                other => panic!("{other:?}"),
            }
        }
    }
}

fn dump_both(bytecode: &[u8]) -> io::Result<Vec<Socket>> {
    let mut sockets = dump(Family::V4, bytecode)?;
    sockets.extend(dump(Family::V6, bytecode)?);
    Ok(sockets)
}

/// Connections over IPv4, IPv6 and v4-mapped sockets, both ends of each.
struct Loopback {
    streams: Vec<TcpStream>,
}

impl Loopback {
    fn new() -> io::Result<Self> {
        let mut loopback = Self { streams: Vec::new() };
        let addresses = [("127.0.0.1", None), ("127.1.2.3", None), ("[::1]", None), ("[::]", Some("127.0.0.1"))];
        for (address, client) in addresses {
            let Ok(listener) = TcpListener::bind(format!("{address}:0")) else {
                eprintln!("no connections over {address}: it cannot be bound here");
                continue;
            };
            let port = listener.local_addr()?.port();
            for _ in 0..3 {
                loopback.streams.push(TcpStream::connect(format!("{}:{port}", client.unwrap_or(address)))?);
                loopback.streams.push(listener.accept()?.0);
            }
        }
        Ok(loopback)
    }

    /// Our sockets of a dump.
    fn ours(&self, sockets: &[Socket]) -> Vec<Socket> {
        let end = |address: SocketAddr| Endpoint { ip: address.ip().to_canonical(), port: address.port() };
        let known = |stream: &TcpStream| Some((end(stream.local_addr().ok()?), end(stream.peer_addr().ok()?)));
        let known: BTreeSet<_> = self.streams.iter().filter_map(known).collect();
        let ours =
            |socket: &&Socket| socket.state == TcpState::ESTABLISHED && known.contains(&(socket.local, socket.remote));
        sockets.iter().filter(ours).copied().collect()
    }
}

/// What the program must pass: sockets that the filter shows, and their peers.
fn expected(filter: &Filter, sockets: &[Socket]) -> BTreeSet<Identity> {
    let swapped = |socket: &Socket| Socket { local: socket.remote, remote: socket.local, ..*socket };
    let passes = |socket: &&Socket| filter.matches([*socket, &swapped(socket)]);
    sockets.iter().filter(passes).map(identity).collect()
}

/// Loopback connections, and what a dump says of them; `None`, with the reason printed, where there is no `SOCK_DIAG`.
fn set_up() -> Option<(Loopback, Vec<Socket>)> {
    let loopback = Loopback::new().unwrap();
    match dump_both(&[]) {
        Ok(all) => {
            let ours = loopback.ours(&all);
            assert_eq!(ours.len(), loopback.streams.len(), "the plain dump has all our sockets");
            Some((loopback, ours))
        }
        Err(error) => {
            eprintln!("SKIPPED: this kernel refuses SOCK_DIAG dumps: {error}");
            None
        }
    }
}

#[test]
fn the_kernel_and_the_evaluation_agree_on_random_filters() {
    let Some((loopback, ours)) = set_up() else { return };
    let mut ports: Vec<u16> = ours.iter().map(|socket| socket.local.port).collect();
    ports.extend([0, 1, 1024, 65535]);
    let addresses =
        ["127.0.0.1", "127.1.2.3", "10.0.0.1", "::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:127.1.2.3"];
    let terms = prop_oneof![port_term(ports), address_term(addresses.map(String::from).to_vec())];
    let (compiled, partial) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 400, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let result = runner.run(&joined(terms), |text| {
        let filter = Filter::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let program = filter.bytecode();
        if program.is_empty() {
            return Ok(());
        }
        let dumped = dump_both(&program).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let passed: BTreeSet<_> = loopback.ours(&dumped).iter().map(identity).collect();
        prop_assert_eq!(&passed, &expected(&filter, &ours), "{}", text);
        compiled.set(compiled.get() + 1);
        partial.set(partial.get() + usize::from(!passed.is_empty() && passed.len() < ours.len()));
        Ok(())
    });
    result.unwrap();
    let (compiled, partial) = (compiled.get(), partial.get());
    assert!(compiled > 200 && partial > 40, "{compiled} programs, {partial} of which parted the sockets");
}

#[test]
fn both_ends_of_a_connection_pass() {
    let Some((loopback, ours)) = set_up() else { return };
    for socket in &ours {
        let filter = Filter::parse(&format!("sport = :{} dst {}", socket.local.port, address(&socket.remote))).unwrap();
        let passed = loopback.ours(&dump_both(&filter.bytecode()).unwrap());
        assert!(passed.iter().any(|other| other.local == socket.local), "{filter}");
        assert!(passed.iter().any(|other| other.local == socket.remote && other.remote == socket.local), "{filter}");
    }
}

fn address(end: &Endpoint) -> String {
    if end.ip.is_ipv6() { format!("[{}]", end.ip) } else { end.ip.to_string() }
}

#[test]
fn only_ports_and_addresses_become_programs() {
    for text in ["sport = :22", "dst 10.0.0.0/8:443 or not src [2001:db8::]/32", "src ::ffff:10.0.0.1"] {
        assert!(!Filter::parse(text).unwrap().bytecode().is_empty(), "{text}");
    }
    for text in ["sport = :22 and rtt > 1ms", "state established", "src *", "dst 0.0.0.0/0", "dst ::/0", "dst ::/64"] {
        assert!(Filter::parse(text).unwrap().bytecode().is_empty(), "{text}");
    }
}

#[test]
fn a_program_that_would_be_too_long_is_not_made() {
    let ports = |count: u32| (1..=count).map(|port| format!("sport = :{port}")).collect::<Vec<_>>().join(" or ");
    let program = Filter::parse(&ports(100)).unwrap().bytecode();
    assert!(!program.is_empty() && program.len() <= 4096);
    assert!(Filter::parse(&ports(1000)).unwrap().bytecode().is_empty());
    if set_up().is_some() {
        dump_both(&program).unwrap();
    }
}
