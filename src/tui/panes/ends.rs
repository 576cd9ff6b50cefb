//! *Ends*: every field of both sockets side by side, those that matter first, each explained under the list.

use ratatui::text::{Line, Span};

use super::super::text;
use super::fields::{Entry, entries};
use super::{Content, Context};

/// Cells of a value.
const VALUE: usize = 14;

/// Least cells of a name.
const NAME: usize = 16;

pub(super) fn content(context: &Context<'_>, at: usize) -> Content {
    let finding = &context.shown.finding;
    let (s, r) = (finding.sender.socket.as_ref(), finding.receiver.socket.as_ref());
    let entries = entries(finding.verdict, s, r);
    let at = at.min(entries.len().saturating_sub(1));
    let name_cells = context.width.saturating_sub(2 * VALUE + 4).clamp(NAME, 28);
    let theme = context.theme;
    let mut lines = vec![Line::styled(
        row("", "field", Some("sender"), Some("receiver"), name_cells, theme.more()),
        theme.strong(),
    )];
    for (place, entry) in entries.iter().enumerate() {
        lines.push(line(entry, place == at, name_cells, context));
    }
    let foot = entries.get(at).map(|entry| explain(entry, context)).unwrap_or_default();
    Content { lines, foot, cursor: Some(entries.len()), above: 1 }
}

fn row(mark: &str, name: &str, s: Option<&str>, r: Option<&str>, name_cells: usize, more: &str) -> String {
    let value = |value: Option<&str>| text::fit_right(value.unwrap_or("-"), VALUE, more);
    format!("{} {} {} {}", text::fit(mark, 1, ""), text::fit(name, name_cells, more), value(s), value(r))
}

fn line(entry: &Entry, chosen: bool, name_cells: usize, context: &Context<'_>) -> Line<'static> {
    let theme = context.theme;
    let mark = if entry.matters { "*" } else { "" };
    let (s, r) = (entry.sender.as_deref(), entry.receiver.as_deref());
    let text = row(mark, &entry.name, s, r, name_cells, theme.more());
    let style = if chosen {
        theme.selected()
    } else if entry.matters {
        theme.strong()
    } else {
        ratatui::style::Style::new()
    };
    Line::styled(text, style)
}

/// What the entry under the cursor means, with the values in full.
fn explain(entry: &Entry, context: &Context<'_>) -> Vec<Line<'static>> {
    let theme = context.theme;
    let ss = entry.ss.map_or_else(String::new, |ss| format!(" (ss: {ss})"));
    let long = |value: &Option<String>| value.as_deref().is_some_and(|value| text::cells(value) > VALUE);
    let mut body = entry.about.clone();
    if long(&entry.sender) || long(&entry.receiver) {
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        body = format!("{body} {} / {}", or_none(&entry.sender), or_none(&entry.receiver));
    }
    if entry.sender.is_none() && entry.receiver.is_none() {
        body.push_str(" This kernel does not send it.");
    }
    let rule = theme.lines().across.repeat(context.width);
    let mut lines = vec![Line::from(Span::styled(rule, theme.faint()))];
    let full = format!("{}{ss}: {}", entry.name, text::clean(&body));
    lines.extend(text::wrap(&full, context.width).into_iter().take(3).map(Line::from));
    if let Some(here) = &entry.here {
        let here = format!("Here: {here}.");
        lines.extend(
            text::wrap(&here, context.width).into_iter().take(2).map(|line| Line::styled(line, theme.strong())),
        );
    }
    lines
}
