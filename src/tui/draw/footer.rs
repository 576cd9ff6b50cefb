//! The last line: the prompt, what went wrong, or which keys there are.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::prompt::{Asks, Prompt};
use super::super::state::{Mode, Overlay, Screen, State};
use super::super::text;
use super::super::theme::Theme;

/// Blanks behind a hint; those of the last one may fall off the line.
const GAP: usize = 3;

/// Lines that the footer takes: the prompt has a second one for what is wrong.
pub(super) fn height(state: &State) -> u16 {
    if state.prompt.is_some() { 2 } else { 1 }
}

pub(super) fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    match &state.prompt {
        Some(prompt) => draw_prompt(prompt, theme, frame, area),
        None => frame.render_widget(Paragraph::new(status(state, theme, area.width.into())), area),
    }
}

fn draw_prompt(prompt: &Prompt, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let label = match prompt.asks {
        Asks::Filter => " filter / ",
        Asks::Mark => " mark: ",
        Asks::Time => " go to: ",
    };
    let room = usize::from(area.width).saturating_sub(label.len() + 1).max(1);
    // The cursor's own cell stays visible: the line slides to the left under it.
    let before = text::cells(&text::clean(&prompt.text[..prompt.cursor]));
    let slide = before.saturating_sub(room);
    let shown = after_cells(&text::clean(&prompt.text), slide);
    let line = Line::from(vec![Span::styled(label, theme.key()), Span::raw(shown)]);
    let below = match (&prompt.error, prompt.asks) {
        (Some((_, message)), _) => error_line(message, label.len() + before - slide, theme, area.width.into()),
        (None, Asks::Filter) => {
            Line::styled(" Enter use   Esc leave   Up/Down history   e.g. comm = ruby and share > 0.1", theme.faint())
        }
        (None, Asks::Mark) => Line::styled(" Enter set   Esc leave   a word that says what happens now", theme.faint()),
        (None, Asks::Time) => Line::styled(format!(" {}", super::super::replay::aim::EXAMPLES), theme.faint()),
    };
    frame.render_widget(Paragraph::new(vec![line, below]), area);
    let column = u16::try_from(label.len() + before - slide).unwrap_or(u16::MAX);
    let x = area.x.saturating_add(column).min(area.right().saturating_sub(1));
    frame.set_cursor_position(Position { x, y: area.y });
}

/// The mistake, under a caret at its place; to the left of it where there is no room to its right.
fn error_line(message: &str, at: usize, theme: Theme, width: usize) -> Line<'static> {
    let message = text::clean(message);
    let needed = text::cells(&message) + 2;
    let text = if at + needed <= width {
        format!("{}^ {message}", " ".repeat(at))
    } else {
        format!(" {} ", text::clip(&message, width.saturating_sub(2), theme.more()))
    };
    Line::styled(text, theme.warning())
}

/// What is left of a text after so many cells.
fn after_cells(text: &str, skip: usize) -> String {
    let mut passed = 0;
    let keep = |c: &char| {
        let here = passed;
        passed += text::cells(c.encode_utf8(&mut [0; 4]));
        here >= skip
    };
    text.chars().filter(keep).collect()
}

fn status(state: &State, theme: Theme, width: usize) -> Line<'static> {
    let clip = |text: &str| format!(" {}", text::clip(&text::clean(text), width.saturating_sub(1), theme.more()));
    if let Some(notice) = &state.notice {
        let style = if notice.failed { theme.warning() } else { theme.strong() };
        return Line::styled(clip(&notice.text), style);
    }
    let head = &state.latest.head;
    if let Some(trouble) = &head.trouble {
        let age = head.surveyed.map(|at| text::millis(head.now.since(at) as f64 / 1e3));
        let age = age.map_or_else(|| "there are no data yet".to_owned(), |age| format!("data are {age} old"));
        return Line::styled(clip(&format!("{age}: {trouble}")), theme.warning());
    }
    if let Some(since) = state.frozen {
        let behind = text::millis(head.now.since(since) as f64 / 1e3);
        return Line::styled(clip(&format!("frozen {behind} ago; polling goes on. Space resumes")), theme.strong());
    }
    hints(state, theme, width)
}

fn hints(state: &State, theme: Theme, width: usize) -> Line<'static> {
    let keys: &[(&str, &str)] = match (state.overlay, state.screen) {
        (None, Screen::Overview) if state.mode == Mode::Replay => &[
            ("Enter", "proof"),
            ("Space", "play"),
            (", .", "step"),
            ("< >", "changes"),
            ("t", "time"),
            ("/", "filter"),
            ("?", "help"),
            ("q", "quit"),
        ],
        (Some(Overlay::Columns), _) => &[("Space", "show or hide"), ("Esc", "back")],
        (Some(_), _) => &[("Esc", "back"), ("j k", "scroll")],
        (None, Screen::Overview) => &[
            ("Enter", "proof"),
            ("/", "filter"),
            ("s", "sort"),
            ("Space", "freeze"),
            ("y", "copy"),
            ("w", "write"),
            ("r", "record"),
            ("?", "help"),
            ("q", "quit"),
        ],
        (None, Screen::Detail) => &[
            ("Esc", "back"),
            ("Tab 1-6", "panes"),
            ("j k", "scroll"),
            ("y", "copy"),
            ("w", "write"),
            ("?", "help"),
            ("q", "quit"),
        ],
    };
    let mut line = Line::from(" ");
    let filter = &state.latest.filter;
    if !filter.is_empty() {
        let shown = format!("filter: {}", text::clean(filter));
        let shown = text::clip(&shown, width / 2, theme.more()).into_owned();
        line.spans.extend([Span::styled(shown, theme.strong()), Span::raw("   ")]);
    }
    let hint = |(key, what): &(&'static str, &str)| [Span::styled(*key, theme.key()), Span::raw(format!(" {what}   "))];
    let width_of = |keys: &[(&'static str, &str)]| keys.iter().flat_map(hint).map(|span| span.width()).sum::<usize>();
    // The way to help and out comes last, and is the last to go where the line is short.
    let (first, last) = keys.split_at(keys.len().saturating_sub(2));
    let room = (width + GAP).saturating_sub(line.width());
    let fits = |kept: &usize| width_of(&first[..*kept]) + width_of(last) <= room;
    let kept = (0..=first.len()).rev().find(fits).unwrap_or(0);
    line.spans.extend(first[..kept].iter().chain(last).flat_map(hint));
    line
}
