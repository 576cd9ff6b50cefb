//! What a message does to the state. Pure: what the outside has to do is returned.

use std::sync::Arc;
use std::time::Duration;

use super::columns::Column;
use super::message::{Action, Control, Drawn, Edit, Effect, Message, Take};
use super::prompt::{Asks, Outcome, Prompt};
use super::state::{Notice, Overlay, Pane, Screen, State};
use super::view::View;

/// The survey periods that `+` and `-` go through, ms.
const PERIODS_MS: [u64; 8] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000];

/// Lines that one notch of the wheel moves.
const WHEEL_LINES: usize = 3;

/// Takes a message; answers what the outside has to do.
pub fn update(state: &mut State, message: Message) -> Vec<Effect> {
    let mut effects = match message {
        Message::View(view) => take_view(state, view),
        Message::Drawn(drawn) => take_drawn(state, drawn),
        Message::Do(action) => {
            state.notice = None;
            act(state, action)
        }
        Message::Prompt(edit) => edit_prompt(state, edit),
        Message::Paste(text) => text.chars().flat_map(|c| edit_prompt(state, Edit::Insert(c))).collect(),
        Message::Click { x, y } => click(state, x, y),
        Message::Wheel(notches) => wheel(state, notches),
        Message::Done(text) => say(state, text, false),
        Message::Failed(text) => say(state, text, true),
    };
    let wanted = (state.selected(), state.chosen.is_some());
    if wanted != state.asked {
        if wanted.0 != state.asked.0 {
            state.direction = 0;
        }
        state.asked = wanted;
        effects.push(Effect::Select { id: wanted.0, probe: wanted.1 });
    }
    effects
}

fn say(state: &mut State, text: String, failed: bool) -> Vec<Effect> {
    state.notice = Some(Notice { text, failed });
    Vec::new()
}

fn take_view(state: &mut State, view: Arc<View>) -> Vec<Effect> {
    if let Some(said) = view.said.as_ref().filter(|said| said.0 > state.heard) {
        state.heard = said.0;
        say(state, said.1.text.clone(), said.1.failed);
    }
    state.latest = Arc::clone(&view);
    // A filter asked for while frozen is answered all the same.
    if state.frozen.is_none() || view.filter != state.view.filter {
        if state.frozen.is_some() {
            state.frozen = Some(view.head.now);
        }
        state.view = view;
        state.reorder();
    }
    Vec::new()
}

fn take_drawn(state: &mut State, drawn: Drawn) -> Vec<Effect> {
    state.drawn = drawn;
    match (state.overlay, state.screen) {
        (Some(_), _) => state.overlay_at = state.overlay_at.min(state.drawn.furthest),
        (None, Screen::Detail) => {
            let at = &mut state.scrolled[state.pane as usize];
            *at = (*at).min(state.drawn.furthest);
        }
        (None, Screen::Overview) => state.keep_in_sight(),
    }
    Vec::new()
}

fn act(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Repaint => return vec![Effect::Repaint],
        Action::Help => toggle(state, Overlay::Help),
        Action::Notes => toggle(state, Overlay::Notes),
        Action::Columns => toggle(state, Overlay::Columns),
        Action::Back => return back(state),
        Action::Enter => enter(state),
        Action::Up => step(state, 1, true),
        Action::Down => step(state, 1, false),
        Action::PageUp => step(state, state.drawn.page.max(1), true),
        Action::PageDown => step(state, state.drawn.page.max(1), false),
        Action::Top => step(state, usize::MAX, true),
        Action::Bottom => step(state, usize::MAX, false),
        Action::NextPane => focus(state, state.pane.step(1)),
        Action::PreviousPane => focus(state, state.pane.step(Pane::ALL.len() - 1)),
        Action::Pane(number) => open_pane(state, number),
        Action::OtherDirection => other_direction(state),
        Action::Filter => state.prompt = Some(Prompt::on(&state.latest.filter)),
        Action::SortNext => sort_next(state),
        Action::SortReverse => sort(state, state.sort.column, !state.sort.reverse),
        Action::Freeze => freeze(state),
        Action::Faster => return set_period(state, true),
        Action::Slower => return set_period(state, false),
        Action::Copy | Action::Write => return hand_out(state, action),
        Action::Record => return vec![Effect::Take(Take::Toggle)],
        Action::Snapshot => return vec![Effect::Take(Take::Snapshot)],
        Action::Mark => return ask_mark(state),
        Action::GoTo => state.prompt = Some(Prompt::asking(Asks::Time)),
        Action::Replay(control) => return replay(state, control),
    }
    Vec::new()
}

