//! What the end that accepts the connection does.

use std::time::Duration;

use super::client::two_way;
use super::conn::{Buffer, Conn, End};
use super::traffic::{Client, Reading, Server};

/// How often a peeking reader looks.
const PEEK_EVERY: Duration = Duration::from_millis(1);

/// A proxy's connection to the server behind it.
pub(super) struct Behind<'a> {
    pub(super) conn: &'a Conn,
    pub(super) client: &'a Client,
    /// The size of a reply in bytes.
    pub(super) reply: usize,
}

/// A server at work on one connection.
pub(super) struct Worker<'a> {
    pub(super) conn: &'a Conn,
    pub(super) server: &'a Server,
    /// The size of a request in bytes.
    pub(super) request: usize,
    pub(super) behind: Option<Behind<'a>>,
}

impl Worker<'_> {
    /// Answers requests until the end.
    pub(super) fn run(&self) -> End {
        let mut buffer = Buffer::large();
        let mut done = 0;
        loop {
            if matches!(self.server.read, Reading::Stop { after } if done >= after) {
                self.conn.stay();
                return End::Stopped;
            }
            if let Err(end) = self.answer(&mut buffer) {
                return end;
            }
            done += 1;
        }
    }

    /// Sends on its own clock while another thread reads what comes.
    pub(super) fn run_two_way(&self) -> End {
        two_way(self.conn, || {
            loop {
                let step = self.conn.pause(self.server.think).and_then(|()| self.reply());
                if let Err(end) = step {
                    return end;
                }
            }
        })
    }

    fn answer(&self, buffer: &mut Buffer) -> Result<(), End> {
        self.read(buffer)?;
        if !self.server.think.is_zero() {
            self.conn.pause(self.server.think)?;
        }
        if let Some(behind) = &self.behind {
            behind.conn.send(&behind.client.request, behind.client.send)?;
            behind.conn.receive_exact(behind.reply, buffer)?;
        }
        self.reply()
    }

    fn reply(&self) -> Result<(), End> {
        self.conn.send(&self.server.reply, self.server.send)
    }

    fn read(&self, buffer: &mut Buffer) -> Result<(), End> {
        match &self.server.read {
            Reading::Drain => self.conn.receive(usize::MAX, buffer).map(drop),
            Reading::Whole | Reading::Stop { .. } => self.conn.receive_exact(self.request, buffer),
            Reading::Parts(parts) => parts.iter().try_for_each(|&part| self.conn.receive_exact(part, buffer)),
            Reading::Peek => self.read_by_peeking(buffer),
            Reading::WhenReady => self.read_when_ready(buffer),
            Reading::Poll { every, bytes } => self.read_by_polling(*every, bytes.unwrap_or(usize::MAX), buffer),
        }
    }

    fn read_by_peeking(&self, buffer: &mut Buffer) -> Result<(), End> {
        while self.conn.peek(self.request, buffer)? < self.request {
            self.conn.pause(PEEK_EVERY)?;
        }
        self.conn.receive_exact(self.request, buffer)
    }

    fn read_when_ready(&self, buffer: &mut Buffer) -> Result<(), End> {
        let mut left = self.request;
        while left > 0 {
            if self.conn.wait_readable()? {
                left -= self.conn.receive_now(left, buffer)?;
            }
        }
        Ok(())
    }

    fn read_by_polling(&self, every: Duration, bytes: usize, buffer: &mut Buffer) -> Result<(), End> {
        let mut left = self.request;
        while left > 0 {
            self.conn.pause(every)?;
            left -= self.conn.receive_now(bytes.min(left), buffer)?;
        }
        Ok(())
    }
}
