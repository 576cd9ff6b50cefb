//! Pastes as they are found in the wild, written anew.

use crate::model::{Event, Owners};
use crate::source::file::FileSource;
use crate::wire::{Message, Socket, messages};

struct Paste {
    surveys: Vec<Vec<Socket>>,
    times: Vec<(u64, Option<i64>)>,
    owners: Vec<(u32, Owners)>,
    notes: Vec<String>,
    source: FileSource,
}

fn paste(text: &str) -> Paste {
    let bytes = text.as_bytes().to_vec();
    let mut source = FileSource::from_reader("paste", Box::new(std::io::Cursor::new(bytes))).unwrap();
    let (mut surveys, mut times, mut owners) = (Vec::new(), Vec::new(), Vec::new());
    while source
        .next(&mut |event| match event {
            Event::SurveyBegin { at, wall_us } => {
                surveys.push(Vec::new());
                times.push((at.0, wall_us));
            }
            Event::Run(run) => surveys.last_mut().unwrap().extend(messages(run).filter_map(|message| match message {
                Message::Socket { socket, .. } => Some(socket),
                _ => None,
            })),
            Event::Owners(some) => owners.extend_from_slice(some),
            _ => {}
        })
        .unwrap()
    {}
    Paste { surveys, times, owners, notes: source.notes(), source }
}

const ROW: &str = "ESTAB 0 20 10.0.0.1:5000 10.0.0.2:80";
const INFO: &str = "cubic wscale:7,7 rto:204 rtt:0.5/0.25 ato:40 mss:1448 cwnd:10 bytes_acked:1661 segs_out:7 \
                    data_segs_out:5 send 231.7Mbps lastsnd:20 unacked:1 notsent:10 minrtt:0.136 snd_wnd:65536";

/// The one socket of a paste has the values of [`ROW`] and [`INFO`].
fn assert_whole(text: &str) {
    let paste = paste(text);
    assert_eq!(paste.surveys.len(), 1, "{text}\n{:?}", paste.notes);
    assert_eq!(paste.surveys[0].len(), 1, "{text}\n{:?}", paste.notes);
    let socket = paste.surveys[0][0];
    let info = socket.info.unwrap_or_else(|| panic!("{text}\n{:?}", paste.notes));
    assert_eq!(socket.wqueue, 20, "{text}");
    assert_eq!((socket.local.port, socket.remote.port), (5000, 80), "{text}");
    assert_eq!(
        (info.rto(), info.snd_mss(), info.bytes_acked(), info.unacked(), info.notsent_bytes(), info.snd_wnd()),
        (Some(204_000), Some(1448), Some(1661), Some(1), Some(10), Some(65536)),
        "{text}\n{:?}",
        paste.notes
    );
}

#[test]
fn rows_and_info_in_every_arrangement() {
    let header = "State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process";
    for text in [
        format!("{header}\n{ROW}\n\t {INFO}\n"),
        format!("{ROW} {INFO}"),
        format!("{header}\r\n{ROW}\r\n         {INFO}\r\n"),
        format!("{ROW}{}\n\n{INFO}", " ".repeat(300)),
        format!("State  Recv-Q Send-Q Local Address:Port\n   Peer Address:Port Process\n{ROW}\n {INFO}"),
        format!("ESTAB 0 20 10.0.0.1:5000\n    10.0.0.2:80\n {INFO}"),
        format!("ESTAB 0 20 10.0.0.1:5000 10.0.\n0.2:80\n {INFO}"),
        format!("> > {ROW}\n> > {INFO}"),
        format!("> {ROW}\n{INFO}"),
        format!("// {ROW}\n// {INFO}"),
        format!("# {ROW}\n# {INFO}"),
        format!("Jan 31 10:00:00 {ROW}\nJan 31 10:00:00 \t {INFO}"),
        format!("```\n$ ss -tin\n{ROW}\n {INFO}\n```"),
        format!("\"{ROW}\\n\\t {INFO}\\n\" +"),
        format!("{ROW}\n {}", INFO.replace("notsent:10", "**notsent:10**")),
        format!("{ROW}\n {}", INFO.replace("send 231.7Mbps", "send\n231.7Mbps")),
        format!("{ROW}\n {}", INFO.replace("send 231.7Mbps", "231.7Mbps")),
        format!("udp UNCONN 0 0 127.0.0.1:53 *:*\n{ROW}\n {INFO}\nudp UNCONN 0 0 127.0.0.1:54 *:*\n"),
        format!("{ROW}\n {INFO}\ntcp 0 0 10.0.0.1:1 10.0.0.2:2 ESTABLISHED\n"),
    ] {
        assert_whole(&text);
    }
}

#[test]
fn a_wrap_at_any_column_loses_nothing() {
    for width in 40..165 {
        let mut text = format!("{ROW}\n");
        let chars: Vec<char> = INFO.chars().collect();
        for part in chars.chunks(width) {
            text.extend(part);
            text.push('\n');
        }
        assert_whole(&text);
    }
}

#[test]
fn quoted_printable_is_unfolded() {
    let long = format!("{ROW} {INFO}");
    let mut text = String::new();
    for (at, c) in long.chars().enumerate() {
        text.push(c);
        if at % 70 == 69 {
            text.push_str("=\n");
        }
    }
    assert_whole(&text);
}

#[test]
fn utf_16_reads_the_same() {
    let text = format!("{ROW}\r\n\t {INFO}\r\n");
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let mut source = FileSource::from_reader("wide", Box::new(std::io::Cursor::new(wide))).unwrap();
    let mut sockets = 0;
    while source
        .next(&mut |event| {
            if let Event::Run(run) = event {
                sockets += messages(run).count();
            }
        })
        .unwrap()
    {}
    assert_eq!(sockets, 1);
}

