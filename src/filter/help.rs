//! The fields as data, for the help of the command line and the TUI and for docs/filter.md.

use super::field::{self, Kind, Source};

/// What an entry of the help belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// States, addresses and ports, as in ss(8).
    Term,
    /// Reported by the kernel for each socket.
    Kernel,
    /// Found out by stallscope.
    Own,
}

/// One thing that a filter can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpEntry {
    /// What it belongs to.
    pub group: Group,
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// The unit that it is kept in, the words that it can be, or the form of what follows.
    pub values: String,
    /// The first Linux that reports it, where that matters.
    pub since: Option<&'static str>,
    /// What it means, in one line.
    pub about: &'static str,
}

const TERMS: [(&str, &str, &str); 6] = [
    ("state", "NAME", "Sockets in this state or group; several in a row add up, as in ss(8)."),
    ("exclude", "NAME", "Sockets not in this state or group."),
    ("sport", "[OP] [:]PORT", "The end's own port."),
    ("dport", "[OP] [:]PORT", "Its peer's port."),
    ("src", "[= or !=] ADDRESS[/PREFIX][:PORT]", "The end's own address, port, or both."),
    ("dst", "[= or !=] ADDRESS[/PREFIX][:PORT]", "Its peer's address, port, or both."),
];

/// Everything that a filter can ask for, in the order to print it.
pub fn help() -> Vec<HelpEntry> {
    let term = |(name, values, about): (&'static str, &str, &'static str)| HelpEntry {
        group: Group::Term,
        name,
        aliases: &[],
        values: values.to_owned(),
        since: None,
        about,
    };
    TERMS.into_iter().map(term).chain(field::fields().iter().map(entry)).collect()
}

fn entry(field: &field::Field) -> HelpEntry {
    let values = match field.kind {
        Kind::Number(quantity) => quantity.unit.to_owned(),
        Kind::Words(words) => words.names().collect::<Vec<_>>().join(if words.ordered { " < " } else { ", " }),
        Kind::Text { .. } => "text".to_owned(),
    };
    let group = if matches!(field.source, Source::Own(_)) { Group::Own } else { Group::Kernel };
    HelpEntry { group, name: field.name, aliases: field.aliases, values, since: field.since, about: field.about }
}
