//! A connection's two ends as counters, with a clock of their own: what the kernel would report while a script runs.

use stallscope::diagnose::{Direction, Look, Tick};
use stallscope::model::Moment;
use stallscope::wire::{Socket, TcpState, Timer};

use super::vectors::{Change, R, S, end};

/// The end that holds data back in the scripts here; it opened.
pub const SENDER: usize = 0;
/// Its peer.
pub const RECEIVER: usize = 1;

/// What happens at one instant.
#[derive(Clone, Copy, Debug)]
pub enum Do {
    /// A segment of so many bytes leaves.
    Send(usize, u32),
    /// The segment in flight arrives at the peer of the end that sent it, with so many bytes.
    Arrive(usize, u32),
    /// The program at this end reads everything.
    Read(usize),
    /// A pure ACK leaves.
    Ack(usize),
    /// An acknowledgement of everything in flight arrives at this end, without data of its own.
    Acked(usize),
    /// The same, but it came with data.
    AckedByData(usize),
    /// The program writes so many bytes that stay behind.
    Hold(usize, u32),
    /// What was held leaves as one segment.
    Release(usize),
    /// A retransmission timeout.
    Timeout(usize),
    /// The segment is sent again.
    Retransmit(usize),
    /// Sets this end's timer.
    Timer(usize, Timer),
    /// Sets a field of this end's `tcp_info` that the script alone changes.
    Set(usize, &'static str, u64),
}

#[derive(Clone, Debug, Default)]
struct End {
    fixed: Vec<(&'static str, u64)>,
    timer: u8,
    timer_set_at: u64,
    rqueue: u32,
    in_flight: u32,
    notsent: u32,
    unacked: u64,
    sent: u64,
    retransmitted: u64,
    retrans_segs: u64,
    timeouts: u64,
    acked: u64,
    received: u64,
    segs: [u64; 2],
    data: [u64; 2],
    last_sent: u64,
    last_recv: u64,
    last_ack: u64,
}

/// The connection.
#[derive(Clone, Debug)]
pub struct Sim {
    /// Now, µs.
    pub now: u64,
    /// The kernel's tick.
    pub tick: Tick,
    ends: [End; 2],
}

impl Sim {
    /// A connection that has been idle for half a second.
    pub fn new(tick: Tick) -> Self {
        // The SYN-ACK is counted by the end that received it alone.
        let opener = End { segs: [1, 2], ..End::default() };
        let acceptor = End { segs: [2, 0], ..End::default() };
        Self { now: 500_000, tick, ends: [opener, acceptor] }
    }

    /// Makes something happen now.
    pub fn apply(&mut self, what: Do) {
        let now = self.now;
        match what {
            Do::Send(end, bytes) => self.send(end, bytes),
            Do::Arrive(from, bytes) => {
                let end = &mut self.ends[1 - from];
                (end.last_recv, end.rqueue) = (now, end.rqueue + bytes);
                end.received += u64::from(bytes);
                end.segs[0] += 1;
                end.data[0] += 1;
            }
            Do::Read(end) => self.ends[end].rqueue = 0,
            Do::Ack(end) => self.ends[end].segs[1] += 1,
            Do::Acked(end) => {
                self.ends[end].segs[0] += 1;
                self.acknowledge(end);
            }
            Do::AckedByData(end) => self.acknowledge(end),
            Do::Hold(end, bytes) => self.ends[end].notsent += bytes,
            Do::Release(end) => {
                let held = std::mem::take(&mut self.ends[end].notsent);
                self.send(end, held);
            }
            Do::Timeout(end) => self.ends[end].timeouts += 1,
            Do::Retransmit(end) => {
                let end = &mut self.ends[end];
                end.sent += u64::from(end.in_flight);
                end.retransmitted += u64::from(end.in_flight);
                end.retrans_segs += 1;
                end.segs[1] += 1;
                end.data[1] += 1;
            }
            Do::Timer(end, timer) => (self.ends[end].timer, self.ends[end].timer_set_at) = (timer.0, now),
            Do::Set(end, name, value) => {
                let fixed = &mut self.ends[end].fixed;
                fixed.retain(|(this, _)| *this != name);
                fixed.push((name, value));
            }
        }
    }

    fn send(&mut self, end: usize, bytes: u32) {
        let now = self.now;
        let end = &mut self.ends[end];
        end.sent += u64::from(bytes);
        end.in_flight += bytes;
        end.unacked += 1;
        end.segs[1] += 1;
        end.data[1] += 1;
        end.last_sent = now;
        (end.timer, end.timer_set_at) = (Timer::RETRANSMIT.0, now);
    }