#[test]
fn snapshots_are_told_apart_and_timed() {
    let header = "State Recv-Q Send-Q Local Address:Port Peer Address:Port";
    let stamped = paste(&format!(
        "Wed Jan 31 10:00:00 UTC 2024\n{header}\n{ROW}\n {INFO}\nWed Jan 31 10:00:02 UTC 2024\n{header}\n{ROW}\n {INFO}\n"
    ));
    // The clock's zero lies before whatever the first snapshot tells of the past.
    let first = stamped.times[0].0;
    assert!(first >= 3_600_000_000, "{first}");
    let wall_us = 1_706_695_200_000_000;
    assert_eq!(stamped.times, [(first, Some(wall_us)), (first + 2_000_000, Some(wall_us + 2_000_000))]);
    assert!(stamped.source.provenance().has_growth());
    let per_line = paste(&format!(
        "10:00:00.5 {header}\n10:00:00.5 {ROW}\n10:00:00.5 {INFO}\n10:00:01.5 {header}\n10:00:01.5 {ROW}\n10:00:01.6 {INFO}\n"
    ));
    assert_eq!(per_line.times, [(first, None), (first + 1_000_000, None)]);
    let ordered = paste(&format!("{ROW}\n {INFO}\n{ROW}\n {INFO}\n"));
    assert_eq!(ordered.surveys.len(), 2);
    assert!(!ordered.source.provenance().has_growth());
    assert!(ordered.source.provenance().limits().iter().any(|limit| limit.contains("only their order")));
    let midnight = paste(&format!("23:59:59 {header}\n{ROW}\n00:00:01 {header}\n{ROW}\n"));
    assert_eq!(midnight.times, [(first, None), (first + 2_000_000, None)]);
}

#[test]
fn a_line_that_only_looks_folded_does_not_swallow_the_row_behind_it() {
    let long = "x".repeat(70);
    for text in [format!("{long}=\n{ROW}\n {INFO}\n"), format!("{ROW}\n {INFO}\n{long}=")] {
        let paste = paste(&text);
        assert_eq!(paste.surveys[0].len(), 1, "{text}");
        assert!(paste.notes[0].contains("nothing that ss prints"), "{:?}", paste.notes);
    }
    let folded =
        paste(&format!("{ROW} cubic wscale:7,7 rto:204 rtt:0.5/0.25 ato:40 mss:1448 cwnd:1=\n0 unacked:1 minrtt:1\n"));
    assert_eq!(folded.surveys[0][0].info.unwrap().snd_cwnd(), Some(10));
}

#[test]
fn owners_and_identity_are_kept() {
    let paste =
        paste(&format!("{ROW} users:((\"a (b\",pid=1,fd=3)) uid:7 ino:99 sk:1f cgroup:/x cgroup:/x <->\n {INFO}\n"));
    let socket = paste.surveys[0][0];
    assert_eq!((socket.uid, socket.inode, socket.cookie.0), (7, 99, 0x1f));
    assert!(paste.source.provenance().cookies);
    let Owners::Known(owners) = &paste.owners[0].1 else { panic!("no owners") };
    assert_eq!((paste.owners[0].0, &*owners[0].comm, owners[0].pid), (99, "a (b", 1));
}

#[test]
fn the_two_ends_of_a_connection_find_each_other() {
    let paste =
        paste("ESTAB 0 0 127.0.0.1:80 127.0.0.1:5000\nESTAB 0 0 [::ffff:127.0.0.1]:5000 [::ffff:127.0.0.1]:80\n");
    let [a, b] = paste.surveys[0][..] else { panic!("{:?}", paste.notes) };
    assert_eq!((a.local, a.remote), (b.remote, b.local));
    assert!(b.mapped && !a.mapped);
    assert_ne!(a.cookie, b.cookie);
    assert!(!paste.source.provenance().cookies);
}

#[test]
fn problems_are_named_with_their_lines() {
    let paste = paste(&format!(
        "hello\n{ROW}\n {INFO}\nregards, me\n--\n cubic rto:204\n{ROW} notsent:683→757 mss:1 minrtt:1\n"
    ));
    assert!(paste.notes.iter().any(|note| note.starts_with("line 1, 4: nothing")), "{:?}", paste.notes);
    assert!(paste.notes.iter().any(|note| note.starts_with("line 6: info without")), "{:?}", paste.notes);
    assert!(paste.notes.iter().any(|note| note.starts_with("line 7: a value")), "{:?}", paste.notes);
    assert_eq!(paste.surveys[1][0].info.unwrap().notsent_bytes(), None);
}

#[test]
fn the_state_that_a_command_asked_for() {
    let paste = paste(
        "root@h:~# ss -tn state close-wait\nRecv-Q Send-Q Local Address:Port Peer Address:Port\n0 0 10.0.0.1:1 10.0.0.2:2\n",
    );
    assert_eq!(paste.surveys[0][0].state.0, 8);
}

proptest::proptest! {
    #[test]
    fn any_text_is_survived(lines in proptest::collection::vec("(ESTAB|tcp|0|20|10\\.0\\.0\\.1:80|\\[::1\\]:5|users:\\(\\(\"|timer:\\(on|rto:|[0-9]{1,20}|\\PC{0,6}|[ \t=*>#\"\\\\n%]){0,12}", 0..20)) {
        let mut text = lines.join("\n");
        text.push_str("\nESTAB 0 0 10.0.0.9:9 10.0.0.8:8\n");
        let paste = paste(&text);
        proptest::prop_assert!(paste.surveys.iter().flatten().count() >= 1);
    }
}
