//! A small world of connections with a clock of its own, looked at through the real engine.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::engine::{Engine, Planned};
use crate::filter::Filter;
use crate::model::{Event, Host, Moment, Owner, Owners, SurveyReport};
use crate::record::Writer;
use crate::tui::build::Builder;
use crate::tui::view::View;
use crate::wire::{Congestion, Cookie, Endpoint, Family, Socket, TcpInfo, TcpState, Timer, encode_socket, field};

/// Length of one request of a stalled connection, ms: eleven ticks at 250 Hz.
const CYCLE_MS: u64 = 44;

/// The wall clock when the world's clock was at 0, µs since 1970: 2023-11-14 22:13:20 UTC.
pub(super) const WALL_US: i64 = 1_700_000_000_000_000;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Write-write-read: held for 40 of each 44 ms.
    Stall,
    /// The same until that moment, ms; nothing afterwards.
    StallUntil(u64),
    /// Nothing is held, data moves.
    Healthy,
    /// Nothing moves.
    Nothing,
}

/// The world.
pub(super) struct World {
    /// What looks at it.
    pub(super) engine: Engine,
    /// What the display would get.
    pub(super) builder: Builder,
    connections: Vec<Does>,
    now_ms: u64,
    next_survey_ms: u64,
    /// How surveys go.
    pub(super) report: SurveyReport,
    /// The recording of everything, when one is made.
    recording: Writer<Vec<u8>>,
}

impl World {
    pub(super) fn new(connections: &[Does]) -> Self {
        let host = Host {
            hostname: "db7".to_owned(),
            kernel: "6.18.44".to_owned(),
            netns: Some(4_026_531_840),
            uid: 1000,
            user: Some("web".to_owned()),
            tick_us: Some(4_000),
            tool_version: "1".to_owned(),
            ..Host::default()
        };
        let now_ms = 100_000;
        let mut world = Self {
            engine: Engine::new(10_000),
            builder: Builder::default(),
            connections: connections.to_vec(),
            now_ms,
            next_survey_ms: now_ms,
            report: SurveyReport::default(),
            recording: Writer::new(Vec::new()).unwrap(),
        };
        world.feed(Event::Host(&host));
        world
    }

    fn feed(&mut self, event: Event<'_>) {
        self.recording.write(&event).unwrap();
        self.engine.feed(event);
    }

    /// Sets a mark.
    pub(super) fn mark(&mut self, word: &str) {
        self.feed(Event::Mark { at: Moment(self.now_ms * 1000), word });
    }

    /// The recording of everything so far; another one begins.
    pub(super) fn recording(&mut self) -> Vec<u8> {
        let next = Writer::new(Vec::new()).unwrap();
        std::mem::replace(&mut self.recording, next).finish().unwrap()
    }

    /// Lets time pass: surveys every second, probes as planned.
    pub(super) fn pass(&mut self, ms: u64) {
        let until = self.now_ms + ms;
        while self.now_ms < until {
            if self.now_ms >= self.next_survey_ms {
                self.survey();
            }
            let now = Moment(self.now_ms * 1000);
            for planned in self.engine.plan(now, 64) {
                let answers = self.answers(&planned);
                self.feed(Event::Probe { at: now, target: planned.target, answers: &answers });
            }
            self.now_ms += 2;
        }
    }

    fn survey(&mut self) {
        let at = Moment(self.now_ms * 1000);
        self.next_survey_ms = self.now_ms + 1_000;
        self.feed(Event::SurveyBegin { at, wall_us: Some(WALL_US + i64::try_from(at.0).unwrap()) });
        let mut run = Vec::new();
        if self.report.failures.is_empty() {
            for connection in 0..self.connections.len() {
                self.ends(connection).iter().for_each(|socket| encode_socket(&mut run, socket));
            }
        }
        self.feed(Event::Run(&run));
        let report = self.report.clone();
        self.feed(Event::SurveyEnd { at, report: &report });
    }

    fn answers(&self, planned: &Planned) -> Vec<u8> {
        let mut run = Vec::new();
        let order = [Some(&planned.first), planned.second.as_ref()];
        for cookie in order.iter().chain(&order).flatten().map(|socket| socket.cookie.0) {
            let ends = self.ends(usize::try_from(cookie / 2).unwrap() - 1);
            encode_socket(&mut run, &ends[usize::try_from(cookie % 2).unwrap()]);
        }
        run
    }

    /// Tells who holds every socket.
    pub(super) fn name(&mut self, comm: &str) {
        let owners: Vec<_> = (0..self.connections.len())
            .flat_map(|connection| self.ends(connection))
            .map(|socket| {
                let owner = Owner {
                    pid: socket.inode + 7,
                    comm: comm.into(),
                    fd: 5,
                    cmdline: format!("{comm} --serve").into(),
                    exe: None,
                };
                (socket.inode, Owners::Known(vec![owner]))
            })
            .collect();
        self.feed(Event::Owners(&owners));
        self.builder.learn(crate::wire::HostId::default(), &owners);
    }

