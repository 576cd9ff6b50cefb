//! Connections that come and go, and ten that stall all the while.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::measure::{PROGRAM, resident_kib};
use super::results::Results;
use super::terminal::Display;
use super::{Scale, role};

/// New connections a second.
const RATE: usize = 2_000;

/// What counts as no growth, MiB. What is kept of connections that are gone has limits, and the display takes two minutes to
/// reach them.
const NO_GROWTH: f64 = 3.0;

/// Connections that stall.
const STALLS: usize = 10;

/// As a child: makes both until standard input ends.
pub fn make(rate: usize, stalls: usize) {
    let ports: Vec<String> = (0..stalls).map(|_| stall().to_string()).collect();
    println!("{}", ports.join(" "));
    std::thread::spawn(move || come_and_go(rate));
    let _ = std::io::stdin().read(&mut [0]);
    // Whatever the threads do ends with the process.
}

/// A message in two writes and a wait for the answer, again and again; answers the client's port.
fn stall() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let port = client.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut message = [0; 20];
        while server.read_exact(&mut message).is_ok() && server.write_all(&[1]).is_ok() {}
    });
    std::thread::spawn(move || {
        let mut turn = || {
            client.write_all(&[0; 10])?;
            client.write_all(&[0; 10])?;
            client.read_exact(&mut [0])
        };
        while turn().is_ok() {}
    });
    port
}

/// Opens `rate` connections a second, uses each once and closes it half a second later.
fn come_and_go(rate: usize) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut open = VecDeque::new();
    let began = Instant::now();
    for made in 0usize.. {
        // Many addresses, so that closed connections do not use up the ports.
        let address = format!("127.2.{}.1:{port}", made % 64);
        let mut client = TcpStream::connect(address).expect("a port");
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[0; 100]).unwrap();
        server.read_exact(&mut [0; 100]).unwrap();
        server.write_all(&[0; 100]).unwrap();
        open.push_back((client, server));
        if open.len() > rate / 2 {
            open.pop_front();
        }
        let due = Duration::from_secs_f64(made as f64 / rate as f64);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
}

/// Watches a minute of it, or shorter.
pub fn run(scale: Scale, results: &mut Results) {
    let seconds = scale.minutes(60).max(6);
    let mut traffic = role::spawn(&format!("churn {RATE} {STALLS}"));
    let mut line = String::new();
    BufReader::new(traffic.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let ports: HashSet<u64> = line.split_whitespace().map(|port| port.parse().unwrap()).collect();
    assert_eq!(ports.len(), STALLS);

    let display = Display::start(&[]);
    let mut check = Command::new(PROGRAM);
    check.args(["check", "--for", &format!("{seconds}s"), "--format", "json"]).stdout(Stdio::piped());
    let mut check = check.spawn().unwrap();
    let mut report = check.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        report.read_to_string(&mut text).map(|_| text)
    });
    let began = Instant::now();
    let half = Duration::from_secs(seconds / 2);
    let mut resident = [Peaks::default(), Peaks::default()];
    while check.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(200));
        let second = began.elapsed() >= half;
        for (peaks, pid) in resident.iter_mut().zip([check.id(), display.pid()]) {
            peaks.see(second, resident_kib(pid).unwrap_or(0));
        }
    }
    let report = reading.join().unwrap().unwrap();
    let found = stalled_ports(&report).intersection(&ports).count();
    drop(display);
    drop(traffic.stdin.take());
    let _ = traffic.wait();

    let span = format!("{RATE} new connections a second for {seconds} s");
    results.at_least(&format!("{span}: of {STALLS} stalls, proven"), STALLS as f64, found as f64, "", "");
    assert_eq!(found, STALLS, "stalls were missed:\n{report}");
    for (name, peaks) in ["check", "the display"].into_iter().zip(&resident) {
        let what = format!("the same: growth of {name} in the second half");
        results.at_most(&what, NO_GROWTH, peaks.growth_mib(), "MiB", &format!(" (to {:.1} MiB)", peaks.most_mib()));
    }
}

/// The client ports of the connections that are proven to stall.
fn stalled_ports(report: &str) -> HashSet<u64> {
    let report: serde_json::Value = serde_json::from_str(report).expect("a report");
    let findings = report["findings"].as_array().expect("findings");
    let proven =
        findings.iter().filter(|finding| finding["verdict"] == "nagle-delayed-ack" && finding["level"] == "proven");
    proven
        .flat_map(|finding| [&finding["sender"]["port"], &finding["receiver"]["port"]])
        .filter_map(serde_json::Value::as_u64)
        .collect()
}

/// The most resident memory in each half of the time, KiB. Memory that is given back and taken again is no growth.
#[derive(Default)]
struct Peaks([u64; 2]);

impl Peaks {
    fn see(&mut self, second: bool, kib: u64) {
        let peak = &mut self.0[usize::from(second)];
        *peak = kib.max(*peak);
    }

    fn growth_mib(&self) -> f64 {
        (self.0[1] as f64 - self.0[0] as f64) / 1024.0
    }

    fn most_mib(&self) -> f64 {
        self.0[1] as f64 / 1024.0
    }
}
