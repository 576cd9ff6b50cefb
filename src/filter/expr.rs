//! The expression that a filter parses to, and its canonical text.

use std::cmp::Ordering;
use std::fmt;

use super::field::{Field, Kind, Source};
use super::glob::Pattern;
use super::host::Host;
use super::lex::is_bare;
use super::number::Literal;
use super::own::OwnField;
use super::states::StateSet;

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Op {
    /// Whether the comparison holds of a value that stands so to the literal.
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }

    /// Whether it asks for equality or its contrary, the only two that names have.
    pub(super) fn is_equality(self) -> bool {
        matches!(self, Self::Eq | Self::Ne)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        })
    }
}

/// Which address and port of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The socket's own.
    Src,
    /// Its peer's.
    Dst,
}

impl Side {
    /// The same, seen from the other end.
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Src => Self::Dst,
            Self::Dst => Self::Src,
        }
    }
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    States(StateSet),
    Port {
        side: Side,
        op: Op,
        port: u16,
    },
    Host {
        side: Side,
        equal: bool,
        host: Host,
    },
    Number {
        field: &'static Field,
        op: Op,
        literal: Literal,
    },
    /// A number that goes by a name; ordered as its code is.
    Word {
        field: &'static Field,
        op: Op,
        code: u64,
    },
    Text {
        field: &'static Field,
        equal: bool,
        pattern: Pattern,
    },
}

/// Conditions joined. `And` and `Or` have two or more parts, none of which is of the same kind, so that equal filters
/// have equal expressions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Term(Term),
}

impl Expr {
    /// All of `parts`, of which there is at least one.
    pub(super) fn all(parts: Vec<Self>) -> Self {
        Self::joined(parts, Self::And, |part| match part {
            Self::And(inner) => Ok(inner),
            other => Err(other),
        })
    }

    /// Any of `parts`, of which there is at least one.
    pub(super) fn any(parts: Vec<Self>) -> Self {
        Self::joined(parts, Self::Or, |part| match part {
            Self::Or(inner) => Ok(inner),
            other => Err(other),
        })
    }

    /// Whether any condition is on the processes that hold an end.
    pub(super) fn asks_owners(&self) -> bool {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::asks_owners),
            Self::Not(inner) => inner.asks_owners(),
            Self::Term(Term::Number { field, .. } | Term::Word { field, .. } | Term::Text { field, .. }) => {
                matches!(field.source, Source::Own(OwnField::Pid | OwnField::Comm))
            }
            Self::Term(Term::States(_) | Term::Port { .. } | Term::Host { .. }) => false,
        }
    }

    fn joined(parts: Vec<Self>, join: fn(Vec<Self>) -> Self, open: fn(Self) -> Result<Vec<Self>, Self>) -> Self {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match open(part) {
                Ok(inner) => flat.extend(inner),
                Err(single) => flat.push(single),
            }
        }
        if flat.len() == 1 { flat.remove(0) } else { join(flat) }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(parts) => join(f, parts, " and "),
            Self::Or(parts) => join(f, parts, " or "),
            Self::Not(inner) => {
                f.write_str("not ")?;
                operand(f, inner)
            }
            Self::Term(term) => term.fmt(f),
        }
    }
}

fn join(f: &mut fmt::Formatter<'_>, parts: &[Expr], between: &str) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            f.write_str(between)?;
        }
        operand(f, part)?;
    }
    Ok(())
}

/// An operand, in parentheses unless it binds tighter than any operator.
fn operand(f: &mut fmt::Formatter<'_>, expr: &Expr) -> fmt::Result {
    match expr {
        Expr::And(_) | Expr::Or(_) => write!(f, "({expr})"),
        Expr::Not(_) | Expr::Term(_) => write!(f, "{expr}"),
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::States(set) => set.fmt(f),
            Self::Port { side: Side::Src, op, port } => write!(f, "sport {op} :{port}"),
            Self::Port { side: Side::Dst, op, port } => write!(f, "dport {op} :{port}"),
            Self::Host { side, equal, host } => {
                let side = if *side == Side::Src { "src" } else { "dst" };
                write!(f, "{side} {} {host}", equality(*equal))
            }
            Self::Number { field, op, literal } => write!(f, "{} {op} {literal}", field.name),
            Self::Word { field, op, code } => write!(f, "{} {op} {}", field.name, word(field, *code)),
            Self::Text { field, equal, pattern } => {
                write!(f, "{} {} ", field.name, equality(*equal))?;
                text(f, pattern.as_str())
            }
        }
    }
}

fn equality(equal: bool) -> Op {
    if equal { Op::Eq } else { Op::Ne }
}

/// The first name of a code; every code that was parsed has one.
fn word(field: &Field, code: u64) -> &'static str {
    match field.kind {
        Kind::Words(words) => words.name(code).unwrap_or_default(),
        Kind::Number(_) | Kind::Text { .. } => "",
    }
}

/// A name, quoted where needed. What was parsed holds at most one kind of quote.
fn text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    match text {
        _ if is_bare(text) => f.write_str(text),
        _ if text.contains('"') => write!(f, "'{text}'"),
        _ => write!(f, "\"{text}\""),
    }
}