    pub(super) fn filter(&mut self, text: &str) {
        self.builder.set_filter(Filter::parse(text).unwrap(), text.to_owned());
    }

    pub(super) fn view(&mut self) -> View {
        self.builder.view(&self.engine, Duration::from_secs(1))
    }

    /// Both ends of a connection now; the client, which sends, first.
    fn ends(&self, connection: usize) -> [Socket; 2] {
        let n = connection as u64;
        let (client, server) = (endpoint(40_000 + n), endpoint(4_150 + n));
        let does = match self.connections[connection] {
            Does::StallUntil(until) if self.now_ms < until => Does::Stall,
            Does::StallUntil(_) => Does::Nothing,
            does => does,
        };
        let mut s = socket(2 * (n + 1), client, server);
        let mut r = socket(2 * (n + 1) + 1, server, client);
        match does {
            Does::Stall => self.stall(&mut s, &mut r),
            Does::Healthy => quiet(&mut s, &mut r, self.now_ms / 10, 2),
            Does::Nothing | Does::StallUntil(_) => quiet(&mut s, &mut r, 100, 90_000),
        }
        [s, r]
    }

    /// Held from 0 to 40 ms of each cycle; the pure ACK and the rest of the message follow.
    fn stall(&self, s: &mut Socket, r: &mut Socket) {
        let (cycle, phase) = (self.now_ms / CYCLE_MS, self.now_ms % CYCLE_MS);
        if phase >= 40 {
            quiet(s, r, cycle + 1, phase - 40);
            return;
        }
        quiet(s, r, cycle, phase);
        s.wqueue = 20;
        s.timer = Timer::RETRANSMIT;
        s.expires_ms = 200;
        set(s, &[("notsent_bytes", 10), ("unacked", 1), ("bytes_sent", 20 * cycle + 10), ("segs_out", 3 * cycle + 1)]);
        set(s, &[("data_segs_out", 2 * cycle + 1), ("last_data_sent", phase / 4 * 4)]);
        set(r, &[("bytes_received", 20 * cycle + 10), ("segs_in", 3 * cycle + 1), ("data_segs_in", 2 * cycle + 1)]);
        set(r, &[("last_data_recv", phase / 4 * 4), ("last_data_sent", phase / 4 * 4 + 4)]);
    }
}

fn endpoint(port: u64) -> Endpoint {
    Endpoint { ip: IpAddr::V4(Ipv4Addr::LOCALHOST), port: u16::try_from(port).unwrap() }
}

fn socket(id: u64, local: Endpoint, remote: Endpoint) -> Socket {
    let mut info = TcpInfo::default();
    info.extend_to(248);
    let mut socket = Socket {
        host: crate::wire::HostId::default(),
        cookie: Cookie(id),
        family: Family::V4,
        state: TcpState::ESTABLISHED,
        timer: Timer::NONE,
        retrans: 0,
        expires_ms: 0,
        local,
        remote,
        mapped: false,
        interface: 0,
        rqueue: 0,
        wqueue: 0,
        uid: 1000,
        inode: u32::try_from(id).unwrap() + 500,
        info: Some(info),
        congestion: Congestion::new(b"cubic"),
        skmem: None,
        shutdown: None,
    };
    set(&mut socket, &[("state", 1), ("snd_mss", 32_768), ("rcv_mss", 536), ("snd_wnd", 65_536), ("snd_cwnd", 10)]);
    set(&mut socket, &[("ato", 40_000), ("min_rtt", 12), ("rtt", 20_000), ("rttvar", 20_000), ("rto", 204_000)]);
    socket
}

/// Both ends after so many requests, each of two writes of 10 bytes, an answer, and one pure ACK of the receiver.
fn quiet(s: &mut Socket, r: &mut Socket, requests: u64, age_ms: u64) {
    let n = requests;
    let age = age_ms / 4 * 4;
    set(s, &[("bytes_sent", 20 * n), ("bytes_acked", 20 * n + 1), ("bytes_received", 5 * n)]);
    set(r, &[("bytes_sent", 5 * n), ("bytes_acked", 5 * n), ("bytes_received", 20 * n)]);
    set(s, &[("segs_out", 3 * n), ("data_segs_out", 2 * n), ("segs_in", 2 * n), ("data_segs_in", n)]);
    set(r, &[("segs_out", 2 * n), ("data_segs_out", n), ("segs_in", 3 * n), ("data_segs_in", 2 * n)]);
    for end in [s, r] {
        set(end, &[("last_data_sent", age), ("last_data_recv", age), ("busy_time", 40_000 * n)]);
    }
}

fn set(socket: &mut Socket, values: &[(&str, u64)]) {
    let info = socket.info.as_mut().unwrap();
    for (name, value) in values {
        info.set(field(name).unwrap(), *value);
    }
}
