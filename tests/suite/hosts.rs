//! Two namespaces, a recording made in each at the same time, and one picture of both.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;
use stallscope::lab::Stop;
use stallscope::model::{Event, Host, Moment};
use stallscope::record::{Reader, Writer};
use tempfile::TempDir;

use super::json_document::assert_documented;
use super::link::{Joined, Link, Seen};
use super::netns::{Room, isolated, run, skipped};
use super::scenario::Scenario;
use super::scenarios::Pair;

/// How long both sides are recorded.
const RECORDED: &str = "4s";
/// A command that reads two small files takes no longer.
const LIMIT: Duration = Duration::from_secs(30);
/// The wall clock and the monotonic one are not read at one instant, ms.
const READ_APART_MS: f64 = 1.0;
/// Traffic never runs longer than this.
const TRAFFIC_LIMIT: Duration = Duration::from_secs(60);
/// Traffic before anything is recorded: the first requests of a connection are fast.
const WARM_UP_REQUESTS: u64 = 3;

/// A folder with the client's and the server's recording.
struct Recorded {
    folder: TempDir,
    client: PathBuf,
    server: PathBuf,
}

/// Plays a scenario's traffic between two namespaces and records both ends. `None` where the system cannot; it is said.
fn record(scenario: &str, link: &Link) -> Option<Recorded> {
    let scenario = Scenario::load(scenario).expect("a scenario");
    let joined = match Joined::new(link, Seen::Client) {
        Ok(joined) => joined,
        Err(reason) => {
            skipped("hosts", &reason);
            return None;
        }
    };
    let stop = Stop::after(TRAFFIC_LIMIT);
    let pair = Pair::start(&scenario.traffic[0], &joined, &stop).expect("traffic");
    assert!(pair.wait_for(WARM_UP_REQUESTS), "traffic flows");
    let folder = TempDir::new().expect("a folder");
    let [client, server] = ["client", "server"].map(|name| folder.path().join(format!("{name}.ssrec")));
    let recorders = [recorder(&joined.client, &client), recorder(&joined.server, &server)];
    for mut recorder in recorders {
        assert!(recorder.wait().expect("it ends").success(), "recorded");
    }
    let mut wrong = Vec::new();
    pair.stop(&scenario.traffic[0], &mut wrong);
    assert_eq!(wrong, Vec::<String>::new());
    Some(Recorded { folder, client, server })
}

/// A link whose round trip takes so long.
fn slow(rtt_ms: u64) -> Link {
    Link::Relay { rtt: Duration::from_millis(rtt_ms), rate: None, losses: Vec::new() }
}

fn recorder(room: &Room, to: &Path) -> Child {
    let to = to.to_owned();
    room.run(move || {
        let mut command = Command::new(program());
        command.args(["record", "--for", RECORDED, "-o"]).arg(to).spawn().expect("a recorder")
    })
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_stallscope")
}

