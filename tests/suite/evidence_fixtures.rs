//! The recordings and texts of the project: each gives its verdict. How they are made is said in docs/evidence.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stallscope::diagnose::{Level, Verdict};

use super::evidence::{figures, report_on, stallscope};

fn files(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings");
    let entries = std::fs::read_dir(folder).expect("the fixtures").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|this| this == extension)).collect()
}

/// Each file is named after the verdict that it gives; answers the verdicts.
fn judged(extension: &str) -> BTreeSet<String> {
    let verdict_of = |file: PathBuf| {
        let verdict = file.file_stem().and_then(|stem| stem.to_str()).expect("UTF-8").to_owned();
        let report = report_on(&file);
        let findings = report["findings"].as_array().expect("a list");
        assert!(findings.iter().any(|finding| finding["verdict"] == verdict.as_str()), "{verdict}: {report:#}");
        assert!(std::fs::metadata(&file).expect("its size").len() < 100_000, "{verdict} is small");
        verdict
    };
    files(extension).into_iter().map(verdict_of).collect()
}

#[test]
fn there_is_a_recording_of_every_verdict() {
    let all = Verdict::ALL.iter().map(|verdict| verdict.as_str().to_owned()).collect();
    assert_eq!(judged("ssrec"), all);
}

#[test]
fn a_redacted_copy_of_each_says_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in ["ssrec", "txt"].into_iter().flat_map(files) {
        let path = file.to_str().expect("UTF-8");
        let made = stallscope(folder.path(), &["redact", path, "-o", "copy", "--force"]);
        assert_eq!(made.status.code(), Some(0), "{path}: {}", String::from_utf8_lossy(&made.stderr));
        let (original, copy) = (figures(&report_on(&file)), figures(&report_on(&folder.path().join("copy"))));
        assert!(!original.is_empty(), "{path}");
        assert_eq!(original, copy, "{path}");
    }
}

/// As sure as the texts make each verdict. In none of them was an end of a hold seen by a close look.
const FROM_TEXT: [(Verdict, Option<Level>); 10] = [
    (Verdict::NagleDelayedAck, Some(Level::Paired)),
    (Verdict::CorkHold, Some(Level::Paired)),
    (Verdict::Pacing, Some(Level::Paired)),
    (Verdict::ReceiverWindow, Some(Level::Paired)),
    (Verdict::HeldUnread, Some(Level::Paired)),
    (Verdict::LossRecovery, Some(Level::Paired)),
    (Verdict::ReleasedByReply, Some(Level::Suspected)),
    (Verdict::RttBoundNagle, Some(Level::Suspected)),
    (Verdict::Healthy, None),
    (Verdict::Idle, None),
];

#[test]
fn there_is_a_text_of_every_verdict() {
    let all = Verdict::ALL.iter().map(|verdict| verdict.as_str().to_owned()).collect();
    assert_eq!(judged("txt"), all);
}

#[test]
fn a_stall_is_found_in_text_that_was_printed_without_timers() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(Path::new("fixtures/recordings/nagle-delayed-ack.txt")).expect("the fixture");
    let bare: Vec<_> = text.split(' ').filter(|word| !word.starts_with("timer:(")).collect();
    assert!(bare.len() < text.split(' ').count(), "there were timers");
    let file = folder.path().join("bare.txt");
    std::fs::write(&file, bare.join(" ")).expect("a file");
    let stall = (Verdict::NagleDelayedAck.as_str().to_owned(), Some(Level::Paired.as_str().to_owned()));
    assert_eq!(found(&report_on(&file)), [stall]);
}

/// Verdict and level of each finding.
fn found(report: &Value) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let findings = report["findings"].as_array().expect("a list");
    findings.iter().map(|finding| (text(&finding["verdict"]).expect("a word"), text(&finding["level"]))).collect()
}

fn text_of(verdict: Verdict) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/recordings/{verdict}.txt"))
}

#[test]
fn a_series_of_texts_is_as_sure_as_it_can_be() {
    for (verdict, level) in FROM_TEXT {
        let report = report_on(&text_of(verdict));
        let wanted = (verdict.as_str().to_owned(), level.map(|level| level.as_str().to_owned()));
        assert!(found(&report).contains(&wanted), "{wanted:?}: {:?}", found(&report));
        let finding =
            report["findings"].as_array().and_then(|findings| findings.iter().find(|it| it["verdict"] == wanted.0));
        let unknown = finding.map(|finding| finding["unknown"].to_string()).unwrap_or_default();
        assert!(unknown.contains("no probes"), "{verdict} says what text cannot tell: {unknown}");
    }
}

/// The snapshots of a series, each behind the date that it begins with.
fn snapshots(text: &str) -> Vec<String> {
    let is_date = |line: &str| line.split_once('.').is_some_and(|(seconds, _)| seconds.parse::<u64>().is_ok());
    let mut all: Vec<String> = Vec::new();
    for line in text.lines() {
        if is_date(line) {
            all.push(String::new());
        }
        let last = all.last_mut().expect("a date comes first");
        last.push_str(line);
        last.push('\n');
    }
    all
}

/// One look cries no wolf: a snapshot alone gives the verdict of its series, or one that says less.
#[test]
fn a_snapshot_alone_never_says_more_than_the_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let quiet = [Verdict::Healthy, Verdict::Idle].map(|verdict| verdict.as_str().to_owned());
    for (verdict, level) in FROM_TEXT {
        let text = std::fs::read_to_string(text_of(verdict)).expect("the fixture");
        let parts = snapshots(&text);
        assert!(parts.len() >= 4, "{verdict} is a series");
        let mut met = 0;
        for part in &parts {
            let file = folder.path().join("one");
            std::fs::write(&file, part).expect("written");
            for (got, how_sure) in found(&report_on(&file)) {
                let most = level.map(|level| level.as_str().to_owned());
                let ours = got == verdict.as_str() && (how_sure == most || how_sure.as_deref() == Some("suspected"));
                assert!(ours || quiet.contains(&got), "{verdict}: {got} {how_sure:?} from\n{part}");
                met += u32::from(got == verdict.as_str());
            }
        }
        assert!(met > 0, "{verdict}: no snapshot alone shows it");
    }
}

/// What a pipelined serial server looks like: both ends fit the stall, and only the pure ACKs that do not come tell.
#[test]
fn a_serial_server_in_a_text_is_no_stall() {
    let report = report_on(&text_of(Verdict::ReleasedByReply));
    assert!(!report.to_string().contains("nagle-delayed-ack"), "{report:#}");
    let finding = &report["findings"][0];
    let facts = finding["evidence"].as_array().expect("facts");
    let timer =
        facts.iter().find(|fact| fact["fact"].as_str().is_some_and(|text| text.contains("pure ACKs came often")));
    assert_eq!(timer.map(|fact| &fact["holds"]), Some(&Value::Bool(false)), "{finding:#}");
    assert!(finding["unknown"].to_string().contains("a recording with close looks would tell"), "{finding:#}");
}
