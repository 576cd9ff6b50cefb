//! Recordings: what goes in comes out, whatever happens to the file.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::series::{Random, Series};
use stallscope::model::{Counters, Event, Host, Moment, Owner, Owners, ProbeTarget, SurveyReport};
use stallscope::record::{ReadError, Reader, VERSION, Writer};
use stallscope::wire::Cookie;

fn template() -> Vec<u8> {
    std::fs::read(super::common::fixture("stall-linux-7.3.4.nl")).expect("the fixture")
}

/// An event in words, for comparing.
fn words(event: &Event<'_>) -> String {
    format!("{event:?}")
}

fn read(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut reader = Reader::new(bytes).expect("a recording");
    let mut events = Vec::new();
    while reader.next(&mut |event| events.push(words(&event))).expect("it is read") {}
    (events, reader.notes().to_vec())
}

/// Gives `surveys` surveys with everything that an event can be to `sink`.
fn play(sockets: usize, surveys: u64, sink: &mut dyn FnMut(&Event<'_>)) {
    let mut series = Series::new(sockets, &template(), 7);
    let host = Host { hostname: "here".into(), kernel: "7.3.4".into(), tick_us: Some(4000), ..Host::default() };
    sink(&Event::Host(&host));
    for second in 0..surveys {
        let at = Moment(5_000_000 + second * 1_000_000);
        sink(&Event::SurveyBegin { at, wall_us: (second % 2 == 0).then_some(-5) });
        let runs = series.survey(1000);
        for run in &runs {
            sink(&Event::Run(run));
        }
        sink(&Event::Run(b"not netlink at all"));
        let report =
            SurveyReport { failures: vec!["refused".into()], overflows: second as u32, ..SurveyReport::default() };
        sink(&Event::SurveyEnd { at: at.after(40_000), report: &report });
        let owner = Owner { pid: second as u32, comm: "a".into(), fd: 3, cmdline: "a b".into(), exe: None };
        sink(&Event::Owners(&[(second as u32, Owners::Known(vec![owner])), (7 + second as u32, Owners::Nobody)]));
        let counters = Counters { delayed_acks: Some(second), delayed_ack_locked: None, auto_corking: Some(u64::MAX) };
        sink(&Event::Counters { at: at.after(41_000), counters });
        for probe in 0..20 {
            let mut answers = runs[0][..runs[0].len().min(900)].to_vec();
            answers.truncate(answers.len() / 4 * 4);
            let touched = 100.min(answers.len() - 1);
            answers[touched] = probe as u8;
            let target = ProbeTarget { first: Cookie(1), second: (probe % 2 == 0).then_some(Cookie(2)) };
            sink(&Event::Probe { at: at.after(50_000 + probe * 10_000), target, answers: &answers });
        }
        sink(&Event::Mark { at: at.after(600_000), word: "söme word" });
    }
}

fn record(sockets: usize, surveys: u64) -> (Vec<u8>, Vec<String>) {
    let mut writer = Writer::new(Vec::new()).expect("a vector takes all");
    let mut events = Vec::new();
    play(sockets, surveys, &mut |event| {
        writer.write(event).expect("a vector takes all");
        events.push(words(event));
    });
    (writer.finish().expect("a vector takes all"), events)
}

#[test]
fn what_goes_in_comes_out() {
    let (bytes, want) = record(300, 70);
    let (got, notes) = read(&bytes);
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(&want) {
        assert_eq!(got, want);
    }
}

#[test]
fn long_runs_and_odd_ones_are_kept_to_the_byte() {
    let mut random = Random(3);
    let noise: Vec<u8> = (0..3_000_000).map(|_| random.next() as u8).collect();
    let many = template().repeat(2000);
    let mut writer = Writer::new(Vec::new()).expect("a vector takes all");
    let mut want = Vec::new();
    for second in 0..3 {
        let at = Moment(second * 1_000_000);
        writer.write(&Event::SurveyBegin { at, wall_us: None }).expect("written");
        for run in [&many[..], &noise, &[], &[1], &template()] {
            writer.write(&Event::Run(run)).expect("written");
            want.extend_from_slice(run);
        }
        writer.write(&Event::SurveyEnd { at, report: &SurveyReport::default() }).expect("written");
    }
    let bytes = writer.finish().expect("written");
    let mut got = Vec::new();
    let mut reader = Reader::new(&bytes[..]).expect("a recording");
    while reader
        .next(&mut |event| {
            if let Event::Run(run) = event {
                got.extend_from_slice(run);
            }
        })
        .expect("read")
    {}
    assert!(got == want && reader.notes().is_empty(), "{:?}", reader.notes());
}

#[test]
fn cut_at_any_byte_the_rest_opens() {
    let (bytes, want) = record(3, 3);
    let mut longest = 0;
    for len in 0..bytes.len() {
        let cut = &bytes[..len];
        if len < 12 {
            assert!(matches!(Reader::new(cut), Err(ReadError::NotARecording)));
            continue;
        }
        let (got, notes) = read(cut);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains(&len.to_string()), "cut at {len}: {notes:?}");
        // A survey that was cut is closed with a word about it.
        let kept = got.iter().zip(&want).take_while(|(got, want)| got == want).count();
        assert!(got.len() - kept <= 1, "cut at {len}: {:?}", &got[kept..]);
        assert!(kept >= longest, "more bytes give more events");
        longest = kept;
    }
    assert_eq!(longest, want.len());
}

