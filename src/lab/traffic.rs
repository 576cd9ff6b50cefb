//! The description of traffic: what each end does. Plain data, readable from scenario files.

use std::time::Duration;

use serde::Deserialize;

use super::error::LabError;
use super::form::{self, PartForm};
use super::options::Options;

/// A message may not be larger than this many bytes: it is kept in memory by each connection that sends it.
const MESSAGE_MAX: usize = 64 << 20;

/// Some connections of one kind, and what their two ends do.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// What these connections are called in results.
    pub name: String,
    /// Which addresses they use.
    #[serde(default)]
    pub family: Family,
    /// How many connections.
    #[serde(default = "one")]
    pub connections: u32,
    /// Both ends send on their own clock and read what comes; there are no answers.
    #[serde(default)]
    pub two_way: bool,
    /// The end that opens the connection.
    #[serde(default)]
    pub client: Client,
    /// The end that accepts it.
    #[serde(default)]
    pub server: Server,
}

/// Which addresses a connection uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// IPv4 at both ends.
    #[default]
    V4,
    /// IPv6 at both ends.
    V6,
    /// An IPv4 client of a server that listens on `[::]`.
    Mapped,
}

/// The end that opens the connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Client {
    /// Socket options, set before anything is sent.
    pub options: Options,
    /// One request, write by write.
    pub request: Message,
    /// How the writes of a request reach the kernel.
    pub send: Sending,
    /// The request that is sent instead of [`Client::request`], except each [`Client::every`]-th time. It must be of the same
    /// total size.
    pub usual: Option<Message>,
    /// See [`Client::usual`]; at least 1.
    pub every: u32,
    /// Pause before each request.
    #[serde(deserialize_with = "form::duration")]
    pub think: Duration,
    /// How many requests are sent before their replies are read; at least 1.
    pub pipeline: u32,
    /// How many requests, or `None` for as many as fit until the stop.
    pub requests: Option<u64>,
    /// Keeps the connection open after the last request, until the stop.
    pub stay: bool,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            options: Options::default(),
            request: Message::of(&[10, 10]),
            send: Sending::Separate,
            usual: None,
            every: 1,
            think: Duration::ZERO,
            pipeline: 1,
            requests: None,
            stay: false,
        }
    }
}

/// The end that accepts the connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Socket options, set before anything is received.
    pub options: Options,
    /// How a request is read.
    pub read: Reading,
    /// Pause between a request and its reply; with [`Traffic::two_way`], between two messages of its own.
    #[serde(deserialize_with = "form::duration")]
    pub think: Duration,
    /// The reply, write by write; empty when the client expects none.
    pub reply: Message,
    /// How the writes of a reply reach the kernel.
    pub send: Sending,
    /// Makes the server a proxy: each request is first put to another server, over one connection of its own.
    pub upstream: Option<Box<Upstream>>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            options: Options::default(),
            read: Reading::Whole,
            think: Duration::ZERO,
            reply: Message::of(&[20]),
            send: Sending::Separate,
            upstream: None,
        }
    }
}

/// The second leg of a proxy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Upstream {
    /// What the proxy does as a client.
    pub client: Client,
    /// The server behind the proxy.
    pub server: Server,
}

/// A message as a list of writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Message {
    /// The writes, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of plain writes of these sizes, in bytes.
    pub fn of(sizes: &[usize]) -> Self {
        Self { parts: sizes.iter().map(|&bytes| Part { bytes, more: false, pause: Duration::ZERO }).collect() }
    }

    /// The size of the message in bytes.
    pub fn bytes(&self) -> usize {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }
}

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "PartForm")]
pub struct Part {
    /// Its size in bytes.
    pub bytes: usize,
    /// Sent with `MSG_MORE`.
    pub more: bool,
    /// Pause before it.
    pub pause: Duration,
}

impl From<PartForm> for Part {
    fn from(form: PartForm) -> Self {
        match form {
            PartForm::Bytes(bytes) => Self { bytes, more: false, pause: Duration::ZERO },
            PartForm::Table(table) => Self { bytes: table.bytes, more: table.more, pause: table.pause },
        }
    }
}

