//! What the route to an address says of acknowledgements.

use std::net::Ipv4Addr;
use std::time::Duration;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkBuffer, NlasIterator};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// `RTM_NEWROUTE` and `RTM_GETROUTE` (`include/uapi/linux/rtnetlink.h`, as all numbers here).
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
/// The attribute with the address that is asked for.
const RTA_DST: u16 = 1;
/// The attribute with a route's metrics, themselves attributes.
const RTA_METRICS: u16 = 8;
/// The metric that `quickack` sets.
const RTAX_QUICKACK: u16 = 15;
/// `AF_INET` (`include/linux/socket.h`).
const AF_INET: u8 = 2;
/// Size of `struct rtmsg`, bytes.
const RTMSG: usize = 12;
/// Size of the request: `struct nlmsghdr`, `struct rtmsg`, and one attribute with an IPv4 address, bytes.
const REQUEST: usize = 16 + RTMSG + 8;
/// Room for the answer, bytes: a route has at most some twenty attributes.
const ANSWER: usize = 4096;
/// How long the kernel may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the route to `address` in this network namespace has `quickack 1`: then what comes from there is acknowledged at
/// once. `None` when the kernel does not tell.
pub fn route_has_quickack(address: Ipv4Addr) -> Option<bool> {
    let mut socket = Socket::new(NETLINK_ROUTE).ok()?;
    socket.bind_auto().ok()?;
    socket.connect(&SocketAddr::new(0, 0)).ok()?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).ok()?;
    socket.send(&request(address), 0).ok()?;
    let mut answer = Vec::with_capacity(ANSWER);
    socket.recv(&mut answer, 0).ok()?;
    quickack(&answer)
}

fn request(address: Ipv4Addr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST);
    bytes.extend(u32::try_from(REQUEST).unwrap_or_default().to_ne_bytes());
    bytes.extend(RTM_GETROUTE.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence and port: one question, one answer.
    bytes.extend([0; 8]);
    let mut route = [0; RTMSG];
    (route[0], route[1]) = (AF_INET, 32);
    bytes.extend(route);
    bytes.extend(8_u16.to_ne_bytes());
    bytes.extend(RTA_DST.to_ne_bytes());
    bytes.extend(address.octets());
    bytes
}

fn quickack(answer: &[u8]) -> Option<bool> {
    let message = NetlinkBuffer::new_checked(answer).ok()?;
    if message.message_type() != RTM_NEWROUTE {
        return None;
    }
    let Some(metrics) = attribute(message.payload().get(RTMSG..)?, RTA_METRICS) else { return Some(false) };
    let value =
        attribute(&metrics, RTAX_QUICKACK).and_then(|value| <[u8; 4]>::try_from(value).ok()).map(u32::from_ne_bytes);
    Some(value.is_some_and(|value| value != 0))
}

fn attribute(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    let mut all = NlasIterator::new(attributes).flatten();
    all.find(|attribute| attribute.kind() == kind).map(|attribute| attribute.value().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u16, metrics: &[u8]) -> Vec<u8> {
        let size = 16 + RTMSG + metrics.len();
        let mut bytes = u32::try_from(size).expect("small").to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10 + RTMSG]);
        bytes.extend(metrics);
        bytes
    }

    fn metrics(kind: u16, value: u32) -> Vec<u8> {
        let mut bytes = [12_u16, RTA_METRICS, 8, kind].map(u16::to_ne_bytes).concat();
        bytes.extend(value.to_ne_bytes());
        bytes
    }

    #[test]
    fn only_the_metric_that_is_set_counts() {
        assert_eq!(quickack(&answer(RTM_NEWROUTE, &metrics(RTAX_QUICKACK, 1))), Some(true));
        assert_eq!(quickack(&answer(RTM_NEWROUTE, &metrics(RTAX_QUICKACK, 0))), Some(false));
        assert_eq!(quickack(&answer(RTM_NEWROUTE, &metrics(13, 40))), Some(false));
        assert_eq!(quickack(&answer(RTM_NEWROUTE, &[])), Some(false));
    }

    #[test]
    fn an_answer_that_is_cut_or_another_tells_nothing() {
        let whole = answer(RTM_NEWROUTE, &metrics(RTAX_QUICKACK, 1));
        for length in 0..whole.len() {
            assert_eq!(quickack(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(quickack(&answer(2, &[])), None);
    }

    #[test]
    fn this_host_answers() {
        assert!(route_has_quickack(Ipv4Addr::LOCALHOST).is_some());
    }
}
