//! The grammar of expressions: `or` binds loosest, then `and` (also where nothing stands between two terms), then `not`.

use std::ops::Range;

use super::error::{FilterError, quoted};
use super::expr::Expr;
use super::lex::{Kind, Token, tokens};

/// How deep `not` and parentheses may nest; people write three or four, and the parser's stack must be bounded.
const MAX_DEPTH: usize = 64;

/// Parses a whole filter; `None` when there is nothing in it.
pub(super) fn parse(text: &str) -> Result<Option<Expr>, FilterError> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    if parser.peek().is_none() {
        return Ok(None);
    }
    let expr = parser.any()?;
    match parser.next() {
        None => Ok(Some(expr)),
        Some(token) if token.kind == Kind::Close => Err(parser.error(token.span, "this ) closes no (")),
        Some(token) => Err(parser.unexpected(&token, "expected and, or, or the end of the filter")),
    }
}

/// The tokens, and how many of them are read.
pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Option<Kind<'a>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// The token after the next.
    pub(super) fn peek_second(&self) -> Option<Kind<'a>> {
        self.tokens.get(self.at + 1).map(|token| token.kind)
    }

    /// Where the next token stands, or the end of the text.
    pub(super) fn upcoming(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.text.len()..self.text.len(), |token| token.span.clone())
    }

    /// The next token when `wanted` makes something of it; otherwise it stays.
    pub(super) fn take<T>(&mut self, wanted: impl FnOnce(Kind<'a>) -> Option<T>) -> Option<T> {
        let taken = self.peek().and_then(wanted)?;
        self.at += 1;
        Some(taken)
    }

    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>) -> FilterError {
        FilterError::new(self.text, span, message)
    }

    /// An error at the end of the text, where something is missing.
    pub(super) fn missing(&self, message: impl Into<String>) -> FilterError {
        self.error(self.text.len()..self.text.len(), message)
    }

    pub(super) fn unexpected(&self, token: &Token<'_>, expected: &str) -> FilterError {
        let found = &self.text[token.span.clone()];
        self.error(token.span.clone(), format!("{expected}, not {}", quoted(found.trim_matches('"'))))
    }

    fn any(&mut self) -> Result<Expr, FilterError> {
        let mut parts = vec![self.all()?];
        while self.take(|kind| (kind == Kind::Or).then_some(())).is_some() {
            parts.push(self.all()?);
        }
        Ok(Expr::any(parts))
    }

    fn all(&mut self) -> Result<Expr, FilterError> {
        let mut parts = vec![self.operand()?];
        loop {
            let joined = self.take(|kind| (kind == Kind::And).then_some(())).is_some();
            let term = matches!(self.peek(), Some(Kind::Word(_) | Kind::Quoted(_) | Kind::Open | Kind::Not));
            if !joined && !term {
                return Ok(Expr::all(parts));
            }
            parts.push(self.operand()?);
        }
    }

    /// A term, something in parentheses, or either with `not` before it.
    fn operand(&mut self) -> Result<Expr, FilterError> {
        let Some(token) = self.next() else {
            return Err(self.missing("expected a condition, such as notsent > 0 or dport = :443"));
        };
        match token.kind {
            Kind::Not => self.nested(&token, |parser| Ok(Expr::Not(Box::new(parser.operand()?)))),
            Kind::Open => self.nested(&token, |parser| {
                let inner = parser.any()?;
                parser.close(&token)?;
                Ok(inner)
            }),
            Kind::Word(word) => Ok(Expr::Term(self.term(word, &token)?)),
            _ => Err(self.unexpected(&token, "expected a condition, such as notsent > 0 or dport = :443")),
        }
    }

    fn close(&mut self, open: &Token<'a>) -> Result<(), FilterError> {
        match self.next() {
            Some(token) if token.kind == Kind::Close => Ok(()),
            Some(token) => Err(self.unexpected(&token, "expected and, or, or )")),
            None => Err(self.error(open.span.clone(), "this ( is never closed; expected a ) after its conditions")),
        }
    }

    fn nested(
        &mut self,
        token: &Token<'a>,
        inner: impl FnOnce(&mut Self) -> Result<Expr, FilterError>,
    ) -> Result<Expr, FilterError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(token.span.clone(), format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let expr = inner(self);
        self.depth -= 1;
        expr
    }
}
