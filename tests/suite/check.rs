//! `stallscope check` as a process: arguments, exit status, signals, pipes, colour, users and namespaces.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stallscope::lab::Family;

use super::link::{Joined, Link, Seen};
use super::netns::{isolated, run, skipped};
use super::stall::Stall;
use super::sys::without_netlink;

/// The longest time that a run may take.
const LIMIT: Duration = Duration::from_secs(30);

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.env_remove("NO_COLOR");
    command
}

/// Runs `stallscope check` with these arguments.
pub fn check(arguments: &[&str]) -> Output {
    run(program().arg("check").args(arguments), LIMIT).expect("stallscope runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Runs it with `--format json`; the report and the exit status.
pub fn check_json(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = check(&[&["--format", "json"], arguments].concat());
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr))), output.status.code())
}

#[test]
fn wrong_usage_is_told_and_exits_with_2() {
    for arguments in [
        &["--fail-on", "sure"][..],
        &["--fail-on", "confirmed"],
        &["--format", "xml"],
        &["--interval", "0s"],
        &["--for", "soon"],
        &["-4", "-6"],
        &["--bogus"],
    ] {
        let output = check(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    assert_eq!(check(&["--help"]).status.code(), Some(0));
}

#[test]
fn a_wrong_filter_gets_an_error_that_points_at_the_column() {
    for (filter, wrong) in [("notsentt > 0", "notsentt"), ("rtt > 10ms and foo", "foo"), ("notsent > > 0", "> 0")] {
        let output = check(&[filter]);
        assert_eq!(output.status.code(), Some(2), "{filter}");
        assert!(output.stdout.is_empty());
        let stderr = text(&output.stderr);
        let lines: Vec<_> = stderr.lines().collect();
        let at = lines.iter().position(|line| *line == filter).unwrap_or_else(|| panic!("{filter} in {stderr}"));
        assert_eq!(lines[at + 1].find('^'), filter.rfind(wrong), "{stderr}");
        assert!(lines[at + 1].trim_start_matches([' ', '^']).len() > 10, "says what was expected: {stderr}");
    }
}

#[test]
fn a_period_that_surveys_would_fill_is_stretched_and_said_to_be() {
    // A dump walks the kernel's whole hash table, which takes longer than a fifth of a millisecond.
    let (report, _) = check_json(&["--for", "200ms", "--interval", "1ms"]);
    let notes = report["watch"]["notes"].as_array().expect("notes");
    let said = |note: &Value| note.as_str().is_some_and(|note| note.starts_with("a survey took more than a fifth"));
    assert!(notes.iter().any(said), "{notes:?}");
}

#[test]
fn where_netlink_is_forbidden_it_says_so_and_exits_with_3() {
    let mut command = program();
    command.args(["check", "--for", "1s"]);
    without_netlink(&mut command);
    let output = match run(&mut command, LIMIT) {
        Ok(output) => output,
        Err(error) => {
            return skipped("check::where_netlink_is_forbidden_it_says_so_and_exits_with_3", &error.to_string());
        }
    };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(output.stdout.is_empty());
    for wanted in ["NETLINK_SOCK_DIAG", "not permitted", "sandbox"] {
        assert!(stderr.contains(wanted), "{wanted:?} in {stderr}");
    }
}

/// Whether the process has handlers for SIGINT and SIGTERM.
fn catches_signals(pid: u32) -> bool {
    let caught = std::fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        u64::from_str_radix(line.trim(), 16).ok()
    });
    // Signals 2 and 15, counted from bit 0.
    caught.is_some_and(|caught| caught & (1 << 1) != 0 && caught & (1 << 14) != 0)
}

