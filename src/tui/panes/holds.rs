//! *Holds*: when data was held and for how long, at the resolution of the probes; how the lengths spread; the figures.

use ratatui::text::{Line, Span};

use super::super::text;
use super::super::view::Shown;
use super::Context;
use super::chart;
use crate::model::Moment;

/// Time of one column of the strip chart, µs: the usual interval between two probes.
const COLUMN_US: u64 = 10_000;

/// Lines of the age chart and of the histogram.
const ROWS: usize = 4;

/// Cells of the scale beside a chart.
const SCALE: usize = 8;

/// The histogram's shortest range, ms: both marks are in it.
const LEAST_RANGE_MS: usize = 250;

/// The delays that the kernel's timers give: the shortest delayed ACK, and the longest, which is also the cork's.
const MARKS_MS: [usize; 2] = [40, 200];

pub(super) fn lines(context: &Context<'_>) -> Vec<Line<'static>> {
    let mut parts = vec![figures(context)];
    if !context.shown.recent.is_empty() || context.shown.open.is_some() {
        parts.push(strip(context));
        parts.push(histogram(context));
        let cells = context.width.saturating_sub(SCALE);
        let minute = chart::minute(context.shown.strip.iter().copied(), cells, context.theme);
        parts.push(vec![Line::from(format!("{}{minute}", text::fit("minute", SCALE, "")))]);
    }
    // Blank lines between the parts, where all of it fits with them.
    let needed = parts.iter().map(Vec::len).sum::<usize>() + parts.len() - 1;
    let gap = usize::from(needed <= context.height);
    let mut lines = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !lines.is_empty() {
            lines.extend(std::iter::repeat_n(Line::default(), gap));
        }
        lines.extend(part);
    }
    lines
}

fn figures(context: &Context<'_>) -> Vec<Line<'static>> {
    let hold = &context.shown.finding.hold;
    let theme = context.theme;
    let ms = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), text::millis);
    let rate = (hold.watched_ms > 0.0).then(|| hold.observed as f64 * 1e3 / hold.watched_ms);
    let pairs = [
        ("holds", hold.observed.to_string()),
        ("per second", rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"))),
        ("by timer", hold.released_by_timer.to_string()),
        ("by reply", hold.released_by_reply.to_string()),
        ("p50", ms(hold.p50_ms.map(f64::from))),
        ("p90", ms(hold.p90_ms.map(f64::from))),
        ("max", ms(hold.max_ms)),
        ("held", text::millis(hold.held_ms)),
        ("of watched", text::millis(hold.watched_ms)),
        ("share", hold.share.map_or_else(|| "-".to_owned(), text::percent)),
        ("busy_time", ms(hold.busy_ms)),
        ("probes", context.detail.probes.to_string()),
    ];
    let mut lines = vec![Line::default()];
    for (name, value) in pairs {
        let piece = [Span::raw(format!("{name} ")), Span::styled(value, theme.strong())];
        let needed: usize = piece.iter().map(Span::width).sum();
        let last = lines.len() - 1;
        let gap = if lines[last].width() > 0 { 3 } else { 0 };
        if lines[last].width() + gap + needed > context.width {
            lines.push(Line::from(piece.to_vec()));
        } else {
            lines[last].push_span(Span::raw(" ".repeat(gap)));
            lines[last].spans.extend(piece);
        }
    }
    lines
}

/// Age and bytes of the hold at each moment of the last second or so.
fn strip(context: &Context<'_>) -> Vec<Line<'static>> {
    let cells = context.width.saturating_sub(SCALE).max(1);
    let now = context.head.now;
    let at = |cell: usize| now.before(COLUMN_US * (cells - 1 - cell) as u64);
    let samples: Vec<_> = (0..cells).map(|cell| sample(context.shown, at(cell), now)).collect();
    let ages: Vec<f64> = samples.iter().map(|(age_us, _)| *age_us as f64 / 1e3).collect();
    let bytes: Vec<f64> = samples.iter().map(|(_, bytes)| f64::from(*bytes)).collect();
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let (oldest, largest) = (most(&ages), samples.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0));
    let span = text::millis((COLUMN_US * cells as u64) as f64 / 1e3);
    let title = format!("Age of the hold and bytes held, the last {span}");
    let mut lines = vec![Line::styled(title, context.theme.strong())];
    let style = context.theme.severity(context.shown.finding.severity());
    for (row, bar) in chart::columns(&ages, oldest, ROWS, context.theme).into_iter().enumerate() {
        let scale = if row == 0 { text::millis(oldest) } else { String::new() };
        lines.push(scaled(&scale, bar, style));
    }
    let bar = chart::columns(&bytes, most(&bytes), 1, context.theme).concat();
    lines.push(scaled(&text::bytes(largest.into()), bar, style));
    lines
}

fn scaled(scale: &str, bar: String, style: ratatui::style::Style) -> Line<'static> {
    let scale = format!("{} ", text::fit_right(scale, SCALE - 1, ""));
    Line::from(vec![Span::raw(scale), Span::styled(bar, style)])
}

/// Age (µs) and bytes of the hold that there was at a moment; zeros when there was none.
fn sample(shown: &Shown, at: Moment, now: Moment) -> (u64, u32) {
    if let Some(open) = &shown.open
        && at >= open.started
        && at <= now
    {
        return (at.since(open.started), open.bytes);
    }
    let recent = shown.recent.iter().rev().find(|hold| hold.started <= at);
    match recent {
        Some(hold) if at.since(hold.started) < hold.length_us => (at.since(hold.started), hold.bytes),
        _ => (0, 0),
    }
}

fn histogram(context: &Context<'_>) -> Vec<Line<'static>> {
    let cells = context.width.saturating_sub(SCALE).max(1);
    let lengths = &context.shown.lengths;
    if lengths.is_empty() {
        return Vec::new();
    }
    let range = lengths.len().max(LEAST_RANGE_MS);
    let per_cell = range.div_ceil(cells).max(1);
    let bins: Vec<f64> = lengths.chunks(per_cell).map(|bin| bin.iter().map(|n| f64::from(*n)).sum()).collect();
    let most = bins.iter().copied().fold(0.0, f64::max);
    let title = format!("Lengths of holds, {per_cell} ms a column");
    let mut lines = vec![Line::styled(title, context.theme.strong())];
    let style = context.theme.severity(context.shown.finding.severity());
    for (row, bar) in chart::columns(&bins, most, ROWS, context.theme).into_iter().enumerate() {
        let scale = if row == 0 { format!("{most:.0}") } else { String::new() };
        lines.push(scaled(&scale, bar, style));
    }
    lines.push(Line::from(axis(cells, per_cell, context.theme.is_ascii())));
    lines
}

/// The axis with the kernel's own delays marked.
fn axis(cells: usize, per_cell: usize, ascii: bool) -> String {
    let mut axis = format!("{}0", " ".repeat(SCALE));
    for mark in MARKS_MS {
        let arrow = if ascii { "^" } else { "↑" };
        let at = SCALE + mark / per_cell;
        let missing = at.saturating_sub(text::cells(&axis));
        axis.push_str(&" ".repeat(missing));
        axis.push_str(arrow);
        axis.push_str(&mark.to_string());
    }
    let unit = " ms";
    let missing = (SCALE + cells).saturating_sub(text::cells(&axis) + unit.len());
    format!("{axis}{}{unit}", " ".repeat(missing))
}
