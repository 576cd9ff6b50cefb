//! The selected connection in a few lines under the table: what it is, what it costs, what to change first.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::panes::words;
use super::super::state::State;
use super::super::text;
use super::super::theme::Theme;
use super::super::view::Shown;
use crate::diagnose::Severity;

/// Screens lower than this leave all their lines to the table.
const LEAST_HEIGHT: u16 = 15;

/// Lines that it takes.
pub(super) fn height(state: &State, area: Rect) -> u16 {
    if area.height < LEAST_HEIGHT || state.order.is_empty() { 0 } else { 6 }
}

pub(super) fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    match state.shown() {
        Some(shown) => tell(state, shown, theme, width, &mut lines),
        None => lines.push(rule(Vec::new(), theme, width)),
    }
    super::lines(frame, area, lines, 0);
}

fn tell(state: &State, shown: &Shown, theme: Theme, width: usize, lines: &mut Vec<Line<'static>>) {
    let over = super::table::selected_over(state);
    lines.push(rule(words::verdict(&shown.finding, over.as_deref(), theme), theme, width));
    let indented = |text: &str| text::wrap(text, width.saturating_sub(2));
    let summary = indented(&words::sentence(&shown.finding.summary));
    lines.extend(summary.into_iter().take(2).map(|line| Line::from(format!(" {line}"))));
    if shown.finding.severity() > Severity::None {
        lines.push(Line::from(format!(" {}", words::cost(&shown.finding.hold))));
    }
    if let Some(first) = shown.finding.advice.first() {
        let fix = indented(&format!("Fix, at the {}: {}", first.side.as_str(), first.fix));
        lines.extend(fix.into_iter().take(2).map(|line| Line::styled(format!(" {line}"), theme.strong())));
    }
}

/// A line across the screen with a title in it.
fn rule(title: Vec<Span<'static>>, theme: Theme, width: usize) -> Line<'static> {
    let across = theme.lines().across;
    let mut line = Line::from(Span::styled(across.repeat(2), theme.faint()));
    if !title.is_empty() {
        line.push_span(Span::raw(" "));
        line.spans.extend(title);
        line.push_span(Span::raw(" "));
    }
    let rest = width.saturating_sub(line.width());
    line.push_span(Span::styled(across.repeat(rest), theme.faint()));
    line
}
