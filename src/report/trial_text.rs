//! The lab's results for a person.

use std::fmt::Write;

use crate::diagnose::Severity;
use crate::trial::{Results, Row};

use super::plot::{Charset, Series, plot};
use super::style::Paint;
use super::words::{clean, count, fill};

/// The results in at most 80 columns: latencies, what went over the wire, verdicts, a plot, and what needs explaining.
pub fn trials_to_text(results: &Results, paint: Paint, charset: Charset) -> String {
    let mut out = head(results);
    if results.rows.is_empty() {
        out.push_str("\nInterrupted before anything was measured.\n");
        return out;
    }
    out.push_str(&latencies(results, paint));
    out.push_str(&wire(results, paint));
    let plot = plot(&series(results), charset);
    if !plot.is_empty() {
        let _ = write!(out, "\n{}\n\n{plot}", paint.strong("Latency by request number (signs as above)"));
    }
    out.push_str(&remarks(results));
    out
}

fn head(results: &Results) -> String {
    let (host, sizes) = (&results.host, &results.sizes);
    let line = format!(
        "{} of {} bytes, {} bytes back{}, on loopback, Linux {}, HZ={}.",
        count(usize::try_from(sizes.requests).unwrap_or(usize::MAX), "request"),
        sum(&sizes.request),
        sum(&sizes.reply),
        if sizes.think.is_zero() {
            String::new()
        } else {
            format!(", {} apart", humantime::format_duration(sizes.think))
        },
        clean(&host.kernel),
        results.tick.hz(),
    );
    fill(&line, "", 80) + "\n"
}

/// `10+10`.
fn sum(writes: &[usize]) -> String {
    writes.iter().map(usize::to_string).collect::<Vec<_>>().join("+")
}

/// The sign of a row: in the tables and in the plot.
fn sign(index: usize) -> char {
    ('a'..='z').nth(index).unwrap_or('*')
}

fn latencies(results: &Results, paint: Paint) -> String {
    let title = format!(
        "  {:<19} {:>6} {:>6} {:>6} {:>7} {:>6} {:>6} {:>6} {:>8}",
        "Latency, ms", "1st", "2nd", "3rd", "median", "p90", "p99", "max", "total"
    );
    let mut out = format!("\n{}\n", paint.strong(title));
    for (index, row) in results.rows.iter().enumerate() {
        let first = |at: usize| maybe(row.summary.first_ms.get(at).copied());
        let summary = &row.summary;
        let _ = writeln!(
            out,
            "{} {:<19} {:>6} {:>6} {:>6} {:>7} {:>6} {:>6} {:>6} {:>8}",
            sign(index),
            row.mode.name(),
            first(0),
            first(1),
            first(2),
            maybe(summary.p50_ms),
            maybe(summary.p90_ms),
            maybe(summary.p99_ms),
            maybe(summary.max_ms),
            figure(row.total_ms),
        );
    }
    out
}

fn wire(results: &Results, paint: Paint) -> String {
    let title =
        format!("  {:<19} {:>8} {:>9} {:>7}  {}", "On the wire", "segments", "pure ACKs", "DelACKs", "stallscope says");
    let mut out = format!("\n{}\n", paint.strong(title));
    for (index, row) in results.rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "{} {:<19} {:>8} {:>9} {:>7}  {}",
            sign(index),
            row.mode.name(),
            each(row, row.data_segments),
            each(row, row.pure_acks),
            row.delayed_acks.map_or_else(|| "-".to_owned(), |count| count.to_string()),
            verdict(row, paint),
        );
    }
    out.push_str("  Segments with data, and pure ACKs sent back, per request; DelACKs: growth of DelayedACKs.\n");
    out
}

fn verdict(row: &Row, paint: Paint) -> String {
    let Some(verdict) = row.verdict else { return "not seen".to_owned() };
    let word = paint.severity(verdict.severity(), verdict);
    row.level.map_or(word.clone(), |level| format!("{word}, {level}"))
}

/// Per request.
fn each(row: &Row, count: Option<u32>) -> String {
    match count {
        Some(count) if row.requests > 0 => format!("{:.2}", f64::from(count) / row.requests as f64),
        _ => "-".to_owned(),
    }
}

fn maybe(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), figure)
}

/// Three significant digits, down to a microsecond.
fn figure(ms: f64) -> String {
    let digits = match ms {
        ms if ms < 0.995 => 3,
        ms if ms < 9.95 => 2,
        ms if ms < 99.5 => 1,
        _ => 0,
    };
    format!("{ms:.digits$}")
}

fn series(results: &Results) -> Vec<Series<'_>> {
    let rows = results.rows.iter().enumerate();
    rows.map(|(index, row)| Series { sign: sign(index), values: &row.latencies_ms }).collect()
}

fn remarks(results: &Results) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        let _ = write!(out, "\n{}\n", fill(text, "", 80));
    };
    for row in &results.rows {
        if let Some(text) = tiny(row) {
            say(&text);
        }
        if !row.reasons.is_empty() {
            say(&format!("{} {}: {}.", row.mode.name(), unexpected(row), row.reasons.join("; or ")));
        }
        if let Some(text) = disagreement(row) {
            say(&text);
        }
        for error in &row.errors {
            say(&format!("{}: {}", row.mode.name(), clean(error)));
        }
    }
    out
}

/// What [`Row::reasons`] explain.
pub fn unexpected(row: &Row) -> &'static str {
    if row.mode.is_tiny() {
        "depends on more than Nagle's algorithm"
    } else if row.verdict.is_some_and(|verdict| verdict.severity() == Severity::Stall) {
        "does not stall for 40 ms each time"
    } else {
        "does not stall here"
    }
}

/// How well one-byte writes were gathered.
fn tiny(row: &Row) -> Option<String> {
    let segments = row.data_segments.filter(|segments| *segments > 0)?;
    row.mode.is_tiny().then(|| {
        let bytes = row.requests as f64 / f64::from(segments);
        format!("{}: {} one-byte writes in {segments} segments, {bytes:.1} bytes each.", row.mode.name(), row.requests)
    })
}

/// Two clocks that do not agree are worth a word: most requests waited, and the watch saw nothing.
fn disagreement(row: &Row) -> Option<String> {
    const WAITED_MS: f64 = 35.0;
    let waited = row.summary.p50_ms.is_some_and(|ms| ms >= WAITED_MS);
    let seen = row.verdict?.severity() > Severity::None;
    (waited && !seen).then(|| {
        format!(
            "{}: most requests took {WAITED_MS} ms and more, and stallscope saw no hold. The time may be the server's own; if \
             not, please report it with this output.",
            row.mode.name()
        )
    })
}
