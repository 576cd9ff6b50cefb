//! Giving evidence away: exports, and pseudonyms.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use super::common::{fixture, oracle_pairs, read_bytes, sockets};
use stallscope::model::{Event, Host, Moment, Owner, Owners};
use stallscope::record::export::{Exporter, Format, SsVersion};
use stallscope::record::{RedactOptions, Redactor};
use stallscope::source::file::FileSource;
use stallscope::wire::Socket;

fn export(bytes: &[u8], format: Format) -> Vec<u8> {
    let mut source = FileSource::from_reader("it", Box::new(std::io::Cursor::new(bytes.to_vec()))).expect("known");
    let mut exporter = Exporter::new(Vec::new(), format).expect("a vector takes all");
    while source.next(&mut |event| exporter.write(&event).expect("a vector takes all")).expect("it is read") {}
    exporter.finish().expect("a vector takes all")
}

/// The words of each socket by its cookie, without those that are not kept.
fn rows(text: &str) -> BTreeMap<String, String> {
    let passed = |word: &&str| !["cgroup:", "bbr:("].iter().any(|prefix| word.starts_with(prefix));
    // ss reads the first dump of a file only; surveys after it are behind a blank line.
    text.lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.contains(" sk:"))
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().filter(passed).collect();
            let cookie = words.iter().find(|word| word.starts_with("sk:")).expect("it has one");
            ((*cookie).to_owned(), words.join(" "))
        })
        .collect()
}

#[test]
fn text_is_what_ss_prints_for_the_same_bytes() {
    for (dump, text) in oracle_pairs() {
        let bytes = std::fs::read(&dump).expect("the dump");
        let ours = String::from_utf8(export(&bytes, Format::SsText(SsVersion::V6_1))).expect("text");
        let ours = rows(&ours);
        for (cookie, want) in rows(&std::fs::read_to_string(text).expect("the text")) {
            assert_eq!(ours.get(&cookie), Some(&want), "{}", dump.display());
        }
    }
}

#[test]
fn ss_reads_a_dump_that_was_exported() {
    let bytes = std::fs::read(fixture("stall-linux-6.1.176.nl")).expect("the fixture");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("dump");
    std::fs::write(&file, export(&bytes, Format::SsDump)).expect("written");
    let Ok(printed) = Command::new("ss").env("TCPDIAG_FILE", &file).args(["-tinmoeO"]).output() else {
        eprintln!("SKIPPED: no ss here");
        return;
    };
    let want = std::fs::read_to_string(fixture("stall-linux-6.1.176.ss.txt")).expect("the text");
    assert_eq!(rows(&String::from_utf8_lossy(&printed.stdout)).len(), 2);
    assert_eq!(rows(&String::from_utf8_lossy(&printed.stdout)), rows(&want));
}

#[test]
fn json_and_csv_say_the_same() {
    let bytes = std::fs::read(fixture("stall-linux-7.3.4.nl")).expect("the fixture");
    let json = String::from_utf8(export(&bytes, Format::Json)).expect("text");
    let csv = String::from_utf8(export(&bytes, Format::Csv)).expect("text");
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    assert_eq!(json.lines().count(), 2);
    for (object, line) in json.lines().zip(lines) {
        let object: serde_json::Value = serde_json::from_str(object).expect("JSON");
        let values: Vec<&str> = line.split(',').collect();
        assert_eq!(values.len(), header.len());
        assert_eq!(object["schema"], 1);
        let column = |name: &str| values[header.iter().position(|column| *column == name).expect("a column")];
        for name in ["notsent_bytes", "unacked", "snd_mss", "bytes_acked", "rcv_wnd"] {
            assert_eq!(object["tcp_info"][name].to_string(), column(name), "{name}");
        }
        assert_eq!(object["wqueue"].to_string(), column("wqueue"));
        assert_eq!(object["timer"]["name"], column("timer"));
        // What this kernel does not send is absent, not zero.
        assert_eq!(object["tcp_info"].get("no_such_field"), None);
    }
}

