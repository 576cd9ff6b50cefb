//! `stallscope lab` as its users run it: every mode's figures and verdict on this kernel.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::netns::{ip, isolated, run, skipped, sysctl};

/// The longest that a lab of all modes may take: the forgotten cork alone takes 200 ms a request.
const LIMIT: Duration = Duration::from_secs(80);
/// Requests of each mode.
const REQUESTS: u64 = 30;

fn lab(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    run(command.arg("lab").args(arguments.split_whitespace()).env("LC_ALL", "C"), LIMIT).expect("the lab runs")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "stallscope.lab/1");
    document
}

/// What is right of a mode.
struct Right {
    mode: &'static str,
    verdicts: &'static [&'static str],
    levels: &'static [&'static str],
    p50_ms: std::ops::Range<f64>,
    segments: u64,
}

const STALL: std::ops::Range<f64> = 38.0..60.0;
const CORK: std::ops::Range<f64> = 195.0..260.0;
/// Tens of µs on a host at rest; this one may be busy.
const FAST: std::ops::Range<f64> = 0.0..5.0;

fn right(mode: &'static str, verdict: &'static [&'static str], p50_ms: std::ops::Range<f64>, segments: u64) -> Right {
    let levels: &[&str] = if p50_ms == FAST { &[] } else { &["proven", "confirmed"] };
    Right { mode, verdicts: verdict, levels, p50_ms, segments }
}

fn all_right() -> [Right; 10] {
    const HEALTHY: &[&str] = &["healthy"];
    const NAGLE: &[&str] = &["nagle-delayed-ack"];
    [
        right("nagle", NAGLE, STALL, 2),
        right("nodelay", HEALTHY, FAST, 2),
        right("one-write", HEALTHY, FAST, 1),
        right("writev", HEALTHY, FAST, 1),
        right("cork", HEALTHY, FAST, 1),
        right("msg-more", HEALTHY, FAST, 1),
        right("quickack-once", NAGLE, STALL, 2),
        // Nagle waits for the ACK of each first write, which comes at once, or when the receiver gets a processor.
        right("quickack-every-read", &["healthy", "rtt-bound-nagle", "held-unread"], FAST, 2),
        right("response", NAGLE, STALL, 2),
        right("cork-forgotten", &["cork-hold"], CORK, 1),
    ]
}

fn check(row: &Value, right: &Right) {
    let figure = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
    let verdict = row["verdict"].as_str().expect("a verdict");
    assert!(right.verdicts.contains(&verdict), "{row}");
    if !right.levels.is_empty() {
        assert!(right.levels.contains(&row["level"].as_str().expect("a level")), "{row}");
    }
    assert!(right.p50_ms.contains(&figure("p50_ms")), "{row}");
    assert_eq!(row["first_ms"].as_array().map(Vec::len), Some(3), "{row}");
    assert_eq!(
        (row["requests"].as_u64(), row["data_segments"].as_u64()),
        (Some(REQUESTS), Some(REQUESTS * right.segments))
    );
    let ordered = ["p50_ms", "p90_ms", "p99_ms", "max_ms", "total_ms"].map(figure);
    assert!(ordered.is_sorted(), "{row}");
    if right.p50_ms == STALL {
        assert!(figure("delayed_acks") >= (REQUESTS - 3) as f64, "{row}");
        assert!(row["first_ms"][0].as_f64().is_some_and(|ms| ms < 20.0), "the first request is fast: {row}");
        assert!(figure("pure_acks") >= (2 * REQUESTS - 4) as f64, "{row}");
    }
}

#[test]
fn every_mode_has_the_right_figures_and_verdict() {
    isolated("lab::every_mode_has_the_right_figures_and_verdict", || {
        let document = json(&lab(&format!("--requests {REQUESTS} --format json")));
        let rows = document["modes"].as_array().expect("modes");
        let named = |mode: &str| rows.iter().find(|row| row["mode"] == mode).unwrap_or_else(|| panic!("no {mode}"));
        for right in all_right() {
            check(named(right.mode), &right);
        }
        for mode in ["tiny-writes", "tiny-writes-nodelay"] {
            let row = named(mode);
            assert_eq!((row["requests"].as_u64(), row["p50_ms"].is_null()), (Some(20_000), true), "{row}");
            let segments = row["data_segments"].as_u64().expect("segments");
            assert!((1..=20_000).contains(&segments), "{row}");
            assert!(!matches!(row["verdict"].as_str(), None | Some("nagle-delayed-ack" | "cork-hold")), "{row}");
        }
        assert_eq!(rows.len(), 12);
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        assert_eq!(document["host"]["kernel"], kernel);
    });
}

#[test]
fn csv_and_text_show_the_same_modes() {
    isolated("lab::csv_and_text_show_the_same_modes", || {
        let csv = text(&lab("--mode nagle --mode tiny-writes --requests 10 --format csv"));
        let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines.len(), 4, "{csv}");
        assert!(lines.iter().all(|cells| cells.len() == lines[0].len()), "{csv}");
        assert_eq!((lines[0][0], lines[1][0], lines[3][0]), ("mode", "nagle", "tiny-writes-nodelay"));
        assert_eq!((lines[1][13], lines[2][2]), ("nagle-delayed-ack", ""));

        let shown = text(&lab("--mode nagle --mode nodelay --requests 10"));
        assert!(shown.is_ascii(), "the locale has no more: {shown}");
        assert!(shown.lines().all(|line| line.len() <= 92), "{shown}");
        assert!(shown.contains("nagle-delayed-ack, proven"), "{shown}");
        // The cliff: nine stalls in one line of the plot, none in the first column.
        assert!(shown.lines().any(|line| line == "         | aaaaaaaaa"), "{shown}");
    });
}

