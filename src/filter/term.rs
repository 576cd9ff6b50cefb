//! The grammar of single conditions.

use super::error::{FilterError, did_you_mean, quoted};
use super::expr::{Op, Side, Term};
use super::field::{self, Field, Quantity, Words};
use super::glob::Pattern;
use super::host::{Host, parse_port};
use super::lex::{Kind, Token};
use super::number::Literal;
use super::parse::Parser;
use super::states::StateSet;

/// Terms that are not comparisons of a field.
pub(super) const TERMS: [&str; 6] = ["state", "exclude", "sport", "dport", "src", "dst"];

/// What ss(8) has and this language has not, with the reason and the way out.
const UNSUPPORTED: [(&str, &str); 4] = [
    ("dev", "dev is not supported: interface names are not looked up; compare the index with interface = 2"),
    ("fwmark", "fwmark is not supported: the kernel shows the mark only to CAP_NET_ADMIN, and it is not asked for"),
    ("cgroup", "cgroup is not supported: paths are not looked up; compare pid or comm"),
    (
        "autobound",
        "autobound is not supported: the kernel does not report how a port was chosen; compare sport >= :32768",
    ),
];

impl<'a> Parser<'a> {
    /// A condition that begins with `word`, which was read already.
    pub(super) fn term(&mut self, word: &'a str, token: &Token<'a>) -> Result<Term, FilterError> {
        let lower = word.to_ascii_lowercase();
        if let Some((_, reason)) = UNSUPPORTED.iter().find(|(name, _)| *name == lower) {
            return Err(self.error(token.span.clone(), *reason));
        }
        match lower.as_str() {
            "state" if matches!(self.peek(), Some(Kind::Op(_))) => self.state_comparison(),
            "state" => self.states(true),
            "exclude" => self.states(false),
            "sport" => self.port(Side::Src),
            "dport" => self.port(Side::Dst),
            "src" => self.host(Side::Src),
            "dst" => self.host(Side::Dst),
            _ => match field::find(word) {
                Some(field) => self.comparison(word, field),
                None => Err(self.error(token.span.clone(), unknown(word))),
            },
        }
    }

    fn operator(&mut self) -> Option<Op> {
        self.take(|kind| if let Kind::Op(op) = kind { Some(op) } else { None })
    }

    /// The word or quoted text that must come next.
    fn value(&mut self, expected: &str) -> Result<(&'a str, Token<'a>), FilterError> {
        let Some(token) = self.next() else { return Err(self.missing(format!("expected {expected}"))) };
        match token.kind {
            Kind::Word(value) | Kind::Quoted(value) => Ok((value, token)),
            _ => Err(self.unexpected(&token, &format!("expected {expected}"))),
        }
    }

    /// A run of `state NAME` and `exclude NAME`, read as ss(8) does: each adds to the set or takes from it, and a run that
    /// begins with `exclude` begins with all states.
    fn states(&mut self, mut adds: bool) -> Result<Term, FilterError> {
        let mut set = if adds { StateSet::NONE } else { StateSet::ALL };
        loop {
            let named = self.state()?;
            set = if adds { set.with(named) } else { set.without(named) };
            match self.next_in_run() {
                Some(next) => adds = next,
                None => return Ok(Term::States(set)),
            }
        }
    }

    /// Takes a following `state` or `exclude` that is not a comparison.
    fn next_in_run(&mut self) -> Option<bool> {
        let Some(Kind::Word(word)) = self.peek() else { return None };
        let adds = word.eq_ignore_ascii_case("state");
        if !adds && !word.eq_ignore_ascii_case("exclude") || matches!(self.peek_second(), Some(Kind::Op(_))) {
            return None;
        }
        self.next();
        Some(adds)
    }

    fn state(&mut self) -> Result<StateSet, FilterError> {
        let (name, token) = self.value("a state, such as established or close-wait")?;
        StateSet::named(name).ok_or_else(|| {
            let near = did_you_mean(name, StateSet::names());
            self.error(token.span, format!("expected a state, such as established, close-wait, connected or all{near}"))
        })
    }

