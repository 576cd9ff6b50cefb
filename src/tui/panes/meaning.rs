//! What a field's value means on the connection that is shown: one line, from both ends' numbers.

use crate::wire::{Socket, TcpInfo, Timer};

/// Both ends' numbers, where they are known.
struct Ends<'a> {
    s: Option<&'a Socket>,
    r: Option<&'a Socket>,
}

impl Ends<'_> {
    fn s(&self, read: fn(&TcpInfo) -> Option<u32>) -> Option<u32> {
        read(self.s?.info.as_ref()?)
    }

    fn r(&self, read: fn(&TcpInfo) -> Option<u32>) -> Option<u32> {
        read(self.r?.info.as_ref()?)
    }
}

/// What the value of the field `name` means here; `None` where the value says no more than the field's own explanation.
pub(super) fn meaning(name: &str, s: Option<&Socket>, r: Option<&Socket>) -> Option<String> {
    let ends = Ends { s, r };
    match name {
        "notsent_bytes" => notsent(&ends),
        "unacked" => unacked(&ends),
        "wqueue" => in_flight(&ends),
        "rqueue" => rqueue(&ends),
        "timer" => timer(&ends),
        "ato" => ato(&ends),
        "last_data_sent" | "last_data_recv" => silence(&ends),
        "bytes_received" | "bytes_acked" | "bytes_sent" => arrived(&ends),
        "rtt" | "rttvar" | "min_rtt" => rtt(&ends),
        "snd_wnd" => window(&ends),
        "snd_cwnd" => {
            (ends.s(TcpInfo::snd_cwnd)? > 1).then(|| "more than one segment may travel: not the limit".to_owned())
        }
        "total_retrans" => Some(match ends.s(TcpInfo::total_retrans)? {
            0 => "the sender never had to send anything again".to_owned(),
            n => format!("the sender sent {n} segments again so far"),
        }),
        _ => None,
    }
}

fn notsent(ends: &Ends<'_>) -> Option<String> {
    let (held, mss) = (ends.s(TcpInfo::notsent_bytes)?, ends.s(TcpInfo::snd_mss)?);
    Some(match held {
        0 => "nothing is held back".to_owned(),
        held if held < mss => {
            format!("{held} B wait, less than a segment of {mss} B: what Nagle's algorithm or a cork holds")
        }
        held => format!("{held} B wait, a whole segment or more: neither Nagle's algorithm nor a cork holds that"),
    })
}

fn unacked(ends: &Ends<'_>) -> Option<String> {
    Some(match ends.s(TcpInfo::unacked)? {
        0 => "the sender waits for no acknowledgement".to_owned(),
        1 => "one segment is out, and Nagle's algorithm waits for its acknowledgement".to_owned(),
        n => format!("{n} segments are out: two small ones would have been acknowledged at once"),
    })
}

fn in_flight(ends: &Ends<'_>) -> Option<String> {
    Some(format!("{} B are in flight, the rest of the sender's queue was never sent", ends.s?.in_flight()?))
}

fn rqueue(ends: &Ends<'_>) -> Option<String> {
    Some(match ends.r?.rqueue {
        0 => "the receiving program has read all that came".to_owned(),
        unread => format!("the receiving program has not read {unread} B"),
    })
}

fn timer(ends: &Ends<'_>) -> Option<String> {
    if ends.r.is_some_and(|r| r.timer == Timer::DELAYED_ACK) {
        return Some("the receiver's kernel holds an acknowledgement back right now".to_owned());
    }
    Some(match ends.s?.timer {
        Timer::RETRANSMIT => "the sender will send again if no acknowledgement comes".to_owned(),
        Timer::PROBE => "nothing is in flight: a cork, a pace or a closed window holds the sender".to_owned(),
        Timer::NONE => "the sender waits for nothing".to_owned(),
        _ => return None,
    })
}

fn ato(ends: &Ends<'_>) -> Option<String> {
    Some(match ends.r(TcpInfo::ato)? / 1000 {
        0 => "the receiver has got no data yet".to_owned(),
        ms if ms < 40 => format!("a lowered maximum lets the receiver wait {ms} ms at most"),
        40 => "the receiver may wait 40 ms, as nearly every healthy one: no evidence by itself".to_owned(),
        ms => format!("the receiver's wait has grown to {ms} ms: data came in gaps, or its timer fired"),
    })
}

fn silence(ends: &Ends<'_>) -> Option<String> {
    let (sent, received) = (ends.r(TcpInfo::last_data_sent)?, ends.r(TcpInfo::last_data_recv)?);
    Some(if sent >= received {
        format!("the receiver got data {received} ms ago and has not answered it")
    } else {
        format!("the receiver has answered: it sent {sent} ms ago, after the data of {received} ms ago")
    })
}

fn arrived(ends: &Ends<'_>) -> Option<String> {
    let received = ends.r?.info.as_ref()?.bytes_received()?;
    let acked = ends.s?.info.as_ref()?.bytes_acked()?;
    // The SYN of the end that opened counts as one byte acknowledged.
    Some(match received.saturating_sub(acked) {
        0 => "all that arrived is acknowledged".to_owned(),
        n => format!("about {n} B have arrived, and their acknowledgement has not reached the sender"),
    })
}

fn rtt(ends: &Ends<'_>) -> Option<String> {
    let (rtt, min) = (ends.s(TcpInfo::rtt)?, ends.s(TcpInfo::min_rtt)?);
    let far = rtt > min.saturating_mul(8) && rtt > 4_000 && min != u32::MAX;
    far.then(|| "the network is far faster than the smoothed value: waits for acknowledgements are mixed in".to_owned())
}

fn window(ends: &Ends<'_>) -> Option<String> {
    let (window, queued) = (ends.s(TcpInfo::snd_wnd)?, ends.s?.wqueue);
    Some(if window >= queued {
        format!("room for all of the {queued} B queued: not the limit")
    } else {
        format!("too small for the {queued} B queued: the receiver is the limit")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Message, messages};

    /// Both ends in mid-stall, the sender first.
    fn stall() -> (Socket, Socket) {
        let run = include_bytes!("../../../fixtures/dumps/stall-linux-7.3.4.nl");
        let mut sockets = messages(run).filter_map(|message| match message {
            Message::Socket { socket, .. } => Some(socket),
            _ => None,
        });
        (sockets.next().unwrap(), sockets.next().unwrap())
    }

    #[test]
    fn the_values_of_a_stall_are_told_as_a_stall() {
        let (s, r) = stall();
        let told = |name: &str| meaning(name, Some(&s), Some(&r)).unwrap();
        assert!(
            told("notsent_bytes").starts_with("10 B wait, less than a segment of 32768 B"),
            "{}",
            told("notsent_bytes")
        );
        assert!(told("unacked").starts_with("one segment is out"));
        assert!(told("rqueue").contains("has read all"));
        assert!(told("timer").contains("holds an acknowledgement back right now"));
        assert!(told("ato").contains("no evidence by itself"));
        assert!(told("last_data_recv").contains("has not answered"));
        assert!(told("snd_wnd").contains("not the limit"));
        assert!(told("rtt").contains("far faster"));
        assert!(told("wqueue").starts_with("10 B are in flight"));
    }

    #[test]
    fn an_end_that_is_not_seen_is_not_spoken_of() {
        let (s, _) = stall();
        assert_eq!(meaning("rqueue", Some(&s), None), None);
        assert_eq!(meaning("ato", Some(&s), None), None);
        assert!(meaning("notsent_bytes", Some(&s), None).is_some());
        assert_eq!(meaning("uid", Some(&s), None), None);
    }
}