#[test]
fn sizes_answer_questions() {
    isolated("lab::sizes_answer_questions", || {
        let reply = json(&lab("--mode nagle --request 20 --reply 10+10 --requests 10 --format json"));
        assert_eq!(reply["modes"][0]["verdict"], "nagle-delayed-ack", "a reply in two writes stalls: {reply}");
        assert_eq!(reply["modes"][0]["data_segments"], 20);
        let body = text(&lab("--mode nagle --request 10+70000 --requests 10"));
        assert!(body.contains("does not stall here") && body.contains("fills a"), "{body}");
        let single = text(&lab("--mode nagle --request 20 --requests 10"));
        assert!(single.contains("a message of one write"), "{single}");
    });
}

#[test]
fn a_route_with_quickack_is_named() {
    isolated("lab::a_route_with_quickack_is_named", || {
        ip("route replace local 127.0.0.1 dev lo table local quickack 1").expect("a route");
        let quick = text(&lab("--mode nagle --requests 10"));
        assert!(quick.contains("nagle does not stall here: the route to 127.0.0.1 has `quickack 1`"), "{quick}");
        let output = lab("--mode nagle --requests 10 --format csv");
        let apart = String::from_utf8_lossy(&output.stderr);
        assert!(apart.contains("nagle does not stall here: the route to 127.0.0.1 has `quickack 1`"), "{apart}");
    });
}

#[test]
fn a_shorter_delay_is_explained() {
    isolated("lab::a_shorter_delay_is_explained", || {
        ip("route replace local 127.0.0.1 dev lo table local rto_min 10ms").expect("a route");
        let short = text(&lab("--mode nagle --requests 10"));
        assert!(short.contains("does not stall for 40 ms each time") && short.contains("rto_min"), "{short}");
        assert!(!short.contains("quickack"), "{short}");
    });
}

#[test]
fn a_higher_pingpong_threshold_is_named() {
    const TEST: &str = "lab::a_higher_pingpong_threshold_is_named";
    isolated(TEST, || {
        if let Err(reason) = sysctl("tcp_pingpong_thresh", "8") {
            return skipped(TEST, &reason);
        }
        let rare = text(&lab("--mode nagle --requests 30"));
        assert!(rare.contains("tcp_pingpong_thresh is 8"), "{rare}");
    });
}

/// Bytes in a segment of each of the two rows of one-byte writes.
fn gathered(document: &Value) -> [f64; 2] {
    let bytes = |row: &Value| 20_000.0 / row["data_segments"].as_f64().expect("segments");
    [bytes(&document["modes"][0]), bytes(&document["modes"][1])]
}

#[test]
fn one_byte_writes_are_gathered_by_nagle_and_not_by_the_pace_of_bbr() {
    const TEST: &str = "lab::one_byte_writes_are_gathered_by_nagle_and_not_by_the_pace_of_bbr";
    isolated(TEST, || {
        sysctl("tcp_congestion_control", "reno").expect("every kernel has it");
        let output = lab("--mode tiny-writes --format json");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let [nagle, nodelay] = gathered(&json(&output));
        // Bytes that are written while the congestion window is full share a segment: a busy host has some of these.
        assert!(nodelay < 2.0 && nagle > nodelay + 1.0, "{nagle} and {nodelay} bytes a segment");

        if let Err(reason) = sysctl("tcp_congestion_control", "bbr") {
            return skipped(TEST, &reason);
        }
        let output = lab("--mode tiny-writes --format json");
        let [nagle, nodelay] = gathered(&json(&output));
        assert!(nodelay < 2.0 && nagle > nodelay + 1.0, "{nagle} and {nodelay} bytes a segment");
        let apart = String::from_utf8_lossy(&output.stderr);
        assert!(apart.contains("tried under reno, because this host's bbr paces"), "{apart}");
        assert_eq!(apart.lines().count(), 1, "said once for both rows: {apart}");
    });
}

#[test]
fn an_interrupted_lab_prints_what_it_measured() {
    isolated("lab::an_interrupted_lab_prints_what_it_measured", || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
        command.args("lab --mode nagle --requests 1000 --format json".split_whitespace());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the lab starts");
        let pid = rustix::process::Pid::from_child(&child);
        let deadline = Instant::now() + Duration::from_secs(20);
        // Each stall is one delayed ACK of this namespace: five of them, and it is well under way.
        while stallscope::source::counters().delayed_acks.unwrap_or(0) < 5 {
            assert!(Instant::now() < deadline, "the lab never stalled");
            thread::sleep(Duration::from_millis(5));
        }
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
        let output = child.wait_with_output().expect("the lab ends");
        assert_eq!(output.status.code(), Some(130));
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let requests = document["modes"][0]["requests"].as_u64().expect("requests");
        assert!((5..1_000).contains(&requests), "{document}");
        assert!(document["modes"][0]["p50_ms"].as_f64().is_some_and(|ms| STALL.contains(&ms)), "{document}");
    });
}