/// Starts a long watch and waits until it would notice a signal. If that takes too long, the signal ends it without a status.
fn watching(arguments: &[&str]) -> Child {
    let mut command = program();
    command.args(["check", "--for", "60s"]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("stallscope runs");
    let end = Instant::now() + LIMIT;
    while !catches_signals(child.id()) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn an_interrupted_watch_prints_what_it_saw() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let child = watching(&["--all"]);
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        let began = Instant::now();
        let output = child.wait_with_output().expect("it ends");
        assert!(began.elapsed() < Duration::from_secs(20));
        assert_eq!(output.status.code(), Some(status));
        let stdout = text(&output.stdout);
        assert!(stdout.lines().last().is_some_and(|line| line.contains("connection")), "{stdout}");
    }
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let mut child = program()
        .args(["check", "--for", "0s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("stallscope runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", output.status);
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let painted = |output: &Output| output.stdout.contains(&0x1b);
    assert!(!painted(&check(&["--for", "0s"])));
    assert!(painted(&check(&["--for", "0s", "--color", "always"])));
    assert!(!painted(&check(&["--for", "0s", "--color", "always", "--format", "json"])));
    assert!(!painted(&check(&["--for", "0s", "--color", "always", "--format", "markdown"])));
    let terminal = |no_color: Option<&str>, more: &str| {
        let mut command = Command::new("script");
        let line = format!("{} check --for 0s {more}", env!("CARGO_BIN_EXE_stallscope"));
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        run(&mut command, LIMIT)
    };
    let plain = match terminal(None, "") {
        Ok(output) => output,
        Err(error) => {
            let test = "check::colour_is_for_terminals_and_for_who_asks";
            return skipped(test, &format!("on a terminal: `script` of bsdutils cannot be run: {error}"));
        }
    };
    assert!(painted(&plain), "{}", text(&plain.stdout));
    assert!(painted(&terminal(Some(""), "").expect("script runs")), "an empty NO_COLOR is none");
    assert!(!painted(&terminal(Some("1"), "").expect("script runs")));
    assert!(!painted(&terminal(None, "--color never").expect("script runs")));
    assert!(painted(&terminal(Some("1"), "--color always").expect("script runs")));
}

#[test]
fn a_stall_is_proven_with_both_ends_and_their_process() {
    isolated("check::a_stall_is_proven_with_both_ends_and_their_process", || {
        let stall = Stall::start();
        let (report, status) = check_json(&["--for", "2s"]);
        assert_eq!(status, Some(1), "{report:#}");
        let findings = report["findings"].as_array().expect("a list");
        assert_eq!(findings.len(), 1, "{report:#}");
        let finding = &findings[0];
        assert_eq!(
            (&finding["verdict"], &finding["level"]),
            (&"nagle-delayed-ack".into(), &"proven".into()),
            "{report:#}"
        );
        assert_eq!(finding["sender"]["port"], stall.client.port());
        assert_eq!(finding["receiver"]["port"], stall.server.port());
        let hold = &finding["hold"];
        assert!((40.0..=48.0).contains(&hold["p50_ms"].as_f64().expect("a figure")), "{hold:#}");
        assert!(hold["share"].as_f64().expect("a figure") > 0.8, "{hold:#}");
        for end in ["sender", "receiver"] {
            assert_eq!(finding[end]["processes"][0]["pid"], std::process::id(), "{end}");
        }
        assert_eq!(finding["sender_opened"], true);
        // The level that makes the exit status is a choice.
        let (_, status) = check_json(&["--for", "500ms", "--no-probe", "--fail-on", "proven"]);
        assert_eq!(status, Some(0), "surveys alone prove nothing");
    });
}

#[test]
fn without_a_stall_the_last_line_says_so() {
    isolated("check::without_a_stall_the_last_line_says_so", || {
        let output = check(&["--for", "300ms"]);
        let stdout = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{stdout}");
        assert_eq!(stdout.lines().last(), Some("0 connections watched for 0.3s: no stall"), "{stdout}");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let _client = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
        let (_server, _) = listener.accept().expect("the other end");
        let stdout = text(&check(&["--for", "300ms"]).stdout);
        assert_eq!(
            stdout.lines().last(),
            Some("1 connection watched for 0.3s: no stall, all of them idle"),
            "{stdout}"
        );
        let stdout = text(&check(&["--for", "0s", "notsent > 5"]).stdout);
        assert!(stdout.lines().last().is_some_and(|line| line.contains("none of 1 connection matches")), "{stdout}");
    });
}

#[test]
fn a_peer_in_another_namespace_is_suspected_with_words_on_what_would_prove_it() {
    isolated("check::a_peer_in_another_namespace_is_suspected_with_words_on_what_would_prove_it", || {
        let joined = Joined::new(&Link::Veth, Seen::Client).expect("a link");
        let places = joined.places(Family::V4);
        let listener = joined.server.run(move || TcpListener::bind((places.listen, 0))).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let stream = joined.client.run(move || TcpStream::connect((places.connect, port))).expect("a connection");
        let _stall = Stall::between(&listener, stream);
        let output = check(&["--for", "2s"]);
        let stdout = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "suspected is below the default level: {stdout}");
        assert!(stdout.contains("SUSPECTED nagle-delayed-ack"), "{stdout}");
        let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("the receiver is on another host or in another network namespace; run stallscope there"),
            "{words}"
        );
        let (report, status) = check_json(&["--for", "2s", "--fail-on", "suspected"]);
        assert_eq!(status, Some(1));
        let finding = &report["findings"][0];
        assert_eq!((&finding["level"], &finding["receiver"]["local"]), (&"suspected".into(), &false.into()));
        assert!(finding["receiver"].get("fields").is_none() && finding["sender"].get("fields").is_some());
    });
}

#[test]
fn another_user_sees_the_same_verdict_and_says_whose_processes_it_cannot_see() {
    const TEST: &str = "check::another_user_sees_the_same_verdict_and_says_whose_processes_it_cannot_see";
    if !rustix::process::geteuid().is_root() {
        return skipped(TEST, "only root can run a program as another user");
    }
    let folder = std::env::temp_dir().join(format!("stallscope-nobody-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let copy = folder.join("stallscope");
    std::fs::copy(env!("CARGO_BIN_EXE_stallscope"), &copy).expect("a copy that anybody can run");
    for path in [&folder, &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let stall = Stall::start();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&copy);
    command.args(["check", "--for", "2s", "--format", "json", &stall.filter()]);
    let output = run(&mut command, LIMIT);
    std::fs::remove_dir_all(&folder).expect("ours");
    let output = match output {
        Ok(output) => output,
        Err(error) => return skipped(TEST, &format!("`setpriv` of util-linux cannot be run: {error}")),
    };
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(output.status.code(), Some(1), "{report:#}");
    assert_eq!(report["host"]["uid"], 65_534);
    let finding = &report["findings"][0];
    assert_eq!((&finding["verdict"], &finding["level"]), (&"nagle-delayed-ack".into(), &"proven".into()), "{report:#}");
    for end in ["sender", "receiver"] {
        assert_eq!(finding[end]["processes"], Value::Array(Vec::new()));
        assert_eq!(finding[end]["owners"], "unknown (other user)");
    }
}
