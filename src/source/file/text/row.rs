//! The first line of a socket: state, queues, addresses.

use crate::wire::{Endpoint, Family, TcpState, Timer};

use super::address::{Printed, printed};
use super::value::count;

/// What a row says of a TCP socket before its info.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) state: TcpState,
    pub(super) rqueue: u32,
    pub(super) wqueue: u32,
    pub(super) local: Printed,
    /// `None` while it may stand on the next line.
    pub(super) remote: Option<Printed>,
    /// The state was printed.
    stated: bool,
}

impl Row {
    /// Sets the peer, which tells a listening socket from a connection where the state was not printed.
    pub(super) fn set_remote(&mut self, remote: Printed) {
        self.remote = Some(remote);
        if remote.any_port && !self.stated {
            self.state = TcpState::LISTEN;
        }
    }

    /// The family that the socket lives in. `*` is printed for an IPv6 socket that takes both.
    pub(super) fn family(&self) -> Family {
        let remote_v6 = self.remote.is_some_and(|remote| remote.family == Family::V6 && !remote.any_address);
        let local_v4 = self.local.family == Family::V4;
        if (local_v4 && !remote_v6) || (self.local.any_address && self.remote_is_v4()) {
            Family::V4
        } else {
            Family::V6
        }
    }

    fn remote_is_v4(&self) -> bool {
        self.remote.is_some_and(|remote| remote.family == Family::V4)
    }

    pub(super) fn remote_endpoint(&self) -> Endpoint {
        self.remote.unwrap_or(self.local).endpoint
    }
}

/// What a line turned out to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// A TCP socket; its info begins at the token of this number.
    Tcp(Row, usize),
    /// A socket of another protocol, or a row of netstat.
    Other,
    /// No row.
    No,
}

/// Socket kinds that ss prints as Netid and that are not TCP.
const NETIDS: [&str; 23] = [
    "udp", "udp6", "raw", "sctp", "mptcp", "dccp", "u_str", "u_seq", "u_dgr", "nl", "p_raw", "p_dgr", "v_str", "v_dgr",
    "tipc", "ti_st", "ti_dg", "ti_rd", "ti_sq", "xdp", "icmp6", "???", "unix",
];

/// States as netstat writes them.
const NETSTAT: [&str; 12] = [
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECV",
    "FIN_WAIT1",
    "FIN_WAIT2",
    "TIME_WAIT",
    "CLOSE",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
    "UNKNOWN",
];

/// The state of that name, as ss prints it.
pub(super) fn state(name: &str) -> Option<TcpState> {
    (1..=13).map(TcpState).find(|state| state.name() == name)
}

/// Whether the tokens begin a row.
pub(super) fn start(tokens: &[&str], unstated: TcpState) -> Start {
    let netid = tokens.first().copied().unwrap_or_default();
    if NETIDS.contains(&netid) && tokens.len() > 2 {
        return Start::Other;
    }
    let mut at = usize::from(matches!(netid, "tcp" | "tcp4" | "tcp6"));
    let stated = tokens.get(at).and_then(|token| state(token));
    at += usize::from(stated.is_some());
    let queue = |at: usize, label: &str| {
        let token = tokens.get(at)?;
        u32::try_from(count(token.strip_prefix(label).unwrap_or(token))?).ok()
    };
    let (Some(rqueue), Some(wqueue)) = (queue(at, "Recv-Q="), queue(at + 1, "Send-Q=")) else { return Start::No };
    at += 2;
    let Some((local, next)) = address(tokens, at) else { return Start::No };
    let bare = stated.is_none() && at == 2;
    if bare && !local.numeric && local.endpoint.port == 0 {
        return Start::No;
    }
    let mut row =
        Row { state: stated.unwrap_or(unstated), rqueue, wqueue, local, remote: None, stated: stated.is_some() };
    let mut info_at = next;
    if let Some((remote, next)) = address(tokens, next) {
        row.set_remote(remote);
        info_at = next;
    }
    let netstat = tokens.get(info_at).is_some_and(|token| NETSTAT.contains(token)) && stated.is_none();
    if netstat { Start::Other } else { Start::Tcp(row, info_at) }
}

/// The address at a token, and where the next token is: ss 4.1.1 tears `*%interface:port` into `** %interface:port*`.
fn address(tokens: &[&str], at: usize) -> Option<(Printed, usize)> {
    let token = tokens.get(at)?;
    if *token == "**" {
        let torn = tokens.get(at + 1)?.strip_prefix('%')?;
        return printed(&format!("*%{}", torn.trim_end_matches('*'))).map(|address| (address, at + 2));
    }
    printed(token).map(|address| (address, at + 1))
}

/// The timer that ss calls by this name; `unknown` stands for the one that only newer versions have a name for.
pub(super) fn timer(name: &str) -> Option<Timer> {
    match name {
        "unknown" => Some(Timer::DELAYED_ACK),
        _ => (0..=5).map(Timer).find(|timer| timer.name() == name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: &str) -> Option<(u8, u32, String, String, usize)> {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        match start(&tokens, TcpState::ESTABLISHED) {
            Start::Tcp(row, at) => Some((
                row.state.0,
                row.wqueue,
                row.local.endpoint.to_string(),
                row.remote.map_or_else(String::new, |remote| remote.endpoint.to_string()),
                at,
            )),
            _ => None,
        }
    }

    #[test]
    fn columns_may_be_absent() {
        let want = |state, at| Some((state, 20, "10.0.0.1:1".to_owned(), "10.0.0.2:2".to_owned(), at));
        assert_eq!(row("ESTAB 0 20 10.0.0.1:1 10.0.0.2:2 timer:(on,1ms,0)"), want(1, 5));
        assert_eq!(row("tcp ESTAB 0 20 10.0.0.1:1 10.0.0.2:2"), want(1, 6));
        assert_eq!(row("tcp 0 20 10.0.0.1:1 10.0.0.2:2"), want(1, 5));
        assert_eq!(row("0 20 10.0.0.1:1 10.0.0.2:2"), want(1, 4));
        assert_eq!(row("CLOSE-WAIT Recv-Q=0 Send-Q=20 10.0.0.1:1 10.0.0.2:2"), want(8, 5));
        assert_eq!(row("0 20 10.0.0.1:1"), Some((1, 20, "10.0.0.1:1".to_owned(), String::new(), 3)));
        assert_eq!(row("0 20 *:1 *:*").unwrap().0, 10);
    }

    #[test]
    fn other_protocols_and_netstat_are_told_apart() {
        let is_other = |line: &str| {
            let tokens: Vec<&str> = line.split_whitespace().collect();
            matches!(start(&tokens, TcpState::ESTABLISHED), Start::Other)
        };
        assert!(is_other("udp UNCONN 0 0 ** %cdreth0:67* *:*"));
        assert!(is_other("tcp 0 0 10.0.0.1:1 10.0.0.2:2 ESTABLISHED 12/a"));
        assert!(is_other("nl UNCONN 0 0 rtnl:kernel *"));
        assert!(row("cubic wscale:7,7 rto:204").is_none());
        assert!(row("LISTEN 0 5 ** %eth0:67* *:*").is_some());
    }
}
