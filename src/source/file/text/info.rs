//! The values behind a row: what ss prints of `tcp_info`, memory, timer and identity.

use crate::wire::{Congestion, SkMem, TcpInfo, TcpState, Timer, field};

use super::row;
use super::value::{count, decimal, limited, memory, rate, timer};

/// How a value is printed.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// As it is.
    Count,
    /// In ms, with decimals; the field is in µs.
    Millis,
    /// As [`Kind::Millis`], but in seconds where ss read /proc.
    Timeout,
    /// `101ms(91.0%)`; the field is in µs.
    Limited,
}

/// What ss prints as `key:value`, and the field that it is.
static KEYS: [(&str, &str, Kind); 41] = [
    ("backoff", "backoff", Kind::Count),
    ("rto", "rto", Kind::Timeout),
    ("ato", "ato", Kind::Timeout),
    ("mss", "snd_mss", Kind::Count),
    ("pmtu", "pmtu", Kind::Count),
    ("rcvmss", "rcv_mss", Kind::Count),
    ("advmss", "advmss", Kind::Count),
    ("cwnd", "snd_cwnd", Kind::Count),
    ("ssthresh", "snd_ssthresh", Kind::Count),
    ("bytes_sent", "bytes_sent", Kind::Count),
    ("bytes_retrans", "bytes_retrans", Kind::Count),
    ("bytes_acked", "bytes_acked", Kind::Count),
    ("bytes_received", "bytes_received", Kind::Count),
    ("segs_out", "segs_out", Kind::Count),
    ("segs_in", "segs_in", Kind::Count),
    ("data_segs_out", "data_segs_out", Kind::Count),
    ("data_segs_in", "data_segs_in", Kind::Count),
    ("lastsnd", "last_data_sent", Kind::Count),
    ("lastrcv", "last_data_recv", Kind::Count),
    ("lastack", "last_ack_recv", Kind::Count),
    ("delivered", "delivered", Kind::Count),
    ("delivered_ce", "delivered_ce", Kind::Count),
    ("busy", "busy_time", Kind::Limited),
    ("rwnd_limited", "rwnd_limited", Kind::Limited),
    ("sndbuf_limited", "sndbuf_limited", Kind::Limited),
    ("unacked", "unacked", Kind::Count),
    ("lost", "lost", Kind::Count),
    ("sacked", "sacked", Kind::Count),
    ("fackets", "fackets", Kind::Count),
    ("reordering", "reordering", Kind::Count),
    ("rcv_rtt", "rcv_rtt", Kind::Millis),
    ("rcv_space", "rcv_space", Kind::Count),
    ("rcv_ssthresh", "rcv_ssthresh", Kind::Count),
    ("notsent", "notsent_bytes", Kind::Count),
    ("minrtt", "min_rtt", Kind::Millis),
    ("dsack_dups", "dsack_dups", Kind::Count),
    ("reord_seen", "reord_seen", Kind::Count),
    ("rcv_ooopack", "rcv_ooopack", Kind::Count),
    ("snd_wnd", "snd_wnd", Kind::Count),
    ("rcv_wnd", "rcv_wnd", Kind::Count),
    ("rehash", "rehash", Kind::Count),
];

/// Words that stand alone, and the bit of `tcpi_options` that they show (`include/uapi/linux/tcp.h`).
const OPTIONS: [(&str, u8); 6] =
    [("ts", 1), ("sack", 2), ("ecn", 8), ("ecnseen", 16), ("fastopen", 32), ("usec_ts", 64)];

/// `TCPI_OPT_WSCALE`.
const OPTION_WSCALE: u8 = 4;

/// Keys whose value is the next word.
const RATES: [&str; 3] = ["send", "pacing_rate", "delivery_rate"];

/// Keys that are ss's own and say nothing that is kept.
const PASSED: [&str; 28] = [
    "cgroup",
    "fwmark",
    "class_id",
    "tos",
    "tclass",
    "prio",
    "priority",
    "bbr",
    "dctcp",
    "md5keys",
    "v6only",
    "opt",
    "mem",
    "proc_ctx",
    "dev",
    "inet-sockopt",
    "ulp",
    "version",
    "cipher",
    "rxconf",
    "txconf",
    "token",
    "flags",
    "seq",
    "sfseq",
    "ssnoff",
    "maplen",
    "vegas",
];

/// Words that are ss's own and say nothing that is kept.
const PASSED_WORDS: [&str; 8] = ["bidir", "---", "<->", "-->", "<--", "<-", "->", "ce_state"];

