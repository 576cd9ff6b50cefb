//! The whole table: every scenario, many times.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::judge::Score;
use super::netns::run_isolated;
use super::scenarios::{ALL, SCORE};

/// How often each scenario runs, unless `STALLSCOPE_REPEATS` says otherwise.
const REPEATS: usize = 20;
/// How many run at a time, unless `STALLSCOPE_JOBS` says otherwise: most of the time they wait.
const JOBS: usize = 4;

/// Plays every scenario `STALLSCOPE_REPEATS` times and prints the table; also into the file that `STALLSCOPE_TABLE` names.
/// `STALLSCOPE_ONLY` limits it to the scenarios whose names contain it.
///
/// ```text
/// cargo test --release --test suite table::accuracy -- --ignored --nocapture
/// ```
#[test]
#[ignore = "takes minutes; makes the table of docs/accuracy.md"]
fn accuracy() {
    let only = std::env::var("STALLSCOPE_ONLY").unwrap_or_default();
    let names: Vec<&str> = ALL.iter().copied().filter(|name| name.contains(&only)).collect();
    let scores = play_all(&names, number("STALLSCOPE_REPEATS", REPEATS), number("STALLSCOPE_JOBS", JOBS));
    let table = print(&scores);
    println!("{table}");
    if let Some(path) = std::env::var_os("STALLSCOPE_TABLE") {
        std::fs::write(path, &table).expect("a file to write the table to");
    }
    let wrong: usize = scores.values().flatten().map(|score| score.wrong.len()).sum();
    assert_eq!(wrong, 0, "see the table");
    assert!(scores.values().flatten().any(|score| score.skipped.is_none()), "nothing was judged");
}

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn play_all(names: &[&str], repeats: usize, jobs: usize) -> BTreeMap<String, Vec<Score>> {
    let folder = std::env::temp_dir().join(format!("stallscope-table-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (next, scores) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<String, Vec<Score>>::new()));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= names.len() * repeats {
                        return;
                    }
                    let name = names[turn % names.len()];
                    let score = play(name, &folder.join(turn.to_string()));
                    scores.lock().expect("no thread panics with it").entry(name.to_owned()).or_default().push(score);
                }
            });
        }
    });
    std::fs::remove_dir_all(&folder).expect("the temporary folder");
    scores.into_inner().expect("no thread panics with it")
}

/// One run in a process of its own; what failed there is wrong, not missing.
fn play(name: &str, file: &Path) -> Score {
    let environment = [(SCORE, file.display().to_string())];
    let failed = match run_isolated(&format!("scenarios::{name}"), &environment) {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    };
    let score = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    score.unwrap_or_else(|| Score {
        scenario: name.to_owned(),
        wrong: vec![failed.unwrap_or_else(|| "left no score".to_owned())],
        ..Score::default()
    })
}

/// The table and the totals, as Markdown.
fn print(scores: &BTreeMap<String, Vec<Score>>) -> String {
    let mut table = String::from(
        "| scenario | what happens | expected | runs | as expected | missed | false suspected | false paired | \
         false proven | other false | hold p50, found / client (ms) | holds, found / client |\n\
         |---|---|---|--:|--:|--:|--:|--:|--:|--:|---|---|\n",
    );
    for (name, runs) in scores {
        row(&mut table, name, runs);
    }
    let all: Vec<&Score> = scores.values().flatten().collect();
    totals(&mut table, &all);
    for score in all.iter().filter(|score| !score.wrong.is_empty()) {
        line(&mut table, format_args!("- {}: got {:?}: {}", score.scenario, score.got, score.wrong.join("; ")));
    }
    table
}

fn row(table: &mut String, name: &str, runs: &[Score]) {
    let Some(first) = runs.first() else { return };
    if let Some(reason) = runs.iter().find_map(|run| run.skipped.as_ref()) {
        return line(table, format_args!("| {name} | {} | skipped: {reason} | | | | | | | | | |", first.about));
    }
    let sum = |of: fn(&Score) -> u32| runs.iter().map(of).sum::<u32>();
    let good = runs.iter().filter(|run| run.wrong.is_empty()).count();
    let (found, client): (Vec<f64>, Vec<f64>) = runs.iter().filter_map(|run| run.holds_ms).unzip();
    let (holds, stalled): (Vec<u64>, Vec<u64>) = runs.iter().filter_map(|run| run.holds_count).unzip();
    let lengths = mean(&found).zip(mean(&client)).map_or(String::new(), |(a, b)| format!("{a:.1} / {b:.1}"));
    let counts = if holds.is_empty() {
        String::new()
    } else {
        format!("{} / {}", holds.iter().sum::<u64>(), stalled.iter().sum::<u64>())
    };
    line(
        table,
        format_args!(
            "| {name} | {} | {} | {} | {good} | {} | {} | {} | {} | {} | {lengths} | {counts} |",
            first.about,
            first.expected,
            runs.len(),
            sum(|run| run.missed),
            sum(|run| run.false_suspected),
            sum(|run| run.false_paired),
            sum(|run| run.false_proven),
            sum(|run| run.false_other),
        ),
    );
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn totals(table: &mut String, all: &[&Score]) {
    let sum = |of: fn(&Score) -> u32| all.iter().map(|score| of(score)).sum::<u32>();
    let skipped = all.iter().filter(|score| score.skipped.is_some()).count();
    line(
        table,
        format_args!(
            "\n{} runs, {skipped} skipped: {} missed, {} false suspected, {} false paired, {} false proven, {} other false.",
            all.len(),
            sum(|score| score.missed),
            sum(|score| score.false_suspected),
            sum(|score| score.false_paired),
            sum(|score| score.false_proven),
            sum(|score| score.false_other),
        ),
    );
}

fn line(table: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(table, "{text}").expect("writing to a string");
}
