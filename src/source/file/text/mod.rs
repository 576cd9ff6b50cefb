//! The text of `ss -ti…`, as pasted: any version, any options, after mail, tickets and terminals had their way with it.

mod address;
mod clean;
mod info;
mod lines;
mod record;
mod row;
mod stamp;
mod survey;
mod users;
mod value;

use std::collections::BTreeMap;
use std::io::{self, Read};

use crate::model::Event;
use crate::record::input::Input;
use crate::wire::TcpState;

use super::FileReader;
use super::detect::Encoding;
use super::provenance::Provenance;

use lines::Lines;
use record::{Pending, Record};
use row::Start;
use survey::Surveys;

/// Lines per call.
const BATCH: usize = 4096;

/// A line that quoted-printable folded is at least this long; shorter ones that end in `=` are something else.
const FOLDED_MIN: usize = 60;

/// Problems that are named with their lines; the others are counted.
const NAMED: usize = 50;

/// Ranges of lines with the same problem.
#[derive(Debug, Default)]
struct Problems {
    ranges: BTreeMap<&'static str, Vec<(u64, u64)>>,
    more: BTreeMap<&'static str, u64>,
}

impl Problems {
    fn add(&mut self, line: u64, what: &'static str) {
        let ranges = self.ranges.entry(what).or_default();
        let named = ranges.len();
        match ranges.last_mut() {
            Some((_, last)) if line <= *last + 1 => *last = line.max(*last),
            _ if named < NAMED => ranges.push((line, line)),
            _ => *self.more.entry(what).or_default() += 1,
        }
    }

    fn lines(&self) -> Vec<String> {
        let name = |(what, ranges): (&&'static str, &Vec<(u64, u64)>)| {
            let lines: Vec<String> = ranges
                .iter()
                .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
                .collect();
            let more = self.more.get(what).map_or_else(String::new, |more| format!(" and {more} more"));
            format!("line {}{more}: {what}", lines.join(", "))
        };
        self.ranges.iter().map(name).collect()
    }
}

/// Reads pasted text.
pub(super) struct TextReader<R> {
    lines: Lines<R>,
    line: String,
    folded: String,
    pending: Pending,
    surveys: Surveys,
    problems: Problems,
    /// The state of rows that do not name one: what the command asked for.
    unstated: TcpState,
    /// The number of the line that was read last.
    last_line: u64,
    ended: bool,
}

impl<R: Read> TextReader<R> {
    pub(super) fn new(input: Input<R>, encoding: Encoding) -> Self {
        Self {
            lines: Lines::new(input, encoding),
            line: String::new(),
            folded: String::new(),
            pending: Pending::None,
            surveys: Surveys::default(),
            problems: Problems::default(),
            unstated: TcpState::ESTABLISHED,
            last_line: 0,
            ended: false,
        }
    }