/// Congestion controls of the kernel and of well-known trees outside it.
const CONGESTION: [&str; 22] = [
    "cubic",
    "reno",
    "bbr",
    "bbr1",
    "bbr2",
    "bbr3",
    "dctcp",
    "dctcp-reno",
    "prague",
    "prague-reno",
    "vegas",
    "westwood",
    "htcp",
    "hybla",
    "bic",
    "illinois",
    "veno",
    "yeah",
    "lp",
    "scalable",
    "cdg",
    "nv",
];

/// Lengths that `struct tcp_info` has had, in bytes (see [`crate::wire::FIELDS`] for the versions).
const SIZES: [usize; 10] = [104, 120, 136, 144, 160, 168, 192, 200, 224, 232];

/// What was read of a socket's info.
#[derive(Debug, Default)]
pub(super) struct Info {
    pub(super) tcp: TcpInfo,
    pub(super) timer: Option<(Timer, u32, u8)>,
    pub(super) uid: u32,
    pub(super) inode: Option<u32>,
    pub(super) cookie: Option<u64>,
    pub(super) skmem: Option<SkMem>,
    pub(super) congestion: Congestion,
    seen: bool,
    from_proc: bool,
    set: Vec<&'static str>,
    /// Offset of the first field that was printed and cannot be read: from there on nothing is known.
    unreadable_at: Option<usize>,
}

/// Whether a word is one that ss prints; used where a line break may have torn one.
pub(super) fn is_known(token: &str) -> bool {
    let mut probe = Info::default();
    match token.split_once(':') {
        Some((key, "")) => is_key(key) || PASSED.contains(&key),
        Some(_) => matches!(probe.pair(token), Ok(true)),
        None => RATES.contains(&token) || probe.word(token),
    }
}

fn is_key(key: &str) -> bool {
    let special = ["wscale", "rtt", "retrans", "skmem", "timer", "uid", "ino", "sk", "qack", "users"];
    special.contains(&key) || KEYS.iter().any(|(name, _, _)| *name == key)
}

impl Info {
    /// Takes the words of a socket in order; calls `problem` with the number of each that is ss's and cannot be read.
    pub(super) fn take(&mut self, tokens: &[&str], problem: &mut dyn FnMut(usize)) {
        self.from_proc = tokens.iter().any(|token| token.starts_with("qack:"));
        let mut at = 0;
        while let Some(token) = tokens.get(at).copied() {
            let next = tokens.get(at + 1).copied();
            if RATES.contains(&token) {
                let value = next.and_then(|next| self.rate(token, next));
                at += usize::from(value.is_some());
                if value.is_none() && token != "send" {
                    self.mark_unreadable(if token == "pacing_rate" { "pacing_rate" } else { "delivery_rate" });
                    problem(at);
                }
            } else if let Some((key, "")) = token.split_once(':') {
                let joined = next.map(|next| format!("{token}{next}"));
                let read = joined.filter(|_| is_key(key)).map(|joined| self.pair(&joined));
                at += usize::from(matches!(read, Some(Ok(true))) || (PASSED.contains(&key) && next.is_some()));
            } else if token.contains(':') {
                if self.pair(token).is_err() {
                    problem(at);
                }
            } else if !self.word(token) {
                self.name(token, next);
            }
            at += 1;
        }
    }

    /// A word without a value; whether it is known.
    fn word(&mut self, token: &str) -> bool {
        if let Some((_, bit)) = OPTIONS.iter().find(|(name, _)| *name == token) {
            self.set_option(*bit);
        } else if token == "app_limited" {
            self.set("delivery_rate_app_limited", 1);
        } else if CONGESTION.contains(&token) {
            self.congestion = Congestion::new(token.as_bytes());
        } else {
            return PASSED_WORDS.contains(&token) || token.starts_with("tcp-ulp-");
        }
        true
    }