fn redact(bytes: &[u8], options: RedactOptions) -> (Vec<Socket>, String) {
    let mut redactor = Redactor::new(options);
    let (mut out, mut words) = (Vec::new(), String::new());
    let host = Host { hostname: "secret-host".into(), user: Some("secret-user".into()), ..Host::default() };
    let owner = Owner {
        pid: 1,
        comm: "secret-name".into(),
        fd: 3,
        cmdline: "secret-name --key secret".into(),
        exe: Some("/opt/secret".into()),
    };
    let owners = [(1, Owners::Known(vec![owner]))];
    for event in [
        Event::Host(&host),
        Event::Run(bytes),
        Event::Owners(&owners),
        Event::Mark { at: Moment(0), word: "secret word" },
    ] {
        redactor.redact(&event, |event| match event {
            Event::Run(run) => out.extend(sockets(run)),
            other => write!(words, "{other:?}").expect("a string takes all"),
        });
    }
    write!(words, "{:?}", redactor.replaced().collect::<Vec<_>>()).expect("a string takes all");
    (out, words)
}

#[test]
fn pseudonyms_keep_every_relation_and_value() {
    for (dump, _) in oracle_pairs() {
        let bytes = std::fs::read(&dump).expect("the dump");
        let before: Vec<Socket> = sockets(&bytes).collect();
        let (after, words) = redact(&bytes, RedactOptions::default());
        assert!(!words.contains("secret"), "{words}");
        assert_eq!(before.len(), after.len());
        let tuple = |socket: &Socket| (socket.local, socket.remote);
        let mut names = BTreeMap::new();
        for (a, b) in before.iter().zip(&after) {
            let same = Socket { local: a.local, remote: a.remote, ..*b };
            assert_eq!(&same, a, "only addresses and ports change");
            // The same end has the same pseudonym on both sides, so that pairs stay pairs.
            for (end, pseudonym) in [(a.local, b.local), (a.remote, b.remote)] {
                assert_eq!(*names.entry(end).or_insert(pseudonym), pseudonym);
                assert!(end.port > 1023 && pseudonym.port != end.port || end.port == pseudonym.port);
            }
        }
        let pairs = |all: &[Socket]| {
            let ends: std::collections::HashSet<_> = all.iter().map(tuple).collect();
            all.iter().filter(|socket| ends.contains(&(socket.remote, socket.local))).count()
        };
        assert_eq!(pairs(&before), pairs(&after));
        let (kept, words) = redact(&bytes, RedactOptions { keep_ports: true, keep_names: true });
        assert!(kept.iter().zip(&before).all(|(a, b)| a.local.port == b.local.port));
        assert!(words.contains("secret-name") && !words.contains("--key"), "{words}");
    }
}

#[test]
fn other_addresses_are_replaced_and_no_byte_of_them_is_left() {
    let text = "ESTAB 0 0 10.20.30.40:50000 172.16.5.6:443\nESTAB 0 0 [fd00::77:1]:50001 [::ffff:10.20.30.40]:8443\n";
    let seen = read_bytes(text.as_bytes());
    let mut redactor = Redactor::new(RedactOptions::default());
    let mut run = Vec::new();
    redactor.redact(&Event::Run(&seen.runs), |event| {
        if let Event::Run(redacted) = event {
            run.extend_from_slice(redacted);
        }
    });
    let after: Vec<Socket> = sockets(&run).collect();
    assert_eq!(after[0].local.to_string(), "192.0.2.1:10001");
    assert_eq!(after[0].remote.to_string(), "192.0.2.2:443");
    assert_eq!(after[1].local.to_string(), "[2001:db8::1]:10002");
    assert_eq!(after[1].remote.to_string(), "192.0.2.1:10003");
    for secret in [&[10, 20, 30, 40][..], &[172, 16, 5, 6], &[0xfd, 0, 0, 0]] {
        assert!(!run.windows(4).any(|window| window == secret));
    }
    let counts: BTreeMap<_, _> = redactor.replaced().collect();
    assert_eq!((counts["IPv4 address"], counts["IPv6 address"], counts["port"]), (2, 1, 3));
}