#[test]
fn a_flipped_bit_anywhere_is_noted_and_never_changes_an_event() {
    let (bytes, want) = record(2, 40);
    let known: std::collections::HashSet<&String> = want.iter().collect();
    let mut random = Random(11);
    for _ in 0..200 {
        let at = 12 + random.below(bytes.len() - 12);
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << random.below(8);
        let (got, notes) = read(&damaged);
        assert!(!notes.is_empty(), "byte {at}");
        let strange = got.iter().filter(|event| !known.contains(event)).count();
        assert!(strange <= 1, "byte {at}: only the end of a survey may be new: {got:?}");
        // 40 s hold two surveys that stand alone; damage in the first part leaves the second.
        assert!(got.len() * 5 >= want.len(), "byte {at}: {} of {} events", got.len(), want.len());
    }
}

#[test]
fn other_versions_and_kinds_are_told_apart() {
    let (bytes, want) = record(2, 2);
    let mut newer = bytes.clone();
    newer[8..10].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let refused = Reader::new(&newer[..]).expect_err("a newer version").to_string();
    assert!(refused.contains("version 2") && refused.contains("newer stallscope"), "{refused}");
    let mut other = bytes.clone();
    other[10] = 3 - other[10];
    assert!(matches!(Reader::new(&other[..]), Err(ReadError::ByteOrder)));
    // A block of a kind that does not exist yet, in front of the others.
    let mut block = vec![0xab, b'S', b'B', 0xfe, 77, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0];
    block.extend(crc32fast::hash(b"new").to_le_bytes());
    block.extend(crc32fast::hash(&block).to_le_bytes());
    block.extend(b"new");
    let mixed = [&bytes[..12], &block, &bytes[12..]].concat();
    let (got, notes) = read(&mixed);
    assert_eq!(got, want);
    assert!(notes.len() == 1 && notes[0].contains("kind (77)"), "{notes:?}");
}

