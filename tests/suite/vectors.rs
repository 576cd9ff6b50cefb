//! Field vectors: both ends of a connection with every field set to what the kernel would send, to be changed one by one.

use std::net::SocketAddr;

use stallscope::diagnose::rules::{NagleView, Shape, shape};
use stallscope::diagnose::{Cut, Tick};
use stallscope::wire::{Congestion, Cookie, Endpoint, Family, Socket, TcpInfo, TcpState, Timer, field};

/// Cookies of the two ends.
pub const S: u64 = 0xa;
/// The receiver's.
pub const R: u64 = 0xb;

/// Bytes of `tcp_info` that Linux 6.18 sends.
pub const NEWEST: usize = 280;

/// The tick of most kernels in use.
pub const HZ_250: Tick = Tick { us: 4_000 };

/// Changes to a socket, for the builder's style.
pub trait Change: Sized {
    /// Sets a field of `tcp_info`.
    fn with(self, name: &str, value: u64) -> Self;
    /// Sets several fields.
    fn all(self, fields: &[(&str, u64)]) -> Self {
        fields.iter().fold(self, |this, (name, value)| this.with(name, *value))
    }
    /// Sets the timer.
    fn timer(self, timer: Timer) -> Self;
    /// Sets both queues.
    fn queues(self, rqueue: u32, wqueue: u32) -> Self;
    /// Sets the state.
    fn state(self, state: TcpState) -> Self;
    /// What a kernel sends whose `tcp_info` has `len` bytes.
    fn cut_to(self, len: usize) -> Self;
}

impl Change for Socket {
    fn with(mut self, name: &str, value: u64) -> Self {
        let mut info = self.info.expect("a socket with tcp_info");
        info.set(field(name).unwrap_or_else(|| panic!("no field {name}")), value);
        self.info = Some(info);
        self
    }

    fn timer(mut self, timer: Timer) -> Self {
        self.timer = timer;
        self
    }

    fn queues(mut self, rqueue: u32, wqueue: u32) -> Self {
        (self.rqueue, self.wqueue) = (rqueue, wqueue);
        self
    }

    fn state(mut self, state: TcpState) -> Self {
        self.state = state;
        self
    }

    fn cut_to(mut self, len: usize) -> Self {
        self.info = self.info.map(|info| TcpInfo::from_bytes(&info.as_bytes()[..len]));
        self
    }
}

/// An idle end on loopback with nothing queued.
pub fn end(cookie: u64, local: &str, remote: &str) -> Socket {
    let end = |text: &str| {
        let address: SocketAddr = text.parse().expect("an address");
        Endpoint { ip: address.ip(), port: address.port() }
    };
    let socket = Socket {
        host: stallscope::wire::HostId::default(),
        cookie: Cookie(cookie),
        family: Family::V4,
        state: TcpState::ESTABLISHED,
        timer: Timer::NONE,
        retrans: 0,
        expires_ms: 0,
        local: end(local),
        remote: end(remote),
        mapped: false,
        interface: 0,
        rqueue: 0,
        wqueue: 0,
        uid: 1000,
        inode: 4711,
        info: Some(TcpInfo::from_bytes(&[0; NEWEST])),
        congestion: Congestion::new(b"cubic"),
        skmem: None,
        shutdown: None,
    };
    socket.all(&[
        ("state", 1),
        ("rto", 204_000),
        ("ato", 40_000),
        ("snd_mss", 32_768),
        ("rcv_mss", 536),
        ("rtt", 20_000),
        ("rttvar", 22_000),
        ("min_rtt", 30),
        ("snd_cwnd", 10),
        ("snd_wnd", 65_536),
        ("max_pacing_rate", u64::MAX),
        ("delivered", 1),
    ])
}

/// The sender, which opened: 1 000 bytes acknowledged, 10 in flight for 20 ms, 10 held.
pub fn sender() -> Socket {
    end(S, "127.0.0.1:40000", "127.0.0.1:80").timer(Timer::RETRANSMIT).queues(0, 20).all(&[
        ("unacked", 1),
        ("notsent_bytes", 10),
        ("bytes_sent", 1_010),
        ("bytes_acked", 1_001),
        ("bytes_received", 2_000),
        ("segs_in", 150),
        ("data_segs_in", 50),
        ("segs_out", 102),
        ("data_segs_out", 101),
        ("last_data_sent", 20),
        ("last_data_recv", 20),
        ("last_ack_recv", 20),
    ])
}

/// Its receiver, which accepted: all has arrived, was read, and is neither acknowledged nor answered.
pub fn receiver() -> Socket {
    end(R, "127.0.0.1:80", "127.0.0.1:40000").all(&[
        ("bytes_sent", 2_000),
        ("bytes_acked", 2_000),
        ("bytes_received", 1_010),
        ("segs_out", 149),
        ("data_segs_out", 50),
        ("segs_in", 102),
        ("data_segs_in", 101),
        ("last_data_sent", 24),
        ("last_data_recv", 20),
        ("last_ack_recv", 20),
    ])
}

/// A cut of both ends, S known to have opened, nothing known of segments on their way.
pub fn cut<'a>(s: &'a Socket, r: &'a Socket) -> Cut<'a> {
    Cut { s, r: Some(r), s_opened: Some(true), quiet: None, r_lag_us: 0, tick: HZ_250 }
}

/// What a pair looks like.
pub fn shape_of(s: &Socket, r: &Socket) -> Option<Shape> {
    shape(&cut(s, r))
}

/// What Nagle's shape of a pair proves; `None` for any other shape.
pub fn view(s: &Socket, r: &Socket) -> Option<NagleView> {
    match shape_of(s, r) {
        Some(Shape::Nagle(view)) => Some(view),
        _ => None,
    }
}
