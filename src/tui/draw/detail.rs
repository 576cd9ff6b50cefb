//! The drill-down: one connection, as many panes as there is room for.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Padding, Paragraph};

use super::super::message::Drawn;
use super::super::panes::{self, Content, words};
use super::super::state::{Pane, State};
use super::super::text;
use super::super::theme::Theme;
use super::super::view::{Detail, Shown};
use crate::diagnose::Severity;

/// Cells that a pane needs to read well.
const PANE_WIDTH: u16 = 58;

/// Lines that a pane needs to read well when others stand below it.
const PANE_HEIGHT: u16 = 24;

/// Lines from which the head says what the holds cost.
const ROOMY: u16 = 30;

/// Borders in ASCII.
const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

pub(super) fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect) -> Drawn {
    let (Some(detail), Some(shown)) = (state.detail(), state.shown()) else {
        let text = "  This connection is gone, and nothing was seen of it that is worth keeping. Esc leads back.";
        let text = if state.place().is_some() { "  Looking…" } else { text };
        super::lines(frame, area, vec![Line::default(), Line::from(text)], 0);
        return Drawn { page: 1, ..Drawn::default() };
    };
    let head = head(state, detail, shown, theme, (area.width.into(), area.height));
    let panes = on_screen(state.pane, area);
    let tabs = u16::from(panes.len() < Pane::ALL.len());
    let head_height = u16::try_from(head.len()).unwrap_or(4);
    let parts = Layout::vertical([Constraint::Length(head_height), Constraint::Length(tabs), Constraint::Min(3)]);
    let [top, middle, body] = parts.areas(area);
    super::lines(frame, top, head, 0);
    if tabs > 0 {
        frame.render_widget(Paragraph::new(tab_line(state, &panes, theme, area.width.into())), middle);
    }
    let mut drawn = Drawn { page: 1, ..Drawn::default() };
    for (pane, place) in arrange(&panes, body) {
        draw_pane(pane, place, (state, detail, shown), theme, frame, &mut drawn);
    }
    drawn
}

/// The panes of the page that the focused one is on.
fn on_screen(focused: Pane, area: Rect) -> Vec<Pane> {
    let (columns, rows) = grid(area);
    let fit = usize::from(columns * rows).clamp(1, Pane::ALL.len());
    let first = focused as usize / fit * fit;
    Pane::ALL.into_iter().skip(first).take(fit).collect()
}

/// Columns and rows of panes that fit.
fn grid(area: Rect) -> (u16, u16) {
    let columns = (area.width / PANE_WIDTH).clamp(1, 3);
    let rows = if area.height >= 2 * PANE_HEIGHT && columns > 1 { 2 } else { 1 };
    (columns, rows)
}

fn arrange(panes: &[Pane], area: Rect) -> Vec<(Pane, Rect)> {
    let (columns, _) = grid(area);
    let per_row = usize::from(columns);
    let rows: Vec<_> = panes.chunks(per_row).collect();
    let heights = Layout::vertical(vec![Constraint::Fill(1); rows.len()]).split(area);
    let mut placed = Vec::new();
    for (row, area) in rows.iter().zip(heights.iter()) {
        let widths = Layout::horizontal(vec![Constraint::Fill(1); row.len()]).split(*area);
        placed.extend(row.iter().copied().zip(widths.iter().copied()));
    }
    placed
}

fn head(
    state: &State,
    detail: &Detail,
    shown: &Shown,
    theme: Theme,
    (width, height): (usize, u16),
) -> Vec<Line<'static>> {
    let finding = &shown.finding;
    let mut first = Line::from(" ");
    let over = super::table::selected_over(state);
    first.spans.extend(words::verdict(finding, over.as_deref(), theme));
    let ends = format!("   {} {} {}", words::end(&finding.sender), theme.arrow(), words::end(&finding.receiver));
    first.push_span(Span::raw(ends));
    let mut lines = vec![first];
    let mut summary = words::sentence(&finding.summary);
    if detail.directions.len() > 1 {
        summary.push_str(" The other direction has a finding too: d.");
    }
    let wrapped = text::wrap(&summary, width.saturating_sub(2));
    lines.extend(wrapped.into_iter().take(3).map(|line| Line::from(format!(" {line}"))));
    if height >= ROOMY && finding.severity() > Severity::None {
        lines.push(Line::from(format!(" {}", words::cost(&finding.hold))));
    }
    lines
}

fn tab_line(state: &State, on_screen: &[Pane], theme: Theme, width: usize) -> Line<'static> {
    let tab = |pane: Pane| {
        let title = if width < 90 && pane == Pane::Happening { "Happening" } else { pane.title() };
        let style = if pane == state.pane {
            theme.selected()
        } else if on_screen.contains(&pane) {
            theme.strong()
        } else {
            ratatui::style::Style::new()
        };
        Span::styled(format!(" {} {title} ", pane as usize + 1), style)
    };
    super::join(Pane::ALL.into_iter().map(tab).collect(), width)
}

fn draw_pane(
    pane: Pane,
    area: Rect,
    (state, detail, shown): (&State, &Detail, &Shown),
    theme: Theme,
    frame: &mut Frame<'_>,
    drawn: &mut Drawn,
) {
    let focused = pane == state.pane;
    let block = block(pane, focused, theme);
    let inner = block.inner(area);
    drawn.panes.push((pane, area));
    if inner.width == 0 || inner.height == 0 {
        return frame.render_widget(block, area);
    }
    let scrolled = state.scrolled[pane as usize];
    let room = (usize::from(inner.width), usize::from(inner.height));
    let context = panes::Context { head: &state.view.head, detail, shown, theme, width: room.0, height: room.1 };
    let content = panes::content(pane, &context, scrolled);
    let (furthest, below) = place(content, scrolled, inner, frame);
    let block =
        if below > 0 { block.title_bottom(Line::from(format!(" {below} more below ")).right_aligned()) } else { block };
    frame.render_widget(block, area);
    if focused {
        drawn.page = room.1.max(1);
        drawn.furthest = furthest;
    }
}

fn block(pane: Pane, focused: bool, theme: Theme) -> Block<'static> {
    let style = if focused { theme.key() } else { theme.faint() };
    let title = format!(" {} {} ", pane as usize + 1, pane.title());
    let block = Block::new().borders(Borders::ALL).border_style(style).padding(Padding::horizontal(1));
    let block = if theme.is_ascii() { block.border_set(ASCII_BORDER) } else { block };
    block.title(Span::styled(title, if focused { theme.selected() } else { theme.strong() }))
}

/// Puts a pane's text into its area; answers how far it can be scrolled, and how many lines are out of sight below.
fn place(content: Content, scrolled: usize, area: Rect, frame: &mut Frame<'_>) -> (usize, usize) {
    let foot_height = u16::try_from(content.foot.len()).unwrap_or(0).min(area.height / 2);
    let [body, foot] = Layout::vertical([Constraint::Min(1), Constraint::Length(foot_height)]).areas(area);
    super::lines(frame, foot, content.foot, 0);
    let height = usize::from(body.height);
    let hidden = content.lines.len().saturating_sub(height);
    let (furthest, skip) = match content.cursor {
        Some(entries) => {
            let at = scrolled.min(entries.saturating_sub(1));
            // One line below the entry stays visible.
            let skip = (at + content.above + 2).saturating_sub(height);
            (entries.saturating_sub(1), skip)
        }
        None => (hidden, scrolled),
    };
    let skip = skip.min(hidden);
    super::lines(frame, body, content.lines, skip);
    (furthest, hidden - skip)
}