/// Takes so many bytes, then the disk is full.
#[derive(Clone)]
struct Full(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().expect("no panic holds it");
        let room = inner.1.saturating_sub(inner.0.len()).min(bytes.len());
        inner.0.extend_from_slice(&bytes[..room]);
        if room == 0 { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(room) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_a_readable_file() {
    let disk = Full(Arc::new(Mutex::new((Vec::new(), 20_000))));
    let mut writer = Writer::new(disk.clone()).expect("there is room");
    let mut failed = None;
    let mut written = 0;
    play(50, 100, &mut |event| {
        if failed.is_none() {
            failed = writer.write(event).err();
            written += usize::from(failed.is_none());
        }
    });
    assert_eq!(failed.expect("it is full").kind(), io::ErrorKind::StorageFull);
    let bytes = disk.0.lock().expect("no panic holds it").0.clone();
    let (got, notes) = read(&bytes);
    assert!(notes[0].contains("cut off"), "{notes:?}");
    // A second of this series is 30 events and more.
    assert!(got.len() + 40 > written, "{} of {written}", got.len());
}

const CHILD: &str = "STALLSCOPE_TEST_RECORD_TO";

/// Not a test by itself: records until it is killed, saying each survey that is behind it.
#[test]
fn child_that_records_until_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let file = stallscope::record::create(path.as_ref(), false).expect("a new file");
    let mut writer = Writer::new(file).expect("it is written");
    let mut second = 0u64;
    play(200, u64::MAX, &mut |event| {
        writer.write(event).expect("it is written");
        if matches!(event, Event::SurveyEnd { .. }) {
            second += 1;
            println!("survey {second}");
        }
    });
}

#[test]
fn a_kill_leaves_all_but_the_last_second() {
    let me = std::env::current_exe().expect("this test");
    let dir = tempfile::tempdir().expect("a directory");
    for round in 0..50usize {
        let path = dir.path().join(format!("{round}.ssrec"));
        let mut child = Command::new(&me)
            .args(["--exact", "files::recording::child_that_records_until_killed", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = io::BufRead::lines(io::BufReader::new(child.stdout.take().expect("it is piped")));
        let want = 3 + round % 20;
        let reached = lines.by_ref().any(|line| line.expect("a line").contains(&format!("survey {want}")));
        child.kill().expect("it is killed");
        child.wait().expect("it is gone");
        assert!(reached, "the child recorded");
        let mut bytes = Vec::new();
        std::fs::File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)).expect("it is there");
        let (events, _) = read(&bytes);
        let whole = events.iter().filter(|event| event.starts_with("SurveyEnd")).count();
        assert!(whole >= want, "round {round}: {whole} surveys of {want}");
    }
}

/// Bytes per socket and second, and share of a core, of a host with 40 000 sockets that are mostly idle.
#[test]
fn a_large_host_costs_little() {
    let (sockets, seconds) = if cfg!(debug_assertions) { (4000, 60) } else { (40_000, 60) };
    let mut series = Series::new(sockets, &template(), 5);
    let surveys: Vec<_> = (0..seconds.min(12)).map(|_| series.survey(1000)).collect();
    let plain: usize = surveys.iter().flatten().map(Vec::len).sum();
    let zstd: usize = surveys.iter().map(|runs| zstd::bulk::compress(&runs.concat(), 3).expect("packed").len()).sum();
    let mut writer = Writer::new(Vec::new()).expect("a vector takes all");
    let mut busy = 0.0;
    for second in 0..seconds {
        let runs = if second < surveys.len() as u64 { surveys[second as usize].clone() } else { series.survey(1000) };
        let began = Instant::now();
        let at = Moment(second * 1_000_000);
        writer.write(&Event::SurveyBegin { at, wall_us: None }).expect("written");
        for run in &runs {
            writer.write(&Event::Run(run)).expect("written");
        }
        writer.write(&Event::SurveyEnd { at, report: &SurveyReport::default() }).expect("written");
        busy += began.elapsed().as_secs_f64();
    }
    let bytes = writer.finish().expect("written");
    let per = |bytes: usize, surveys: usize| bytes as f64 / (sockets * surveys) as f64;
    let began = Instant::now();
    let (events, notes) = (count_events(&bytes), read_notes(&bytes));
    println!(
        "{sockets} sockets, {seconds} s: {:.2} bytes a socket and second ({:.0} plain, {:.1} with zstd alone), {:.1} % of a \
         core to write, {:.1} ms a survey to read; {events} events",
        per(bytes.len(), seconds as usize),
        per(plain, surveys.len()),
        per(zstd, surveys.len()),
        100.0 * busy / seconds as f64,
        began.elapsed().as_secs_f64() * 500.0 / seconds as f64,
    );
    assert_eq!(notes, 0);
    assert!(per(bytes.len(), seconds as usize) <= 4.0);
    assert!(cfg!(debug_assertions) || busy / (seconds as f64) < 0.15);
}

fn count_events(bytes: &[u8]) -> usize {
    let mut reader = Reader::new(bytes).expect("a recording");
    let mut count = 0;
    while reader.next(&mut |_| count += 1).expect("read") {}
    count
}

fn read_notes(bytes: &[u8]) -> usize {
    let mut reader = Reader::new(bytes).expect("a recording");
    while reader.next(&mut |_| {}).expect("read") {}
    reader.notes().len()
}