    fn physical(&mut self, number: u64, sink: &mut dyn FnMut(Event<'_>)) {
        let mut line = std::mem::take(&mut self.folded);
        if !line.is_empty() && begins_row(&self.line) {
            // What looked like a fold was none: a row is not the rest of a line.
            line.push('=');
            self.unfolded(number.saturating_sub(1), &line, sink);
            line.clear();
        }
        line.push_str(&self.line);
        let folds = line.len() >= FOLDED_MIN && line.len() < 1 << 16;
        if let Some(head) = line.trim_end().strip_suffix('=').filter(|_| folds) {
            self.folded = head.to_owned();
            return;
        }
        self.unfolded(number, &line, sink);
    }

    fn unfolded(&mut self, number: u64, line: &str, sink: &mut dyn FnMut(Event<'_>)) {
        let mut parts = Vec::new();
        clean::clean(line, &mut |part| parts.push(part.to_owned()));
        for part in parts {
            self.logical(number, &part, sink);
        }
    }

    fn logical(&mut self, number: u64, line: &str, sink: &mut dyn FnMut(Event<'_>)) {
        let (stamp, line) = match stamp::stamp(line) {
            Some((stamp, rest)) => (Some(stamp), rest),
            None => (None, line),
        };
        let tokens: Vec<&str> = line.split_whitespace().collect();
        let command = is_command(&tokens);
        let ends = command || tokens.contains(&"Recv-Q");
        if ends || (tokens.is_empty() && stamp.is_some()) {
            self.finish_record(sink);
        }
        if ends {
            self.surveys.boundary(sink);
        }
        if let Some(stamp) = stamp {
            self.surveys.stamp(stamp, ends || tokens.is_empty());
        }
        let Some(first) = tokens.first() else { return };
        if command {
            self.unstated = asked_state(&tokens);
        } else if ends {
            // The header says nothing that the rows do not.
        } else if *first == "--" || first.starts_with("```") {
            self.finish_record(sink);
        } else if !is_header_rest(&tokens) {
            self.content(number, line, &tokens, sink);
        }
    }

    fn content(&mut self, number: u64, line: &str, tokens: &[&str], sink: &mut dyn FnMut(Event<'_>)) {
        match row::start(tokens, self.unstated) {
            Start::Tcp(row, at) => {
                self.finish_record(sink);
                let info = behind(line, at);
                self.pending = Pending::Record(Record::new(row, number, info));
            }
            Start::Other => {
                self.finish_record(sink);
                self.pending = Pending::Skipped;
            }
            Start::No => self.continued(number, line, tokens),
        }
    }

    /// A line that belongs to the row before it, or to none.
    fn continued(&mut self, number: u64, line: &str, tokens: &[&str]) {
        let known = tokens.iter().any(|token| info::is_known(token) || token.starts_with("users:("));
        match &mut self.pending {
            Pending::Record(record) if record.takes_peer(tokens) => record.add_peer(number, line),
            Pending::Record(record) if known || record.may_be_torn(tokens) => record.add(number, line),
            Pending::Skipped if known || tokens.len() == 1 => {}
            Pending::None if known => self.problems.add(number, "info without the row that it belongs to"),
            _ => self.problems.add(number, "nothing that ss prints"),
        }
    }

    fn finish_record(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if let Pending::Record(record) = std::mem::take(&mut self.pending) {
            let line = record.line();
            let problems = &mut self.problems;
            match record.finish(&mut |line, what| problems.add(line, what)) {
                Some(found) => self.surveys.add(found, sink),
                None => self.problems.add(line, "a row without the address of its peer"),
            }
        }
    }
}

/// Whether a line begins with the state of a socket.
fn begins_row(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|word| row::state(word).is_some())
}

/// What stands behind the first `words` words of a line.
fn behind(line: &str, words: usize) -> &str {
    let mut rest = line.trim_start();
    for _ in 0..words {
        rest = rest.find(char::is_whitespace).map_or("", |at| rest[at..].trim_start());
    }
    rest
}

/// `$ ss -tin`, `root@host:~# watch -n1 ss -ti`.
fn is_command(tokens: &[&str]) -> bool {
    let at = tokens.iter().take(8).position(|token| *token == "ss" || token.ends_with("/ss"));
    at.is_some_and(|at| {
        let option = tokens.get(at + 1).is_some_and(|next| next.starts_with('-') && next.len() > 1);
        option || (at > 0 && tokens.len() == at + 1 && tokens[at - 1].ends_with(['$', '#', '%', '>']))
    })
}

/// The one state that a command asked for.
fn asked_state(tokens: &[&str]) -> TcpState {
    let asked = tokens.iter().position(|token| *token == "state").and_then(|at| tokens.get(at + 1));
    let name = asked.map(|name| name.to_ascii_uppercase().replace("ESTABLISHED", "ESTAB"));
    name.and_then(|name| row::state(&name)).unwrap_or(TcpState::ESTABLISHED)
}

/// The second line of a header that was wrapped.
fn is_header_rest(tokens: &[&str]) -> bool {
    const WORDS: [&str; 12] = [
        "State",
        "Netid",
        "Send-Q",
        "Local",
        "Peer",
        "Address:Port",
        "Address",
        ":Port",
        "Port",
        "Process",
        "Foreign",
        "Address:PortProcess",
    ];
    tokens.iter().all(|token| WORDS.contains(token))
}

impl<R: Read + Send> FileReader for TextReader<R> {
    fn next(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> io::Result<bool> {
        for _ in 0..BATCH {
            if self.ended {
                return Ok(false);
            }
            if let Some(number) = self.lines.next(&mut self.line)? {
                self.last_line = number;
                self.physical(number, sink);
            } else {
                self.ended = true;
                let rest = std::mem::take(&mut self.folded);
                if !rest.is_empty() {
                    self.unfolded(self.last_line, &rest, sink);
                }
                self.finish_record(sink);
                self.surveys.boundary(sink);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        self.problems.lines()
    }

    fn provenance(&self) -> Provenance {
        self.surveys.provenance()
    }
}

#[cfg(test)]
mod tests;
