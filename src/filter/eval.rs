//! Whether a filter is true of one end of a connection.

use super::expr::{Expr, Op, Side, Term};
use super::field::{Field, Kind, Source, Words};
use super::glob::Pattern;
use super::number::{Literal, NANO};
use super::own::{OwnField, OwnValue};
use crate::wire::Socket;

/// One end of a connection, as a filter sees it.
pub trait End {
    /// The end's socket.
    fn socket(&self) -> &Socket;

    /// Calls `visit` with each value that `field` has, in the unit that [`OwnField`] gives; not at all when it is not known.
    fn own(&self, field: OwnField, visit: &mut dyn FnMut(OwnValue<'_>));
}

/// A socket of which nothing more is known.
impl End for Socket {
    fn socket(&self) -> &Socket {
        self
    }

    fn own(&self, _field: OwnField, _visit: &mut dyn FnMut(OwnValue<'_>)) {}
}

impl<E: End + ?Sized> End for &E {
    fn socket(&self) -> &Socket {
        (**self).socket()
    }

    fn own(&self, field: OwnField, visit: &mut dyn FnMut(OwnValue<'_>)) {
        (**self).own(field, visit);
    }
}

/// The value of the expression, `None` for unknown.
pub(super) fn eval<E: End>(expr: &Expr, end: &E) -> Option<bool> {
    match expr {
        Expr::And(parts) => joined(parts, end, false),
        Expr::Or(parts) => joined(parts, end, true),
        Expr::Not(inner) => eval(inner, end).map(|value| !value),
        Expr::Term(term) => holds(term, end),
    }
}

/// `decisive` as soon as one part is; else unknown if one is unknown.
fn joined<E: End>(parts: &[Expr], end: &E, decisive: bool) -> Option<bool> {
    let mut result = Some(!decisive);
    for part in parts {
        match eval(part, end) {
            Some(value) if value == decisive => return Some(decisive),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}

fn holds<E: End>(term: &Term, end: &E) -> Option<bool> {
    let socket = end.socket();
    match term {
        Term::States(set) => set.contains(socket.state),
        Term::Port { side, op, port } => Some(op.holds(endpoint(socket, *side).port.cmp(port))),
        Term::Host { side, equal, host } => Some(host.matches(endpoint(socket, *side)) == *equal),
        Term::Number { field, op, literal } => number(field, *op, *literal, end),
        Term::Word { field, op, code } => word(field, *op, *code, end),
        Term::Text { field, equal, pattern } => text(field, *equal, pattern, end),
    }
}

fn endpoint(socket: &Socket, side: Side) -> &crate::wire::Endpoint {
    match side {
        Side::Src => &socket.local,
        Side::Dst => &socket.remote,
    }
}

/// A number that the kernel reports.
fn reported(source: Source, socket: &Socket) -> Option<u64> {
    match source {
        Source::Info(field) => socket.info.as_ref()?.get(field),
        Source::Header(read) => read(socket),
        Source::Congestion | Source::Own(_) => None,
    }
}

fn number<E: End>(field: &Field, op: Op, literal: Literal, end: &E) -> Option<bool> {
    let Kind::Number(quantity) = field.kind else { return None };
    let scaled = |value: u64| u128::from(value) * quantity.scale;
    let Source::Own(own) = field.source else {
        return reported(field.source, end.socket()).map(|value| op.holds(scaled(value).cmp(&literal.nano)));
    };
    any_value(end, own, op == Op::Ne, |value| {
        let nano = match value {
            OwnValue::Number(value) => scaled(value),
            OwnValue::Real(value) if value.is_nan() => return None,
            OwnValue::Real(value) => nano(value, quantity.scale),
            OwnValue::Text(_) => return None,
        };
        Some(positive(op).holds(nano.cmp(&literal.nano)))
    })
}

/// Rounded to billionths; negative is 0.
// The cast saturates, and no literal reaches the limit.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn nano(value: f64, scale: u128) -> u128 {
    debug_assert!(scale <= NANO);
    (value * scale as f64).round() as u128
}

fn word<E: End>(field: &Field, op: Op, code: u64, end: &E) -> Option<bool> {
    let Kind::Words(words) = field.kind else { return None };
    let Source::Own(own) = field.source else {
        return reported(field.source, end.socket()).map(|value| op.holds(value.cmp(&code)));
    };
    any_value(end, own, op == Op::Ne, |value| Some(positive(op).holds(code_of(words, value)?.cmp(&code))))
}

fn code_of(words: &Words, value: OwnValue<'_>) -> Option<u64> {
    match value {
        OwnValue::Text(name) => words.code(name),
        OwnValue::Number(_) | OwnValue::Real(_) => None,
    }
}

fn text<E: End>(field: &Field, equal: bool, pattern: &Pattern, end: &E) -> Option<bool> {
    let Kind::Text { ignore_case } = field.kind else { return None };
    if let Source::Own(own) = field.source {
        return any_value(end, own, !equal, |value| match value {
            OwnValue::Text(name) => Some(pattern.matches(name, ignore_case)),
            OwnValue::Number(_) | OwnValue::Real(_) => None,
        });
    }
    let name = end.socket().congestion.as_str();
    (!name.is_empty()).then(|| pattern.matches(name, ignore_case) == equal)
}

/// A field with several values, as the processes of one socket: a comparison holds when it holds of any value, and `!=`
/// when `=` holds of none.
fn any_value<E: End>(
    end: &E,
    field: OwnField,
    negated: bool,
    test: impl Fn(OwnValue<'_>) -> Option<bool>,
) -> Option<bool> {
    let mut result = None;
    end.own(field, &mut |value| {
        if let Some(value) = test(value) {
            result = Some(result == Some(true) || value);
        }
    });
    result.map(|value| value != negated)
}

/// The comparison whose result [`any_value`] turns round for `!=`.
fn positive(op: Op) -> Op {
    if op == Op::Ne { Op::Eq } else { op }
}
