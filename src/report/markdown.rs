//! Markdown for a ticket.

use std::fmt::Write;

use crate::diagnose::{Answer, Finding, FindingEnd};

use super::words::{clean, count, ms};
use super::{Report, host_words, owners_phrase};

/// The report as Markdown.
pub fn to_markdown(report: &Report) -> String {
    let mut out = String::new();
    let host = &report.host;
    let known = |text: &str| if text.is_empty() { "unknown".to_owned() } else { escape(text) };
    let name = if host.hostname.is_empty() { "unknown host" } else { &host.hostname };
    let _ = writeln!(out, "# stallscope report: {}\n", escape(name));
    let _ = writeln!(out, "**{}**\n", escape(&report.conclusion()));
    let started =
        report.started_wall_us.and_then(super::json::rfc3339).unwrap_or_else(|| "at an unknown time".to_owned());
    let _ = writeln!(
        out,
        "Linux {}, HZ {} ({}), {started}, {} and {}, stallscope {}.\n",
        known(&host.kernel),
        report.tick.hz(),
        report.tick_source.as_str(),
        count(usize::try_from(report.surveys).unwrap_or(usize::MAX), "survey"),
        count(usize::try_from(report.probes).unwrap_or(usize::MAX), "probe"),
        known(&host.tool_version),
    );
    if !report.filter.is_empty() {
        let _ = writeln!(out, "Filter: `{}`\n", report.filter.replace('`', "'"));
    }
    for (n, host) in report.hosts.iter().enumerate() {
        let _ = writeln!(out, "- host {}: {}", n + 1, escape(&host_words(host)));
    }
    for note in &report.notes {
        let _ = writeln!(out, "- note: {}", escape(note));
    }
    if !report.notes.is_empty() || !report.hosts.is_empty() {
        out.push('\n');
    }
    for finding in &report.findings {
        out.push_str(&finding_to_markdown(finding));
    }
    out
}

/// One finding as a section.
pub fn finding_to_markdown(finding: &Finding) -> String {
    let mut out = String::new();
    let level = finding.level.map_or_else(String::new, |level| format!(" ({level})"));
    let _ = writeln!(out, "## {}{level}\n\n{}.\n", finding.verdict, escape(&finding.summary));
    let _ = writeln!(out, "| end | address | process |\n|---|---|---|");
    end(&mut out, "sender", &finding.sender);
    end(&mut out, "receiver", &finding.receiver);
    out.push('\n');
    holds(&mut out, finding);
    evidence(&mut out, finding);
    list(&mut out, "Could also be", &finding.could_also_be);
    list(&mut out, "Not known", &finding.unknown);
    if !finding.advice.is_empty() {
        out.push_str("What to do:\n\n");
        for (n, advice) in finding.advice.iter().enumerate() {
            let (fix, why) = (escape(&advice.fix), escape(&advice.why));
            let _ = writeln!(out, "{}. **{}**: {fix} — {why}", n + 1, advice.side.as_str());
        }
        out.push('\n');
    }
    out
}

fn end(out: &mut String, role: &str, end: &FindingEnd) {
    let address = crate::wire::Endpoint { ip: end.ip, port: end.port };
    let _ = writeln!(out, "| {role} | `{address}` | {} |", escape(&owners_phrase(end)));
}

fn holds(out: &mut String, finding: &Finding) {
    let hold = &finding.hold;
    if hold.observed == 0 {
        return;
    }
    let lengths = match (hold.p50_ms, hold.p90_ms, hold.max_ms) {
        (Some(p50), Some(p90), Some(max)) => format!(" Lengths: p50 {p50} ms, p90 {p90} ms, max {}.", ms(max)),
        _ => String::new(),
    };
    let over = finding.over_ms().map_or_else(String::new, |ms| format!(" None in the last {:.1} s.", ms / 1e3));
    let share = hold.share.map_or_else(String::new, |share| format!(", {:.0} % of the watched time", share * 100.0));
    let _ = writeln!(
        out,
        "{} seen, {} ended by the timer, {} by a reply; {} held{share}.{lengths}{over}\n",
        count(usize::try_from(hold.observed).unwrap_or(usize::MAX), "hold"),
        hold.released_by_timer,
        hold.released_by_reply,
        ms(hold.held_ms),
    );
}

fn evidence(out: &mut String, finding: &Finding) {
    if finding.evidence.is_empty() {
        return;
    }
    let _ = writeln!(out, "| holds | fact | sender | receiver |\n|---|---|---|---|");
    for fact in &finding.evidence {
        let mark = match fact.answer {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Unknown => "unknown",
        };
        let cell = |text: &Option<String>| text.as_deref().map_or_else(String::new, escape);
        let _ =
            writeln!(out, "| {mark} | {} | {} | {} |", escape(&fact.fact), cell(&fact.sender), cell(&fact.receiver));
    }
    out.push('\n');
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "{title}:\n");
    for item in items {
        let _ = writeln!(out, "- {}", escape(item));
    }
    out.push('\n');
}

/// Text that Markdown must not take for markup, nor a terminal for a command.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
