//! A series of surveys that behaves like a busy host: most sockets idle, some moving data, a few coming and going.

/// A small generator of numbers that come out the same everywhere (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Tick of the clock, ms.
const TICK: u64 = 4;

struct Conn {
    message: Vec<u8>,
    /// When it last sent, received and got an acknowledgement, ms.
    stamps: [u64; 3],
    keepalive_at: u64,
}

/// Offset of `tcp_info` in the messages of the fixture.
pub fn info_at(message: &[u8]) -> usize {
    let mut at = 88;
    loop {
        let len = u16::from_ne_bytes([message[at], message[at + 1]]);
        if message[at + 2] == 2 {
            return at + 4;
        }
        at += usize::from(len).next_multiple_of(4);
    }
}

pub struct Series {
    conns: Vec<Conn>,
    template: Vec<u8>,
    random: Random,
    info: usize,
    born: u32,
    now: u64,
    survey: u32,
}

impl Series {
    pub fn new(sockets: usize, template: &[u8], seed: u64) -> Self {
        let len = u32::from_ne_bytes(template[..4].try_into().expect("four bytes")) as usize;
        let template = template[..len.next_multiple_of(4)].to_vec();
        let info = info_at(&template);
        let mut series =
            Self { conns: Vec::new(), template, random: Random(seed), info, born: 0, now: 10_000_000, survey: 0 };
        for _ in 0..sockets {
            let conn = series.conn();
            series.conns.push(conn);
        }
        series
    }

    fn conn(&mut self) -> Conn {
        self.born += 1;
        let mut message = self.template.clone();
        let put = |message: &mut [u8], at: usize, bytes: &[u8]| message[at..at + bytes.len()].copy_from_slice(bytes);
        put(&mut message, 20, &(self.random.next() as u16).to_be_bytes());
        put(&mut message, 24, &(self.random.next() as u32).to_ne_bytes());
        put(&mut message, 40, &(self.random.next() as u32).to_ne_bytes());
        put(&mut message, 60, &u64::from(self.born).to_ne_bytes());
        put(&mut message, 84, &self.born.to_ne_bytes());
        for at in [68, 100, 120, 128, 136, 140, 152, 156, 160, 200] {
            put(&mut message, self.info + at, &(self.random.next() as u32 >> 12).to_ne_bytes());
        }
        let idle = self.random.next() % 3_600_000;
        let keepalive = self.random.below(3) == 0;
        message[18] = if keepalive { 2 } else { 0 };
        let stamps = [0, 1, 1].map(|later| self.now - idle / TICK * TICK + later * TICK);
        Conn { message, stamps, keepalive_at: self.now + 7_200_000 - idle }
    }

    /// The next survey, `ms` later: its runs of 32 KiB.
    pub fn survey(&mut self, ms: u64) -> Vec<Vec<u8>> {
        self.now += ms + self.random.next() % 3 * TICK;
        self.survey += 1;
        for _ in 0..self.conns.len() / 500 {
            let at = self.random.below(self.conns.len());
            self.conns[at] = self.conn();
        }
        let mut runs = vec![Vec::new()];
        for index in 0..self.conns.len() {
            // A dump of 40 000 takes some 40 ms.
            let now = (self.now + index as u64 / 1000) / TICK * TICK;
            self.step(index, now);
            let run = runs.last_mut().expect("there is one");
            if run.len() + self.conns[index].message.len() > 32 << 10 {
                runs.push(self.conns[index].message.clone());
            } else {
                run.extend_from_slice(&self.conns[index].message);
            }
        }
        let mut done = vec![20, 0, 0, 0, 3, 0, 2, 0];
        done.extend(self.survey.to_ne_bytes());
        done.resize(20, 0);
        runs.push(done);
        runs
    }

    fn step(&mut self, index: usize, now: u64) {
        let active = self.random.below(100) < 3;
        let conn = &mut self.conns[index];
        conn.message[8..12].copy_from_slice(&self.survey.to_ne_bytes());
        let info = &mut conn.message[self.info..];
        let mut add = |at: usize, by: u64| {
            let old = u32::from_ne_bytes(info[at..at + 4].try_into().expect("four bytes"));
            info[at..at + 4].copy_from_slice(&old.wrapping_add(by as u32).to_ne_bytes());
        };
        if active {
            let messages = 1 + self.random.next() % 40;
            for at in [120, 128, 200] {
                add(at, messages * 137);
            }
            for at in [136, 140, 152, 156, 192] {
                add(at, messages);
            }
            for at in [68, 72, 104, 160, 168] {
                add(at, self.random.next() % 4000);
            }
            conn.stamps = [now, now, now];
        }
        for (at, stamp) in [44, 52, 56].into_iter().zip(conn.stamps) {
            let age = now.saturating_sub(stamp) as u32;
            conn.message[self.info + at..self.info + at + 4].copy_from_slice(&age.to_ne_bytes());
        }
        let left = if conn.message[18] == 0 { 0 } else { conn.keepalive_at.saturating_sub(now) as u32 };
        conn.message[68..72].copy_from_slice(&left.to_ne_bytes());
    }
}
