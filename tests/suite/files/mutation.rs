//! Readers against damage: files of every kind with bytes changed, cut, doubled and moved. Seeded, so that a failure comes
//! again. `STALLSCOPE_MUTATIONS` sets how many cases there are; CI runs a million.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::seeds::{Seed, mutate, seeds};
use super::series::Random;
use stallscope::model::Event;
use stallscope::record::{RedactOptions, Redactor};
use stallscope::source::file::FileSource;
use stallscope::wire::messages;

/// Threads that share the cases.
const THREADS: u64 = 2;

/// The longest time for one case: it takes some 30 µs, and a busy machine may stand still for a while.
const CASE_LIMIT: Duration = Duration::from_secs(20);

/// One case in so many goes through a redactor as well: it takes the same sockets, and as long as reading them.
const REDACTED: u64 = 4;

/// Reads one damaged file to its end; answers how many messages it gave.
fn read_damaged(case: u64, seeds: &[Seed]) -> u64 {
    let mut random = Random(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let bytes = mutate(seeds, &mut random);
    let limit = 64 * bytes.len() + (1 << 20);
    let Ok(mut source) = FileSource::from_reader("damaged", Box::new(std::io::Cursor::new(bytes))) else { return 0 };
    let (mut given, mut read, mut calls) = (0, 0, 0);
    let mut redactor = Redactor::new(RedactOptions::default());
    while let Ok(true) = source.next(&mut |event| {
        if let Event::Run(run) | Event::Probe { answers: run, .. } = event {
            given += run.len();
            read += messages(run).count() as u64;
        }
        if case.is_multiple_of(REDACTED) {
            redactor.redact(&event, |_| {});
        }
    }) {
        calls += 1;
        assert!(calls < 10_000, "case {case} does not end");
    }
    assert!(given <= limit, "case {case} gave {given} bytes");
    let _ = (source.notes(), source.provenance().limits());
    read
}

/// Runs the body of a test in a process of its own: the system counts memory by process.
fn alone(test: &str, body: fn()) {
    const INSIDE: &str = "STALLSCOPE_TEST_ALONE";
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        return body();
    }
    let exe = std::env::current_exe().expect("this program");
    let arguments = ["--exact", test, "--nocapture", "--test-threads=1"];
    let output = std::process::Command::new(exe).args(arguments).env(INSIDE, test).output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    print!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "{test}: {}", output.status);
}

/// Reads the cases of one thread; `reached` always tells the one that is read.
fn read_all(cases: impl Iterator<Item = u64>, reached: &AtomicU64) -> u64 {
    let seeds = seeds();
    cases
        .map(|case| {
            reached.store(case, Ordering::Relaxed);
            read_damaged(case, &seeds)
        })
        .sum()
}

#[test]
fn no_damage_makes_a_reader_panic_or_run_away() {
    alone("files::mutation::no_damage_makes_a_reader_panic_or_run_away", read_all_damaged);
}

