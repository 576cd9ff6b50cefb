//! Frames, as text and with their styles.

use std::sync::Arc;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::world::{Does, World};
use crate::diagnose::Verdict;
use crate::tui::draw::draw;
use crate::tui::message::{Action, Edit, Effect, Message};
use crate::tui::state::State;
use crate::tui::theme::Theme;
use crate::tui::update::update;

/// The sizes of docs/screens, and the smallest that is promised.
const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (40, 10)];

/// A display over a world.
pub(super) struct Display {
    pub(super) world: World,
    pub(super) state: State,
    pub(super) effects: Vec<Effect>,
    theme: Theme,
    size: (u16, u16),
}

impl Display {
    pub(super) fn over(connections: &[Does], ms: u64) -> Self {
        let mut world = World::new(connections);
        world.pass(ms);
        world.name("ruby");
        let state = State::new(Duration::from_secs(1), "");
        let mut display = Self { world, state, effects: Vec::new(), theme: Theme::new(true, false), size: (80, 24) };
        display.publish();
        display.publish();
        display
    }

    /// Sends a message and does what the loop would do.
    pub(super) fn send(&mut self, message: Message) {
        for effect in update(&mut self.state, message) {
            match &effect {
                Effect::Select { id, probe } => {
                    self.world.builder.select(*id);
                    if let (Some(id), true) = (id, probe) {
                        self.world.engine.pin(*id);
                    }
                }
                Effect::Filter(_, text) => self.world.filter(text),
                _ => {}
            }
            self.effects.push(effect);
        }
    }

    pub(super) fn press(&mut self, action: Action) {
        self.send(Message::Do(action));
        self.frame();
    }

    /// The producer publishes; the display draws.
    pub(super) fn publish(&mut self) {
        let view = Arc::new(self.world.view());
        self.send(Message::View(view));
        self.frame();
    }

    pub(super) fn pass(&mut self, ms: u64) {
        self.world.pass(ms);
        self.publish();
    }

    pub(super) fn at(mut self, size: (u16, u16)) -> Self {
        self.size = size;
        self.frame();
        self
    }

    pub(super) fn frame(&mut self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        let mut drawn = None;
        terminal.draw(|frame| drawn = Some(draw(&self.state, self.theme, frame))).unwrap();
        self.send(Message::Drawn(drawn.unwrap()));
        terminal.backend().buffer().clone()
    }

    pub(super) fn text(&mut self) -> String {
        let buffer = self.frame();
        let line = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..buffer.area.height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
    }

    /// The first cell of the first place where `text` stands.
    pub(super) fn style_of(&mut self, text: &str) -> ratatui::style::Style {
        let buffer = self.frame();
        for y in 0..buffer.area.height {
            let line: Vec<_> = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
            for x in 0..line.len() {
                if line[x..].concat().starts_with(text) {
                    return buffer[(u16::try_from(x).unwrap(), y)].style();
                }
            }
        }
        panic!("{text:?} is not on screen:\n{}", self.text());
    }
}

pub(super) fn contains(text: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted:?} is missing:\n{text}");
    }
}

#[test]
fn the_stall_is_first_and_says_so_at_every_size() {
    for size in SIZES {
        let mut display = Display::over(&[Does::Healthy, Does::Stall, Does::Nothing], 3_000).at(size);
        let text = display.text();
        contains(&text, &["1 STALLED", "● nagle-delayed-ack", "40001"]);
        let stalled = text.lines().position(|line| line.contains("nagle-delayed-ack")).unwrap();
        let healthy = text.lines().position(|line| line.contains("healthy")).unwrap();
        assert!(stalled < healthy, "{text}");
    }
}

#[test]
fn the_overview_tells_whose_eyes_what_it_costs_and_what_to_do() {
    let mut display = Display::over(&[Does::Stall], 3_000).at((120, 40));
    contains(&display.text(), &["1 connection ", "2 sockets"]);
    let mut display = Display::over(&[Does::Healthy, Does::Stall], 5_000).at((200, 60));
    contains(
        &display.text(),
        &[
            "db7",
            "Linux 6.18.44",
            "net:[4026531840]",
            "as web (others' names hidden)",
            "2 connections",
            "4 sockets",
            "every 1.0 s",
            "proven",
            "ruby",
            "10 B",
            "SHARE",
            "LAST MINUTE",
            "holds",
            "Fix, at the sender: send each message with one write",
        ],
    );
}

#[test]
fn the_way_to_help_and_out_is_shown_at_every_size() {
    for size in SIZES {
        let mut display = Display::over(&[Does::Stall], 3_000).at(size);
        contains(&display.text(), &["Enter proof", "? help", "q quit"]);
        display.press(Action::Enter);
        contains(&display.text(), &["Esc back", "? help", "q quit"]);
    }
}

