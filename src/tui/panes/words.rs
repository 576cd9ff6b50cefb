//! Phrases that several places share.

use ratatui::text::{Line, Span};

use super::super::text;
use super::super::theme::Theme;
use crate::diagnose::{Finding, FindingEnd, HoldFigures, Severity};
use crate::model::Owners;

/// Sign, verdict and level; for a finding that is over, since when instead of the alarm.
pub(in super::super) fn verdict(finding: &Finding, over: Option<&str>, theme: Theme) -> Vec<Span<'static>> {
    let severity = if over.is_some() { Severity::Note } else { finding.severity() };
    let style = theme.severity(severity);
    let sign = theme.sign(severity);
    let mut spans = vec![Span::styled(format!("{sign} {}", finding.verdict).trim_start().to_owned(), style)];
    if let Some(level) = finding.level {
        spans.push(Span::styled(format!(", {level}"), style));
    }
    spans.extend(over.map(|over| Span::styled(format!(", {over} ago"), theme.strong())));
    spans
}

/// A summary as a sentence of its own.
pub(in super::super) fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// What the holds cost, in one line.
pub(in super::super) fn cost(hold: &HoldFigures) -> String {
    let mut parts = vec![format!("{} holds", hold.observed)];
    if hold.watched_ms > 0.0 {
        parts.push(format!("{:.1} a second", hold.observed as f64 * 1e3 / hold.watched_ms));
    }
    parts.extend(hold.p50_ms.map(|ms| format!("p50 {ms} ms")));
    parts.extend(hold.max_ms.map(|ms| format!("max {}", text::millis(ms))));
    parts.extend(hold.share.map(|share| format!("{} of the time held", text::percent(share))));
    parts.join(", ")
}

/// Process and address of an end.
pub(in super::super) fn end(end: &FindingEnd) -> String {
    let address = text::address(end.ip, end.port);
    match process(end) {
        Some(process) => format!("{process} {address}"),
        None => address,
    }
}

/// The first process that holds an end, `name[pid]`.
pub(super) fn process(end: &FindingEnd) -> Option<String> {
    let Owners::Known(owners) = &end.owners else { return None };
    let owner = owners.first()?;
    Some(format!("{}[{}]", text::clean(&owner.comm), owner.pid))
}

/// Wrapped lines with a hanging indent: `first` before the first line, blanks before the others.
pub(super) fn hanging(first: &str, body: &str, width: usize) -> Vec<Line<'static>> {
    let indent = text::cells(first);
    let wrapped = text::wrap(body, width.saturating_sub(indent));
    let lead = |place: usize| if place == 0 { first.to_owned() } else { " ".repeat(indent) };
    wrapped.into_iter().enumerate().map(|(place, line)| Line::from(format!("{}{line}", lead(place)))).collect()
}
