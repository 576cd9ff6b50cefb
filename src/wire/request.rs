//! Requests to `NETLINK_SOCK_DIAG`.

use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_packet_sock_diag::{AF_INET, AF_INET6, IPPROTO_TCP, SockDiagMessage};

use super::message::{NETLINK_HEADER_LEN, TCPDIAG_GETSOCK};
use super::socket::{Family, Socket};

/// States that a survey asks for: the ends of connections, and the listeners that tell which end accepted.
pub const SURVEY_STATES: StateFlags = StateFlags::ESTABLISHED
    .union(StateFlags::CLOSE_WAIT)
    .union(StateFlags::FIN_WAIT1)
    .union(StateFlags::FIN_WAIT2)
    .union(StateFlags::LISTEN);

/// `INET_DIAG_REQ_BYTECODE` (`include/uapi/linux/inet_diag.h`).
const INET_DIAG_REQ_BYTECODE: u16 = 1;

/// Length of `struct inet_diag_sockid` in bytes (`include/uapi/linux/inet_diag.h`).
const SOCKET_ID_LEN: usize = 48;

fn extensions() -> ExtensionFlags {
    ExtensionFlags::INFO | ExtensionFlags::CONG | ExtensionFlags::SKMEMINFO
}

fn family_code(family: Family) -> u8 {
    match family {
        Family::V4 => AF_INET,
        Family::V6 => AF_INET6,
    }
}

/// A dump of all sockets of one family in [`SURVEY_STATES`]. `bytecode` is the kernel's filter program, empty for none.
pub fn dump_request(family: Family, sequence: u32, bytecode: &[u8]) -> Vec<u8> {
    let socket_id = match family {
        Family::V4 => SocketId::new_v4(),
        Family::V6 => SocketId::new_v6(),
    };
    let request = InetRequest {
        family: family_code(family),
        protocol: IPPROTO_TCP,
        extensions: extensions(),
        states: SURVEY_STATES,
        socket_id,
    };
    let mut bytes = serialize(request, NLM_F_REQUEST | NLM_F_DUMP, sequence);
    if !bytecode.is_empty() {
        append_attribute(&mut bytes, INET_DIAG_REQ_BYTECODE, bytecode);
    }
    bytes
}

/// A dump of the sockets of both families in [`SURVEY_STATES`], in the form that came before `SOCK_DIAG_BY_FAMILY` and names no
/// family (`inet_diag_dump_compat`). The kernel walks its whole hash table for each dump, however few sockets are in it, so that
/// one dump instead of two halves what looking at few sockets costs.
pub fn dump_both_request(sequence: u32, bytecode: &[u8]) -> Vec<u8> {
    // struct inet_diag_req: family, two lengths that are not used, extensions, struct inet_diag_sockid, states, reserved.
    let mut payload = vec![0, 0, 0, extensions().bits()];
    payload.resize(4 + SOCKET_ID_LEN, 0);
    payload.extend_from_slice(&SURVEY_STATES.bits().to_ne_bytes());
    payload.extend_from_slice(&[0; 4]);
    let mut bytes = vec![0; NETLINK_HEADER_LEN];
    let mut header = NetlinkBuffer::new(&mut bytes);
    header.set_message_type(TCPDIAG_GETSOCK);
    header.set_flags(NLM_F_REQUEST | NLM_F_DUMP);
    header.set_sequence_number(sequence);
    bytes.extend_from_slice(&payload);
    set_length(&mut bytes);
    if !bytecode.is_empty() {
        append_attribute(&mut bytes, INET_DIAG_REQ_BYTECODE, bytecode);
    }
    bytes
}

/// An exact look-up of a socket seen before, with its cookie: without one, a connection that is gone answers with the
/// LISTEN socket of its port (`inet_diag_find_one_icsk`).
pub fn exact_request(socket: &Socket, sequence: u32) -> Vec<u8> {
    let request = InetRequest {
        family: family_code(socket.family),
        protocol: IPPROTO_TCP,
        extensions: extensions(),
        states: StateFlags::all(),
        socket_id: SocketId {
            source_port: socket.local.port,
            destination_port: socket.remote.port,
            source_address: wire_address(socket, socket.local.ip),
            destination_address: wire_address(socket, socket.remote.ip),
            interface_id: socket.interface,
            cookie: socket.cookie.0.to_ne_bytes(),
        },
    };
    serialize(request, NLM_F_REQUEST, sequence)
}

/// The address as the kernel keeps it: mapped again where the socket is an IPv6 one.
fn wire_address(socket: &Socket, ip: IpAddr) -> IpAddr {
    match (socket.family, ip) {
        (Family::V6, IpAddr::V4(ip)) => IpAddr::V6(ip.to_ipv6_mapped()),
        (Family::V6, IpAddr::V6(_)) | (Family::V4, IpAddr::V4(_)) => ip,
        // A record that was made by hand; the unspecified address is never found, which is the right answer.
        (Family::V4, IpAddr::V6(_)) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

fn serialize(request: InetRequest, flags: u16, sequence: u32) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(SockDiagMessage::InetRequest(request)));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Appends an attribute to a message and corrects the message's length.
fn append_attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let len = 4 + value.len();
    message.extend_from_slice(&u16::try_from(len).unwrap_or(u16::MAX).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(value);
    message.resize(message.len().next_multiple_of(4), 0);
    set_length(message);
}

fn set_length(message: &mut [u8]) {
    let total = u32::try_from(message.len()).unwrap_or(u32::MAX);
    message[..4].copy_from_slice(&total.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn a_dump_request_has_the_size_that_the_kernel_expects() {
        let plain = dump_request(Family::V4, 7, &[]);
        assert_eq!(plain.len(), 16 + 56);
        assert_eq!(plain[16], AF_INET);
        assert_eq!(plain[17], IPPROTO_TCP);
        let filtered = dump_request(Family::V6, 7, &[1, 2, 3, 4]);
        assert_eq!(filtered.len(), 16 + 56 + 8);
        assert_eq!(filtered[..4], 80u32.to_ne_bytes());
        assert_eq!(dump_both_request(7, &[]).len(), 16 + 60);
        let filtered = dump_both_request(7, &[1, 2, 3, 4]);
        assert_eq!(filtered[..4], 84u32.to_ne_bytes());
        assert_eq!(filtered[4..6], TCPDIAG_GETSOCK.to_ne_bytes());
    }

    #[test]
    fn unspecified_addresses_are_of_the_sockets_family() {
        assert!(matches!(SocketId::new_v6().source_address, IpAddr::V6(Ipv6Addr::UNSPECIFIED)));
    }
}
