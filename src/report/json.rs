//! `stallscope.check/1`: one JSON object. docs/json.md describes it field by field.

use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::diagnose::{Advice, Answer, Fact, Finding, FindingEnd, HoldFigures, Level, Severity, Verdict};
use crate::model::{Owner, Owners};
use crate::wire::{FIELDS, Socket};

use super::{Report, ReportHost};

/// The schema's name and version.
pub const SCHEMA: &str = "stallscope.check/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: Tool,
    host: HostJson<'a>,
    hosts: Vec<OneHostJson<'a>>,
    watch: Watch<'a>,
    sockets: usize,
    connections: usize,
    paired: usize,
    matched: usize,
    idle: usize,
    findings: Vec<FindingJson<'a>>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct HostJson<'a> {
    hostname: &'a str,
    kernel: &'a str,
    machine: &'a str,
    netns: Option<u64>,
    uid: u32,
    user: Option<&'a str>,
    hz: u32,
    hz_source: &'static str,
    tcp_pingpong_thresh: Option<u32>,
    tcp_autocorking: Option<u32>,
    tcp_congestion_control: Option<&'a str>,
    delayed_acks: Option<u64>,
    delayed_ack_locked: Option<u64>,
    tcp_auto_corking: Option<u64>,
}

#[derive(Serialize)]
struct OneHostJson<'a> {
    file: &'a str,
    hostname: &'a str,
    kernel: &'a str,
    netns: Option<u64>,
    hz: u32,
    clock: ClockJson,
}

#[derive(Serialize)]
struct ClockJson {
    source: &'static str,
    ahead_ms: Option<f64>,
    uncertainty_ms: Option<f64>,
}

#[derive(Serialize)]
struct Watch<'a> {
    started: Option<String>,
    duration_ms: u64,
    surveys: u64,
    probes: u64,
    filter: &'a str,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FindingJson<'a> {
    verdict: Verdict,
    level: Option<Level>,
    severity: Severity,
    summary: &'a str,
    sender_opened: Option<bool>,
    gone: bool,
    sender: EndJson<'a>,
    receiver: EndJson<'a>,
    hold: HoldJson,
    evidence: Vec<FactJson<'a>>,
    could_also_be: &'a [String],
    unknown: &'a [String],
    advice: &'a [Advice],
}

#[derive(Serialize)]
struct EndJson<'a> {
    address: String,
    port: u16,
    local: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer: Option<TimerJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rqueue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wqueue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<String>,
    processes: &'a [Owner],
    owners: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct TimerJson {
    code: u8,
    name: &'static str,
    expires_ms: u32,
    retrans: u8,
}

#[derive(Serialize)]
struct HoldJson {
    observed: u64,
    released_by_timer: u64,
    released_by_reply: u64,
    p50_ms: Option<u32>,
    p90_ms: Option<u32>,
    max_ms: Option<f64>,
    held_ms: f64,
    share: Option<f64>,
    watched_ms: f64,
    busy_ms: Option<f64>,
    age_ms: Option<f64>,
    over_ms: Option<f64>,
}

#[derive(Serialize)]
struct FactJson<'a> {
    fact: &'a str,
    sender: Option<&'a str>,
    receiver: Option<&'a str>,
    holds: Option<bool>,
}

/// The report as one JSON object, with a line break at its end.
///
/// # Errors
/// None in practice: everything in it can be written as JSON.
pub fn to_json(report: &Report) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&document(report))?;
    text.push('\n');
    Ok(text)
}

fn document(report: &Report) -> Document<'_> {
    let host = &report.host;
    Document {
        schema: SCHEMA,
        tool: Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
        host: HostJson {
            hostname: &host.hostname,
            kernel: &host.kernel,
            machine: &host.machine,
            netns: host.netns,
            uid: host.uid,
            user: host.user.as_deref(),
            hz: report.tick.hz(),
            hz_source: report.tick_source.as_str(),
            tcp_pingpong_thresh: host.pingpong_thresh,
            tcp_autocorking: host.autocorking,
            tcp_congestion_control: host.congestion.as_deref(),
            delayed_acks: report.counters.delayed_acks,
            delayed_ack_locked: report.counters.delayed_ack_locked,
            tcp_auto_corking: report.counters.auto_corking,
        },
        hosts: report.hosts.iter().map(one_host_json).collect(),
        watch: Watch {
            started: report.started_wall_us.and_then(rfc3339),
            duration_ms: report.duration_us / 1000,
            surveys: report.surveys,
            probes: report.probes,
            filter: &report.filter,
            notes: &report.notes,
        },
        sockets: report.sockets,
        connections: report.connections,
        paired: report.paired,
        matched: report.matched,
        idle: report.idle,
        findings: report.findings.iter().map(finding_json).collect(),
    }
}