#[test]
fn a_period_that_was_stretched_says_so() {
    let mut display = Display::over(&[Does::Healthy], 2_000).at((200, 60));
    assert!(!display.text().contains("stretched"));
    let mut view = display.world.view();
    view.head.stretched = true;
    view.head.period = Duration::from_millis(2_300);
    display.send(Message::View(Arc::new(view)));
    contains(&display.text(), &["every 2.3 s, stretched: surveys take long"]);
}

#[test]
fn a_stall_is_red_bold_and_a_word_and_without_colours_still_bold_and_a_word() {
    let mut display = Display::over(&[Does::Nothing, Does::Stall, Does::Stall], 3_000);
    let style = display.style_of("nagle-delayed-ack");
    assert_eq!(style.fg, Some(Color::Red));
    assert!(style.add_modifier.contains(Modifier::BOLD));
    let alarm = display.style_of("2 STALLED");
    assert!(alarm.fg == Some(Color::Red) && alarm.add_modifier.contains(Modifier::REVERSED));
    assert_ne!(display.style_of("idle").fg, Some(Color::Red));
    display.theme = Theme::new(false, false);
    let style = display.style_of("nagle-delayed-ack");
    assert!(style.fg.is_none_or(|color| color == Color::Reset) && style.add_modifier.contains(Modifier::BOLD));
}

#[test]
fn every_verdict_has_a_sign_and_the_style_of_its_severity() {
    use crate::diagnose::Severity;
    let theme = Theme::new(true, false);
    for verdict in Verdict::ALL {
        let style = theme.severity(verdict.severity());
        let sign = theme.sign(verdict.severity());
        match verdict.severity() {
            Severity::Stall => assert!(style.fg == Some(Color::Red) && sign == "●", "{verdict}"),
            Severity::Limit => assert!(style.fg == Some(Color::Magenta) && sign == "◐", "{verdict}"),
            Severity::Note => assert!(style.fg.is_none() && sign == "○", "{verdict}"),
            Severity::None => assert!(style.fg.is_none() && sign == " ", "{verdict}"),
        }
    }
}

#[test]
fn each_pane_tells_its_part_of_the_proof() {
    let wanted: [&[&str]; 6] = [
        &[
            "writes 10 B: sent at once",
            "Nagle HOLDS 10 B",
            "kernel HOLDS the ACK",
            "pure ACK",
            "40 ms",
            "delayed-ACK timer fired",
        ],
        &["✓ exactly one segment is unacknowledged", "unacked 1", "S: 10 B in flight", "R: ", "delayed-ACK timer"],
        &["by timer", "p50 44 ms", "Age of the hold", "Lengths of holds", "↑40", "↑200"],
        &["* notsent_bytes", "10 B", "sender", "receiver", "ss: notsent"],
        &["1. sender (ruby[", "send each message with one write", "a fix saves at most that"],
        &["Sender 127.0.0.1:40000, opened the connection", "pid", "fd 5", "ruby --serve"],
    ];
    for (number, wanted) in (1..).zip(wanted) {
        let mut display = Display::over(&[Does::Stall], 5_000);
        display.press(Action::Pane(number));
        let text = display.text();
        contains(&text, wanted);
        contains(&text, &["● nagle-delayed-ack, proven"]);
    }
}

#[test]
fn panes_stand_side_by_side_where_there_is_room() {
    let shown = |size| {
        let mut display = Display::over(&[Does::Stall], 3_000).at(size);
        display.press(Action::Enter);
        display.state.drawn.panes.len()
    };
    assert_eq!([(80, 24), (120, 40), (200, 60)].map(shown), [1, 2, 6]);
}

#[test]
fn panes_of_a_quiet_connection_say_that_nothing_is_held() {
    let mut display = Display::over(&[Does::Nothing], 3_000).at((200, 60));
    display.press(Action::Enter);
    contains(
        &display.text(),
        &["idle", "no data moved while watching", "nothing to prove", "Nothing needs to be changed"],
    );
}

#[test]
fn help_lists_every_key_of_the_table() {
    let mut display = Display::over(&[Does::Stall], 1_000).at((120, 100));
    display.press(Action::Help);
    let text = display.text();
    let here = |binding: &&crate::tui::keys::Binding| binding.holds_in(crate::tui::state::Mode::Live);
    for binding in crate::tui::keys::KEYS.iter().filter(here) {
        contains(&text, &[binding.help, binding.shown]);
    }
    contains(&text, &["a stall: time is lost", "notsent"]);
}