    fn acknowledge(&mut self, end: usize) {
        let now = self.now;
        let end = &mut self.ends[end];
        end.acked += u64::from(std::mem::take(&mut end.in_flight));
        (end.unacked, end.timeouts, end.last_ack) = (0, 0, now);
        (end.timer, end.timer_set_at) = (Timer::NONE.0, now);
    }

    /// What the kernel reports of an end now.
    pub fn socket(&self, which: usize) -> Socket {
        let this = &self.ends[which];
        let (cookie, local, remote) = if which == SENDER {
            (S, "127.0.0.1:40000", "127.0.0.1:80")
        } else {
            (R, "127.0.0.1:80", "127.0.0.1:40000")
        };
        let tick = u64::from(self.tick.us);
        let age = |then: u64| (self.now / tick - then / tick) * tick / 1_000;
        let left = 204_000_u64.saturating_sub(self.now - this.timer_set_at) / 1_000;
        let mut socket = end(cookie, local, remote).timer(Timer(this.timer)).all(&[
            ("unacked", this.unacked),
            ("notsent_bytes", this.notsent.into()),
            ("bytes_sent", this.sent),
            ("bytes_retrans", this.retransmitted),
            ("total_retrans", this.retrans_segs),
            ("retransmits", this.timeouts),
            ("ca_state", if this.timeouts > 0 { 4 } else { 0 }),
            ("bytes_acked", this.acked + u64::from(which == SENDER)),
            ("bytes_received", this.received),
            ("segs_in", this.segs[0]),
            ("segs_out", this.segs[1]),
            ("data_segs_in", this.data[0]),
            ("data_segs_out", this.data[1]),
            ("last_data_sent", age(this.last_sent)),
            ("last_data_recv", age(this.last_recv)),
            ("last_ack_recv", age(this.last_ack)),
        ]);
        socket = socket.queues(this.rqueue, this.in_flight + this.notsent).all(&this.fixed);
        socket.state = TcpState::ESTABLISHED;
        socket.expires_ms = if this.timer == 0 { 0 } else { u32::try_from(left).expect("under 204") };
        socket
    }
}

/// Which ends a watch sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    Both,
    SenderOnly,
    ReceiverOnly,
}

/// How a script is watched.
#[derive(Clone, Copy, Debug)]
pub struct Watching {
    pub every_us: u64,
    pub sees: Sees,
    /// The tick that is reckoned with, when it is not the kernel's own.
    pub believed: Option<Tick>,
}

/// Every 10 ms, both ends.
pub const CLOSELY: Watching = Watching { every_us: 10_000, sees: Sees::Both, believed: None };

/// Plays a script (µs from the start, in order) and looks at the direction in which the sender sends.
pub fn play(sim: &mut Sim, script: &[(u64, Do)], watching: Watching) -> Direction {
    let mut direction = Direction::default();
    watch(sim, script, watching, &mut direction);
    direction
}

/// The same, going on with a direction that was watched before.
pub fn watch(sim: &mut Sim, script: &[(u64, Do)], watching: Watching, direction: &mut Direction) {
    run(sim, script, watching.every_us, |sim| look(sim, watching, direction));
}

/// Plays a script, and calls `look` every so many µs.
pub fn run(sim: &mut Sim, script: &[(u64, Do)], every_us: u64, mut look: impl FnMut(&Sim)) {
    let start = sim.now;
    let mut next_look = start;
    let last = script.last().map_or(start, |(at, _)| start + at);
    let mut events = script.iter().peekable();
    // Not in step with anything that happens in whole milliseconds.
    let step = every_us + 37;
    while next_look <= last + 4 * step {
        while let Some((at, what)) = events.next_if(|(at, _)| start + at <= next_look) {
            assert!(start + at >= sim.now, "the script is in order");
            sim.now = start + at;
            sim.apply(*what);
        }
        sim.now = next_look;
        look(sim);
        next_look += step;
    }
}

fn look(sim: &Sim, watching: Watching, direction: &mut Direction) {
    let (s, r) = (sim.socket(SENDER), sim.socket(RECEIVER));
    let at = Moment(sim.now);
    let tick = watching.believed.unwrap_or(sim.tick);
    match watching.sees {
        Sees::Both => {
            direction.look(&Look { at, s: &s, r: Some(&r), r_lag_us: 0, s_opened: Some(true), tick, is_cut: true });
        }
        Sees::SenderOnly => {
            direction.look(&Look { at, s: &s, r: None, r_lag_us: 0, s_opened: Some(true), tick, is_cut: true });
        }
        Sees::ReceiverOnly => direction.look_at_receiver(at, &r, tick),
    }
}