fn one_host_json(shown: &ReportHost) -> OneHostJson<'_> {
    let clock = &shown.clock;
    OneHostJson {
        file: &shown.file,
        hostname: &shown.host.hostname,
        kernel: &shown.host.kernel,
        netns: shown.host.netns,
        hz: shown.tick.hz(),
        clock: ClockJson {
            source: clock.source.as_str(),
            ahead_ms: clock.ahead_us.map(|us| us as f64 / 1e3),
            uncertainty_ms: clock.uncertainty_us.map(|us| us as f64 / 1e3),
        },
    }
}

/// Wall-clock time as RFC 3339 in UTC; `None` before 1970.
pub(super) fn rfc3339(wall_us: i64) -> Option<String> {
    let since = Duration::from_micros(u64::try_from(wall_us).ok()?);
    Some(humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string())
}

fn finding_json(finding: &Finding) -> FindingJson<'_> {
    FindingJson {
        verdict: finding.verdict,
        level: finding.level,
        severity: finding.severity(),
        summary: &finding.summary,
        sender_opened: finding.sender_opened,
        gone: finding.gone.is_some(),
        sender: end_json(&finding.sender),
        receiver: end_json(&finding.receiver),
        hold: hold_json(&finding.hold),
        evidence: finding.evidence.iter().map(fact_json).collect(),
        could_also_be: &finding.could_also_be,
        unknown: &finding.unknown,
        advice: &finding.advice,
    }
}

fn end_json(end: &FindingEnd) -> EndJson<'_> {
    let socket = end.socket.as_ref();
    EndJson {
        address: end.ip.to_string(),
        port: end.port,
        local: socket.is_some(),
        host: end.host.as_deref(),
        cookie: socket.map(|socket| format!("{:x}", socket.cookie.0)),
        uid: socket.map(|socket| socket.uid),
        inode: socket.map(|socket| socket.inode),
        state: socket.map(|socket| socket.state.name()),
        timer: socket.map(|socket| TimerJson {
            code: socket.timer.0,
            name: socket.timer.name(),
            expires_ms: socket.expires_ms,
            retrans: socket.retrans,
        }),
        rqueue: socket.map(|socket| socket.rqueue),
        wqueue: socket.map(|socket| socket.wqueue),
        congestion: socket.map(|socket| socket.congestion.as_str().to_owned()),
        processes: if let Owners::Known(owners) = &end.owners { owners } else { &[] },
        owners: match (&end.owners, socket) {
            (_, None) => "remote",
            (Owners::Known(_), _) => "known",
            (Owners::Unreadable, _) => "unknown (other user)",
            (Owners::Nobody, _) => "none",
            (Owners::NotLooked, _) => "not looked up",
        },
        fields: socket.map(fields),
    }
}

fn fields(socket: &Socket) -> Map<String, Value> {
    let Some(info) = &socket.info else { return Map::new() };
    FIELDS.iter().filter_map(|field| Some((field.name.to_owned(), Value::from(info.get(field)?)))).collect()
}

fn hold_json(hold: &HoldFigures) -> HoldJson {
    let round = |value: f64| (value * 1e3).round() / 1e3;
    HoldJson {
        observed: hold.observed,
        released_by_timer: hold.released_by_timer,
        released_by_reply: hold.released_by_reply,
        p50_ms: hold.p50_ms,
        p90_ms: hold.p90_ms,
        max_ms: hold.max_ms.map(round),
        held_ms: round(hold.held_ms),
        share: hold.share.map(|share| (share * 1e4).round() / 1e4),
        watched_ms: round(hold.watched_ms),
        busy_ms: hold.busy_ms.map(round),
        age_ms: hold.age_ms.map(round),
        over_ms: hold.over_ms.map(round),
    }
}

fn fact_json(fact: &Fact) -> FactJson<'_> {
    FactJson {
        fact: &fact.fact,
        sender: fact.sender.as_deref(),
        receiver: fact.receiver.as_deref(),
        holds: match fact.answer {
            Answer::Yes => Some(true),
            Answer::No => Some(false),
            Answer::Unknown => None,
        },
    }
}
