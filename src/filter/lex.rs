//! From text to tokens.

use std::ops::Range;

use super::error::FilterError;
use super::expr::Op;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Open,
    Close,
    And,
    Or,
    Not,
    Op(Op),
    /// A bare word: a field, an address, a number, a name.
    Word(&'a str),
    /// What stood between quotes.
    Quoted(&'a str),
}

/// A token and the bytes it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) span: Range<usize>,
}

/// Signs, longer ones first. A comma joins as `and` does.
const SIGNS: [(&str, Kind<'static>); 15] = [
    ("&&", Kind::And),
    ("||", Kind::Or),
    ("==", Kind::Op(Op::Eq)),
    ("!=", Kind::Op(Op::Ne)),
    ("<=", Kind::Op(Op::Le)),
    (">=", Kind::Op(Op::Ge)),
    ("&", Kind::And),
    ("|", Kind::Or),
    (",", Kind::And),
    ("=", Kind::Op(Op::Eq)),
    ("<", Kind::Op(Op::Lt)),
    (">", Kind::Op(Op::Gt)),
    ("!", Kind::Not),
    ("(", Kind::Open),
    (")", Kind::Close),
];

/// Words that are operators in any case of letters; a name that is one of them must be quoted.
const KEYWORDS: [(&str, Kind<'static>); 12] = [
    ("and", Kind::And),
    ("or", Kind::Or),
    ("not", Kind::Not),
    ("eq", Kind::Op(Op::Eq)),
    ("ne", Kind::Op(Op::Ne)),
    ("neq", Kind::Op(Op::Ne)),
    ("lt", Kind::Op(Op::Lt)),
    ("gt", Kind::Op(Op::Gt)),
    ("le", Kind::Op(Op::Le)),
    ("leq", Kind::Op(Op::Le)),
    ("ge", Kind::Op(Op::Ge)),
    ("geq", Kind::Op(Op::Ge)),
];

fn keyword(word: &str) -> Option<Kind<'static>> {
    KEYWORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, kind)| *kind)
}

/// Whether a character may stand in a bare word.
fn is_word(c: char) -> bool {
    !c.is_whitespace() && !"()=<>!&|,'\"".contains(c)
}

/// Whether `text` reads back as one bare word.
pub(super) fn is_bare(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_word) && keyword(text).is_none()
}

/// Splits a filter into tokens.
///
/// # Errors
/// A quote is not closed.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, FilterError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let token = one(text, at, first)?;
        at = token.span.end;
        tokens.push(token);
    }
    Ok(tokens)
}

fn one(text: &str, at: usize, first: char) -> Result<Token<'_>, FilterError> {
    let rest = &text[at..];
    if first == '"' || first == '\'' {
        let Some(len) = rest[1..].find(first) else {
            return Err(FilterError::new(text, at..text.len(), format!("expected a closing {first}")));
        };
        return Ok(Token { kind: Kind::Quoted(&rest[1..=len]), span: at..at + len + 2 });
    }
    if let Some((sign, kind)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return Ok(Token { kind: *kind, span: at..at + sign.len() });
    }
    let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
    Ok(Token { kind: keyword(word).unwrap_or(Kind::Word(word)), span: at..at + word.len() })
}
