//! The lab's results for programs: `stallscope.lab/1` and CSV. docs/lab.md describes both.

use serde::Serialize;

use crate::diagnose::{Level, Verdict};
use crate::trial::{Results, Row};

/// The schema's name and version.
pub const LAB_SCHEMA: &str = "stallscope.lab/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    host: HostJson<'a>,
    modes: Vec<ModeJson>,
}

#[derive(Serialize)]
struct HostJson<'a> {
    hostname: &'a str,
    kernel: &'a str,
    machine: &'a str,
    hz: u32,
    tcp_pingpong_thresh: Option<u32>,
    tcp_autocorking: Option<u32>,
    tcp_congestion_control: Option<&'a str>,
}

#[derive(Serialize)]
struct ModeJson {
    mode: &'static str,
    requests: u64,
    first_ms: Vec<f64>,
    p50_ms: Option<f64>,
    p90_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
    total_ms: f64,
    data_segments: Option<u32>,
    pure_acks: Option<u32>,
    delayed_acks: Option<u64>,
    verdict: Option<Verdict>,
    level: Option<Level>,
}

/// The results as one JSON object, with a line break at its end.
///
/// # Errors
/// None in practice: everything in it can be written as JSON.
pub fn trials_to_json(results: &Results) -> serde_json::Result<String> {
    let host = &results.host;
    let document = Document {
        schema: LAB_SCHEMA,
        host: HostJson {
            hostname: &host.hostname,
            kernel: &host.kernel,
            machine: &host.machine,
            hz: results.tick.hz(),
            tcp_pingpong_thresh: host.pingpong_thresh,
            tcp_autocorking: host.autocorking,
            tcp_congestion_control: host.congestion.as_deref(),
        },
        modes: results.rows.iter().map(mode_json).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn mode_json(row: &Row) -> ModeJson {
    let summary = &row.summary;
    ModeJson {
        mode: row.mode.name(),
        requests: row.requests,
        first_ms: summary.first_ms.iter().copied().map(round).collect(),
        p50_ms: summary.p50_ms.map(round),
        p90_ms: summary.p90_ms.map(round),
        p99_ms: summary.p99_ms.map(round),
        max_ms: summary.max_ms.map(round),
        total_ms: round(row.total_ms),
        data_segments: row.data_segments,
        pure_acks: row.pure_acks,
        delayed_acks: row.delayed_acks,
        verdict: row.verdict,
        level: row.level,
    }
}

/// Whole microseconds.
fn round(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// The columns of the CSV form.
const COLUMNS: &str = "mode,requests,first_ms_1,first_ms_2,first_ms_3,p50_ms,p90_ms,p99_ms,max_ms,total_ms,data_segments,\
    pure_acks,delayed_acks,verdict,level";

/// The results as CSV (RFC 4180 with plain line breaks): a line of names, then one for each mode. What is unknown is empty. No
/// value needs quotes: all are words of this program and numbers.
pub fn trials_to_csv(results: &Results) -> String {
    let lines = results.rows.iter().map(|row| csv_line(&mode_json(row)));
    std::iter::once(COLUMNS.to_owned()).chain(lines).fold(String::new(), |text, line| text + &line + "\n")
}

fn csv_line(row: &ModeJson) -> String {
    let first = |at: usize| cell(row.first_ms.get(at));
    let cells = [
        row.mode.to_owned(),
        row.requests.to_string(),
        first(0),
        first(1),
        first(2),
        cell(row.p50_ms),
        cell(row.p90_ms),
        cell(row.p99_ms),
        cell(row.max_ms),
        row.total_ms.to_string(),
        cell(row.data_segments),
        cell(row.pure_acks),
        cell(row.delayed_acks),
        cell(row.verdict),
        cell(row.level),
    ];
    cells.join(",")
}

fn cell(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
