//! Tests of the language as a whole.
#![allow(clippy::disallowed_methods)]

mod against_kernel;
mod errors;
mod language;
mod properties;

use std::net::{IpAddr, Ipv4Addr};

use super::{End, OwnField, OwnValue};
use crate::wire::{Congestion, Cookie, Endpoint, Family, Socket, TcpInfo, TcpState, Timer};

/// An established socket 10.0.0.1:40000 → 10.0.0.2:5432 whose kernel reports `info_len` bytes of `tcp_info`, all 0.
fn socket(info_len: usize) -> Socket {
    let end = |last, port| Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port };
    Socket {
        host: crate::wire::HostId::default(),
        cookie: Cookie(0x5ad),
        family: Family::V4,
        state: TcpState::ESTABLISHED,
        timer: Timer::RETRANSMIT,
        retrans: 0,
        expires_ms: 200,
        local: end(1, 40_000),
        remote: end(2, 5_432),
        mapped: false,
        interface: 0,
        rqueue: 0,
        wqueue: 30,
        uid: 1000,
        inode: 77,
        info: Some(TcpInfo::from_bytes(&vec![0; info_len])),
        congestion: Congestion::new(b"cubic"),
        skmem: None,
        shutdown: None,
    }
}

/// The socket of [`socket`] with some fields of `tcp_info` set.
fn socket_with(fields: &[(&str, u64)]) -> Socket {
    let mut socket = socket(280);
    let info = socket.info.as_mut().unwrap();
    for (name, value) in fields {
        info.set(crate::wire::field(name).unwrap(), *value);
    }
    socket
}

/// A socket with values of ours.
struct Known {
    socket: Socket,
    own: Vec<(OwnField, OwnValue<'static>)>,
}

impl End for Known {
    fn socket(&self) -> &Socket {
        &self.socket
    }

    fn own(&self, field: OwnField, visit: &mut dyn FnMut(OwnValue<'_>)) {
        self.own.iter().filter(|(known, _)| *known == field).for_each(|(_, value)| visit(*value));
    }
}
