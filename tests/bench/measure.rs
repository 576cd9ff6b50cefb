//! Timing, and what is compared against.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use rustix::time::{ClockId, clock_gettime};
use stallscope::wire::dump_both_request;

use super::results::figure;

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

/// Time that the calling thread and all children that ended ran so far. Children's is kept in hundredths of a second.
fn cpu_here() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name: state, ppid, …; children's user and system time are 13 and 14 further on (proc_pid_stat(5)).
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[13..15].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    cpu_of_this_thread() + Duration::from_millis(10 * ticks)
}

/// How much longer things take than they run for, because others run too; 1 on a quiet machine.
const BUSY: f64 = 1.25;

/// Whether the machine is too busy for wall time to tell anything.
pub fn is_busy() -> bool {
    let series = Series::of(1, &mut || {
        let end = cpu_of_this_thread() + Duration::from_millis(50);
        while cpu_of_this_thread() < end {}
    });
    series.wall() / series.cpu() > BUSY
}

/// The times of one action.
#[derive(Default)]
pub struct Series {
    times: Vec<Duration>,
    cpu: Duration,
}

impl Series {
    /// Times `action` on its own.
    pub fn of(rounds: usize, action: &mut dyn FnMut()) -> Self {
        alternate(rounds, &mut [action]).remove(0)
    }

    /// Adds what one round took.
    pub fn add(&mut self, time: Duration, cpu: Duration) {
        self.times.push(time);
        self.cpu += cpu;
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

    /// The mean, ms.
    fn wall(&self) -> f64 {
        self.times.iter().sum::<Duration>().as_secs_f64() * 1e3 / self.times.len() as f64
    }

    /// The mean time that it ran for, ms.
    pub fn cpu(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e3 / self.times.len() as f64
    }

    /// The median of what each round's time is in proportion to another's of the same round; by time on a core where the
    /// machine is busy. And in words.
    pub fn over(&self, other: &Self) -> (f64, String) {
        if (self.wall() + other.wall()) / (self.cpu() + other.cpu()) > BUSY {
            let words =
                format!(", on a core, the machine was busy: {} ms, {} ms", figure(self.cpu()), figure(other.cpu()));
            return (self.cpu() / other.cpu(), words);
        }
        let pairs = self.times.iter().zip(&other.times);
        let mut ratios: Vec<f64> = pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let words = format!(": {} ms, {} ms", figure(self.median()), figure(other.median()));
        (ratios[ratios.len() / 2], words)
    }

    /// The median, ms; the mean time on a core where the machine is busy. And in words, with the worst.
    pub fn typical(&self) -> (f64, String) {
        let worst = figure(self.percentile(100));
        if is_busy() {
            let words =
                format!(" on a core, the machine was busy: median {} ms, worst {worst} ms", figure(self.median()));
            return (self.cpu(), words);
        }
        (self.median(), format!(", worst {worst} ms; on a core {} ms", figure(self.cpu())))
    }
}

/// Times the actions in turn, so that a machine whose speed drifts is fair to all.
pub fn alternate(rounds: usize, actions: &mut [&mut dyn FnMut()]) -> Vec<Series> {
    let mut series: Vec<_> = actions.iter().map(|_| Series::default()).collect();
    for round in 0..=rounds {
        for (action, series) in actions.iter_mut().zip(&mut series) {
            let (cpu, began) = (cpu_here(), Instant::now());
            action();
            // The first round warms up.
            if round > 0 {
                series.add(began.elapsed(), cpu_here().saturating_sub(cpu));
            }
        }
    }
    series
}
