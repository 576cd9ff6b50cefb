//! Whose sockets these are, and the figures of all of them together.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::state::{Mode, Screen, State};
use super::super::text;
use super::super::theme::Theme;
use super::super::view::Head;
use super::join;
use crate::diagnose::Severity;
use crate::report::count;

/// Lines that the header takes: one where the body needs the room.
pub(super) fn height(state: &State, area: Rect) -> u16 {
    let tight = area.height < 16 || (state.screen == Screen::Detail && area.height < 30);
    if tight { 1 } else { 2 }
}

pub(super) fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let width = usize::from(area.width);
    let mut lines = vec![figures(state, theme, width)];
    if area.height > 1 {
        lines.insert(0, host(&state.view.head, theme, width));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn host(head: &Head, theme: Theme, width: usize) -> Line<'static> {
    let host = &head.host;
    let mut pieces = vec![Span::styled("stallscope", theme.strong())];
    let known = |text: &str| (!text.is_empty()).then(|| Span::raw(text::clean(text).into_owned()));
    pieces.extend(known(&host.hostname).map(|span| span.style(theme.strong())));
    pieces.extend(known(&host.kernel).map(|span| Span::raw(format!("Linux {}", span.content))));
    pieces.extend(host.netns.map(|inode| Span::raw(format!("net:[{inode}]"))));
    pieces.extend(head.others.iter().map(|other| Span::raw(format!("beside {other}"))));
    // What is no recording does not tell who looked.
    if head.surveys > 0 && !host.tool_version.is_empty() {
        pieces.push(Span::raw(eyes(head)));
    }
    join(pieces, width)
}

/// Who looks, and what that hides.
fn eyes(head: &Head) -> String {
    let user = head.host.user.as_deref().map(text::clean);
    match (head.host.uid, user) {
        (0, _) => "as root".to_owned(),
        (_, Some(user)) => format!("as {user} (others' names hidden)"),
        (uid, None) => format!("as uid {uid} (others' names hidden)"),
    }
}

fn figures(state: &State, theme: Theme, width: usize) -> Line<'static> {
    let head = &state.view.head;
    if head.surveys == 0 {
        return join(vec![Span::raw("looking at the sockets for the first time")], width);
    }
    let mut pieces = vec![stalled(head, theme)];
    if state.mode == Mode::Replay {
        pieces.push(Span::styled("REPLAY", theme.selected()));
    }
    if let Some(recording) = &state.latest.recording {
        pieces.push(Span::styled(format!("RECORDING {}", text::bytes(recording.written)), theme.selected()));
    }
    if state.frozen.is_some() {
        pieces.push(Span::styled("FROZEN", theme.selected()));
    }
    if head.hidden > 0 {
        pieces.push(Span::styled(format!("{} hidden by the filter", head.hidden), theme.strong()));
    }
    if head.held_ms_per_s >= 1.0 {
        pieces.push(Span::styled(format!("{}/s held", text::millis(head.held_ms_per_s)), theme.strong()));
    }
    pieces.extend(head.delayed_acks_per_s.map(|rate| Span::raw(format!("{rate:.0} DelayedACKs/s"))));
    let shown = state.view.rows.len();
    if !state.view.filter.is_empty() {
        pieces.push(Span::styled(format!("{shown} shown of"), theme.strong()));
    }
    pieces.push(Span::raw(count(head.connections, "connection")));
    pieces.push(Span::raw(count(head.sockets, "socket")));
    if head.probed > 0 && state.mode == Mode::Live {
        pieces.push(Span::raw(format!("{} watched closely", head.probed)));
    }
    if state.mode == Mode::Replay {
        return join(pieces, width);
    }
    let stretched = if head.stretched { ", stretched: surveys take long" } else { "" };
    pieces.push(Span::raw(format!("every {}{stretched}", text::millis(head.period.as_secs_f64() * 1e3))));
    join(pieces, width)
}

fn stalled(head: &Head, theme: Theme) -> Span<'static> {
    match head.stalled {
        0 => Span::styled("nothing stalled", theme.good()),
        n => Span::styled(format!(" {} {n} STALLED ", theme.sign(Severity::Stall)), theme.alarm()),
    }
}
