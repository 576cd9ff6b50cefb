//! What a diagnosis says of the sockets of a namespace.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::netns::{Room, run};
use super::scenario::Level;

/// Time that looking takes beyond the time it was asked to watch.
const SLACK: Duration = Duration::from_secs(15);

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub verdict: String,
    pub level: Option<Level>,
    pub severity: String,
    pub sender: SocketAddr,
    pub receiver: SocketAddr,
    pub holds: u64,
    pub released_by_timer: u64,
    pub released_by_reply: u64,
    pub p50_ms: Option<f64>,
}

/// All findings, and the time that they are about, as the report has it: a process takes a while to start and to end, longer
/// on a busy host.
#[derive(Clone, Debug)]
pub struct Observed {
    pub findings: Vec<Found>,
    pub began: Instant,
    pub ended: Instant,
}

/// Something that watches a namespace and says what it found.
pub trait Observer {
    /// Watches the namespace of `room` for `time`.
    fn observe(&self, room: &Room, time: Duration) -> Result<Observed, String>;
}

/// `stallscope check` as its users run it.
pub struct Check;

/// Names a file: then what is watched is recorded, the recording is judged, and a redacted copy goes there. Fixtures are made
/// so: `STALLSCOPE_TEST_RECORD=$PWD/fixtures/recordings/pacing.ssrec cargo test --test suite scenarios::pacing`. Where the name
/// ends in `.txt`, the host's own `ss` prints the sockets again and again instead, and what it printed goes there.
const RECORD: &str = "STALLSCOPE_TEST_RECORD";

/// How often `ss` is run for a text, each in one part of the time; as many looks as somebody pastes.
const TEXTS: u32 = 6;

/// Prints the sockets with the host's `ss` into a file, each time behind a date, and judges that.
fn judge_text(keep: &str, time: Duration, limit: Duration) -> Result<std::process::Output, String> {
    let mut pasted = Vec::new();
    for n in 0..TEXTS {
        // No whole number of any scenario's periods, so that every phase is met.
        std::thread::sleep(time / TEXTS + Duration::from_micros(1_700) * n);
        let date = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(|error| error.to_string())?;
        pasted.extend(format!("{}.{:06}\n", date.as_secs(), date.subsec_micros()).bytes());
        let printed = run(Command::new("ss").arg("-tinmoeOa"), limit).map_err(|error| format!("ss: {error}"))?;
        pasted.extend(printed.stdout);
        pasted.push(b'\n');
    }
    std::fs::write(keep, pasted).map_err(|error| format!("{keep}: {error}"))?;
    let arguments = ["check", "--format", "json", "--all", "--from", keep];
    run(Command::new(program()).args(arguments), limit).map_err(|error| error.to_string())
}

/// Records, keeps a redacted copy, and judges that.
fn judge_recording(keep: &str, watch: &str, limit: Duration) -> Result<std::process::Output, String> {
    let raw = format!("{keep}.raw");
    let mut output = Err("nothing was run".to_owned());
    for arguments in [
        ["record", "--force", "-o", &raw, "--for", watch],
        ["redact", &raw, "--force", "-o", keep, "--keep-ports"],
        ["check", "--format", "json", "--all", "--from", keep],
    ] {
        output = run(Command::new(program()).args(arguments), limit).map_err(|error| error.to_string());
    }
    std::fs::remove_file(&raw).map_err(|error| error.to_string())?;
    output
}

