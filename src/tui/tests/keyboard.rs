//! Keys as messages, without a terminal.

use super::frames::Display;
use super::world::Does;
use crate::tui::columns::Column;
use crate::tui::message::{Action, Effect, Message};
use crate::tui::state::{Overlay, Pane, Screen};

/// Which connection was asked for last, and whether it is to be probed.
fn last_selected(display: &Display) -> (Option<crate::model::ConnectionId>, bool) {
    let selected = |effect: &Effect| if let Effect::Select { id, probe } = effect { Some((*id, *probe)) } else { None };
    display.effects.iter().rev().find_map(selected).unwrap_or_default()
}

#[test]
fn the_selected_connection_is_asked_for_and_leaving_it_asks_for_the_next() {
    let mut display = Display::over(&[Does::Stall, Does::Nothing, Does::Nothing], 2_000);
    let first = display.state.selected();
    assert!(first.is_some());
    assert_eq!(last_selected(&display), (first, false));
    display.press(Action::Down);
    assert_ne!(display.state.selected(), first);
    assert_eq!(last_selected(&display), (display.state.selected(), true));
    assert!(display.state.detail().is_none());
    display.publish();
    assert!(display.state.detail().is_some());
}

#[test]
fn moving_goes_as_far_as_there_are_rows() {
    let mut display = Display::over(&[Does::Nothing; 40], 1_500);
    display.press(Action::Bottom);
    assert_eq!(display.state.place(), Some(39));
    assert!(display.text().contains("40039"));
    display.press(Action::Down);
    assert_eq!(display.state.place(), Some(39));
    display.press(Action::PageUp);
    assert!(display.state.place().is_some_and(|place| place < 39 && place > 0));
    display.press(Action::Top);
    display.press(Action::Up);
    assert_eq!((display.state.place(), display.state.top), (Some(0), 0));
}

#[test]
fn rows_keep_their_places_from_survey_to_survey() {
    let mut display = Display::over(&[Does::Healthy, Does::Stall, Does::Nothing, Does::Stall], 2_000);
    let order =
        |display: &Display| (0..4).map(|place| display.state.row(place).map(|row| row.sender.port)).collect::<Vec<_>>();
    let before = order(&display);
    for _ in 0..20 {
        display.pass(333);
        assert_eq!(order(&display), before);
    }
}

#[test]
fn drilling_down_and_back() {
    let mut display = Display::over(&[Does::Stall], 2_000);
    display.press(Action::Enter);
    assert_eq!((display.state.screen, display.state.pane), (Screen::Detail, Pane::Happening));
    display.press(Action::NextPane);
    assert_eq!(display.state.pane, Pane::Evidence);
    display.press(Action::Bottom);
    assert!(display.state.scrolled[1] > 0);
    assert_eq!(display.state.scrolled[1], display.state.drawn.furthest);
    display.press(Action::PreviousPane);
    display.press(Action::PreviousPane);
    assert_eq!(display.state.pane, Pane::Process);
    display.press(Action::Back);
    assert_eq!(display.state.screen, Screen::Overview);
    display.press(Action::Pane(5));
    assert_eq!((display.state.screen, display.state.pane), (Screen::Detail, Pane::Fix));
    display.press(Action::OtherDirection);
    assert!(display.state.notice.as_ref().is_some_and(|notice| notice.text.contains("only this direction")));
}

#[test]
fn sorting_goes_through_the_columns_and_turns_round() {
    let mut display = Display::over(&[Does::Nothing, Does::Stall, Does::Nothing], 2_000);
    display.press(Action::SortNext);
    assert_eq!(display.state.sort.column, Column::Level);
    display.press(Action::SortNext);
    assert_eq!(display.state.sort.column, Column::Sender);
    assert_eq!(display.state.row(0).map(|row| row.sender.port), Some(40_000));
    display.press(Action::SortReverse);
    assert_eq!(display.state.row(0).map(|row| row.sender.port), Some(40_002));
}

#[test]
fn columns_can_be_left_out_but_not_all() {
    let mut display = Display::over(&[Does::Stall], 2_000);
    display.press(Action::Columns);
    for _ in 0..20 {
        display.press(Action::Freeze);
        display.press(Action::Down);
    }
    assert_eq!(display.state.overlay, Some(Overlay::Columns));
    assert!(!display.state.columns.is_empty());
    assert!(display.state.frozen.is_none());
    display.press(Action::Back);
    assert!(!display.text().contains("VERDICT"));
}

#[test]
fn the_survey_period_goes_up_and_down_within_bounds() {
    let mut display = Display::over(&[Does::Stall], 1_000);
    for _ in 0..20 {
        display.press(Action::Faster);
    }
    assert_eq!(display.state.period.as_millis(), 100);
    assert!(display.effects.iter().any(|effect| matches!(effect, Effect::Period(period) if period.as_millis() == 500)));
    for _ in 0..20 {
        display.press(Action::Slower);
    }
    assert_eq!(display.state.period.as_secs(), 30);
}

#[test]
fn the_finding_is_handed_out_and_the_answer_shown() {
    let mut display = Display::over(&[Does::Stall], 3_000);
    display.press(Action::Copy);
    display.press(Action::Write);
    let handed = |effect: &&Effect| matches!(effect, Effect::Copy(..) | Effect::Write(..));
    assert_eq!(display.effects.iter().filter(handed).count(), 2);
    display.send(Message::Failed("writing ./x.md: Permission denied".to_owned()));
    assert!(display.text().contains("Permission denied"));
    display.press(Action::Down);
    assert!(!display.text().contains("Permission denied"));
}

#[test]
fn the_mouse_selects_opens_sorts_and_scrolls() {
    let mut display = Display::over(&[Does::Nothing; 5], 1_500);
    let table = display.state.drawn.table;
    display.send(Message::Click { x: 3, y: table.y + 2 });
    assert_eq!(display.state.place(), Some(2));
    display.send(Message::Click { x: 3, y: table.y + 2 });
    assert_eq!(display.state.screen, Screen::Detail);
    display.press(Action::Back);
    display.send(Message::Wheel(1));
    assert_eq!(display.state.place(), Some(4));
    let share = display.state.drawn.columns.iter().find(|(column, ..)| *column == Column::Share).copied().unwrap();
    display.send(Message::Click { x: share.1, y: table.y - 1 });
    assert_eq!(display.state.sort.column, Column::Share);
    display.send(Message::Click { x: 3, y: table.y + 15 });
    assert_eq!(display.state.place(), Some(4));
}

#[test]
fn quitting_and_stopping_are_left_to_the_outside() {
    let mut display = Display::over(&[], 0);
    display.press(Action::Quit);
    display.press(Action::Suspend);
    assert!(display.effects.iter().any(|effect| matches!(effect, Effect::Quit)));
    assert!(display.effects.iter().any(|effect| matches!(effect, Effect::Suspend)));
}
