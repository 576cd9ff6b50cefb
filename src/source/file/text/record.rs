//! One socket of a paste: its row, and the lines that follow it.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::model::Owner;
use crate::wire::{Cookie, Socket, Timer};

use super::address::printed;
use super::info::{Info, is_known};
use super::row::Row;
use super::users::take_users;

/// Most text that one socket may have, in bytes; what is behind it is left.
const TEXT_MAX: usize = 256 << 10;

/// What the lines that follow belong to.
#[derive(Debug, Default)]
pub(super) enum Pending {
    /// Nothing.
    #[default]
    None,
    /// A socket that is no TCP socket.
    Skipped,
    /// A TCP socket.
    Record(Record),
}

/// A socket that is being read.
#[derive(Debug)]
pub(super) struct Record {
    row: Row,
    text: String,
    /// Numbers of the lines that the text is made of.
    lines: Vec<u64>,
}

/// A socket as it was read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) socket: Socket,
    pub(super) owners: Option<Vec<Owner>>,
    /// The cookie is the kernel's own.
    pub(super) has_cookie: bool,
    /// All addresses and ports were numbers.
    pub(super) numeric: bool,
}

impl Record {
    pub(super) fn new(row: Row, line: u64, info: &str) -> Self {
        Self { row, text: info.to_owned(), lines: vec![line] }
    }

    /// The line of the row.
    pub(super) fn line(&self) -> u64 {
        self.lines.first().copied().unwrap_or(0)
    }

    /// Whether the peer is missing and these words begin with it, or with the rest of it.
    pub(super) fn takes_peer(&self, tokens: &[&str]) -> bool {
        self.row.remote.is_none() && tokens.first().is_some_and(|token| self.peer(token).is_some())
    }

    fn peer(&self, token: &str) -> Option<super::address::Printed> {
        // The row may have held the peer's beginning.
        let torn = self.text.trim();
        let text = if torn.contains(' ') { token.to_owned() } else { format!("{torn}{token}") };
        printed(&text).filter(|peer| peer.numeric || !self.row.local.numeric)
    }

    pub(super) fn add_peer(&mut self, number: u64, line: &str) {
        let line = line.trim_start();
        let (token, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if let Some(peer) = self.peer(token) {
            self.row.set_remote(peer);
            self.text.clear();
            self.lines = vec![self.line()];
            self.add(number, rest);
        }
    }

    /// Whether these words may be the rest of a word that a line break tore, or of a parenthesis that is open.
    pub(super) fn may_be_torn(&self, tokens: &[&str]) -> bool {
        let Some(first) = tokens.first() else { return false };
        let last = self.text.split_whitespace().next_back().unwrap_or_default();
        let open = self.text.matches('(').count() > self.text.matches(')').count();
        let alone = tokens.len() == 1 && first.bytes().any(|byte| byte.is_ascii_digit());
        open || alone || is_known(&format!("{last}{first}"))
    }

    pub(super) fn add(&mut self, number: u64, line: &str) {
        if self.text.len() + line.len() < TEXT_MAX {
            self.text.push('\n');
            self.text.push_str(line);
            self.lines.push(number);
        }
    }

    /// The socket; `None` without a peer. `problem` is called for what cannot be read, with its line.
    pub(super) fn finish(mut self, problem: &mut dyn FnMut(u64, &'static str)) -> Option<Found> {
        self.row.remote?;
        let owners = take_users(&mut self.text);
        let (tokens, lines) = self.tokens();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let mut info = Info::default();
        info.take(&tokens, &mut |at| {
            problem(lines.get(at).copied().unwrap_or(0), "a value that cannot be read: it counts as not known");
        });
        let socket = self.socket(&mut info, owners.is_some());
        let numeric = self.row.local.numeric && self.row.remote.is_none_or(|remote| remote.numeric);
        Some(Found { socket, owners, has_cookie: info.cookie.is_some(), numeric })
    }

    fn socket(&self, info: &mut Info, owned: bool) -> Socket {
        let row = &self.row;
        let (local, remote) = (row.local.endpoint, row.remote_endpoint());
        let mut hasher = FxHasher::default();
        (local, remote, row.state == crate::wire::TcpState::LISTEN).hash(&mut hasher);
        let hash = hasher.finish();
        let tcp_info = info.finish(row.state, (row.rqueue, row.wqueue));
        // Without `-o` no timer is printed; while something is unacknowledged the retransmission timer runs.
        let in_flight = tcp_info.and_then(|info| info.unacked()).is_some_and(|unacked| unacked > 0);
        let unprinted = if in_flight { Timer::RETRANSMIT } else { Timer::NONE };
        let (timer, expires_ms, retrans) = info.timer.unwrap_or((unprinted, 0, 0));
        Socket {
            host: crate::wire::HostId::default(),
            cookie: Cookie(info.cookie.unwrap_or(hash | 1)),
            family: row.family(),
            state: row.state,
            timer,
            retrans,
            expires_ms,
            local,
            remote,
            mapped: row.local.mapped,
            interface: 0,
            rqueue: row.rqueue,
            wqueue: row.wqueue,
            uid: info.uid,
            // Owners are told apart by inode; where none was printed, one is made up for them.
            inode: info.inode.unwrap_or(if owned { (hash >> 32) as u32 | 1 << 31 } else { 0 }),
            info: tcp_info,
            congestion: info.congestion,
            skmem: info.skmem,
            shutdown: None,
        }
    }

    /// The words, put together again where a line break tore them, each with its line.
    fn tokens(&self) -> (Vec<String>, Vec<u64>) {
        let (mut tokens, mut numbers) = (Vec::<String>::new(), Vec::new());
        for (line, number) in self.text.split('\n').zip(&self.lines) {
            for (nth, token) in line.split_whitespace().enumerate() {
                match tokens.last_mut() {
                    Some(last) if is_open(last) || (nth == 0 && is_torn(last, token)) => last.push_str(token),
                    _ => {
                        tokens.push(token.to_owned());
                        numbers.push(*number);
                    }
                }
            }
        }
        (tokens, numbers)
    }
}

/// Whether a word has a parenthesis that is not closed yet.
fn is_open(token: &str) -> bool {
    token.len() < 1024 && token.contains(":(") && token.matches('(').count() > token.matches(')').count()
}

/// Whether a line break stands inside a word: the halves make one, and are none by themselves.
fn is_torn(last: &str, first: &str) -> bool {
    let both_known = is_known(last) && is_known(first);
    let bare_number = first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let joined = format!("{last}{first}");
    !both_known && is_known(&joined) && (bare_number || !is_known(first) || !is_known(last))
}
