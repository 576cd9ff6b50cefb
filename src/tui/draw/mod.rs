//! From the state to a frame. Reads only; what it placed where is returned.

mod bar;
mod detail;
mod footer;
mod header;
mod overlay;
mod summary;
mod table;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::message::Drawn;
use super::state::{Screen, State};
use super::theme::Theme;

/// The smallest screen that anything is shown on, cells.
const LEAST: (u16, u16) = (40, 10);

/// Draws the state.
pub fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>) -> Drawn {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let need = format!("too small: {}x{}, need {}x{}", area.width, area.height, LEAST.0, LEAST.1);
        let lines: Vec<_> = super::text::wrap(&need, area.width.into()).into_iter().map(Line::from).collect();
        frame.render_widget(Paragraph::new(lines), area);
        return Drawn { page: 1, ..Drawn::default() };
    }
    let head = header::height(state, area);
    let foot = footer::height(state);
    let lengths = [
        Constraint::Length(head),
        Constraint::Min(1),
        Constraint::Length(bar::height(state, area)),
        Constraint::Length(foot),
    ];
    let [top, body, time, bottom] = Layout::vertical(lengths).areas(area);
    header::draw(state, theme, frame, top);
    let drawn = match (state.overlay, state.screen) {
        (Some(overlay), _) => overlay::draw(overlay, state, theme, frame, body),
        (None, Screen::Overview) => table::draw(state, theme, frame, body),
        (None, Screen::Detail) => detail::draw(state, theme, frame, body),
    };
    bar::draw(state, theme, frame, time);
    footer::draw(state, theme, frame, bottom);
    if theme.is_ascii() {
        to_ascii(frame.buffer_mut());
    }
    drawn
}

/// What is left beyond ASCII: names, units, punctuation.
fn to_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let plain = match cell.symbol() {
            symbol if symbol.is_ascii() => continue,
            "µ" => "u",
            "…" => "~",
            "—" | "–" => "-",
            _ => "?",
        };
        cell.set_symbol(plain);
    }
}

/// Renders lines from `skip` on into an area.
fn lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'static>>, skip: usize) {
    let visible: Vec<_> = lines.into_iter().skip(skip).take(area.height.into()).collect();
    frame.render_widget(Paragraph::new(visible), area);
}

/// Pieces of one line, joined by two blanks, as many as fit.
fn join(pieces: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut line = Line::from(" ");
    for piece in pieces {
        let gap = if line.width() > 1 { 2 } else { 0 };
        if line.width() + gap + piece.width() > width {
            break;
        }
        line.push_span(Span::raw(" ".repeat(gap)));
        line.push_span(piece);
    }
    line
}