    fn state_comparison(&mut self) -> Result<Term, FilterError> {
        let equal = self.equality("states")?;
        let named = self.state()?;
        Ok(Term::States(if equal { named } else { StateSet::ALL.without(named) }))
    }

    /// An operator for things that have no order: whether it asks for equality, as none does.
    fn equality(&mut self, what: &str) -> Result<bool, FilterError> {
        let at = self.upcoming();
        match self.operator() {
            None | Some(Op::Eq) => Ok(true),
            Some(Op::Ne) => Ok(false),
            Some(_) => Err(self.error(at, format!("{what} have no order; expected = or !="))),
        }
    }

    fn port(&mut self, side: Side) -> Result<Term, FilterError> {
        let op = self.operator().unwrap_or(Op::Eq);
        let (text, token) = self.value("a port, such as :443")?;
        let digits = text.strip_prefix("*:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
        match parse_port(digits) {
            Ok(port) => Ok(Term::Port { side, op, port }),
            Err(message) => Err(self.error(token.span, message)),
        }
    }

    fn host(&mut self, side: Side) -> Result<Term, FilterError> {
        let equal = self.equality("addresses")?;
        let (text, token) = self.value("an address, such as 10.0.0.0/8:443")?;
        match Host::parse(text) {
            Ok(host) => Ok(Term::Host { side, equal, host }),
            Err(message) => Err(self.error(token.span, message)),
        }
    }

    fn comparison(&mut self, name: &str, field: &'static Field) -> Result<Term, FilterError> {
        let at = self.upcoming();
        let Some(op) = self.operator() else {
            return Err(self.error(at, format!("expected one of = != < <= > >= after {name}")));
        };
        let ordered = match field.kind {
            field::Kind::Number(_) => true,
            field::Kind::Words(words) => words.ordered,
            field::Kind::Text { .. } => false,
        };
        if !ordered && !op.is_equality() {
            return Err(self.error(at, format!("{name} is a name, which has no order; expected = or !=")));
        }
        match field.kind {
            field::Kind::Number(quantity) => self.number(name, field, op, quantity),
            field::Kind::Words(words) => self.word(name, field, op, words),
            field::Kind::Text { .. } => {
                let (text, _) = self.value("a name, in quotes if it has blanks or signs")?;
                Ok(Term::Text { field, equal: op == Op::Eq, pattern: Pattern::new(text) })
            }
        }
    }

    fn number(&mut self, name: &str, field: &'static Field, op: Op, quantity: Quantity) -> Result<Term, FilterError> {
        let (text, token) = self.value(quantity.dimension.describe())?;
        let name = name.to_ascii_lowercase();
        match Literal::parse(&name, text, quantity.dimension) {
            Ok(literal) => Ok(Term::Number { field, op, literal }),
            Err(message) => Err(self.error(token.span, message)),
        }
    }

    fn word(&mut self, name: &str, field: &'static Field, op: Op, words: &Words) -> Result<Term, FilterError> {
        let listed = words.names().collect::<Vec<_>>().join(", ");
        let (text, token) = self.value(&format!("one of {listed}"))?;
        words.code(text).map(|code| Term::Word { field, op, code }).ok_or_else(|| {
            let near = did_you_mean(text, words.names());
            self.error(token.span, format!("expected a {name}: one of {listed}{near}"))
        })
    }
}

fn unknown(word: &str) -> String {
    let terms = TERMS.iter().copied().chain(UNSUPPORTED.iter().map(|(name, _)| *name));
    let near = did_you_mean(&word.replace('-', "_"), field::names().chain(terms));
    if near.is_empty() && word.contains([':', '.']) {
        return format!("{} is no field; an address or port needs src, dst, sport or dport before it", quoted(word));
    }
    format!("{} is no field that can be compared{near}", quoted(word))
}