/// The report on these files as one picture.
fn check(files: &[&Path]) -> Value {
    let mut command = Command::new(program());
    command.args(["check", "--format", "json", "--all"]);
    for file in files {
        command.arg("--from").arg(file);
    }
    let output = run(&mut command, LIMIT).expect("check runs");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A copy as another host with other clocks would have made it.
fn elsewhere(recording: &Path, name: &str, moments_us: u64, wall_us: i64) -> PathBuf {
    let to = recording.with_file_name(format!("{name}.ssrec"));
    let mut reader = Reader::new(std::fs::File::open(recording).expect("the recording")).expect("a recording");
    let mut writer = Writer::new(std::fs::File::create(&to).expect("the copy")).expect("the copy");
    let later = |at: Moment| at.after(moments_us);
    let mut write = |event: &Event<'_>| writer.write(event).expect("the copy");
    while reader
        .next(&mut |event| match event {
            Event::Host(host) => {
                let boot_id = Some(format!("boot of {name}"));
                write(&Event::Host(&Host { hostname: name.to_owned(), boot_id, ..host.clone() }));
            }
            Event::SurveyBegin { at, wall_us: wall } => {
                write(&Event::SurveyBegin { at: later(at), wall_us: wall.map(|wall| wall + wall_us) });
            }
            Event::SurveyEnd { at, report } => write(&Event::SurveyEnd { at: later(at), report }),
            Event::Probe { at, target, answers } => write(&Event::Probe { at: later(at), target, answers }),
            Event::Counters { at, counters } => write(&Event::Counters { at: later(at), counters }),
            Event::Mark { at, word } => write(&Event::Mark { at: later(at), word }),
            Event::Run(_) | Event::Owners(_) => write(&event),
        })
        .expect("the recording is read")
    {}
    writer.finish().expect("the copy");
    to
}

/// The stalls of a report: level, and the addresses of sender and receiver.
fn stalls(report: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    let stalls = findings.filter(|finding| finding["verdict"] == "nagle-delayed-ack");
    stalls.map(|it| (text(&it["level"]), text(&it["sender"]["address"]), text(&it["receiver"]["address"]))).collect()
}

fn clock(report: &Value) -> (&str, f64, f64) {
    let clock = &report["hosts"][1]["clock"];
    let number = |name: &str| clock[name].as_f64().unwrap_or(f64::NAN);
    (clock["source"].as_str().expect("a source"), number("ahead_ms"), number("uncertainty_ms"))
}

fn notes(report: &Value) -> String {
    report["watch"]["notes"].to_string()
}

/// That the stall from the client to the server is there, once, as sure as `levels` allow.
fn assert_stalled(report: &Value, levels: &[&str], what: &str) {
    let found = stalls(report);
    assert_eq!(found.len(), 1, "{what}: {found:?}, notes {}", notes(report));
    let (level, sender, receiver) = &found[0];
    assert!(levels.contains(&level.as_str()), "{what}: {level}, clock {:?}, {}", clock(report), report["findings"]);
    assert_eq!((sender.as_str(), receiver.as_str()), ("10.99.0.1", "10.99.0.2"), "{what}");
    assert_eq!((&report["connections"], &report["paired"]), (&Value::from(1), &Value::from(1)), "{what}");
}

/// Other clocks: what is added to the moments and to the wall clock, µs.
const OTHER_CLOCKS: [(u64, i64); 3] = [(0, 0), (3_200_000, 3_200_000), (7_000_000, -3_600_000_000)];

/// That with every other clock the verdict is the same, and the offset within its uncertainty.
fn assert_stalled_by_any_clock(recorded: &Recorded, levels: &[&str]) {
    for (moments_us, wall_us) in OTHER_CLOCKS {
        let server = elsewhere(&recorded.server, "other", moments_us, wall_us);
        let report = check(&[&recorded.client, &server]);
        let what = format!("{moments_us} {wall_us}");
        assert_stalled(&report, levels, &what);
        let (source, ahead, uncertainty) = clock(&report);
        assert_eq!(source, "byte counts", "{what}");
        let expected = wall_us as f64 / 1e3;
        assert!((ahead - expected).abs() <= uncertainty + READ_APART_MS, "{what}: {ahead} ± {uncertainty}");
        assert!(uncertainty <= 25.0, "{what}: {uncertainty}");
        let turned = check(&[&server, &recorded.client]);
        assert_stalled(&turned, levels, &format!("{what}, turned"));
    }
}

#[test]
fn a_stall_between_two_namespaces_is_proven_whatever_the_clocks_show() {
    isolated("hosts::a_stall_between_two_namespaces_is_proven_whatever_the_clocks_show", || {
        let Some(recorded) = record("wwr_veth", &Link::Veth) else { return };
        let alone = check(&[&recorded.client]);
        assert_eq!(stalls(&alone)[0].0, "suspected", "one end alone");
        assert_eq!(alone["hosts"], Value::Array(Vec::new()));
        let report = check(&[&recorded.client, &recorded.server]);
        assert_stalled(&report, &["proven"], "as recorded");
        assert_documented(&report);
        assert_eq!((clock(&report).0, clock(&report).2), ("same boot", 0.0));
        assert_stalled_by_any_clock(&recorded, &["proven"]);
        twice(&recorded);
        translated(&recorded);
    });
}

/// The same host in two files is one host.
fn twice(recorded: &Recorded) {
    let copy = recorded.client.with_file_name("copy.ssrec");
    std::fs::copy(&recorded.client, &copy).expect("a copy");
    let report = check(&[&recorded.client, &copy, &recorded.server]);
    assert_stalled(&report, &["proven"], "twice");
    assert!(notes(&report).contains("in two files, counted once"), "{}", notes(&report));
}

/// Behind a translation of addresses nothing is paired, and the candidate is named.
fn translated(recorded: &Recorded) {
    let redacted = recorded.folder.path().join("redacted.ssrec");
    let mut command = Command::new(program());
    command.arg("redact").arg(&recorded.server).arg("-o").arg(&redacted);
    assert!(run(&mut command, LIMIT).expect("redact runs").status.success());
    let report = check(&[&recorded.client, &redacted]);
    assert_eq!(report["paired"], 0);
    assert!(stalls(&report).iter().all(|(level, ..)| level == "suspected"), "{:?}", stalls(&report));
    let notes = notes(&report);
    assert!(notes.contains("pairing by address failed"), "{notes}");
    assert!(notes.contains("could be one connection, by byte counts alone: 10.99.0.1"), "{notes}");
    assert_eq!(clock(&report).0, "wall clocks");
}

#[test]
fn a_stall_over_20_ms_is_found_from_both_sides() {
    isolated("hosts::a_stall_over_20_ms_is_found_from_both_sides", || {
        let Some(recorded) = record("rtt_20_wwr", &slow(20)) else { return };
        assert_stalled(&check(&[&recorded.client, &recorded.server]), &["proven", "paired"], "as recorded");
        assert_stalled_by_any_clock(&recorded, &["proven", "paired"]);
    });
}

/// That no two recordings of this scenario make a stall, by their own clocks or by others.
fn assert_healthy(scenario: &str, link: &Link) {
    let Some(recorded) = record(scenario, link) else { return };
    let (client, server) = (&recorded.client, &recorded.server);
    let other = elsewhere(server, "other", 3_200_000, -3_600_000_000);
    for files in [[client, server], [client, &other], [&other, client]] {
        let report = check(&[files[0], files[1]]);
        assert_eq!(stalls(&report), Vec::new(), "{scenario}: {}", report["findings"]);
        assert_eq!(report["connections"], report["paired"], "{scenario}");
        assert_ne!(report["paired"], 0, "{scenario}");
    }
}

macro_rules! healthy {
    ($($test:ident: $scenario:literal over $link:expr;)*) => {$(
        #[test]
        fn $test() {
            isolated(concat!("hosts::", stringify!($test)), || assert_healthy($scenario, &$link));
        }
    )*};
}

healthy! {
    without_nagle_two_hosts_are_healthy: "nodelay" over Link::Veth;
    a_stream_over_20_ms_is_no_stall: "rtt_20_stream" over slow(20);
    a_stream_over_80_ms_is_no_stall: "rtt_80_stream" over slow(80);
    requests_over_80_ms_are_no_stall: "rtt_80" over slow(80);
    a_serial_server_is_no_stall: "pipelined_serial" over Link::Veth;
    a_serial_server_over_20_ms_is_no_stall: "pipelined_serial" over slow(20);
    a_receiver_that_polls_is_no_stall: "receiver_polls_300" over Link::Veth;
    small_writes_over_1_ms_are_no_stall: "rtt_1_stream" over slow(1);
    bulk_is_no_stall: "bulk_veth" over Link::Veth;
}

#[test]
fn a_stream_is_not_read_together_with_a_file() {
    let output =
        run(Command::new(program()).args(["check", "--from", "-", "--from", "/dev/null"]), LIMIT).expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("standard input") && message.contains("save it to a file first"), "{message}");
}
