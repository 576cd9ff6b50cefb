//! The one table of keys: the handler and the help page both read it.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind};

use super::message::{Action, Control, Edit, Message};
use super::state::Mode;

/// A key as bound: its code, and whether Ctrl is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    code: KeyCode,
    control: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys.
    pub keys: &'static [Key],
    /// How they are written in the help.
    pub shown: &'static str,
    /// What they do, as the help says it.
    pub help: &'static str,
    /// What they mean.
    pub action: Action,
    /// Where they mean it; everywhere if `None`.
    pub mode: Option<Mode>,
}

impl Binding {
    /// Whether the keys mean this here.
    pub fn holds_in(&self, mode: Mode) -> bool {
        self.mode.is_none_or(|wanted| wanted == mode)
    }
}

const fn key(code: KeyCode) -> Key {
    Key { code, control: false }
}

const fn char(c: char) -> Key {
    key(KeyCode::Char(c))
}

const fn control(c: char) -> Key {
    Key { code: KeyCode::Char(c), control: true }
}

macro_rules! table {
    ($($shown:literal, $help:literal, $action:expr, [$($key:expr),+] $(, $mode:expr)?;)*) => {
        &[$(Binding { keys: &[$($key),+], shown: $shown, help: $help, action: $action, mode: table!(@ $($mode)?) }),*]
    };
    (@) => { None };
    (@ $mode:expr) => { Some($mode) };
}

/// Every key.
pub static KEYS: &[Binding] = table! {
    "↓ j", "one line down", Action::Down, [key(KeyCode::Down), char('j'), control('n')];
    "↑ k", "one line up", Action::Up, [key(KeyCode::Up), char('k'), control('p')];
    "PgDn ^F", "one page down", Action::PageDown, [key(KeyCode::PageDown), control('f'), control('d')];
    "PgUp ^B", "one page up", Action::PageUp, [key(KeyCode::PageUp), control('b'), control('u')];
    "g Home", "to the first line", Action::Top, [char('g'), key(KeyCode::Home)];
    "G End", "to the last line", Action::Bottom, [char('G'), key(KeyCode::End)];
    "Enter", "drill down: the proof, the costs, the fix", Action::Enter, [key(KeyCode::Enter)];
    "Esc", "back; in the overview: drop the filter", Action::Back, [key(KeyCode::Esc), key(KeyCode::Backspace)];
    "Tab →", "next pane", Action::NextPane, [key(KeyCode::Tab), key(KeyCode::Right), char('l')];
    "S-Tab ←", "pane before", Action::PreviousPane, [key(KeyCode::BackTab), key(KeyCode::Left)];
    "1", "What is happening", Action::Pane(1), [char('1')];
    "2", "Evidence", Action::Pane(2), [char('2')];
    "3", "Holds", Action::Pane(3), [char('3')];
    "4", "Ends: every field of both sockets", Action::Pane(4), [char('4')];
    "5", "Fix", Action::Pane(5), [char('5')];
    "6", "Process", Action::Pane(6), [char('6')];
    "d", "the connection's other direction, where it has a finding too", Action::OtherDirection, [char('d')];
    "/", "filter (↑ ↓ history, Enter to use, Esc to leave)", Action::Filter, [char('/')];
    "s", "sort by the next column", Action::SortNext, [char('s')];
    "S", "turn the order round", Action::SortReverse, [char('S')];
    "c", "choose columns", Action::Columns, [char('c')];
    "Space", "freeze the display; polling goes on", Action::Freeze, [char(' ')], Mode::Live;
    "+", "survey more often", Action::Faster, [char('+'), char('=')], Mode::Live;
    "-", "survey less often", Action::Slower, [char('-')], Mode::Live;
    "r", "begin or end a recording, in a new file here", Action::Record, [char('r')], Mode::Live;
    "W", "write a snapshot: a recording of one second", Action::Snapshot, [char('W')], Mode::Live;
    "m", "set a mark in the recording", Action::Mark, [char('m')], Mode::Live;
    "Space", "play or pause", Action::Replay(Control::PlayPause), [char(' ')], Mode::Replay;
    ",", "one step back: the survey or probe before", Action::Replay(Control::StepBack), [char(',')], Mode::Replay;
    ".", "one step on", Action::Replay(Control::StepOn), [char('.')], Mode::Replay;
    "<", "to the change of verdict, or mark, before", Action::Replay(Control::PreviousChange), [char('<')], Mode::Replay;
    ">", "to the next change of verdict, or mark", Action::Replay(Control::NextChange), [char('>')], Mode::Replay;
    "0", "to the start", Action::Replay(Control::Start), [char('0')], Mode::Replay;
    "$", "to the end", Action::Replay(Control::End), [char('$')], Mode::Replay;
    "t", "go to a time", Action::GoTo, [char('t')], Mode::Replay;
    "+ ]", "faster, up to 16x", Action::Replay(Control::Faster), [char('+'), char('='), char(']')], Mode::Replay;
    "- [", "slower, down to 0.25x", Action::Replay(Control::Slower), [char('-'), char('[')], Mode::Replay;
    "y", "copy the finding as Markdown (OSC 52)", Action::Copy, [char('y')];
    "w", "write the finding as Markdown to a file here", Action::Write, [char('w')];
    "n", "notes: everything that went wrong while looking", Action::Notes, [char('n')];
    "? h F1", "this help", Action::Help, [char('?'), char('h'), key(KeyCode::F(1))];
    "^L", "draw the screen anew", Action::Repaint, [control('l')];
    "^Z", "stop; fg resumes", Action::Suspend, [control('z')];
    "q ^C", "quit", Action::Quit, [char('q'), control('c'), key(KeyCode::F(10))];
};