impl Observer for Check {
    fn observe(&self, room: &Room, time: Duration) -> Result<Observed, String> {
        room.run(move || {
            let (began, wall) = (Instant::now(), SystemTime::now());
            let watch = format!("{}ms", time.as_millis());
            let mut command = Command::new(program());
            command.args(["check", "--format", "json", "--for", &watch]);
            let output = match std::env::var(RECORD) {
                Ok(keep) if Path::new(&keep).extension().is_some_and(|it| it == "txt") => {
                    judge_text(&keep, time, time + SLACK)
                }
                Ok(keep) => judge_recording(&keep, &watch, time + SLACK),
                Err(_) => run(&mut command, time + SLACK).map_err(|error| error.to_string()),
            };
            let output = output.map_err(|error| format!("check: {error}"))?;
            let ended = Instant::now();
            if !matches!(output.status.code(), Some(0 | 1)) {
                return Err(format!("check: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
            }
            let report: Value =
                serde_json::from_slice(&output.stdout).map_err(|error| format!("check's JSON: {error}"))?;
            let (began, ended) =
                watched(&report, (began, wall), ended).ok_or("check's JSON does not tell when it watched")?;
            Ok(Observed { findings: findings(&report)?, began, ended })
        })
    }
}

/// From the first survey to the last, on the clock that the clients are on. `asked` is one moment on both clocks.
fn watched(report: &Value, asked: (Instant, SystemTime), over: Instant) -> Option<(Instant, Instant)> {
    let started = humantime::parse_rfc3339(report["watch"]["started"].as_str()?).ok()?;
    // The report has whole milliseconds, so the start may seem to be sooner than it was.
    let began = asked.0 + started.duration_since(asked.1).unwrap_or_default();
    let ended = began + Duration::from_millis(report["watch"]["duration_ms"].as_u64()?);
    Some((began.min(over), ended.min(over)))
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_stallscope")
}

fn findings(report: &Value) -> Result<Vec<Found>, String> {
    if report["schema"] != "stallscope.check/1" {
        return Err(format!("check's JSON has the schema {}", report["schema"]));
    }
    let list = report["findings"].as_array().ok_or("check's JSON has no list of findings")?;
    list.iter()
        .map(|finding| read(finding).ok_or_else(|| format!("a finding that cannot be read: {finding}")))
        .collect()
}

fn read(finding: &Value) -> Option<Found> {
    let text = |key: &str| finding[key].as_str().map(str::to_owned);
    let count = |key: &str| finding["hold"][key].as_u64().unwrap_or(0);
    Some(Found {
        verdict: text("verdict")?,
        level: finding["level"].as_str().and_then(Level::named),
        severity: text("severity")?,
        sender: address(&finding["sender"])?,
        receiver: address(&finding["receiver"])?,
        holds: count("observed"),
        released_by_timer: count("released_by_timer"),
        released_by_reply: count("released_by_reply"),
        p50_ms: finding["hold"]["p50_ms"].as_f64(),
    })
}

fn address(end: &Value) -> Option<SocketAddr> {
    let ip: IpAddr = end["address"].as_str()?.parse().ok()?;
    Some(SocketAddr::new(ip, u16::try_from(end["port"].as_u64()?).ok()?))
}

#[test]
fn a_report_is_read_and_a_wrong_one_refused() {
    let report = serde_json::json!({
        "schema": "stallscope.check/1",
        "findings": [{
            "verdict": "nagle-delayed-ack", "level": "proven", "severity": "stall",
            "sender": {"address": "127.0.0.1", "port": 1}, "receiver": {"address": "127.0.0.1", "port": 2},
            "hold": {"observed": 3, "released_by_timer": 3, "released_by_reply": 0, "p50_ms": 44.0}
        }]
    });
    let found = findings(&report).expect("a good report");
    assert_eq!((found[0].level, found[0].holds, found[0].p50_ms), (Some(Level::Proven), 3, Some(44.0)));
    assert!(findings(&serde_json::json!({"schema": "other/1", "findings": []})).is_err());
    assert!(findings(&serde_json::json!({"schema": "stallscope.check/1", "findings": [{}]})).is_err());
}

#[test]
fn the_time_watched_is_the_report_s() {
    let (now, wall) = (Instant::now(), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    let report = serde_json::json!({"watch": {"started": "2001-09-09T01:46:40.250Z", "duration_ms": 2_000}});
    let at = |ms| now + Duration::from_millis(ms);
    assert_eq!(watched(&report, (now, wall), at(3_000)), Some((at(250), at(2_250))));
    assert_eq!(watched(&report, (now, wall), at(2_100)), Some((at(250), at(2_100))));
    assert_eq!(watched(&serde_json::json!({"watch": {"started": null}}), (now, wall), now), None);
}
