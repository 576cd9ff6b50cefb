//! `record`, `snapshot`, `export`, `redact` and `check --from` as processes, over real sockets.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stallscope::filter::Filter;
use stallscope::model::{Event, Moment};
use stallscope::record::{Reader, Writer};
use stallscope::report::{Report, Selection, to_json};
use stallscope::watch::{Watch, WatchOptions};

use super::netns::{isolated, run, skipped};
use super::stall::Stall;

/// The longest time that a run may take.
const LIMIT: Duration = Duration::from_secs(30);

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_stallscope"))
}

/// Runs stallscope in a folder.
pub fn stallscope(folder: &Path, arguments: &[&str]) -> Output {
    run(program().current_dir(folder).args(arguments), LIMIT).expect("stallscope runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The report on a file, which must be readable.
pub fn report_on(file: &Path) -> Value {
    let file = file.to_str().expect("UTF-8");
    let output = stallscope(Path::new("/"), &["check", "--format", "json", "--all", "--from", file]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{file}: {error}: {}", text(&output.stderr)))
}

/// Verdicts, levels and holds, which redacting and replaying must keep; addresses are not in it.
pub fn figures(report: &Value) -> Vec<Value> {
    let findings = report["findings"].as_array().expect("a list");
    findings.iter().map(|it| serde_json::json!([it["verdict"], it["level"], it["hold"], it["evidence"]])).collect()
}

fn dump(kernel: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/dumps/stall-linux-{kernel}.nl"))
}

#[test]
fn a_recording_says_when_its_period_was_stretched() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = stallscope(folder.path(), &["record", "--for", "200ms", "--interval", "1ms", "-o", "a.ssrec"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("because surveys take long"), "{}", text(&output.stdout));
}

#[test]
fn a_recording_gives_the_findings_of_the_run_that_made_it() {
    isolated("evidence::a_recording_gives_the_findings_of_the_run_that_made_it", || {
        let _stall = Stall::start();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("live.ssrec");
        let mut writer = Writer::new(std::fs::File::create(&file).expect("a file")).expect("it is begun");
        let mut tee = |event: &Event<'_>| writer.write(event).expect("it is written");
        let mut watch = Watch::start(WatchOptions::default(), &mut tee).expect("netlink");
        watch.run(Duration::from_secs(2), &false.into(), &mut tee).expect("surveys");
        let inodes = watch.engine.table().entries().map(|entry| entry.socket.inode).collect();
        watch.look_up_owners(&inodes, &mut tee);
        writer.finish().expect("it ends");
        let filter = Filter::default();
        let selection = Selection { filter: &filter, filter_text: "", all: true };
        let live = to_json(&Report::of(&watch.engine, &selection)).expect("JSON");
        let live: Value = serde_json::from_str(&live).expect("JSON");
        let replayed = report_on(&file);
        assert_eq!(live["findings"][0]["level"], "proven", "{live:#}");
        for part in ["findings", "host", "tick"] {
            assert_eq!(live[part], replayed[part], "{part}");
        }
        assert!(
            replayed["watch"]["notes"][0].as_str().is_some_and(|note| note.starts_with("read from")),
            "{replayed:#}"
        );
    });
}

#[test]
fn only_what_matches_is_recorded_with_both_ends_and_their_process() {
    isolated("evidence::only_what_matches_is_recorded_with_both_ends_and_their_process", || {
        let (wanted, other) = (Stall::start(), Stall::start());
        let folder = tempfile::tempdir().expect("a folder");
        // The kernel can leave out by port; by verdict only the engine can.
        let port = format!("sport = :{}", wanted.client.port());
        let verdict = format!("verdict = nagle-delayed-ack and sport = :{}", wanted.client.port());
        for filter in [port, verdict] {
            let made = stallscope(folder.path(), &["record", "-o", "a", "--force", "--for", "2500ms", &filter]);
            assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
            assert!(made.stderr.is_empty(), "no terminal, no progress: {}", text(&made.stderr));
            let report = report_on(&folder.path().join("a"));
            let findings = report["findings"].as_array().expect("a list");
            assert_eq!(findings.len(), 1, "{filter}: {report:#}");
            assert_eq!(findings[0]["level"], "proven", "{filter}: {report:#}");
            assert_eq!(findings[0]["sender"]["port"], wanted.client.port());
            for end in ["sender", "receiver"] {
                assert_eq!(findings[0][end]["processes"][0]["pid"], std::process::id(), "{filter}: {end}");
            }
            let json = stallscope(folder.path(), &["export", "a", "--format", "json"]);
            assert!(!text(&json.stdout).contains(&other.client.port().to_string()), "{filter}");
        }
    });
}

#[test]
fn a_snapshot_proves_a_stall_and_its_redacted_copy_says_the_same() {
    isolated("evidence::a_snapshot_proves_a_stall_and_its_redacted_copy_says_the_same", || {
        let stall = Stall::start();
        let folder = tempfile::tempdir().expect("a folder");
        let made = stallscope(folder.path(), &["snapshot"]);
        let made = text(&made.stdout);
        let name = made.split_once(": ").expect("its name").0.to_owned();
        assert!(
            name.starts_with("stallscope-") && Path::new(&name).extension().is_some_and(|it| it == "ssrec"),
            "{made}"
        );
        let report = report_on(&folder.path().join(&name));
        assert_eq!(report["findings"][0]["level"], "proven", "{report:#}");
        let redacted = stallscope(folder.path(), &["redact", &name, "-o", "b.ssrec"]);
        assert!(text(&redacted.stdout).contains("port: "), "{}", text(&redacted.stdout));
        let copy = report_on(&folder.path().join("b.ssrec"));
        assert_eq!(figures(&report), figures(&copy));
        let bytes = stallscope(folder.path(), &["export", "b.ssrec", "--format", "json"]).stdout;
        assert!(!text(&bytes).contains(&stall.client.port().to_string()));
        assert_eq!((&copy["host"]["hostname"], &copy["host"]["user"]), (&"host-1".into(), &"user-1".into()));
        // Neither overwrites, and neither reads what it writes.
        for arguments in [&["redact", "b.ssrec", "-o", "b.ssrec", "--force"][..], &["snapshot", "-o", "b.ssrec"]] {
            let refused = stallscope(folder.path(), arguments);
            assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        }
        let markdown = stallscope(folder.path(), &["export", "b.ssrec", "--format", "markdown"]);
        assert!(text(&markdown.stdout).contains("## nagle-delayed-ack (proven)"), "{}", text(&markdown.stdout));
    });
}

fn recording(folder: &Path, name: &str) -> Child {
    let mut command = program();
    command.current_dir(folder).args(["record", "--force", "-i", "100ms", "-o", name]);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("stallscope runs")
}

/// Waits until the file has so many bytes.
fn grown(file: &Path, bytes: u64) {
    let end = Instant::now() + LIMIT;
    while std::fs::metadata(file).map_or(0, |data| data.len()) < bytes {
        assert!(Instant::now() < end, "{} does not grow", file.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// When the last event of a recording was, on the system's monotonic clock, given when the first was.
fn span(file: &Path) -> (u64, Vec<String>) {
    let bytes = std::fs::read(file).expect("the file");
    let mut reader = Reader::new(&bytes[..]).expect("a recording");
    let (mut first, mut last) = (None, Moment(0));
    let mut see = |at: Moment| {
        first.get_or_insert(at);
        last = last.max(at);
    };
    while reader
        .next(&mut |event| match event {
            Event::SurveyBegin { at, .. } | Event::SurveyEnd { at, .. } | Event::Probe { at, .. } => see(at),
            _ => {}
        })
        .expect("it is read")
    {}
    (last.since(first.expect("a survey")), reader.notes().to_vec())
}

#[test]
fn a_killed_recording_opens_with_all_but_the_last_second() {
    isolated("evidence::a_killed_recording_opens_with_all_but_the_last_second", || {
        const ROUNDS: u64 = 10;
        const AT_ONCE: usize = 5;
        let _stall = Stall::start();
        let folder = tempfile::tempdir().expect("a folder");
        for round in 0..ROUNDS {
            let files: Vec<_> = (0..AT_ONCE).map(|n| folder.path().join(format!("{round}-{n}"))).collect();
            let names = files.iter().filter_map(|file| file.file_name()?.to_str());
            let mut children: Vec<_> = names.map(|name| recording(folder.path(), name)).collect();
            for file in &files {
                grown(file, 1_000);
            }
            let began = Instant::now();
            // At another point of its work each time.
            std::thread::sleep(Duration::from_millis(1_200 + round * 37));
            let recorded = began.elapsed();
            for child in &mut children {
                child.kill().expect("it runs");
                child.wait().expect("it ends");
            }
            for file in &files {
                let (span, notes) = span(file);
                let least = recorded.as_micros().saturating_sub(1_000_000);
                assert!(u128::from(span) >= least, "{span} µs of {recorded:?}: {notes:?}");
                let report = report_on(file);
                assert_eq!(report["findings"][0]["verdict"], "nagle-delayed-ack", "{report:#}");
            }
        }
    });
}

#[test]
fn a_signal_ends_a_recording_cleanly() {
    isolated("evidence::a_signal_ends_a_recording_cleanly", || {
        let _stall = Stall::start();
        let folder = tempfile::tempdir().expect("a folder");
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let child = recording(folder.path(), "a");
            let file = folder.path().join("a");
            grown(&file, 1_000);
            kill_process(Pid::from_child(&child), signal).expect("it runs");
            let output = child.wait_with_output().expect("it ends");
            assert_eq!(output.status.code(), Some(0), "{signal:?}: {}", text(&output.stderr));
            assert_eq!(span(&file).1, Vec::<String>::new(), "{signal:?}: it is whole");
            std::fs::remove_file(&file).expect("ours");
        }
    });
}

#[test]
fn a_recording_goes_through_a_pipe() {
    isolated("evidence::a_recording_goes_through_a_pipe", || {
        let _stall = Stall::start();
        let exe = env!("CARGO_BIN_EXE_stallscope");
        let line = format!("{exe} record -o - --for 2s | {exe} check --format json --from -");
        let output = run(Command::new("sh").args(["-c", &line]), LIMIT).expect("sh runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["findings"][0]["level"], "proven", "{report:#}");
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
        // A reader that goes away ends the recording, and is no error.
        let line = format!("{exe} record -o - -i 20ms | head -c 2000 | wc -c; echo ${{PIPESTATUS[0]}}");
        let output = run(Command::new("bash").args(["-c", &line]), LIMIT).expect("bash runs");
        assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("2000\n0\n", ""));
    });
}

#[test]
fn a_full_disk_ends_with_an_error_and_a_readable_file() {
    const TEST: &str = "evidence::a_full_disk_ends_with_an_error_and_a_readable_file";
    let folder = tempfile::tempdir().expect("a folder");
    let exe = env!("CARGO_BIN_EXE_stallscope");
    let at = folder.path().display();
    let line = format!(
        "mount -t tmpfs -o size=16k none {at} || exit 77; {exe} record -o {at}/a -i 10ms --for 20s; status=$?; \
         {exe} check --format json --from {at}/a; exit $status"
    );
    let output = run(Command::new("unshare").args(["-Urm", "sh", "-c", &line]), LIMIT);
    let output = match output {
        Ok(output) if output.status.code() != Some(77) && !output.stdout.is_empty() => output,
        Ok(output) => return skipped(TEST, &format!("no mount namespace here: {}", text(&output.stderr))),
        Err(error) => return skipped(TEST, &format!("`unshare` of util-linux cannot be run: {error}")),
    };
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("No space left on device"), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert!(report["watch"]["surveys"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn dumps_of_other_kernels_are_judged_and_say_what_they_cannot_tell() {
    for (kernel, level) in
        [("5.10.223", "paired"), ("6.1.176", "paired"), ("6.12.117", "paired"), ("7.3.4", "confirmed")]
    {
        let report = report_on(&dump(kernel));
        let finding = &report["findings"][0];
        assert_eq!(
            (&finding["verdict"], &finding["level"]),
            (&"nagle-delayed-ack".into(), &level.into()),
            "{report:#}"
        );
        for words in [&report["watch"]["notes"], &finding["unknown"]] {
            assert!(words.to_string().contains("one survey only"), "{words:#}");
        }
    }
    let both = [dump("6.1.176"), dump("7.3.4")].map(|path| path.display().to_string());
    let output = stallscope(Path::new("/"), &["check", "--from", &both[0], &both[1]]);
    assert_eq!(output.status.code(), Some(1));
    let words = text(&output.stdout);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("read as one picture from") && words.contains("offset not known"), "{words}");
}

#[test]
fn what_is_no_evidence_is_refused_with_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let utf16: Vec<u8> = "\u{feff}nothing of ss\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let recording = std::fs::read(dump("7.3.4")).expect("the fixture");
    let noise: Vec<u8> = (0..1024_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 1).to_le_bytes()).collect();
    let files: [(&str, &[u8], &str); 6] = [
        ("empty", b"", "is empty"),
        ("random", &noise, "expected"),
        ("zip", b"PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "zip"),
        ("utf16", &utf16, "holds no tcp socket"),
        ("prose", b"Dear all,\nit is slow.\n", "nothing that ss prints"),
        ("cut", &recording[..40], "cut off at byte"),
    ];
    for (name, bytes, wanted) in files {
        std::fs::write(folder.path().join(name), bytes).expect("written");
        for arguments in [
            &["check", "--from", name][..],
            &["export", name, "--format", "csv", "-o", "out", "--force"],
            &["redact", name, "-o", "out", "--force"],
        ] {
            let output = stallscope(folder.path(), arguments);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
            assert!(stderr.starts_with("error: ") && stderr.contains(name), "{arguments:?}: {stderr}");
            assert!(stderr.to_lowercase().contains(wanted), "{arguments:?}: {wanted:?} in {stderr}");
            assert!(output.stdout.is_empty(), "{arguments:?}");
        }
    }
    for name in [".", "no-such-file"] {
        let output = stallscope(folder.path(), &["check", "--from", name]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(name), "{}", text(&output.stderr));
    }
}
