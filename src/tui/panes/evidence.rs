//! *Evidence*: the facts with both ends' numbers, what else could explain them, and what would tell more.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::text;
use super::Context;
use super::words;
use crate::diagnose::{Answer, Fact, Level, Severity};

pub(super) fn lines(context: &Context<'_>) -> Vec<Line<'static>> {
    let finding = &context.shown.finding;
    let theme = context.theme;
    let mut lines = Vec::new();
    for fact in &finding.evidence {
        add_fact(fact, context, &mut lines);
    }
    if finding.evidence.is_empty() {
        lines.push(Line::from("Nothing is held, so there is nothing to prove."));
    }
    let mut part = |title: &'static str, texts: &[String]| {
        if texts.is_empty() {
            return;
        }
        lines.push(Line::default());
        lines.push(Line::styled(title, theme.strong()));
        lines.extend(texts.iter().flat_map(|text| words::hanging("- ", &text::clean(text), context.width)));
    };
    part("What else it could be", &finding.could_also_be);
    part("What cannot be known here", &finding.unknown);
    part("What would raise the level", &raise(finding.level, finding.severity()));
    lines
}

fn add_fact(fact: &Fact, context: &Context<'_>, lines: &mut Vec<Line<'static>>) {
    let theme = context.theme;
    let (sign, style) = theme.answer(fact.answer);
    let mut numbers = Vec::new();
    numbers.extend(fact.sender.as_ref().map(|text| format!("S: {text}")));
    numbers.extend(fact.receiver.as_ref().map(|text| format!("R: {text}")));
    let both = numbers.join("  ");
    let words = if fact.answer == Answer::No { style } else { Style::new() };
    let lead = |place: usize| if place == 0 { Span::styled(format!("{sign} "), style) } else { Span::raw("  ") };
    // Fact and numbers share a line where they fit.
    let gap = context.width.saturating_sub(2 + text::cells(&fact.fact) + text::cells(&both));
    if gap >= 2 {
        let fact = Span::styled(fact.fact.clone(), words);
        lines.push(Line::from(vec![lead(0), fact, Span::raw(" ".repeat(gap)), Span::styled(both, theme.strong())]));
        return;
    }
    for (place, line) in text::wrap(&fact.fact, context.width.saturating_sub(2)).into_iter().enumerate() {
        lines.push(Line::from(vec![lead(place), Span::styled(line, words)]));
    }
    let split = if text::cells(&both) + 4 <= context.width { vec![both] } else { numbers };
    for line in split.iter().flat_map(|line| text::wrap(line, context.width.saturating_sub(4))) {
        let line = text::fit_right(&line, context.width, theme.more());
        lines.push(Line::styled(line, theme.strong()));
    }
}

/// What the next level takes.
fn raise(level: Option<Level>, severity: Severity) -> Vec<String> {
    if severity != Severity::Stall {
        return Vec::new();
    }
    let text = match level {
        Some(Level::Suspected) => "seeing the other end: run stallscope where both ends live, or on the other host too",
        Some(Level::Paired) => {
            "watching one whole hold: the same hold met twice, then ended by the receiver's pure ACK"
        }
        Some(Level::Proven) => {
            "a kernel that reports the delayed-ACK timer (timer 5, Linux 7), or TCP_NODELAY set at the sender ending it"
        }
        Some(Level::Confirmed) | None => return Vec::new(),
    };
    vec![text.to_owned()]
}