    /// A congestion control that is not in the list stands before the window scale or the timeout.
    fn name(&mut self, token: &str, next: Option<&str>) {
        let named =
            token.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte));
        let placed =
            next.is_some_and(|next| ["wscale:", "rto:", "backoff:", "rtt:"].iter().any(|key| next.starts_with(key)));
        if named && placed && self.congestion.as_str().is_empty() && token.starts_with(|c: char| c.is_ascii_lowercase())
        {
            self.congestion = Congestion::new(token.as_bytes());
        }
    }

    /// `key:value`; `Ok(false)` when it is nothing of ss, an error when it is and cannot be read.
    fn pair(&mut self, token: &str) -> Result<bool, ()> {
        let Some((key, value)) = token.split_once(':') else { return Ok(false) };
        if let Some((_, name, kind)) = KEYS.iter().find(|(name, _, _)| *name == key) {
            let number = match kind {
                Kind::Count => count(value),
                Kind::Millis => decimal(value, 1e3),
                Kind::Timeout => decimal(value, if self.from_proc { 1e6 } else { 1e3 }),
                Kind::Limited => limited(value),
            };
            return self.set_or_mark(name, number);
        }
        let read = match key {
            "wscale" => return self.wscale(value),
            "rtt" => return self.two("rtt", "rttvar", value, |text| decimal(text, 1e3)),
            "retrans" => return self.two("retrans", "total_retrans", value, count),
            "skmem" => memory_of(value).map(|mem| self.skmem = Some(mem)),
            "timer" => timer_of(value).map(|timer| self.timer = Some(timer)),
            "uid" => count(value).and_then(|uid| u32::try_from(uid).ok()).map(|uid| self.uid = uid),
            "ino" => count(value).and_then(|inode| u32::try_from(inode).ok()).map(|inode| self.inode = Some(inode)),
            "sk" => u64::from_str_radix(value, 16).ok().map(|cookie| self.cookie = Some(cookie).filter(|it| *it != 0)),
            "qack" => Some(()),
            _ => return Ok(PASSED.contains(&key) || key.starts_with("tcp-ulp-")),
        };
        read.map(|()| true).ok_or(())
    }

    fn set(&mut self, name: &'static str, value: u64) {
        if let Some(field) = field(name) {
            self.tcp.set(field, value);
            self.seen = true;
            self.set.push(name);
        }
    }

    fn set_or_mark(&mut self, name: &'static str, value: Option<u64>) -> Result<bool, ()> {
        if let Some(value) = value {
            self.set(name, value);
            return Ok(true);
        }
        self.mark_unreadable(name);
        Err(())
    }

    fn mark_unreadable(&mut self, name: &str) {
        let at = field(name).map_or(0, |field| usize::from(field.offset));
        self.unreadable_at = Some(self.unreadable_at.map_or(at, |other| other.min(at)));
    }

    fn set_option(&mut self, bit: u8) {
        let options = self.tcp.options().unwrap_or(0) | bit;
        self.set("options", options.into());
    }

    fn wscale(&mut self, value: &str) -> Result<bool, ()> {
        let (send, receive) = value.split_once(',').ok_or(())?;
        let scale = |text: &str| count(text).filter(|scale| *scale < 16).ok_or(());
        let (send, receive) = (scale(send)?, scale(receive)?);
        self.set("snd_wscale", send);
        self.set("rcv_wscale", receive);
        self.set_option(OPTION_WSCALE);
        Ok(true)
    }

    /// `a/b`, two fields.
    fn two(
        &mut self,
        first: &'static str,
        second: &'static str,
        value: &str,
        read: impl Fn(&str) -> Option<u64>,
    ) -> Result<bool, ()> {
        let pair = value.split_once('/').and_then(|(a, b)| Some((read(a)?, read(b)?)));
        self.set_or_mark(first, pair.map(|(a, _)| a))?;
        self.set_or_mark(second, pair.map(|(_, b)| b))
    }

    fn rate(&mut self, key: &str, value: &str) -> Option<()> {
        let (now, max) = value.split_once('/').map_or((value, None), |(now, max)| (now, Some(max)));
        let now = rate(now)?;
        match key {
            "pacing_rate" => {
                let max = max.map_or(Some(u64::MAX), rate)?;
                self.set("pacing_rate", now);
                self.set("max_pacing_rate", max);
            }
            "delivery_rate" => self.set("delivery_rate", now),
            // What `send` says is made of other fields.
            _ => {}
        }
        Some(())
    }

    /// The info as the kernel would have sent it: as long as its neighbours show, with the values that ss leaves out.
    /// `queues` are the backlog of a listening socket and its limit.
    pub(super) fn finish(&mut self, state: TcpState, queues: (u32, u32)) -> Option<TcpInfo> {
        if !self.seen {
            return None;
        }
        let len = self.tcp.len().max(SIZES[0]);
        let len = SIZES.into_iter().find(|size| *size >= len).unwrap_or(240);
        self.tcp.extend_to(len);
        self.set_unprinted("reordering", 3);
        if state == TcpState::LISTEN {
            // The kernel gives the backlog twice (`tcp_get_info`), and ss prints the queues only.
            self.set_unprinted("unacked", queues.0.into());
            self.set_unprinted("sacked", queues.1.into());
        } else {
            // ss leaves each of these out at one value, as `reordering` above: `rto` at 3 s, a threshold that is not reached yet
            // (TCP_INFINITE_SSTHRESH), a window of 2 before 4.x, and a ceiling of the pacing rate that there is not.
            self.set_unprinted("rto", 3_000_000);
            self.set_unprinted("snd_ssthresh", 0x7fff_ffff);
            self.set_unprinted("snd_cwnd", 2);
            if len >= 120 {
                // A rate that was never set has all bits set (`sk_pacing_rate`).
                self.set_unprinted("pacing_rate", u64::MAX);
                self.set_unprinted("max_pacing_rate", u64::MAX);
            }
        }
        // The timer's last number: timeouts in a row, or probes (`inet_diag_msg_sk_fill`'s `idiag_retrans`).
        match self.timer {
            Some((Timer::RETRANSMIT, _, again)) => self.set("retransmits", again.into()),
            Some((Timer::PROBE | Timer::KEEPALIVE, _, again)) => self.set("probes", again.into()),
            _ => {}
        }
        self.set_unprinted("state", state.0.into());
        let known = self.unreadable_at.unwrap_or(len).min(len);
        Some(TcpInfo::from_bytes(&self.tcp.as_bytes()[..known]))
    }

    fn set_unprinted(&mut self, name: &'static str, value: u64) {
        if !self.set.contains(&name) {
            self.set(name, value);
        }
    }
}