/// What a terminal's event means; `prompting` when keys go to the prompt.
pub fn message(event: &Event, prompting: bool, mode: Mode) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            if prompting {
                edit(*key).map(Message::Prompt).or_else(|| (*key == CONTROL_C).then_some(Message::Do(Action::Quit)))
            } else {
                action(*key, mode).map(Message::Do)
            }
        }
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Message::Click { x: mouse.column, y: mouse.row }),
            MouseEventKind::ScrollDown => Some(Message::Wheel(1)),
            MouseEventKind::ScrollUp => Some(Message::Wheel(-1)),
            _ => None,
        },
        Event::Paste(text) if prompting => Some(Message::Paste(text.clone())),
        _ => None,
    }
}

const CONTROL_C: KeyEvent = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);

fn action(event: KeyEvent, mode: Mode) -> Option<Action> {
    let pressed = Key { code: event.code, control: event.modifiers.contains(KeyModifiers::CONTROL) };
    let unusual = event.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META);
    let found = KEYS.iter().find(|binding| binding.holds_in(mode) && binding.keys.contains(&pressed));
    found.filter(|_| !unusual).map(|binding| binding.action)
}

fn edit(event: KeyEvent) -> Option<Edit> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match (event.code, control) {
        (KeyCode::Char('u'), true) => Edit::Clear,
        (KeyCode::Char('w'), true) => Edit::DeleteWord,
        (KeyCode::Char('a'), true) | (KeyCode::Home, _) => Edit::Home,
        (KeyCode::Char('e'), true) | (KeyCode::End, _) => Edit::End,
        (KeyCode::Char('p'), true) | (KeyCode::Up, _) => Edit::Older,
        (KeyCode::Char('n'), true) | (KeyCode::Down, _) => Edit::Newer,
        (KeyCode::Char('h'), true) | (KeyCode::Backspace, _) => Edit::Backspace,
        (KeyCode::Char(c), false) => Edit::Insert(c),
        (KeyCode::Delete, _) => Edit::Delete,
        (KeyCode::Left, _) => Edit::Left,
        (KeyCode::Right, _) => Edit::Right,
        (KeyCode::Enter, _) => Edit::Submit,
        (KeyCode::Esc, _) => Edit::Cancel,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, modifiers: KeyModifiers, prompting: bool) -> Option<Message> {
        message(&Event::Key(KeyEvent::new(code, modifiers)), prompting, Mode::Live)
    }

    #[test]
    fn no_key_means_two_things() {
        for mode in [Mode::Live, Mode::Replay] {
            let here = KEYS.iter().filter(|binding| binding.holds_in(mode));
            let all: Vec<_> = here.flat_map(|binding| binding.keys).collect();
            for (place, key) in all.iter().enumerate() {
                assert!(!all[..place].contains(key), "{key:?} is bound twice in {mode:?}");
            }
        }
    }

    #[test]
    fn the_same_key_moves_time_where_there_is_time_to_move() {
        let space = Event::Key(KeyEvent::new(KeyCode::Char(' '), KeyModifiers::NONE));
        assert!(matches!(message(&space, false, Mode::Live), Some(Message::Do(Action::Freeze))));
        let play = message(&space, false, Mode::Replay);
        assert!(matches!(play, Some(Message::Do(Action::Replay(Control::PlayPause)))));
        let record = Event::Key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::NONE));
        assert!(message(&record, false, Mode::Replay).is_none());
    }

    #[test]
    fn keys_become_messages() {
        let none = KeyModifiers::NONE;
        assert!(matches!(press(KeyCode::Char('j'), none, false), Some(Message::Do(Action::Down))));
        assert!(matches!(press(KeyCode::Char('G'), KeyModifiers::SHIFT, false), Some(Message::Do(Action::Bottom))));
        assert!(matches!(press(KeyCode::Char('z'), KeyModifiers::CONTROL, false), Some(Message::Do(Action::Suspend))));
        assert!(press(KeyCode::Char('j'), KeyModifiers::ALT, false).is_none());
        assert!(matches!(press(KeyCode::Char('q'), none, true), Some(Message::Prompt(Edit::Insert('q')))));
        assert!(matches!(press(KeyCode::Char('c'), KeyModifiers::CONTROL, true), Some(Message::Do(Action::Quit))));
    }
}
