//! From a record back to the message that the kernel would have sent: for sources that have no bytes of their own.

use std::net::IpAddr;

use netlink_packet_core::NLM_F_MULTIPART;
use netlink_packet_sock_diag as diag;

use super::socket::{Family, Socket};

/// Appends `socket` to `run` as one `SOCK_DIAG` reply. Decoding it gives an equal record.
pub fn encode_socket(run: &mut Vec<u8>, socket: &Socket) {
    let start = run.len();
    run.extend_from_slice(&[0; 16]);
    header(run, socket);
    if let Some(mem) = &socket.skmem {
        let known: Vec<u8> = mem.0.iter().map_while(|word| *word).flat_map(u32::to_ne_bytes).collect();
        attribute(run, diag::INET_DIAG_SKMEMINFO, &known);
    }
    if let Some(shutdown) = socket.shutdown {
        attribute(run, diag::INET_DIAG_SHUTDOWN, &[shutdown]);
    }
    if let Some(info) = &socket.info {
        attribute(run, diag::INET_DIAG_INFO, info.as_bytes());
    }
    if !socket.congestion.as_str().is_empty() {
        let mut name = socket.congestion.as_str().as_bytes().to_vec();
        name.push(0);
        attribute(run, diag::INET_DIAG_CONG, &name);
    }
    let len = u32::try_from(run.len() - start).unwrap_or(u32::MAX);
    run[start..start + 4].copy_from_slice(&len.to_ne_bytes());
    run[start + 4..start + 6].copy_from_slice(&diag::SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    run[start + 6..start + 8].copy_from_slice(&NLM_F_MULTIPART.to_ne_bytes());
}

fn header(run: &mut Vec<u8>, socket: &Socket) {
    let family = match socket.family {
        Family::V4 => diag::AF_INET,
        Family::V6 => diag::AF_INET6,
    };
    run.extend_from_slice(&[family, socket.state.0, socket.timer.0, socket.retrans]);
    run.extend_from_slice(&socket.local.port.to_be_bytes());
    run.extend_from_slice(&socket.remote.port.to_be_bytes());
    address(run, socket, socket.local.ip);
    address(run, socket, socket.remote.ip);
    run.extend_from_slice(&socket.interface.to_ne_bytes());
    let cookie = socket.cookie.0;
    run.extend_from_slice(&((cookie & 0xffff_ffff) as u32).to_ne_bytes());
    run.extend_from_slice(&((cookie >> 32) as u32).to_ne_bytes());
    for word in [socket.expires_ms, socket.rqueue, socket.wqueue, socket.uid, socket.inode] {
        run.extend_from_slice(&word.to_ne_bytes());
    }
}

fn address(run: &mut Vec<u8>, socket: &Socket, ip: IpAddr) {
    let mut octets = [0; 16];
    match (socket.family, ip) {
        (Family::V4, IpAddr::V4(ip)) => octets[..4].copy_from_slice(&ip.octets()),
        (Family::V6, IpAddr::V4(ip)) => octets = ip.to_ipv6_mapped().octets(),
        (_, IpAddr::V6(ip)) => octets = ip.octets(),
    }
    run.extend_from_slice(&octets);
}

fn attribute(run: &mut Vec<u8>, kind: u16, value: &[u8]) {
    run.extend_from_slice(&u16::try_from(4 + value.len()).unwrap_or(u16::MAX).to_ne_bytes());
    run.extend_from_slice(&kind.to_ne_bytes());
    run.extend_from_slice(value);
    run.resize(run.len().next_multiple_of(4), 0);
}
