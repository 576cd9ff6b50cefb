//! Where a replay stands: its clock, and a bar of the whole file with its stalls and marks.

use std::time::{Duration, UNIX_EPOCH};

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::replay::index::Index;
use super::super::state::State;
use super::super::text;
use super::super::theme::Theme;
use super::super::view::Playback;
use super::join;
use crate::model::Moment;

/// Screens lower than this give one line to it.
const LEAST_HEIGHT: u16 = 16;

/// What one cell of the bar shows, the most telling last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Unread,
    Quiet,
    Stalled,
    Marked,
}

/// Lines that it takes.
pub(super) fn height(state: &State, area: Rect) -> u16 {
    match (&state.latest.playback, area.height >= LEAST_HEIGHT) {
        (None, _) => 0,
        (Some(_), false) => 1,
        (Some(_), true) => 2,
    }
}

pub(super) fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(playback) = &state.latest.playback else { return };
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    if area.height > 1 {
        lines.push(clock(playback, theme, width));
        lines.push(Line::from(bar(playback, theme, width)));
    } else {
        let mut line = join(vec![Span::styled(standing(playback, theme), theme.strong())], width);
        line.push_span(Span::raw(" "));
        let rest = width.saturating_sub(line.width());
        line.spans.extend(bar(playback, theme, rest));
        lines.push(line);
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Whether time passes and how fast, and the time of the whole.
fn standing(playback: &Playback, theme: Theme) -> String {
    let sign = match (playback.seeking, playback.playing, theme.is_ascii()) {
        (true, ..) => "seeking",
        (_, true, false) => "▶",
        (_, true, true) => "playing",
        (_, false, _) => "paused",
    };
    let index = &playback.index;
    let so_far = if index.complete { "" } else { "+" };
    format!(
        "{sign} {}x {}/{}{so_far}",
        f64::from(playback.speed_percent) / 100.0,
        span(playback.position.since(index.first)),
        span(index.last.since(index.first))
    )
}

fn clock(playback: &Playback, theme: Theme, width: usize) -> Line<'static> {
    let mut pieces = vec![Span::styled(standing(playback, theme), theme.strong())];
    pieces.extend(playback.here.as_deref().map(|here| Span::styled(text::clean(here).into_owned(), theme.key())));
    pieces.extend(playback.index.wall_us(playback.position).and_then(wall).map(Span::raw));
    let limits = playback.index.limits.len();
    if limits > 0 {
        let what = format!("{}: {limits} limit{} (n)", playback.kind, if limits == 1 { "" } else { "s" });
        pieces.push(Span::styled(what, theme.warning()));
    }
    let count =
        |n: usize, what: &str| (n > 0).then(|| Span::raw(format!("{n} {what}{}", if n == 1 { "" } else { "s" })));
    let marks = playback.index.places.iter().filter(|place| place.is_mark).count();
    pieces.extend(count(marks, "mark"));
    pieces.extend(count(playback.index.stalls.len(), "stalled span"));
    pieces.push(Span::styled(text::clean(&playback.name).into_owned(), theme.faint()));
    join(pieces, width)
}

/// The whole file from left to right.
fn bar(playback: &Playback, theme: Theme, width: usize) -> Vec<Span<'static>> {
    let cells = cells(&playback.index, width);
    let here = place(&playback.index, playback.position, width);
    let (signs, position) =
        if theme.is_ascii() { ([".", "-", "#", "v"], "|") } else { (["·", "─", "█", "▼"], "┃") };
    let shown = |(at, cell): (usize, Cell)| {
        let style = match cell {
            Cell::Unread | Cell::Quiet => theme.faint(),
            Cell::Stalled => theme.severity(crate::diagnose::Severity::Stall),
            Cell::Marked => theme.key(),
        };
        if Some(at) == here {
            return Span::styled(position, if cell == Cell::Stalled { theme.alarm() } else { theme.strong() });
        }

        Span::styled(signs[cell as usize], style)
    };
    cells.into_iter().enumerate().map(shown).collect()
}

fn cells(index: &Index, width: usize) -> Vec<Cell> {
    let unread = if index.complete { Cell::Quiet } else { Cell::Unread };
    let mut cells = vec![unread; width];
    if !index.complete {
        // What is not read yet has no known length; what was read fills all but the last cell.
        cells.iter_mut().rev().skip(1).for_each(|cell| *cell = Cell::Quiet);
    }
    for (from, until) in &index.stalls {
        let (Some(from), Some(until)) = (place(index, *from, width), place(index, *until, width)) else { continue };
        cells[from..=until].iter_mut().for_each(|cell| *cell = Cell::Stalled);
    }
    for mark in index.places.iter().filter(|place| place.is_mark) {
        if let Some(at) = place(index, mark.at, width) {
            cells[at] = Cell::Marked;
        }
    }
    cells
}

/// The cell in which a moment lies.
fn place(index: &Index, at: Moment, width: usize) -> Option<usize> {
    let whole = u128::from(index.last.since(index.first)) + 1;
    let at = u128::from(at.since(index.first)).min(whole - 1);
    let last = width.checked_sub(1)?;
    usize::try_from(at * width as u128 / whole).ok().map(|cell| cell.min(last))
}

/// A time from the start: `1:02:03.4`, `0:12.3`.
fn span(us: u64) -> String {
    let (seconds, tenths) = (us / 1_000_000, us / 100_000 % 10);
    let (minutes, s) = (seconds / 60, seconds % 60);
    match minutes / 60 {
        0 => format!("{minutes}:{s:02}.{tenths}"),
        hours => format!("{hours}:{:02}:{s:02}.{tenths}", minutes % 60),
    }
}

/// The time of day, UTC.
fn wall(us: i64) -> Option<String> {
    let time = UNIX_EPOCH.checked_add(Duration::from_micros(u64::try_from(us).ok()?))?;
    // Later years than these are a damaged file.
    let sensible = time < UNIX_EPOCH + Duration::from_secs(250_000_000_000);
    sensible.then(|| humantime::format_rfc3339_seconds(time).to_string().replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_moment_is_the_first_cell_and_the_last_one_the_last() {
        let index = Index { first: Moment(100), last: Moment(1_100), complete: true, ..Index::default() };
        let at = |at| place(&index, Moment(at), 80);
        assert_eq!([0, 100, 600, 1_100, u64::MAX].map(at), [0, 0, 39, 79, 79].map(Some));
        assert_eq!(place(&index, Moment(600), 0), None);
        let moment = Index { first: Moment(5), last: Moment(5), complete: true, ..Index::default() };
        assert_eq!(place(&moment, Moment(5), 80), Some(0));
    }

    #[test]
    fn times_are_told_in_tenths_and_days_in_seconds() {
        assert_eq!([0, 12_345_678, 3_723_450_000].map(span), ["0:00.0", "0:12.3", "1:02:03.4"]);
        assert_eq!(wall(1_700_000_000_000_000).as_deref(), Some("2023-11-14 22:13:20Z"));
        assert_eq!([wall(-1), wall(i64::MAX)], [None, None]);
    }
}
