//! The two sockets of the lab's own connection, read while it is open.

use crate::filter::Filter;
use crate::lab::Ends;
use crate::model::Event;
use crate::source::{Live, LiveOptions, LookError};
use crate::wire::{Family, Message, Socket, TcpState, messages};

/// Segments without data that the end which opened a connection sends for the handshake: SYN and ACK. `segs_out` of the end
/// that accepted does not count its SYN-ACK.
const OPENER_HANDSHAKE: u32 = 2;

/// The kernel's filter for the connections of one server, so that a host's other sockets cost nothing.
pub(super) fn only(port: u16) -> LiveOptions {
    let filter = Filter::parse(&format!("sport = :{port} or dport = :{port}")).unwrap_or_default();
    LiveOptions { families: vec![Family::V4], bytecode: filter.bytecode() }
}

/// Both ends of a connection. An end that is gone is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    pub(super) client: Option<Socket>,
    pub(super) server: Option<Socket>,
}

impl Pair {
    /// Reads both ends now.
    pub(super) fn read(live: &mut Live, ends: &Ends) -> Result<Self, LookError> {
        let mut pair = Self::default();
        live.survey(&mut |event| {
            if let Event::Run(run) = event {
                pair.take(run, ends);
            }
        })?;
        Ok(pair)
    }

    fn take(&mut self, run: &[u8], ends: &Ends) {
        for message in messages(run) {
            let Message::Socket { socket, .. } = message else { continue };
            if socket.state != TcpState::ESTABLISHED {
                continue;
            }
            let ports = (socket.local.port, socket.remote.port);
            if ports == (ends.client.port(), ends.server.port()) {
                self.client = Some(socket);
            } else if ports == (ends.server.port(), ends.client.port()) {
                self.server = Some(socket);
            }
        }
    }

    /// The end whose writes are tried, then its peer.
    pub(super) fn sender_first(self, server_sends: bool) -> [Option<Socket>; 2] {
        if server_sends { [self.server, self.client] } else { [self.client, self.server] }
    }
}

/// Data segments of the end whose writes are tried, and pure ACKs of its peer.
pub(super) fn segments(pair: &Pair, server_sends: bool) -> (Option<u32>, Option<u32>) {
    let [sender, receiver] = pair.sender_first(server_sends);
    let handshake = if server_sends { OPENER_HANDSHAKE } else { 0 };
    let data = sender.and_then(|socket| socket.info?.data_segs_out());
    let acks = receiver.and_then(|socket| socket.pure_acks_out());
    (data, acks.map(|acks| acks.saturating_sub(handshake)))
}