/// How the writes of a message reach the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sending {
    /// One `send` each.
    #[default]
    Separate,
    /// Copied together, one `send`.
    OneWrite,
    /// One `writev`.
    Writev,
    /// Between setting and clearing `TCP_CORK`.
    Cork,
}

/// How a server reads a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reading {
    /// Waits in `recv` until the whole request has come.
    #[default]
    Whole,
    /// Reads whatever has come, as much as there is: for requests that nobody answers.
    Drain,
    /// Exact reads of these sizes in turn; together the size of a request.
    Parts(Vec<usize>),
    /// Looks with `MSG_PEEK` each millisecond until the whole request is there, then reads it.
    Peek,
    /// Waits in `poll` until the socket is readable (see [`Options::low_water`]), then reads.
    WhenReady,
    /// Looks at the socket only once in a while.
    Poll {
        /// The time between two looks.
        #[serde(deserialize_with = "form::duration")]
        every: Duration,
        /// The most that is read at a look, in bytes; all of it when left out.
        bytes: Option<usize>,
    },
    /// Reads this many requests, then never again, with the connection open.
    Stop {
        /// How many requests are read.
        after: u64,
    },
}

impl Traffic {
    /// Traffic of one IPv4 connection; change what differs.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            family: Family::V4,
            connections: 1,
            two_way: false,
            client: Client::default(),
            server: Server::default(),
        }
    }

    /// Whether the description agrees with itself.
    ///
    /// # Errors
    /// Says which part contradicts which.
    pub fn check(&self) -> Result<(), LabError> {
        check_leg(&self.client, &self.server)
            .map_err(|reason| LabError::description(format!("`{}`", self.name), reason))
    }
}

fn check_leg(client: &Client, server: &Server) -> Result<(), &'static str> {
    let request = client.request.bytes();
    if request == 0 || client.every == 0 || client.pipeline == 0 {
        return Err("a request needs at least one byte, `every` and `pipeline` at least 1");
    }
    if request > MESSAGE_MAX || server.reply.bytes() > MESSAGE_MAX {
        return Err("a message may have at most 64 MiB");
    }
    if client.usual.as_ref().is_some_and(|usual| usual.bytes() != request) {
        return Err("`usual` and `request` must have the same total size");
    }
    if let Reading::Parts(parts) = &server.read
        && parts.iter().fold(0, |sum: usize, part| sum.saturating_add(*part)) != request
    {
        return Err("the parts that the server reads must add up to the request");
    }
    if server.read == Reading::Drain && !server.reply.is_empty() {
        return Err("a server that drains cannot tell requests apart, so it cannot reply");
    }
    match &server.upstream {
        Some(upstream) if upstream.server.reply.is_empty() => Err("a proxy needs replies from the server behind it"),
        Some(upstream) => check_leg(&upstream.client, &upstream.server),
        None => Ok(()),
    }
}

fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_may_be_sizes_or_tables() {
        let message: Message =
            serde_json::from_str(r#"[10, {"bytes": 20, "more": true, "pause": "5ms"}]"#).expect("both forms");
        assert_eq!(message.bytes(), 30);
        assert_eq!(message.parts[1], Part { bytes: 20, more: true, pause: Duration::from_millis(5) });
        assert!(serde_json::from_str::<Message>(r#"[{"bytes": 20, "mor": true}]"#).is_err());
    }

    #[test]
    fn a_description_that_contradicts_itself_is_refused() {
        let mut traffic = Traffic::new("x");
        assert!(traffic.check().is_ok());
        traffic.client.usual = Some(Message::of(&[21]));
        let error = traffic.check().expect_err("sizes differ").to_string();
        assert!(error.contains("`usual` and `request`"), "{error}");
        traffic.client.usual = None;
        traffic.server.read = Reading::Parts(vec![5, 14]);
        assert!(traffic.check().is_err());
    }
}
