//! Readers against damage: fixtures with bytes changed, cut, doubled and moved. Seeded, so that a failure comes again.
//! `STALLSCOPE_MUTATIONS` sets how many cases there are; a release build in CI runs a million.

use super::series::{Random, Series};
use stallscope::model::{Event, Moment, SurveyReport};
use stallscope::record::{RedactOptions, Redactor, Writer};
use stallscope::source::file::FileSource;
use stallscope::wire::messages;

fn recording() -> Vec<u8> {
    let template = std::fs::read(super::common::fixture("stall-linux-6.12.117.nl")).expect("the fixture");
    let mut series = Series::new(4, &template, 3);
    let mut writer = Writer::new(Vec::new()).expect("written");
    for second in 0..4 {
        let at = Moment(second * 1_000_000);
        writer.write(&Event::SurveyBegin { at, wall_us: Some(1) }).expect("written");
        series.survey(1000).iter().for_each(|run| writer.write(&Event::Run(run)).expect("written"));
        writer.write(&Event::SurveyEnd { at, report: &SurveyReport::default() }).expect("written");
        writer.write(&Event::Mark { at, word: "here" }).expect("written");
    }
    writer.finish().expect("written")
}

/// A pcap of nlmon with a dump in one packet.
fn capture(dump: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = [0xa1b2_c3d4_u32, 0, 0, 0, 65535, 253].iter().flat_map(|word| word.to_le_bytes()).collect();
    let len = dump.len() as u32 + 16;
    out.extend([1_700_000_000, 0, len, len].iter().flat_map(|word: &u32| word.to_le_bytes()));
    out.extend([0, 0, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
    out.extend(dump);
    out
}

fn seeds() -> Vec<Vec<u8>> {
    let read = |name: &str| std::fs::read(super::common::fixture(name)).expect("the fixture");
    let dump = read("stall-linux-7.3.4.nl");
    let text = read("stall-linux-7.3.4.ss.txt");
    let wide = String::from_utf8_lossy(&text).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let ng = {
        let mut out: Vec<u8> = [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28, 1, 20, 253, 0, 20]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let body = capture(&dump)[40..].to_vec();
        let (held, len) = (body.len() as u32, 32 + body.len().next_multiple_of(4) as u32);
        out.extend([6, len, 0, 0, 0, held, held].iter().flat_map(|word: &u32| word.to_le_bytes()));
        out.extend(&body);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(len.to_le_bytes());
        out
    };
    vec![recording(), capture(&dump), ng, dump, text, wide]
}

fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let end = at + random.below((bytes.len() - at).min(64));
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            5 => {
                let extreme = [u32::MAX, 0, 1, 0x7fff_ffff, 16][random.below(5)].to_le_bytes();
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&extreme[..end - at]);
            }
            _ => bytes.insert(at, b" \n\":(=%*,"[random.below(9)]),
        }
    }
    bytes
}

#[test]
fn no_damage_makes_a_reader_panic_or_run_away() {
    let cases: u64 = std::env::var("STALLSCOPE_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(6000);
    let seeds = seeds();
    let mut read = 0u64;
    for case in 0..cases {
        let mut random = Random(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let bytes = mutate(&seeds[random.below(seeds.len())], &mut random);
        let limit = 64 * bytes.len() + (1 << 20);
        let Ok(mut source) = FileSource::from_reader("damaged", Box::new(std::io::Cursor::new(bytes))) else {
            continue;
        };
        let mut given = 0;
        let mut redactor = Redactor::new(RedactOptions::default());
        let mut calls = 0;
        while let Ok(true) = source.next(&mut |event| {
            if let Event::Run(run) | Event::Probe { answers: run, .. } = event {
                given += run.len();
                read += messages(run).count() as u64;
            }
            redactor.redact(&event, |_| {});
        }) {
            calls += 1;
            assert!(calls < 10_000, "case {case} does not end");
        }
        assert!(given <= limit, "case {case} gave {given} bytes");
        let _ = (source.notes(), source.provenance().limits());
    }
    assert!(read > cases / 2, "most damage leaves something to read: {read} messages of {cases} cases");
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
