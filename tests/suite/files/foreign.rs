//! Files that other programs wrote, against what those programs say of the same bytes.

use std::path::Path;
use std::process::Command;

use super::common::{Seen, oracle_pairs, read_all, read_bytes};
use stallscope::source::file::{FileSource, SourceError};
use stallscope::wire::{FIELDS, Message, Socket, TcpState, Unit, messages};

fn read(path: &Path) -> Seen {
    read_all(FileSource::open(path).expect("it is known"))
}

/// Every field that the text gives has the value of the dump, as far as ss prints it exactly.
fn assert_same(from_dump: &Socket, from_text: &Socket, what: &str) {
    let mut as_printed = *from_dump;
    as_printed.info = from_text.info;
    // ss prints neither.
    as_printed.shutdown = None;
    as_printed.interface = 0;
    as_printed.expires_ms = as_printed_ms(from_dump.expires_ms);
    assert_eq!(&as_printed, from_text, "{what}");
    let (Some(dump), Some(text)) = (from_dump.info, from_text.info) else {
        assert!(from_text.info.is_none() || from_dump.info.is_some(), "{what}");
        return;
    };
    assert!(text.len() <= dump.len(), "{what}: the text claims {} bytes of {}", text.len(), dump.len());
    // Of a listening socket ss prints the window only.
    for field in FIELDS.iter().filter(|field| printed(field.name)) {
        let (Some(want), Some(got)) = (dump.get(field), text.get(field)) else { continue };
        let listens = ["snd_cwnd", "unacked", "sacked", "reordering"].contains(&field.name);
        if from_dump.state == TcpState::LISTEN && !listens {
            continue;
        }
        let tolerance = if field.unit == Unit::Micros { want / 100_000 } else { 0 };
        // Times are printed with six digits, limits in whole ms.
        let whole_ms = ["busy_time", "rwnd_limited", "sndbuf_limited"].contains(&field.name);
        let want = if whole_ms { want / 1000 * 1000 } else { want };
        assert!(want.abs_diff(got) <= tolerance, "{what}: {} is {want}, and {got} in the text", field.name);
    }
}

/// The longer the time, the less of it ss prints.
fn as_printed_ms(ms: u32) -> u32 {
    match ms {
        0..10_000 => ms,
        10_000..600_000 => ms / 1000 * 1000,
        _ => ms / 60_000 * 60_000,
    }
}

/// Fields of the kernel that ss 6.1 does not print.
fn printed(name: &str) -> bool {
    let never = ["ca_state", "retransmits", "probes", "last_ack_sent", "rcv_wnd", "rehash"];
    !never.contains(&name)
}

/// ss reads a file up to the first `NLMSG_DONE`.
fn first_dump(seen: &Seen) -> Vec<Socket> {
    messages(&seen.runs)
        .take_while(|message| !matches!(message, Message::Done { .. }))
        .filter_map(|message| match message {
            Message::Socket { socket, .. } => Some(socket),
            _ => None,
        })
        .collect()
}

fn assert_equal_surveys(dump: &Seen, text: &Seen, what: &str) {
    assert_eq!(text.surveys.len(), 1, "{what}: {:?}", text.notes);
    let (dump, text) = (first_dump(dump), &text.surveys[0]);
    assert_eq!(dump.len(), text.len(), "{what}");
    for socket in &dump {
        let twin = text.iter().find(|other| other.cookie == socket.cookie);
        assert_same(socket, twin.unwrap_or_else(|| panic!("{what}: {socket:?} is missing")), what);
    }
}

#[test]
fn text_and_dump_of_other_kernels_give_the_same_values() {
    for (dump, text) in oracle_pairs() {
        let (from_dump, from_text) = (read(&dump), read(&text));
        assert_eq!(from_text.notes, Vec::<String>::new(), "{}", text.display());
        assert_equal_surveys(&from_dump, &from_text, &dump.display().to_string());
    }
}

#[test]
fn text_and_dump_of_this_machine_give_the_same_values() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let client = std::net::TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
    let server = listener.accept().expect("it connects").0;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("dump");
    let port = listener.local_addr().expect("it is bound").port();
    let dumped = Command::new("ss").args(["-taD"]).arg(&file).arg("-f").arg("inet").output();
    if !dumped.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no ss here, or it cannot dump");
        return;
    }
    let printed = Command::new("ss").env("TCPDIAG_FILE", &file).args(["-tanimoeO"]).output().expect("ss runs");
    let (from_dump, from_text) = (read(&file), read_bytes(&printed.stdout));
    assert_equal_surveys(&from_dump, &from_text, "this machine");
    let ends = |seen: &Seen| seen.surveys[0].iter().filter(|socket| socket.local.port == port).count();
    assert!(ends(&from_dump) >= 2, "the listener and its connection are in the dump");
    drop((client, server));
}

