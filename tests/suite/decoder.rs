//! The decoder on bytes that no kernel sends, on every length of `tcp_info`, and on dumps of four kernels in mid-stall.

use proptest::prelude::*;
use stallscope::diagnose::{Level, Verdict};
use stallscope::engine::Engine;
use stallscope::model::{Event, Moment, SurveyReport};
use stallscope::wire::{FIELDS, Message, Socket, TCP_INFO_MAX, encode_socket, messages};

use super::captures::{STALLED, first_dump, stalled};

/// How many cases each property is tried on; `STALLSCOPE_DECODER_CASES` says how many they share.
const CASES: u32 = 8_000;

fn cases() -> ProptestConfig {
    let asked = std::env::var("STALLSCOPE_DECODER_CASES").ok().map(|text| text.parse::<u32>().expect("a number"));
    ProptestConfig {
        cases: asked.map_or(CASES, |all| all.div_ceil(2)),
        failure_persistence: None,
        ..Default::default()
    }
}

/// Reads everything that can be read, and answers how many messages there were.
fn read(bytes: &[u8]) -> usize {
    let mut walk = messages(bytes);
    let mut count = 0;
    while let Some(message) = walk.next() {
        count += 1;
        assert!(walk.remaining() < bytes.len(), "no message takes no bytes");
        if let Message::Socket { socket, raw, .. } = message {
            assert!(raw.len() >= 88 && raw.len() <= bytes.len());
            read_fields(&socket);
        }
    }
    count
}

fn read_fields(socket: &Socket) {
    let derived = [socket.in_flight(), socket.pure_acks_in(), socket.pure_acks_out()];
    assert!(derived.iter().all(Option::is_none) || socket.info.is_some());
    let len = socket.info.map_or(0, |info| info.len());
    let known = FIELDS.iter().filter(|field| socket.info.is_some_and(|info| info.get(field).is_some()));
    assert!(known.clone().all(|field| usize::from(field.offset) + field.width.bytes() <= len));
    assert!(socket.congestion.as_str().len() < 16);
    assert!(!format!("{socket:?} {} {}", socket.local, socket.state.name()).is_empty());
}

/// Which dump, bytes replaced in it, a part cut out, a tail cut off.
type Damage = (usize, Vec<(usize, u8)>, Option<(usize, usize)>, Option<usize>);

/// Changes to a real message.
fn damage() -> impl Strategy<Value = Damage> {
    let bytes = prop::collection::vec((0..1_000_usize, any::<u8>()), 0..8);
    // The first bytes of a message and of an attribute are where lengths stand.
    let lengths = prop::collection::vec((0..24_usize, any::<u8>()), 0..3);
    let replaced = (bytes, lengths).prop_map(|(mut bytes, lengths)| {
        bytes.extend(lengths);
        bytes
    });
    let cut = prop::option::of((0..1_000_usize, 1..64_usize));
    (0..STALLED.len(), replaced, cut, prop::option::of(0..1_000_usize))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn arbitrary_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300), len in 0..320_u32) {
        read(&bytes);
        // The same behind a header that makes a socket of them.
        let mut framed = len.to_ne_bytes().to_vec();
        framed.extend_from_slice(&20_u16.to_ne_bytes());
        framed.extend_from_slice(&[2; 10]);
        framed.push(if bytes.len() % 2 == 0 { 2 } else { 10 });
        framed.extend_from_slice(&bytes);
        prop_assert!(read(&framed) >= 1);
    }

    #[test]
    fn damaged_messages_are_read_to_their_end((kernel, replaced, cut, end) in damage()) {
        let mut bytes = dumps()[kernel].clone();
        for (at, byte) in replaced {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Some((at, len)) = cut {
            let at = at % bytes.len();
            bytes.drain(at..(at + len).min(bytes.len()));
        }
        bytes.truncate(end.unwrap_or(usize::MAX));
        read(&bytes);
    }
}

fn dumps() -> &'static [Vec<u8>] {
    static DUMPS: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    DUMPS.get_or_init(|| STALLED.iter().map(|kernel| stalled(kernel)).collect())
}

/// A socket message whose `tcp_info` is `info`.
fn message(info: &[u8]) -> Vec<u8> {
    let mut socket = first_dump(&stalled("7.3.4"))[0].0;
    socket.info = None;
    let mut bytes = Vec::new();
    encode_socket(&mut bytes, &socket);
    let len = u16::try_from(4 + info.len()).expect("a short attribute");
    bytes.extend_from_slice(&len.to_ne_bytes());
    bytes.extend_from_slice(&2_u16.to_ne_bytes());
    bytes.extend_from_slice(info);
    let whole = u32::try_from(bytes.len()).expect("a short message");
    bytes[..4].copy_from_slice(&whole.to_ne_bytes());
    bytes
}

#[test]
fn every_length_of_tcp_info_gives_the_fields_that_fit_and_no_other() {
    // No byte is zero, so that what was not sent cannot pass for what was.
    let pattern: Vec<u8> = (0..400_usize).map(|at| u8::try_from(at % 251).expect("a byte") | 1).collect();
    for len in 0..=400 {
        let bytes = message(&pattern[..len]);
        let [(socket, _)] = first_dump(&bytes)[..] else { panic!("{len} bytes: not one socket") };
        let info = socket.info.expect("the attribute was there");
        assert_eq!(info.len(), len.min(TCP_INFO_MAX));
        assert_eq!(info.as_bytes(), &pattern[..len.min(TCP_INFO_MAX)]);
        for field in FIELDS {
            let fits = usize::from(field.offset) + field.width.bytes() <= len;
            assert_eq!(info.get(field).is_some(), fits, "{} of {len} bytes", field.name);
        }
    }
}

#[test]
fn what_is_encoded_is_decoded_equal() {
    for kernel in STALLED {
        for (socket, _) in first_dump(&stalled(kernel)) {
            let mut bytes = Vec::new();
            encode_socket(&mut bytes, &socket);
            assert_eq!(first_dump(&bytes)[0].0, socket, "{kernel}");
        }
    }
}

fn survey(bytes: &[u8]) -> Engine {
    let mut engine = Engine::new(10_000);
    engine.feed(Event::SurveyBegin { at: Moment(1_000_000), wall_us: None });
    engine.feed(Event::Run(bytes));
    engine.feed(Event::SurveyEnd { at: Moment(1_003_000), report: &SurveyReport::default() });
    engine
}

#[test]
fn one_dump_in_mid_stall_pairs_it_and_the_newest_kernel_confirms_it() {
    for kernel in STALLED {
        let engine = survey(&stalled(kernel));
        let ids: Vec<_> = engine.connections().collect();
        assert_eq!(ids.len(), 1, "{kernel}");
        let finding = engine.finding(ids[0]).expect("a finding");
        let wanted = if kernel == "7.3.4" { Level::Confirmed } else { Level::Paired };
        assert_eq!((finding.verdict, finding.level), (Verdict::NagleDelayedAck, Some(wanted)), "{kernel}");
        let sender = finding.sender.socket.expect("the sender is here");
        assert_eq!(sender.info.and_then(|info| info.notsent_bytes()), Some(10), "{kernel}");
        assert!(finding.receiver.socket.is_some(), "{kernel}");
        assert!(engine.notes().is_empty(), "{kernel}: {:?}", engine.notes());
    }
}
