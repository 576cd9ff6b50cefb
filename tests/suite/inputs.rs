//! Files that are no evidence, or damaged, through every command that takes one: a clear error and exit status 2, or the readable
//! part with a note.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::netns::{run, skipped};

/// The longest time that a run may take; each takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// Most memory that a run may have, KiB.
const MEMORY_KIB: u64 = 200 << 10;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn recording() -> Vec<u8> {
    std::fs::read(fixture("recordings/nagle-delayed-ack.ssrec")).expect("the fixture")
}

fn pasted() -> String {
    std::fs::read_to_string(fixture("recordings/nagle-delayed-ack.txt")).expect("the fixture")
}

/// The commands that take a file, with their arguments.
fn commands(file: &str) -> [Vec<&str>; 5] {
    [
        vec!["check", "--format", "json", "--from", file],
        vec!["export", file, "--format", "csv", "-o", "out", "--force"],
        vec!["export", file, "--format", "markdown", "-o", "out", "--force"],
        vec!["export", file, "--format", "ss-text", "-o", "out", "--force"],
        vec!["redact", file, "-o", "out", "--force"],
    ]
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_stallscope"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs all commands on a file in a folder.
fn try_all(folder: &Path, file: &str, check: &mut dyn FnMut(&str, &Output)) {
    for arguments in commands(file) {
        let output = run(program().current_dir(folder).args(&arguments), LIMIT).expect("stallscope runs");
        let what = format!("{arguments:?}: {:?} {}", output.status.code(), text(&output.stderr));
        assert!(!what.contains("panicked"), "{what}");
        check(&what, &output);
    }
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_the_file_and_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut newer = recording();
    newer[8] += 1;
    let ethernet: Vec<u8> = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1, 1_700_000_000, 0, 20, 20, 0, 0, 0, 0, 0]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let files: [(&str, &[u8], &str); 10] = [
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gunzip"),
        ("zip", b"PK\x03\x04aaaaaaaaaaaaaaaaaaaa", "unzip"),
        ("elf", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", "an ELF program"),
        ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "paste the text instead"),
        ("ethernet", &ethernet, "not of nlmon (253)"),
        ("newer", &newer, "a newer stallscope reads it"),
        ("header", &recording()[..11], "cut off"),
        ("begun", &recording()[..50], "no survey of it can be read"),
        ("object", b"{\"a\": 1}\n", "line 1: nothing that ss prints"),
        ("page", b"<!doctype html>\n<html>\n", "line 1-2: nothing that ss prints"),
    ];
    for (name, bytes, _) in files {
        std::fs::write(folder.path().join(name), bytes).expect("written");
    }
    std::fs::create_dir(folder.path().join("directory")).expect("made");
    let others = [
        ("directory", "name the files in it"),
        ("missing", "name a file that is there"),
        ("/dev/zero", "expected a stallscope recording"),
        ("/dev/null", "is empty"),
    ];
    for (name, wanted) in files.iter().map(|(name, _, wanted)| (*name, *wanted)).chain(others) {
        try_all(folder.path(), name, &mut |what, output| {
            assert_eq!(output.status.code(), Some(2), "{what}");
            assert!(text(&output.stderr).starts_with("error: "), "{what}");
            assert!(what.contains(name) && what.contains(wanted), "{wanted:?} in {what}");
            assert!(output.stdout.is_empty(), "{what}");
        });
    }
}

#[test]
fn the_readable_part_is_used_with_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recording();
    let mut flipped = recording.clone();
    flipped[recording.len() * 2 / 3] ^= 4;
    let dump = std::fs::read(fixture("dumps/stall-linux-6.1.176.nl")).expect("the fixture");
    let files: [(&str, &[u8], &str); 4] = [
        ("flipped", &flipped, "is damaged"),
        ("cut", &recording[..recording.len() * 2 / 3], "is cut off at byte"),
        ("cut-dump", &dump[..500], "is cut off at byte 500"),
        ("torn", &[b"Hello,\n", pasted().as_bytes()].concat(), "line 1: nothing that ss prints"),
    ];
    for (name, bytes, wanted) in files {
        std::fs::write(folder.path().join(name), bytes).expect("written");
        try_all(folder.path(), name, &mut |what, output| {
            assert!(matches!(output.status.code(), Some(0 | 1)), "{what}");
            let said = [text(&output.stdout), text(&output.stderr)].concat();
            let reported = what.contains("markdown")
                && std::fs::read_to_string(folder.path().join("out")).is_ok_and(|report| report.contains(wanted));
            assert!(said.contains(wanted) || reported, "{wanted:?} in {what}");
        });
    }
}

