//! The filter language: the grammar of ss(8), extended to every field shown and to what only stallscope knows.
//!
//! ```text
//! text → lex → parse → expression → eval (here) and kernel (bytecode for the dump)
//! ```
//!
//! **Three-valued logic.** A field that a socket does not have (the kernel is too old, the process belongs to another user,
//! nothing was found yet) makes its comparison *unknown*, whatever the operator. Unknown stays unknown through `not`,
//! `false and unknown` is false, `true or unknown` is true, and a connection is shown only when the whole is *true*. So
//! neither `min_rtt > 1ms` nor `not min_rtt > 1ms` shows a socket whose kernel does not report `min_rtt`.
//!
//! **Architecture invariant:** nothing here knows a clock, a file, a socket or any module of this crate but `wire`; names
//! of services come from a table, and evaluation does not allocate. What only later stages know comes in through [`End`].

mod error;
mod eval;
mod expr;
mod field;
mod glob;
mod help;
mod host;
mod kernel;
mod lex;
mod number;
mod own;
mod parse;
mod states;
mod term;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use error::FilterError;
pub use eval::End;
pub use help::{Group, HelpEntry, help};
pub use own::{OwnField, OwnValue};

use expr::Expr;

/// A parsed filter. The default, and what an empty text parses to, shows everything.
///
/// Its `Display` is the filter in one canonical form, which parses to an equal filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(Option<Expr>);

impl Filter {
    /// Parses a filter; text of blanks only shows everything.
    ///
    /// # Errors
    /// The text is not of the language: the error points at the column and says what was expected.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parse::parse(text).map(Self)
    }

    /// Whether the filter shows everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a connection is shown: the filter is true of at least one of `ends`.
    ///
    /// Give each visible end of the connection. Where the two directions have findings of their own, give each end once
    /// with each direction's finding: terms joined by `and` must hold for one end and one direction.
    pub fn matches<E: End>(&self, ends: impl IntoIterator<Item = E>) -> bool {
        match &self.0 {
            None => true,
            Some(expr) => ends.into_iter().any(|end| eval::eval(expr, &end) == Some(true)),
        }
    }

    /// Whether it asks for processes, which must then be looked up for every socket before the filter is evaluated.
    pub fn asks_owners(&self) -> bool {
        self.0.as_ref().is_some_and(Expr::asks_owners)
    }

    /// The `INET_DIAG_REQ_BYTECODE` program that makes the kernel leave out what cannot be shown, empty when the filter
    /// asks for more than ports and addresses, or would need too long a program.
    ///
    /// It passes every socket for which the filter holds *and its peer*, because both ends are needed to judge a
    /// connection. Listening sockets that the filter does not name are left out too.
    pub fn bytecode(&self) -> Vec<u8> {
        self.0.as_ref().and_then(kernel::compile).unwrap_or_default()
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Self::parse(text)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |expr| expr.fmt(f))
    }
}