fn read_all_damaged() {
    let cases: u64 = std::env::var("STALLSCOPE_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(6000);
    let reached: Vec<_> = (0..THREADS).map(|_| Arc::new(AtomicU64::new(u64::MAX))).collect();
    let (done, results) = mpsc::channel();
    for (first, reached) in (0..).zip(&reached) {
        let (done, reached) = (done.clone(), Arc::clone(reached));
        std::thread::spawn(move || {
            let read = std::panic::catch_unwind(|| read_all((first..cases).step_by(THREADS as usize), &reached));
            done.send(read.map_err(|_| reached.load(Ordering::Relaxed))).expect("the test waits");
        });
    }
    let (mut read, mut running) = (0, THREADS);
    let mut seen: Vec<_> = reached.iter().map(|_| (u64::MAX, Instant::now())).collect();
    while running > 0 {
        match results.recv_timeout(Duration::from_millis(200)) {
            Ok(result) => {
                read += result.unwrap_or_else(|case| panic!("case {case} panicked"));
                running -= 1;
            }
            Err(_) => watch(&reached, &mut seen),
        }
    }
    assert!(read > cases / 2, "most damage leaves something to read: {read} messages of {cases} cases");
    if let Some(peak) = peak() {
        assert!(peak < 200 << 20, "{} MiB were resident", peak >> 20);
    }
}

/// Fails when a case takes too long. A thread that is through stays at its last one, which is not waited for any more.
fn watch(reached: &[Arc<AtomicU64>], seen: &mut [(u64, Instant)]) {
    let mut moving = false;
    for (reached, (case, since)) in reached.iter().zip(seen) {
        let now = reached.load(Ordering::Relaxed);
        if now != *case {
            (*case, *since) = (now, Instant::now());
        }
        moving |= since.elapsed() < CASE_LIMIT;
    }
    assert!(moving, "a case takes longer than {CASE_LIMIT:?}: one of {reached:?}");
}

#[test]
fn a_sealed_recording_is_read_whole() {
    let seeds = seeds();
    let plain = seeds.iter().find(|seed| seed.name == "a recording").expect("it is there");
    for seed in seeds.iter().filter(|seed| seed.sealed) {
        assert_eq!(super::common::read_bytes(&seed.bytes).notes, Vec::<String>::new(), "{}", seed.name);
        assert_eq!(super::common::read_bytes(&seed.bytes).runs, super::common::read_bytes(&plain.bytes).runs);
    }
}

#[test]
fn every_cut_and_a_flipped_bit_in_every_byte_is_survived() {
    for seed in seeds().iter().filter(|seed| seed.bytes.len() < 8192) {
        for at in 0..seed.bytes.len() {
            let mut flipped = seed.bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            for bytes in [seed.bytes[..at].to_vec(), flipped] {
                let Ok(mut source) = FileSource::from_reader("it", Box::new(std::io::Cursor::new(bytes))) else {
                    continue;
                };
                let mut calls = 0;
                while let Ok(true) = source.next(&mut |_| {}) {
                    calls += 1;
                    assert!(calls < 10_000, "{}, byte {at}: does not end", seed.name);
                }
            }
        }
    }
}

/// Resident memory at its highest, in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Repeats a text without ever holding it whole.
struct Endless {
    text: Vec<u8>,
    at: usize,
    left: u64,
}

impl std::io::Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = out.len().min(self.text.len() - self.at).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        out[..len].copy_from_slice(&self.text[self.at..self.at + len]);
        self.at = (self.at + len) % self.text.len();
        self.left -= len as u64;
        Ok(len)
    }
}

#[test]
fn memory_stays_bounded_however_long_the_file() {
    alone("files::mutation::memory_stays_bounded_however_long_the_file", read_long_texts);
}

fn read_long_texts() {
    // 2 GiB where a release build asks for it; the bound does not depend on the length.
    let len = std::env::var("STALLSCOPE_LONG_TEXT").ok().and_then(|text| text.parse().ok()).unwrap_or(64 << 20);
    let text = std::fs::read(super::common::fixture("stall-linux-7.3.4.ss.txt")).expect("the fixture");
    for text in [text, b"x".to_vec(), b"ESTAB 0 0 ".to_vec(), b"cubic rto:1 (".to_vec()] {
        let endless = Endless { text: text.repeat((64 << 10) / text.len()), at: 0, left: len };
        let Ok(mut source) = FileSource::from_reader("long", Box::new(endless)) else { continue };
        let began = std::time::Instant::now();
        while let Ok(true) = source.next(&mut |_| {}) {}
        println!("{:.1} MiB/s", len as f64 / began.elapsed().as_secs_f64() / f64::from(1 << 20));
    }
    let Some(peak) = peak() else {
        eprintln!("SKIPPED: no /proc/self/status here");
        return;
    };
    assert!(peak < 200 << 20, "{} MiB were resident", peak >> 20);
}