fn toggle(state: &mut State, overlay: Overlay) {
    state.overlay = if state.overlay == Some(overlay) { None } else { Some(overlay) };
    state.overlay_at = 0;
}

fn back(state: &mut State) -> Vec<Effect> {
    if state.overlay.take().is_some() {
        return Vec::new();
    }
    if state.screen == Screen::Detail {
        state.screen = Screen::Overview;
        state.keep_in_sight();
        return Vec::new();
    }
    if state.latest.filter.is_empty() {
        return Vec::new();
    }
    vec![Effect::Filter(crate::filter::Filter::default(), String::new())]
}

fn enter(state: &mut State) {
    if state.overlay == Some(Overlay::Columns) {
        tick_column(state);
    } else if state.overlay.take().is_none() && state.screen == Screen::Overview {
        open_detail(state);
    }
}

fn open_detail(state: &mut State) {
    if let Some(id) = state.selected() {
        state.chosen = Some(id);
        state.screen = Screen::Detail;
        state.pane = Pane::Happening;
        state.scrolled = [0; 6];
    }
}

fn focus(state: &mut State, pane: Pane) {
    if state.screen == Screen::Detail && state.overlay.is_none() {
        state.pane = pane;
    }
}

/// A digit leads to its pane from the overview too.
fn open_pane(state: &mut State, number: u8) {
    let Some(pane) = usize::from(number).checked_sub(1).and_then(|place| Pane::ALL.get(place)) else { return };
    if state.overlay.is_some() {
        return;
    }
    if state.screen == Screen::Overview {
        open_detail(state);
    }
    focus(state, *pane);
}

fn other_direction(state: &mut State) {
    let directions = state.detail().map_or(0, |detail| detail.directions.len());
    if directions > 1 {
        state.direction = (state.direction + 1) % directions;
        state.scrolled = [0; 6];
    } else {
        say(state, "only this direction has a finding".to_owned(), false);
    }
}

/// Moves whatever the arrows move on this screen.
fn step(state: &mut State, by: usize, up: bool) {
    let moved = |at: usize, last: usize| if up { at.saturating_sub(by) } else { at.saturating_add(by).min(last) };
    match (state.overlay, state.screen) {
        (Some(Overlay::Columns), _) => state.overlay_at = moved(state.overlay_at, Column::ALL.len() - 1),
        (Some(_), _) => state.overlay_at = moved(state.overlay_at, state.drawn.furthest),
        (None, Screen::Detail) => {
            let at = &mut state.scrolled[state.pane as usize];
            *at = moved(*at, state.drawn.furthest);
        }
        (None, Screen::Overview) => {
            let place = moved(state.place().unwrap_or(0), state.order.len().saturating_sub(1));
            choose(state, place);
        }
    }
}

fn choose(state: &mut State, place: usize) {
    if let Some(id) = state.row(place).map(|row| row.id) {
        state.chosen = Some(id);
        state.keep_in_sight();
    }
}

fn tick_column(state: &mut State) {
    let Some(column) = Column::ALL.get(state.overlay_at).copied() else { return };
    if let Some(at) = state.columns.iter().position(|this| *this == column) {
        // One column is left: an empty table shows nothing to come back to.
        if state.columns.len() > 1 {
            state.columns.remove(at);
        }
    } else {
        state.columns.push(column);
    }
}

