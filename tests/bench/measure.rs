//! Timing, and what is compared against.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use stallscope::wire::{Family, dump_request};

/// A dump of both families that only receives.
pub struct RawDump {
    socket: Socket,
    buffer: Vec<u8>,
}

impl RawDump {
    pub fn open() -> Self {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG).unwrap();
        socket.bind_auto().unwrap();
        socket.connect(&SocketAddr::new(0, 0)).unwrap();
        Self { socket, buffer: vec![0; 65_536] }
    }

    pub fn run(&mut self) {
        const NLMSG_DONE: u16 = 3;
        for family in [Family::V4, Family::V6] {
            self.socket.send(&dump_request(family, 1, &[]), 0).unwrap();
            loop {
                let len = self.socket.recv(&mut &mut self.buffer[..], 0).unwrap();
                // The message that ends a dump comes alone, or behind the last sockets.
                let done = self.buffer[..len]
                    .windows(20)
                    .rev()
                    .take(64)
                    .any(|end| end[..4] == 20u32.to_ne_bytes() && end[4..6] == NLMSG_DONE.to_ne_bytes());
                if done {
                    break;
                }
            }
        }
    }
}

/// Whether `ss` is installed.
pub fn has_ss() -> bool {
    Command::new("ss").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs `ss`, its output thrown away.
pub fn ss(args: &[&str]) {
    let status = Command::new("ss").args(args).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
}

/// Resident memory of this process, KiB.
pub fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The times of one action.
pub struct Series {
    name: String,
    times: Vec<Duration>,
}

impl Series {
    /// Times `action` on its own.
    pub fn of(name: &str, rounds: usize, action: &mut dyn FnMut()) -> Self {
        alternate(rounds, &mut [(name, action)]).remove(0)
    }

    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2]
    }

    fn min(&self) -> Duration {
        self.times.iter().min().copied().unwrap()
    }
}

/// Times the actions in turn, so that a machine whose speed drifts is fair to all.
pub fn alternate(rounds: usize, actions: &mut [(&str, &mut dyn FnMut())]) -> Vec<Series> {
    let mut series: Vec<_> =
        actions.iter().map(|(name, _)| Series { name: (*name).to_owned(), times: Vec::new() }).collect();
    for round in 0..=rounds {
        for ((_, action), series) in actions.iter_mut().zip(&mut series) {
            let began = Instant::now();
            action();
            // The first round warms up.
            if round > 0 {
                series.times.push(began.elapsed());
            }
        }
    }
    series
}

/// The result.
pub struct Table;

impl Table {
    /// Prints each action with its ratio to the first one.
    pub fn print(series: &[Series]) {
        println!("{:<26} {:>10} {:>10} {:>12}", "", "min", "median", "vs raw dump");
        let base = series[0].median().as_secs_f64();
        for one in series {
            let ratio = one.median().as_secs_f64() / base;
            let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
            println!("{:<26} {:>10} {:>10} {ratio:>11.2}x", one.name, ms(one.min()), ms(one.median()));
        }
    }
}
