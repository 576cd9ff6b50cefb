//! The prompt: one line, for filters their history, and what is wrong with it.

use crate::filter::Filter;

use super::message::Edit;
use super::replay::aim::Aim;

/// Filters that are remembered.
const REMEMBERED: usize = 100;

/// Longest line that can be typed or pasted, in characters.
const LONGEST: usize = 4_096;

/// Longest mark, in bytes.
const LONGEST_MARK: usize = 200;

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    /// Which connections to show.
    #[default]
    Filter,
    /// A word for a mark in the recording.
    Mark,
    /// The moment to go to.
    Time,
}

/// An open prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// What it asks for.
    pub asks: Asks,
    /// The line.
    pub text: String,
    /// Where the cursor stands, in bytes; always at a character's boundary.
    pub cursor: usize,
    /// Why the line cannot be used: the column of the mistake in bytes, and what was expected.
    pub error: Option<(usize, String)>,
    /// Which remembered filter is shown, counted from the newest; `None` for the line typed.
    recalled: Option<usize>,
    typed: String,
}

/// What an edit led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The prompt stays open.
    Open,
    /// It closes, and everything stays as it was.
    Cancelled,
    /// It closes, and this filter is used.
    Use(Filter, String),
    /// It closes, and this word marks the recording.
    Mark(String),
    /// It closes, and the replay goes there.
    GoTo(Aim),
}

impl Prompt {
    /// Opens an empty prompt.
    pub fn asking(asks: Asks) -> Self {
        Self { asks, ..Self::default() }
    }

    /// Opens the filter's prompt on a text.
    pub fn on(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len(), ..Self::default() }
    }

    /// Takes an edit.
    pub fn take(&mut self, edit: Edit, history: &mut Vec<String>) -> Outcome {
        match edit {
            Edit::Submit => return self.submit(history),
            Edit::Cancel => return Outcome::Cancelled,
            Edit::Older | Edit::Newer if self.asks != Asks::Filter => {}
            Edit::Older => self.recall(history, true),
            Edit::Newer => self.recall(history, false),
            Edit::Left => self.cursor = self.before(),
            Edit::Right => self.cursor = self.after(),
            Edit::Home => self.cursor = 0,
            Edit::End => self.cursor = self.text.len(),
            Edit::Insert(_) | Edit::Backspace | Edit::Delete | Edit::DeleteWord | Edit::Clear => self.change(edit),
        }
        Outcome::Open
    }

    fn change(&mut self, edit: Edit) {
        self.error = None;
        self.recalled = None;
        match edit {
            Edit::Insert(c) if !c.is_control() && self.text.chars().count() < LONGEST => {
                self.text.insert(self.cursor, c);
                self.cursor += c.len_utf8();
            }
            Edit::Backspace => self.cut(self.before(), self.cursor),
            Edit::Delete => self.cut(self.cursor, self.after()),
            Edit::DeleteWord => {
                let before = self.text[..self.cursor].trim_end();
                let start = before.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
                self.cut(start, self.cursor);
            }
            Edit::Clear => self.cut(0, self.text.len()),
            _ => {}
        }
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn recall(&mut self, history: &[String], older: bool) {
        let place = match (self.recalled, older) {
            (None, true) => Some(0),
            (Some(place), true) => Some((place + 1).min(history.len().saturating_sub(1))),
            (Some(0) | None, false) => None,
            (Some(place), false) => Some(place - 1),
        };
        if self.recalled.is_none() {
            self.typed.clone_from(&self.text);
        }
        let text = match place {
            Some(place) => match history.iter().rev().nth(place) {
                Some(text) => text.clone(),
                None => return,
            },
            None => self.typed.clone(),
        };
        self.recalled = place;
        self.cursor = text.len();
        self.text = text;
        self.error = None;
    }

    fn submit(&mut self, history: &mut Vec<String>) -> Outcome {
        match self.asks {
            Asks::Filter => self.submit_filter(history),
            Asks::Mark => match self.text.trim() {
                "" => Outcome::Cancelled,
                word if word.len() > LONGEST_MARK => self.wrong(format!("a mark has at most {LONGEST_MARK} bytes")),
                word => Outcome::Mark(word.to_owned()),
            },
            Asks::Time => match Aim::parse(&self.text) {
                Ok(aim) => Outcome::GoTo(aim),
                Err(why) => self.wrong(why),
            },
        }
    }

    fn wrong(&mut self, why: String) -> Outcome {
        self.cursor = self.text.len();
        self.error = Some((self.cursor, why));
        Outcome::Open
    }

    fn submit_filter(&mut self, history: &mut Vec<String>) -> Outcome {
        let text = self.text.trim().to_owned();
        match Filter::parse(&self.text) {
            Ok(filter) => {
                if !text.is_empty() {
                    history.retain(|old| *old != text);
                    history.push(text.clone());
                    let extra = history.len().saturating_sub(REMEMBERED);
                    history.drain(..extra);
                }
                Outcome::Use(filter, text)
            }
            Err(error) => {
                self.cursor = error.span().start.min(self.text.len());
                self.error = Some((self.cursor, error.message().to_owned()));
                Outcome::Open
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_in(prompt: &mut Prompt, text: &str) {
        for c in text.chars() {
            prompt.take(Edit::Insert(c), &mut Vec::new());
        }
    }

    #[test]
    fn a_line_is_edited_by_characters_not_bytes() {
        let mut prompt = Prompt::default();
        let mut none = Vec::new();
        type_in(&mut prompt, "añb c");
        prompt.take(Edit::DeleteWord, &mut none);
        assert_eq!(prompt.text, "añb ");
        prompt.take(Edit::Left, &mut none);
        prompt.take(Edit::Left, &mut none);
        prompt.take(Edit::Backspace, &mut none);
        assert_eq!((prompt.text.as_str(), prompt.cursor), ("ab ", 1));
        prompt.take(Edit::Delete, &mut none);
        assert_eq!(prompt.text, "a ");
        type_in(&mut prompt, "\u{1b}");
        assert_eq!(prompt.text, "a ");
    }

    #[test]
    fn what_was_used_is_recalled_and_the_line_typed_comes_back() {
        let mut history = vec!["unacked = 1".to_owned(), "comm = ruby".to_owned()];
        let mut prompt = Prompt::default();
        type_in(&mut prompt, "x");
        prompt.take(Edit::Older, &mut history);
        assert_eq!(prompt.text, "comm = ruby");
        prompt.take(Edit::Older, &mut history);
        prompt.take(Edit::Older, &mut history);
        assert_eq!(prompt.text, "unacked = 1");
        prompt.take(Edit::Newer, &mut history);
        prompt.take(Edit::Newer, &mut history);
        assert_eq!(prompt.text, "x");
    }

    #[test]
    fn a_mistake_keeps_the_prompt_open_and_points_at_itself() {
        let mut history = Vec::new();
        let mut prompt = Prompt::on("unacked = ");
        assert_eq!(prompt.take(Edit::Submit, &mut history), Outcome::Open);
        assert!(prompt.error.is_some() && history.is_empty());
        type_in(&mut prompt, "1");
        assert_eq!(prompt.error, None);
        assert!(matches!(prompt.take(Edit::Submit, &mut history), Outcome::Use(_, text) if text == "unacked = 1"));
        assert_eq!(history, ["unacked = 1"]);
    }
}
