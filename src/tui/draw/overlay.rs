//! What lies over a screen: help, notes, the choice of columns.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::columns::Column;
use super::super::keys::KEYS;
use super::super::message::Drawn;
use super::super::state::{Overlay, State};
use super::super::text;
use super::super::theme::Theme;
use crate::diagnose::{Answer, Severity};
use crate::filter;

pub(super) fn draw(overlay: Overlay, state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect) -> Drawn {
    let width = usize::from(area.width);
    let page = usize::from(area.height);
    if overlay == Overlay::Columns {
        let skip = (state.overlay_at + 2).saturating_sub(page);
        super::lines(frame, area, columns(state, theme, width), skip);
        return Drawn { page, furthest: Column::ALL.len() - 1, ..Drawn::default() };
    }
    let lines = match overlay {
        Overlay::Help => help(state, theme, width),
        _ => notes(state, theme, width),
    };
    let furthest = lines.len().saturating_sub(page);
    super::lines(frame, area, lines, state.overlay_at.min(furthest));
    Drawn { page, furthest, ..Drawn::default() }
}

fn columns(state: &State, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines =
        vec![Line::styled(" Columns. Those that fit are shown; what comes last gives way first.", theme.strong())];
    for (place, column) in Column::ALL.into_iter().enumerate() {
        let tick = if state.columns.contains(&column) { "[x]" } else { "[ ]" };
        let text = format!(" {tick} {:<12} {}", column.title(), column.about());
        let line = Line::from(text::fit(&text, width, theme.more()));
        lines.push(if place == state.overlay_at { line.patch_style(theme.selected()) } else { line });
    }
    lines
}

fn notes(state: &State, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(" Notes: everything that went wrong while looking", theme.strong())];
    if state.latest.notes.is_empty() {
        lines.push(Line::from(" Nothing did."));
    }
    list(&state.latest.notes, width, &mut lines);
    file(state, theme, width, &mut lines);
    lines
}

/// One item a paragraph, with a dash.
fn list(items: &[String], width: usize, lines: &mut Vec<Line<'static>>) {
    for item in items {
        let wrapped = text::wrap(&text::clean(item), width.saturating_sub(4));
        for (place, line) in wrapped.into_iter().enumerate() {
            lines.push(Line::from(format!(" {} {line}", if place == 0 { "-" } else { " " })));
        }
    }
}

/// What is replayed, and what that cannot tell.
fn file(state: &State, theme: Theme, width: usize, lines: &mut Vec<Line<'static>>) {
    let Some(playback) = &state.latest.playback else { return };
    lines.push(Line::default());
    let title = format!(" {}: {}", text::clean(&playback.name), playback.kind);
    lines.push(Line::styled(text::clip(&title, width, theme.more()).into_owned(), theme.strong()));
    list(&playback.index.limits, width, lines);
    if !playback.index.complete {
        lines.push(Line::from(" The file is still being read."));
    }
}

fn help(state: &State, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(" Keys", theme.strong())];
    for binding in KEYS.iter().filter(|binding| binding.holds_in(state.mode)) {
        let shown = if theme.is_ascii() { plain(binding.shown) } else { binding.shown.to_owned() };
        lines.push(Line::from(vec![
            Span::styled(format!("  {}", text::fit(&shown, 10, "")), theme.key()),
            Span::raw(binding.help),
        ]));
    }
    lines.push(Line::from("  Mouse: click a row, click it again to drill down; click a column's title to"));
    lines.push(Line::from("  sort by it; the wheel moves."));
    file(state, theme, width, &mut lines);
    signs(theme, &mut lines);
    fields(theme, width, &mut lines);
    lines
}

/// Arrows in words.
fn plain(shown: &str) -> String {
    let mut text = shown.to_owned();
    for (arrow, word) in [("↓", "Down"), ("↑", "Up"), ("→", "Right"), ("←", "Left")] {
        text = text.replace(arrow, word);
    }
    text
}

fn signs(theme: Theme, lines: &mut Vec<Line<'static>>) {
    lines.push(Line::default());
    lines.push(Line::styled(" Signs", theme.strong()));
    let meanings = [
        (Severity::Stall, "a stall: time is lost to a timer that a program can avoid"),
        (Severity::Limit, "a limit: something slows the connection, and not a timer by mistake"),
        (Severity::Note, "a note, or a stall that is over (the level says since when)"),
    ];
    for (severity, meaning) in meanings {
        lines.push(Line::from(vec![
            Span::styled(format!("  {} ", theme.sign(severity)), theme.severity(severity)),
            Span::raw(meaning),
        ]));
    }
    let answers = [
        (Answer::Yes, "the fact holds"),
        (Answer::No, "it does not"),
        (Answer::Unknown, "the kernel did not tell, or the end cannot be seen"),
    ];
    for (answer, meaning) in answers {
        let (sign, style) = theme.answer(answer);
        lines.push(Line::from(vec![Span::styled(format!("  {sign} "), style), Span::raw(meaning)]));
    }
}

fn fields(theme: Theme, width: usize, lines: &mut Vec<Line<'static>>) {
    lines.push(Line::default());
    lines.push(Line::styled(" Filter: joined by and, or, not and brackets, as in:", theme.strong()));
    lines.push(Line::from("  share > 0.1 and not comm = ruby"));
    for entry in filter::help() {
        let text = format!("  {:<18} {}", entry.name, entry.about);
        lines.push(Line::from(text::clip(&text, width, theme.more()).into_owned()));
    }
}