#[test]
fn a_filter_with_a_mistake_is_told_in_place_and_a_good_one_is_used() {
    let mut display = Display::over(&[Does::Stall, Does::Nothing], 3_000);
    display.press(Action::Filter);
    for c in "unackedd = 1".chars() {
        display.send(Message::Prompt(Edit::Insert(c)));
    }
    display.send(Message::Prompt(Edit::Submit));
    contains(&display.text(), &["filter / unackedd = 1", "^ ", "unacked"]);
    display.send(Message::Prompt(Edit::Clear));
    for c in "verdict = idle".chars() {
        display.send(Message::Prompt(Edit::Insert(c)));
    }
    display.send(Message::Prompt(Edit::Submit));
    display.publish();
    let text = display.text();
    contains(&text, &["1 STALLED", "1 hidden by the filter", "1 shown of", "filter: verdict = idle", "40001"]);
    assert!(!text.contains("40000"), "{text}");
    display.press(Action::Back);
    display.publish();
    contains(&display.text(), &["40000", "40001"]);
}

#[test]
fn a_frozen_display_says_so_and_stands_still() {
    let mut display = Display::over(&[Does::StallUntil(103_000)], 2_900);
    display.press(Action::Freeze);
    let rows = |display: &mut Display| display.text().lines().skip(2).take(10).map(String::from).collect::<Vec<_>>();
    let before = rows(&mut display);
    display.pass(5_000);
    contains(&display.text(), &["FROZEN", "polling goes on", "Space resumes"]);
    assert_eq!(rows(&mut display), before);
    display.press(Action::Freeze);
    let text = display.text();
    assert!(!text.contains("FROZEN"), "{text}");
    contains(&text, &["over 4", "nothing stalled"]);
}

#[test]
fn a_stall_that_ended_stays_with_when_it_did() {
    let mut display = Display::over(&[Does::StallUntil(103_000), Does::Nothing], 9_000);
    contains(&display.text(), &["○ nagle-delayed-ack", "over 5", "nothing stalled"]);
}

#[test]
fn a_failed_survey_keeps_the_data_and_tells_their_age() {
    let mut display = Display::over(&[Does::Stall], 3_000);
    display.world.report.failures.push("listing TCP sockets: Operation not permitted".to_owned());
    display.world.builder.set_trouble(Some("listing TCP sockets: Operation not permitted".to_owned()));
    display.pass(2_500);
    contains(&display.text(), &["nagle-delayed-ack", "s old: listing TCP sockets: Operation not permitted"]);
}

#[test]
fn a_survey_that_never_was_says_why() {
    let mut world = World::new(&[]);
    world.report.failures.push("refused".to_owned());
    world.builder.set_trouble(Some("refused by a sandbox".to_owned()));
    world.pass(10);
    let state = State::new(Duration::from_secs(1), "");
    let mut display = Display { world, state, effects: Vec::new(), theme: Theme::new(true, false), size: (80, 24) };
    display.publish();
    contains(&display.text(), &["The sockets cannot be seen", "refused by a sandbox"]);
}

#[test]
fn no_connections_is_said() {
    let mut display = Display::over(&[], 1_500);
    contains(&display.text(), &["There are no TCP connections", "0 connections"]);
    display.press(Action::Enter);
    display.press(Action::Copy);
    contains(&display.text(), &["no connection is selected"]);
}

#[test]
fn hostile_names_reach_no_cell() {
    let mut display = Display::over(&[Does::Stall], 3_000).at((200, 60));
    display.world.name("\u{1b}]0;evil\u{7}\u{202e}日本\u{200b}אב\n");
    display.publish();
    for action in [None, Some(Action::Enter)] {
        if let Some(action) = action {
            display.press(action);
        }
        let text = display.text();
        let bad = |c: &char| *c != '\n' && (c.is_control() || matches!(c, '\u{200b}' | '\u{202e}' | '\u{5d0}'));
        assert_eq!(text.chars().find(bad), None, "{text}");
        assert!(text.contains("evil"), "{text}");
    }
}

#[test]
fn in_ascii_every_cell_of_every_screen_is_ascii() {
    let mut display = Display::over(&[Does::Stall, Does::Nothing], 3_000).at((200, 60));
    display.theme = Theme::new(true, true);
    for action in [Action::Repaint, Action::Enter, Action::Help, Action::Help, Action::Back, Action::Columns] {
        display.press(action);
        let text = display.text();
        let odd = text.chars().find(|c| !c.is_ascii());
        assert_eq!(odd, None, "{action:?}\n{text}");
    }
}

#[test]
fn no_size_panics_on_any_screen() {
    let actions =
        [Action::Repaint, Action::Enter, Action::Pane(4), Action::Help, Action::Back, Action::Back, Action::Filter];
    let mut display = Display::over(&[Does::Stall, Does::Nothing], 2_000);
    for action in actions {
        display.press(action);
        for width in [1, 5, 20, 39, 40, 41, 57, 58, 80, 116, 117, 300] {
            for height in [1, 3, 5, 9, 10, 11, 15, 16, 24, 60] {
                display.size = (width, height);
                display.frame();
            }
        }
    }
    display.size = (20, 5);
    contains(&display.text(), &["too small: 20x5", "need 40x10"]);
}
