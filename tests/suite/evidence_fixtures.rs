//! The recordings and texts of the project: each gives its verdict. How they are made is said in docs/evidence.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stallscope::diagnose::Verdict;

use super::evidence::report_on;

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

/// What only close looks tell cannot come from surveys alone, and `ss` does not print `ca_state`, by which a timeout is known.
const NOT_FROM_TEXT: [Verdict; 4] =
    [Verdict::Pacing, Verdict::LossRecovery, Verdict::ReleasedByReply, Verdict::RttBoundNagle];

#[test]
fn there_is_a_text_of_every_verdict_that_text_can_give() {
    let given = Verdict::ALL.iter().filter(|verdict| !NOT_FROM_TEXT.contains(verdict));
    assert_eq!(judged("txt"), given.map(|verdict| verdict.as_str().to_owned()).collect());
}
