//! What is wrong with a filter, and where.

use std::fmt;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// A filter that could not be read.
///
/// Its `Display` has two lines: the filter, and under it carets at the place with what was expected there. Control and
/// direction-changing characters of the text are shown as U+FFFD, so that it is safe on a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    text: String,
    span: Range<usize>,
    message: String,
}

impl FilterError {
    /// An error about the bytes `span` of `text`; both ends must be at character boundaries.
    pub(super) fn new(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { text: text.to_owned(), span, message: message.into() }
    }

    /// What was expected, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The place as a range of bytes of the filter's text; empty at the text's end when something is missing.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The place as a column, counted in characters from 1.
    pub fn column(&self) -> usize {
        self.text[..self.span.start].chars().count() + 1
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = cells(&self.text[..self.span.start]);
        let carets = cells(&self.text[self.span.clone()]).max(1);
        writeln!(f, "{}", self.text.chars().map(safe).collect::<String>())?;
        write!(f, "{:before$}{:^>carets$} {}", "", "", self.message)
    }
}

impl std::error::Error for FilterError {}

/// Terminal cells that a text takes once it was made safe.
fn cells(text: &str) -> usize {
    text.chars().map(|c| safe(c).width().unwrap_or(1)).sum()
}

/// A character that cannot move the cursor, change colours or turn the direction of the text.
pub(super) fn safe(c: char) -> char {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    match c {
        '\t' | '\n' | '\r' => ' ',
        _ if c.is_control() || turns => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// `, did you mean X?` for the candidate nearest to `word`, empty when none is near.
pub(super) fn did_you_mean<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    // A word as long as this is no slip of the finger, and the distance takes quadratic time.
    const LONGEST: usize = 40;
    if word.len() > LONGEST {
        return String::new();
    }
    let word = word.to_lowercase();
    let near =
        |name: &&str| name.len() > 1 && strsim::damerau_levenshtein(&word, name) <= name.len().min(word.len()) / 3;
    let by_distance = |name: &&str| strsim::damerau_levenshtein(&word, name);
    candidates.filter(near).min_by_key(by_distance).map_or_else(String::new, |name| format!(", did you mean {name}?"))
}

/// A word of the filter for use inside a message: quoted, safe, and cut at 40 characters.
pub(super) fn quoted(word: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = word.chars().take(SHOWN).map(safe).collect();
    if word.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}