#[test]
fn utf_16_and_line_ends_of_other_systems_read_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = pasted();
    let wide =
        |order: fn(u16) -> [u8; 2]| format!("\u{feff}{plain}").encode_utf16().flat_map(order).collect::<Vec<_>>();
    let files = [
        ("plain", plain.clone().into_bytes()),
        ("crlf", plain.replace('\n', "\r\n").into_bytes()),
        ("little", wide(u16::to_le_bytes)),
        ("big", wide(u16::to_be_bytes)),
    ];
    let mut exports = Vec::new();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("written");
        let output = run(program().current_dir(folder.path()).args(["export", name, "--format", "csv"]), LIMIT);
        let output = output.expect("stallscope runs");
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{name}");
        exports.push(output.stdout);
    }
    assert!(exports[0].len() > 1000 && exports.iter().all(|export| *export == exports[0]));
}

#[test]
fn what_may_not_be_read_says_who_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.ssrec");
    std::fs::write(&file, recording()).expect("written");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o000)).expect("ours");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let exe = folder.path().join("stallscope");
    std::fs::copy(env!("CARGO_BIN_EXE_stallscope"), &exe).expect("copied");
    let ours = std::fs::metadata(&exe).expect("it is there");
    let mut command = if std::os::unix::fs::MetadataExt::uid(&ours) == 0 {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&exe);
        command
    } else {
        Command::new(&exe)
    };
    let output = run(command.args(["check", "--from"]).arg(&file), LIMIT);
    let Ok(output) = output else {
        return skipped("inputs::what_may_not_be_read_says_who_may", "`setpriv` of util-linux cannot be run");
    };
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("Permission denied"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("ask for a copy"), "{}", text(&output.stderr));
}

#[test]
fn a_pipe_with_a_name_is_read_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("source");
    std::fs::write(&source, pasted()).expect("written");
    let exe = env!("CARGO_BIN_EXE_stallscope");
    let line = format!("mkfifo pipe && (cat source > pipe & {exe} check --format json --from pipe)");
    let output = run(Command::new("sh").current_dir(folder.path()).args(["-c", &line]), LIMIT).expect("sh runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("nagle-delayed-ack"), "{}", text(&output.stdout));
}

/// Text without an end: memory stays bounded for as long as anybody waits, and an interrupt ends it with what was seen.
#[test]
fn endless_text_is_read_in_little_memory_until_it_is_interrupted() {
    for row in ["ESTAB 0 0 10.0.0.1:1 10.0.0.2:2", "nothing that ss prints", "rto:204 mss:1448"] {
        let mut endless = Command::new("yes").arg(row).stdout(Stdio::piped()).spawn().expect("yes runs");
        let input = endless.stdout.take().expect("a pipe");
        let mut child = program()
            .args(["check", "--from", "-"])
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("stallscope runs");
        let end = std::time::Instant::now() + LIMIT;
        // 4 MiB are more than any of its buffers.
        while read_bytes(child.id()) < 4 << 20 {
            assert!(std::time::Instant::now() < end, "{row}: it does not read");
            std::thread::sleep(Duration::from_millis(5));
        }
        let peak = peak_kib(child.id());
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        let status = child.wait().expect("it ends");
        endless.kill().expect("ours");
        endless.wait().expect("ours");
        assert_eq!(status.code(), Some(130), "{row}");
        assert!(peak < MEMORY_KIB, "{row}: {peak} KiB");
    }
}

fn of_proc(pid: u32, file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn read_bytes(pid: u32) -> u64 {
    of_proc(pid, "io", "rchar:")
}

fn peak_kib(pid: u32) -> u64 {
    of_proc(pid, "status", "VmHWM:")
}

#[test]
fn a_filter_among_the_files_is_told_where_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a"), pasted()).expect("written");
    for arguments in [
        &["check", "--from", "a", "dport = :80"][..],
        &["check", "--from", "a", "dport", "=", ":80"],
        &["check", "--from", "dport = :80"],
    ] {
        let output = run(program().current_dir(folder.path()).args(arguments), LIMIT).expect("stallscope runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let wanted = "filter with: stallscope check --from FILE… -- 'dport = :80'";
        assert!(text(&output.stderr).contains(wanted), "{arguments:?}: {}", text(&output.stderr));
    }
    let arguments = ["check", "--from", "a", "missing"];
    let output = run(program().current_dir(folder.path()).args(arguments), LIMIT).expect("stallscope runs");
    assert!(text(&output.stderr).contains("reading missing failed"), "{}", text(&output.stderr));
    let arguments = ["check", "--from", "a", "--", "dport = :80"];
    let output = run(program().current_dir(folder.path()).args(arguments), LIMIT).expect("stallscope runs");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{}", text(&output.stdout));
}