#[test]
fn a_dump_that_is_cut_gives_what_is_whole() {
    let bytes = std::fs::read(super::common::fixture("stall-linux-6.12.117.nl")).expect("the fixture");
    for len in 16..bytes.len() {
        let Ok(mut source) = FileSource::from_reader("cut", Box::new(std::io::Cursor::new(bytes[..len].to_vec())))
        else {
            continue;
        };
        let mut seen = Seen::default();
        let result = loop {
            match source.next(&mut |event| seen.take(&event)) {
                Ok(true) => {}
                other => break other,
            }
        };
        let whole = seen.surveys.first().map_or(0, Vec::len);
        match result {
            Ok(_) => assert!(
                whole > 0 && (!seen.failures.is_empty() || !source.notes().is_empty() || is_done(&bytes[..len]))
            ),
            Err(SourceError::NoSocket { detail, .. }) => assert!(whole == 0 && detail.contains("cut off"), "{detail}"),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Whether the bytes end with a whole `NLMSG_DONE`.
fn is_done(bytes: &[u8]) -> bool {
    matches!(messages(bytes).last(), Some(Message::Done { .. }))
}

#[test]
fn several_dumps_are_a_series_and_families_of_one_instant_are_one() {
    let v4 = std::fs::read(super::common::fixture("stall-linux-6.12.117.nl")).expect("the fixture");
    let v6 = in_v6(&v4);
    let seen = read_bytes(&[v4.clone(), v6.clone(), v4.clone(), v6].concat());
    assert_eq!(seen.surveys.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
    let seen = read_bytes(&[v4.clone(), v4.clone(), v4].concat());
    assert_eq!(seen.surveys.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
}

/// The same dump with its sockets' family rewritten.
fn in_v6(dump: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (dump.to_vec(), 0);
    while at + 16 <= out.len() {
        let len = u32::from_ne_bytes(out[at..at + 4].try_into().expect("four bytes")) as usize;
        if out[at + 4] == 20 {
            out[at + 16] = 10;
        }
        at += len.next_multiple_of(4);
    }
    out
}

/// A pcap or pcapng of nlmon that holds each message of a dump in a packet.
fn capture(dump: &[u8], big: bool, ng: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut out = Vec::new();
    let block = |out: &mut Vec<u8>, kind: u32, body: &[u8]| {
        let len = 12 + body.len().next_multiple_of(4) as u32;
        out.extend([word(kind), word(len)].concat());
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(word(len));
    };
    if ng {
        block(&mut out, 0x0a0d_0d0a, &[word(0x1a2b_3c4d), [0; 4], word(u32::MAX), word(u32::MAX)].concat());
        block(&mut out, 1, &[&half(253)[..], &half(0), &word(0), &half(9), &half(1), &[9, 0, 0, 0], &[0; 4]].concat());
    } else {
        out.extend([word(0xa1b2_c3d4), [0; 4], [0; 4], [0; 4], word(65535), word(253)].concat());
    }
    let mut at = 0;
    let mut seconds = 1_700_000_000u64;
    while at + 16 <= dump.len() {
        let len = u32::from_ne_bytes(dump[at..at + 4].try_into().expect("four bytes")) as usize;
        let mut packet = vec![0, 0, 3, 0x38];
        packet.resize(14, 0);
        packet.extend([0, 4]);
        packet.extend(&dump[at..at + len]);
        let size = packet.len() as u32;
        if ng {
            let ns = seconds * 1_000_000_000;
            let body =
                [&word(0)[..], &word((ns >> 32) as u32), &word(ns as u32), &word(size), &word(size), &packet].concat();
            block(&mut out, 6, &body);
        } else {
            out.extend([word(seconds as u32), word(5), word(size), word(size)].concat());
            out.extend(packet);
        }
        at += len.next_multiple_of(4);
        seconds += 1;
    }
    out
}

#[test]
fn captures_of_nlmon_give_the_sockets_and_the_time() {
    let dump = std::fs::read(super::common::fixture("stall-linux-6.12.117.nl")).expect("the fixture");
    let want = read_bytes(&dump);
    for (big, ng) in [(false, false), (true, false), (false, true), (true, true)] {
        let bytes = capture(&dump, big, ng);
        let seen = read_bytes(&bytes);
        assert_eq!(seen.surveys, want.surveys, "big {big} ng {ng}");
        let mut source = FileSource::from_reader("capture", Box::new(std::io::Cursor::new(bytes))).expect("known");
        let mut walls = Vec::new();
        while source
            .next(&mut |event| {
                if let stallscope::model::Event::SurveyBegin { wall_us, .. } = event {
                    walls.push(wall_us.expect("captures have a clock"));
                }
            })
            .expect("it is read")
        {}
        assert_eq!(walls[0] / 1_000_000, 1_700_000_000);
    }
}

#[test]
fn what_is_no_evidence_is_named() {
    let refused = |bytes: &[u8]| {
        let opened = FileSource::from_reader("a.bin", Box::new(std::io::Cursor::new(bytes.to_vec())));
        let error = match opened {
            Err(error) => error,
            Ok(mut source) => loop {
                match source.next(&mut |_| {}) {
                    Ok(true) => {}
                    Ok(false) => panic!("something was read"),
                    Err(error) => break error,
                }
            },
        };
        error.to_string()
    };
    for (bytes, words) in [
        (&b""[..], "is empty"),
        (b"\x1f\x8b\x08\0\0\0", "packed with gzip"),
        (b"PK\x03\x04\0\0", "a zip archive"),
        (b"\x28\xb5\x2f\xfd\0\0", "packed with zstd"),
        (b"\x7fELF\x02\x01", "an ELF program"),
        (b"\x01\x02\x03\x04\x05\x06", "neither text nor anything known"),
        (b"Dear all,\nit is slow.\n", "line 1-2: nothing that ss prints"),
    ] {
        let message = refused(bytes);
        assert!(message.contains(words) && message.contains("a.bin"), "{message}");
        assert!(message.contains("expected") || message.contains("line"), "{message}");
    }
    let mut ethernet = capture(&[], false, false);
    ethernet[20] = 1;
    ethernet.extend([0; 16]);
    assert!(refused(&ethernet).contains("link type 1"), "{}", refused(&ethernet));
    let directory = FileSource::open(Path::new("/")).expect_err("a directory").to_string();
    assert!(directory.contains("is a directory"), "{directory}");
    let missing = FileSource::open(Path::new("/nowhere/at all")).expect_err("nothing").to_string();
    assert!(missing.contains("/nowhere/at all"), "{missing}");
}
