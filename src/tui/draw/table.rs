//! The overview: one row per connection. Only rows on screen are built.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::columns::{Column, layout};
use super::super::message::Drawn;
use super::super::state::State;
use super::super::text;
use super::super::theme::Theme;
use super::super::view::{Row, RowEnd};
use super::summary;
use crate::diagnose::Severity;
use crate::model::Moment;

pub(super) fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect) -> Drawn {
    let below = summary::height(state, area);
    let parts = Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(below)]);
    let [head, body, foot] = parts.areas(area);
    let columns = layout(&state.columns, area.width.into());
    let placed = draw_head(state, theme, frame, head, &columns);
    if state.order.is_empty() {
        draw_nothing(state, frame, body);
    } else {
        draw_rows(state, theme, frame, body, &columns);
    }
    summary::draw(state, theme, frame, foot);
    Drawn { table: body, columns: placed, page: body.height.into(), ..Drawn::default() }
}

fn draw_head(
    state: &State,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    columns: &[(Column, usize)],
) -> Vec<(Column, u16, u16)> {
    let mut placed = Vec::new();
    let mut spans = Vec::new();
    let mut x = area.x;
    for (column, cells) in columns {
        let sorted = state.sort.column == *column;
        let title =
            if sorted { format!("{}{}", column.title(), sort_mark(state, theme)) } else { column.title().to_owned() };
        let indent = match column {
            Column::Verdict | Column::Receiver => "  ",
            _ => "",
        };
        let title = format!("{indent}{title}");
        let text = if column.is_number() { text::fit_right(&title, *cells, "") } else { text::fit(&title, *cells, "") };
        spans.push(Span::styled(text, theme.strong()));
        spans.push(Span::raw(" "));
        let wide = u16::try_from(*cells).unwrap_or(u16::MAX);
        placed.push((*column, x, wide));
        x = x.saturating_add(wide).saturating_add(1);
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
    placed
}

fn sort_mark(state: &State, theme: Theme) -> &'static str {
    match (state.sort.reverse, theme.is_ascii()) {
        (false, false) => "▾",
        (true, false) => "▴",
        (false, true) => "v",
        (true, true) => "^",
    }
}

fn draw_nothing(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let head = &state.view.head;
    let text = match (&head.trouble, head.surveys, head.connections) {
        (Some(trouble), ..) if head.surveyed.is_none() => format!("The sockets cannot be seen. {trouble}"),
        (_, 0, _) => "Looking…".to_owned(),
        (_, _, 0) => "There are no TCP connections in this network namespace.".to_owned(),
        _ => format!("None of {} connections passes the filter. Esc drops it.", head.connections),
    };
    let width = usize::from(area.width).saturating_sub(4);
    let wrapped = text::wrap(&text::clean(&text), width);
    let mut lines = vec![Line::default()];
    lines.extend(wrapped.into_iter().map(|line| Line::from(format!("  {line}"))));
    super::lines(frame, area, lines, 0);
}

fn draw_rows(state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect, columns: &[(Column, usize)]) {
    let selected = state.place();
    let height = usize::from(area.height);
    let places = state.top..(state.top + height).min(state.order.len());
    let line = |place: usize| {
        let row = state.row(place)?;
        let line = row_line(row, state, theme, columns);
        Some(if selected == Some(place) { emphasise(line, theme, area.width.into()) } else { line })
    };
    super::lines(frame, area, places.filter_map(line).collect(), 0);
}

/// The selected row, to the edge of the screen.
fn emphasise(mut line: Line<'static>, theme: Theme, width: usize) -> Line<'static> {
    let missing = width.saturating_sub(line.width());
    line.push_span(Span::raw(" ".repeat(missing)));
    line.patch_style(theme.selected())
}

fn row_line(row: &Row, state: &State, theme: Theme, columns: &[(Column, usize)]) -> Line<'static> {
    let mut spans = Vec::with_capacity(columns.len() * 2);
    for (column, cells) in columns {
        let (text, style) = cell(row, *column, *cells, state, theme);
        let text = if column.is_number() {
            text::fit_right(&text, *cells, theme.more())
        } else {
            text::fit(&text, *cells, theme.more())
        };
        spans.push(Span::styled(text, style));
        spans.push(Span::raw(" "));
    }
    spans.pop();
    Line::from(spans)
}

