//! Several large files as one picture, within the memory that a file that is read through may take.

use std::path::Path;
use std::process::{Command, Stdio};

use stallscope::model::{Event, Host, Moment, SurveyReport};
use stallscope::record::Writer;

use super::series::Series;

/// Sockets of each host: 40 000 together.
const SOCKETS: usize = 20_000;
const SURVEYS: u64 = 6;

fn record(to: &Path, seed: u64) {
    let template = std::fs::read(super::common::fixture("stall-linux-7.3.4.nl")).expect("the fixture");
    let mut series = Series::new(SOCKETS, &template, seed);
    let mut writer = Writer::new(std::fs::File::create(to).expect("a file")).expect("a file");
    let mut write = |event: &Event<'_>| writer.write(event).expect("a file");
    write(&Event::Host(&Host { hostname: format!("host {seed}"), ..Host::default() }));
    for second in 0..SURVEYS {
        let at = Moment(second * 1_000_000);
        let wall_us = Some(1_700_000_000_000_000 + second.cast_signed() * 1_000_000);
        write(&Event::SurveyBegin { at, wall_us });
        series.survey(1_000).iter().for_each(|run| write(&Event::Run(run)));
        write(&Event::SurveyEnd { at: at.after(40_000), report: &SurveyReport::default() });
    }
    writer.finish().expect("a file");
}

/// Runs a command; answers its peak of resident memory as last seen, bytes, and what it printed.
fn peak_of(command: &mut Command) -> (u64, String) {
    let child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let watching = std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(kib) = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()) else { break };
            peak = peak.max(kib * 1_024);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        peak
    });
    let output = child.wait_with_output().expect("it ends");
    (watching.join().expect("watched"), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn two_busy_hosts_are_read_together_in_bounded_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [1, 2].map(|seed| folder.path().join(format!("{seed}.ssrec")));
    (1..).zip(&files).for_each(|(seed, file)| record(file, seed));
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    let (peak, report) = peak_of(command.args(["check", "--from"]).args(&files));
    assert!(report.contains("host 2: host 2"), "{report}");
    let (one, _) = peak_of(Command::new(env!("CARGO_BIN_EXE_stallscope")).args(["check", "--from"]).arg(&files[0]));
    println!("{} MiB for one", one >> 20);
    println!("{} MiB for 2 hosts of {SOCKETS} sockets", peak >> 20);
    assert!(peak > 1 << 20, "the peak was not seen");
    assert!(peak < 200 << 20, "{} MiB were resident", peak >> 20);
}