/// `(on,204ms,0)`.
fn timer_of(value: &str) -> Option<(Timer, u32, u8)> {
    let mut parts = value.strip_prefix('(')?.strip_suffix(')')?.split(',');
    let name = row::timer(parts.next()?)?;
    let expires = timer(parts.next()?)?;
    let retrans = u8::try_from(count(parts.next()?)?).ok()?;
    Some((name, expires, retrans))
}

/// `(r0,rb131072,t0,…)`.
fn memory_of(value: &str) -> Option<SkMem> {
    let mut mem = SkMem::default();
    for part in value.strip_prefix('(')?.strip_suffix(')')?.split(',') {
        let digits = part.find(|c: char| c.is_ascii_digit() || c == '-')?;
        let (name, number) = part.split_at(digits);
        if let Some(slot) = SkMem::NAMES.iter().position(|known| *known == name) {
            mem.0[slot] = Some(memory(number)?);
        }
    }
    Some(mem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<TcpInfo>, Info, Vec<usize>) {
        let tokens: Vec<&str> = text.split_whitespace().collect();
        let (mut info, mut problems) = (Info::default(), Vec::new());
        info.take(&tokens, &mut |at| problems.push(at));
        (info.finish(TcpState::ESTABLISHED, (0, 0)), info, problems)
    }

    #[test]
    fn absent_is_zero_where_neighbours_show_it() {
        let with = |text: &str| read(text).0.unwrap();
        assert_eq!(with("cubic rto:204 minrtt:0.1").notsent_bytes(), Some(0));
        assert_eq!(with("cubic rto:204 data_segs_in:1").notsent_bytes(), Some(0));
        assert_eq!(with("cubic rto:204 segs_in:1").notsent_bytes(), None);
        assert_eq!(with("cubic mss:1448").rto(), Some(3_000_000));
        assert_eq!(with("cubic mss:1448").len(), 104);
        assert_eq!(with("mss:1 delivered:1").busy_time(), Some(0));
        assert_eq!(with("mss:1 snd_wnd:1").len(), 232);
        assert_eq!(with("mss:1 rcv_wnd:1").rehash(), Some(0));
    }

    #[test]
    fn an_unreadable_value_is_not_zero() {
        let (info, _, problems) = read("cubic rto:204 notsent:683→757 minrtt:0.1");
        assert_eq!(info.unwrap().notsent_bytes(), None);
        assert_eq!(info.unwrap().segs_in(), Some(0));
        assert_eq!(problems, [2]);
    }

    #[test]
    fn timeouts_of_proc_are_seconds() {
        let (info, _, _) = read("cubic rto:0.204 ato:0.04 qack:3 bidir");
        assert_eq!((info.unwrap().rto(), info.unwrap().ato()), (Some(204_000), Some(40_000)));
    }

    #[test]
    fn names_of_congestion_controls() {
        for name in ["cubic", "prague-reno", "bbr2", "made_up9"] {
            assert_eq!(read(&format!("ts sack {name} wscale:7,7 rto:204")).1.congestion.as_str(), name);
        }
    }

    #[test]
    fn rates_stand_behind_their_key() {
        let info = read("pacing_rate 80Mbps/160Mbps delivery_rate 8000bps send 1Gbps").0.unwrap();
        assert_eq!(info.pacing_rate(), Some(10_000_000));
        assert_eq!(info.max_pacing_rate(), Some(20_000_000));
        assert_eq!(info.delivery_rate(), Some(1000));
        assert_eq!(read("pacing_rate 8bps").0.unwrap().max_pacing_rate(), Some(u64::MAX));
    }

    #[test]
    fn old_memory_lacks_its_last_word() {
        let mem = read("skmem:(r0,rb87380,t0,tb16384,f4294966016,w0,o0,bl0)").1.skmem.unwrap();
        assert_eq!((mem.0[1], mem.0[4], mem.0[8]), (Some(87380), Some(4_294_966_016), None));
    }
}