fn cell(row: &Row, column: Column, cells: usize, state: &State, theme: Theme) -> (String, Style) {
    let ended = row.ended(state.view.head.now);
    let style = if ended.is_some() { Style::new() } else { theme.severity(row.severity()) };
    let plain = |text: Option<String>| (text.unwrap_or_else(|| "-".to_owned()), Style::new());
    let shows = row.severity() > Severity::None;
    match column {
        Column::Verdict => {
            let sign = if ended.is_some() { theme.sign(Severity::Note) } else { theme.sign(row.severity()) };
            (format!("{sign} {}", row.verdict), if shows { style } else { theme.faint() })
        }
        Column::Level => match ended {
            Some(when) => (over(row, when, state.view.head.now), Style::new()),
            None => (row.level.map_or_else(String::new, |level| level.to_string()), style),
        },
        Column::Sender => (end(&row.sender, state, cells, theme), Style::new()),
        Column::Receiver => {
            let room = cells.saturating_sub(2);
            (format!("{} {}", theme.arrow(), end(&row.receiver, state, room, theme)), Style::new())
        }
        // What a hold that is over held is history, and not shown as if it were held now.
        Column::Held | Column::Unacked if ended.is_some() => plain(None),
        Column::Held => plain(row.held.map(|held| text::bytes(held.into()))),
        Column::Unacked => plain(row.unacked.map(|n| n.to_string())),
        Column::Ato => plain(row.ato_us.map(|us| format!("{}", us / 1000))),
        Column::Age => plain(row.age_us().map(|us| text::millis(us as f64 / 1e3))),
        Column::Rate => plain(row.rate().map(|rate| format!("{rate:.1}"))),
        Column::Share => plain(row.share().map(text::percent)),
        Column::MinRtt => plain(row.min_rtt_us.map(|us| text::millis(f64::from(us) / 1e3))),
        Column::LastMinute => (strip(row, cells, theme), style),
    }
}

/// That a finding is over, and since when.
fn over(row: &Row, when: Moment, now: Moment) -> String {
    let what = if row.gone.is_some() { "gone" } else { "over" };
    format!("{what} {}", text::ago(now.since(when)))
}

/// The same of the selected connection.
pub(super) fn selected_over(state: &State) -> Option<String> {
    let row = state.row(state.place()?)?;
    let now = state.view.head.now;
    row.ended(now).map(|when| over(row, when, now))
}

/// Process and address of an end; the port stays whole when cells are few, the name is cut.
fn end(end: &RowEnd, state: &State, cells: usize, theme: Theme) -> String {
    let address = text::address(end.ip, end.port);
    let Some(inode) = end.inode else { return address };
    let known = state.view.names.get(&(end.host, inode));
    let (name, tail) = match known.and_then(Option::as_ref) {
        Some(name) => (name.comm.to_string(), format!("[{}]", name.pid)),
        None => match (known, end.uid) {
            (Some(None), Some(uid)) if inode != 0 => (format!("uid {uid}"), String::new()),
            _ => return address,
        },
    };
    let full = format!("{name}{tail} {address}");
    if text::cells(&full) <= cells {
        return full;
    }
    let room = cells.saturating_sub(text::cells(&address)).max(1);
    format!("{}{address}", text::clip(&name, room, theme.more()))
}

/// Held time over the last minute: a full bar is all of the time.
fn strip(row: &Row, cells: usize, theme: Theme) -> String {
    row.strip().map_or_else(String::new, |strip| {
        super::super::panes::chart::minute(strip.iter().map(|ms| u32::from(*ms)), cells, theme)
    })
}
