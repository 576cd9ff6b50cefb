//! Small files of every kind that is read, to be damaged.

use super::series::{Random, Series};
use stallscope::model::{Event, Moment, SurveyReport};
use stallscope::record::Writer;

/// Bytes before the first block of a recording, and before the payload of each (docs/recording-format.md).
const FILE_HEADER: usize = 12;
const BLOCK_HEADER: usize = 24;

/// The flag of a packed payload.
const PACKED: u8 = 1;

/// A file to damage.
pub struct Seed {
    /// For messages.
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Checksums are made right again behind the damage, so that it reaches what they protect.
    pub sealed: bool,
}

/// A recording with a survey that stands alone, others that refer to it, and marks.
fn recording() -> Vec<u8> {
    let template = std::fs::read(super::common::fixture("stall-linux-6.12.117.nl")).expect("the fixture");
    let mut series = Series::new(4, &template, 3);
    let mut writer = Writer::new(Vec::new()).expect("written");
    for second in 0..3 {
        let at = Moment(second * 1_000_000);
        writer.write(&Event::SurveyBegin { at, wall_us: Some(1) }).expect("written");
        series.survey(1000).iter().for_each(|run| writer.write(&Event::Run(run)).expect("written"));
        writer.write(&Event::SurveyEnd { at, report: &SurveyReport::default() }).expect("written");
        writer.write(&Event::Mark { at, word: "here" }).expect("written");
    }
    writer.finish().expect("written")
}

/// Where each block of a recording stands, and how long its payload is.
fn blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let (mut at, mut found) = (FILE_HEADER, Vec::new());
    while let Some(length) = bytes.get(at + 8..at + 12).and_then(<[u8]>::first_chunk) {
        let length = u32::from_le_bytes(*length) as usize;
        found.push((at, length));
        at += BLOCK_HEADER + length;
    }
    found
}

/// The same recording with nothing packed, so that damage reaches the codec and not only zstd.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes[..FILE_HEADER].to_vec();
    for (at, length) in blocks(bytes) {
        let (header, payload) = bytes[at..at + BLOCK_HEADER + length].split_at(BLOCK_HEADER);
        let mut header = header.to_vec();
        let payload = if header[5] & PACKED == 0 {
            payload.to_vec()
        } else {
            zstd::bulk::decompress(payload, 1 << 20).expect("a zstd frame")
        };
        header[5] = 0;
        header[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend(header);
        out.extend(payload);
    }
    seal(&mut out);
    out
}

/// Makes lengths and checksums of a recording's blocks right, as far as the blocks can be found.
pub fn seal(bytes: &mut [u8]) {
    for (at, length) in blocks(bytes) {
        let end = (at + BLOCK_HEADER + length).min(bytes.len());
        if at + BLOCK_HEADER > end {
            return;
        }
        let (header, payload) = bytes[at..end].split_at_mut(BLOCK_HEADER);
        header[16..20].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        let own = crc32fast::hash(&header[..20]);
        header[20..24].copy_from_slice(&own.to_le_bytes());
    }
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

/// The same as pcapng.
fn capture_ng(dump: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28, 1, 20, 253, 0, 20]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let body = capture(dump)[40..].to_vec();
    let (held, len) = (body.len() as u32, 32 + body.len().next_multiple_of(4) as u32);
    out.extend([6, len, 0, 0, 0, held, held].iter().flat_map(|word: &u32| word.to_le_bytes()));
    out.extend(&body);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(len.to_le_bytes());
    out
}

/// One of each kind.
pub fn seeds() -> Vec<Seed> {
    let read = |name: &str| std::fs::read(super::common::fixture(name)).expect("the fixture");
    let dump = read("stall-linux-7.3.4.nl");
    let bytes = read("stall-linux-7.3.4.ss.txt");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let folded = text.replace(" timer:", "\n\t timer:");
    let wide = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    let recording = recording();
    let seed = |name, bytes: Vec<u8>| Seed { name, bytes, sealed: false };
    vec![
        Seed { name: "a recording, sealed", bytes: unpacked(&recording), sealed: true },
        Seed { name: "a packed recording, sealed", bytes: recording.clone(), sealed: true },
        seed("a recording", recording),
        seed("pcap", capture(&dump)),
        seed("pcapng", capture_ng(&dump)),
        seed("a dump", dump),
        seed("text of CRLF", text.replace('\n', "\r\n").into_bytes()),
        seed("UTF-16LE", wide(u16::to_le_bytes)),
        seed("UTF-16BE", wide(u16::to_be_bytes)),
        seed("text in two snapshots", format!("1700000000\n{folded}\n1700000001\n{folded}").into_bytes()),
        seed("text", bytes),
    ]
}

/// One to five wounds: flipped bits, other bytes, cuts, holes, repeats, extreme numbers, stray characters, and now and then a
/// part of another file, or the whole file twice.
pub fn mutate(seeds: &[Seed], random: &mut Random) -> Vec<u8> {
    let seed = &seeds[random.below(seeds.len())];
    let mut bytes = seed.bytes.clone();
    for _ in 0..=random.below(4) {
        wound(&mut bytes, seeds, random);
    }
    if seed.sealed {
        seal(&mut bytes);
    }
    bytes
}

fn wound(bytes: &mut Vec<u8>, seeds: &[Seed], random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    let end = at + random.below((bytes.len() - at).min(64));
    match random.below(32) {
        0..=5 => bytes[at] ^= 1 << random.below(8),
        6..=9 => bytes[at] = random.next() as u8,
        10..=13 => bytes.truncate(at),
        14..=17 => drop(bytes.drain(at..end)),
        18..=21 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        22..=25 => {
            let extreme = [u32::MAX, 0, 1, 0x7fff_ffff, 16][random.below(5)].to_le_bytes();
            let end = (at + 4).min(bytes.len());
            bytes[at..end].copy_from_slice(&extreme[..end - at]);
        }
        26..=29 => bytes.insert(at, b" \n\":(=%*,"[random.below(9)]),
        30 => {
            let other = &seeds[random.below(seeds.len())].bytes;
            let from = random.below(other.len());
            let to = from + random.below(other.len() - from);
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        _ if bytes.len() < 4096 => bytes.extend_from_within(..),
        _ => {}
    }
}