fn sort_next(state: &mut State) {
    let shown = Column::ALL.into_iter().filter(|column| state.columns.contains(column));
    let shown: Vec<_> = shown.collect();
    let at = shown.iter().position(|column| *column == state.sort.column).map_or(0, |at| at + 1);
    if let Some(column) = shown.get(at % shown.len().max(1)) {
        sort(state, *column, false);
    }
}

fn sort(state: &mut State, column: Column, reverse: bool) {
    state.sort = super::order::Sort { column, reverse };
    state.reorder();
    let way = if reverse { ", reversed" } else { "" };
    say(state, format!("sorted by {}{way}", column.title().to_lowercase()), false);
}

fn freeze(state: &mut State) {
    if state.overlay == Some(Overlay::Columns) {
        return tick_column(state);
    }
    if state.frozen.take().is_some() {
        state.view = Arc::clone(&state.latest);
        state.reorder();
    } else {
        state.frozen = Some(state.view.head.now);
    }
}

fn ask_mark(state: &mut State) -> Vec<Effect> {
    if state.latest.recording.is_none() {
        return say(state, "nothing is recorded: r begins a recording, m marks it".to_owned(), true);
    }
    state.prompt = Some(Prompt::asking(Asks::Mark));
    Vec::new()
}

fn replay(state: &mut State, control: Control) -> Vec<Effect> {
    if control == Control::PlayPause && state.overlay == Some(Overlay::Columns) {
        tick_column(state);
        return Vec::new();
    }
    vec![Effect::Control(control)]
}

fn set_period(state: &mut State, faster: bool) -> Vec<Effect> {
    let now = u64::try_from(state.period.as_millis()).unwrap_or(u64::MAX);
    let next = if faster {
        PERIODS_MS.into_iter().rev().find(|ms| *ms < now)
    } else {
        PERIODS_MS.into_iter().find(|ms| *ms > now)
    };
    let Some(next) = next else { return Vec::new() };
    state.period = Duration::from_millis(next);
    let every = super::text::millis(next as f64);
    say(state, format!("a survey every {every}"), false);
    vec![Effect::Period(state.period)]
}

fn hand_out(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(detail) = state.detail().map(Arc::clone) else {
        return say(state, "no connection is selected".to_owned(), true);
    };
    let effect = if action == Action::Copy { Effect::Copy } else { Effect::Write };
    vec![effect(detail, state.direction)]
}

fn edit_prompt(state: &mut State, edit: Edit) -> Vec<Effect> {
    let Some(prompt) = &mut state.prompt else { return Vec::new() };
    let effects = match prompt.take(edit, &mut state.history) {
        Outcome::Open => return Vec::new(),
        Outcome::Cancelled => Vec::new(),
        Outcome::Use(filter, text) => vec![Effect::Filter(filter, text)],
        Outcome::Mark(word) => vec![Effect::Take(Take::Mark(word))],
        Outcome::GoTo(aim) => vec![Effect::Control(Control::To(aim))],
    };
    state.prompt = None;
    effects
}

fn click(state: &mut State, x: u16, y: u16) -> Vec<Effect> {
    let at = ratatui::layout::Position { x, y };
    let table = state.drawn.table;
    if state.overlay.is_some() {
        state.overlay = None;
    } else if state.screen == Screen::Detail {
        let hit = state.drawn.panes.iter().find(|(_, area)| area.contains(at)).map(|(pane, _)| *pane);
        if let Some(pane) = hit {
            focus(state, pane);
        }
    } else if table.contains(at) {
        let place = state.top + usize::from(y - table.y);
        let again = state.chosen.is_some() && state.place() == Some(place);
        choose(state, place);
        if again {
            open_detail(state);
        }
    } else if y + 1 == table.y {
        let hit = state.drawn.columns.iter().find(|(_, from, cells)| (*from..from + cells).contains(&x));
        if let Some((column, ..)) = hit.copied() {
            let again = state.sort.column == column;
            sort(state, column, again && !state.sort.reverse);
        }
    }
    Vec::new()
}

fn wheel(state: &mut State, notches: i8) -> Vec<Effect> {
    step(state, usize::from(notches.unsigned_abs()) * WHEEL_LINES, notches < 0);
    Vec::new()
}
