//! What the end that opens the connection does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use super::conn::{Buffer, Conn, End};
use super::run::Sample;
use super::traffic::{Client, Message};

/// Samples kept of one connection; more requests are only counted. Half an hour of stalls, or a minute of healthy requests.
const SAMPLES_MAX: usize = 1 << 20;

/// A client at work.
pub(super) struct Worker<'a> {
    pub(super) conn: &'a Conn,
    pub(super) client: &'a Client,
    /// The size of a reply in bytes; 0 for none.
    pub(super) reply: usize,
    /// Counts the requests of all clients.
    pub(super) requests: &'a AtomicU64,
}

impl Worker<'_> {
    /// Sends requests until the limit or the end, and returns when each was sent and how long it took, and why it ended.
    pub(super) fn run(&self, samples: &mut Vec<Sample>) -> End {
        let mut buffer = Buffer::new(self.reply);
        let mut sent = 0;
        loop {
            let batch = self.batch(sent);
            if batch == 0 {
                return self.finish();
            }
            match self.exchange(sent, batch, &mut buffer) {
                Ok(times) => samples.extend(times.into_iter().take(SAMPLES_MAX.saturating_sub(samples.len()))),
                Err(end) => return end,
            }
            sent += batch;
            self.requests.fetch_add(batch, Ordering::Relaxed);
        }
    }

    /// How many requests go out together next.
    fn batch(&self, sent: u64) -> u64 {
        let left = self.client.requests.map_or(u64::MAX, |limit| limit.saturating_sub(sent));
        left.min(u64::from(self.client.pipeline))
    }

    fn finish(&self) -> End {
        if self.client.stay {
            self.conn.stay();
            End::Stopped
        } else {
            End::Closed
        }
    }

    fn exchange(&self, sent: u64, batch: u64, buffer: &mut Buffer) -> Result<Vec<Sample>, End> {
        self.conn.pause(self.client.think)?;
        let mut samples = Vec::new();
        for index in sent..sent + batch {
            let started = Instant::now();
            self.conn.send(self.message(index), self.client.send)?;
            samples.push(Sample { started, took: started.elapsed() });
        }
        if self.reply == 0 {
            // Nothing comes back, so nothing was measured but the writes.
            return Ok(Vec::new());
        }
        for sample in &mut samples {
            self.conn.receive_exact(self.reply, buffer)?;
            sample.took = sample.started.elapsed();
        }
        Ok(samples)
    }

    fn message(&self, index: u64) -> &Message {
        match &self.client.usual {
            Some(usual) if !(index + 1).is_multiple_of(u64::from(self.client.every)) => usual,
            _ => &self.client.request,
        }
    }

    /// Sends on its own clock while another thread reads what comes.
    pub(super) fn run_two_way(&self) -> End {
        two_way(self.conn, || self.run_writer())
    }

    fn run_writer(&self) -> End {
        Worker { reply: 0, ..*self }.run(&mut Vec::new())
    }
}

/// Runs `write` and reads and drops whatever comes meanwhile.
pub(super) fn two_way(conn: &Conn, write: impl FnOnce() -> End) -> End {
    thread::scope(|scope| {
        let reader = scope.spawn(|| drain(conn));
        let end = write();
        reader.join().map_or(end, |read| if read.failure("").is_some() { read } else { End::Stopped })
    })
}

/// Reads and drops whatever comes, until the end.
fn drain(conn: &Conn) -> End {
    let mut buffer = Buffer::large();
    loop {
        if let Err(end) = conn.receive(usize::MAX, &mut buffer) {
            return end;
        }
    }
}
