//! Timing, and what is compared against.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use rustix::time::{ClockId, clock_gettime};
use stallscope::wire::dump_both_request;

/// A dump of all sockets that only receives: the same request as a survey's.
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
        self.socket.send(&dump_both_request(1, &[]), 0).unwrap();
        loop {
            let len = self.socket.recv(&mut &mut self.buffer[..], 0).unwrap();
            // The message that ends a dump comes alone, or behind the last sockets.
            let ends = |end: &[u8]| end[..4] == 20u32.to_ne_bytes() && end[4..6] == NLMSG_DONE.to_ne_bytes();
            if self.buffer[..len].windows(20).rev().take(64).any(ends) {
                return;
            }
        }
    }
}

/// The program that is measured.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_stallscope");

/// Whether `ss` is installed; says so when it is not.
pub fn has_ss() -> bool {
    let there = Command::new("ss").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !there {
        println!("SKIPPED: ratios to ss, which is not installed (Debian: iproute2)");
    }
    there
}

/// Runs a program that ends well, its output thrown away.
pub fn run(program: &str, args: &[&str]) {
    let status = Command::new(program).args(args).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{program} {args:?}: {status}");
}

/// Resident memory of a process, KiB; `None` when it is gone.
pub fn resident_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Time that all threads of a process ran so far, to the nanosecond; `None` when it is gone.
pub fn cpu_of(pid: u32) -> Option<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        total += stat.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(total))
}

/// Time that the calling thread ran so far.
pub fn cpu_of_this_thread() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.cast_unsigned(), u32::try_from(now.tv_nsec).unwrap())
}

/// The times of one action.
#[derive(Default)]
pub struct Series {
    times: Vec<Duration>,
}

impl Series {
    /// Times `action` on its own.
    pub fn of(rounds: usize, action: &mut dyn FnMut()) -> Self {
        alternate(rounds, &mut [action]).remove(0)
    }

    pub fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// The time that `percent` of all do not exceed, ms.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let place = (times.len() * percent).div_ceil(100).clamp(1, times.len()) - 1;
        times[place].as_secs_f64() * 1e3
    }

    /// The median, ms.
    pub fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// The median of what each round's time is in proportion to another's of the same round.
    pub fn over(&self, other: &Self) -> f64 {
        let mut ratios: Vec<f64> =
            self.times.iter().zip(&other.times).map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    }
}

/// Times the actions in turn, so that a machine whose speed drifts is fair to all.
pub fn alternate(rounds: usize, actions: &mut [&mut dyn FnMut()]) -> Vec<Series> {
    let mut series: Vec<_> = actions.iter().map(|_| Series::default()).collect();
    for round in 0..=rounds {
        for (action, series) in actions.iter_mut().zip(&mut series) {
            let began = Instant::now();
            action();
            // The first round warms up.
            if round > 0 {
                series.add(began.elapsed());
            }
        }
    }
    series
}
