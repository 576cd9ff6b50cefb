//! The one table of keys: the handler and the help page both read it.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind};

use super::message::{Action, Edit, Message};

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
    ($($shown:literal, $help:literal, $action:expr, [$($key:expr),+];)*) => {
        &[$(Binding { keys: &[$($key),+], shown: $shown, help: $help, action: $action }),*]
    };
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
    "Space", "freeze the display; polling goes on", Action::Freeze, [char(' ')];
    "+", "survey more often", Action::Faster, [char('+'), char('=')];
    "-", "survey less often", Action::Slower, [char('-')];
    "y", "copy the finding as Markdown (OSC 52)", Action::Copy, [char('y')];
    "w", "write the finding as Markdown to a file here", Action::Write, [char('w')];
    "n", "notes: everything that went wrong while looking", Action::Notes, [char('n')];
    "? h F1", "this help", Action::Help, [char('?'), char('h'), key(KeyCode::F(1))];
    "^L", "draw the screen anew", Action::Repaint, [control('l')];
    "^Z", "stop; fg resumes", Action::Suspend, [control('z')];
    "q ^C", "quit", Action::Quit, [char('q'), control('c'), key(KeyCode::F(10))];
};

/// What a terminal's event means; `prompting` when keys go to the prompt.
pub fn message(event: &Event, prompting: bool) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            if prompting {
                edit(*key).map(Message::Prompt).or_else(|| (*key == CONTROL_C).then_some(Message::Do(Action::Quit)))
            } else {
                action(*key).map(Message::Do)
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

fn action(event: KeyEvent) -> Option<Action> {
    let pressed = Key { code: event.code, control: event.modifiers.contains(KeyModifiers::CONTROL) };
    let unusual = event.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META);
    let found = KEYS.iter().find(|binding| binding.keys.contains(&pressed));
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
        message(&Event::Key(KeyEvent::new(code, modifiers)), prompting)
    }

    #[test]
    fn no_key_means_two_things() {
        let all: Vec<_> = KEYS.iter().flat_map(|binding| binding.keys).collect();
        for (place, key) in all.iter().enumerate() {
            assert!(!all[..place].contains(key), "{key:?} is bound twice");
        }
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
