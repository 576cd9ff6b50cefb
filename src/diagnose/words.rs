//! What a finding says in words.

use super::direction::Direction;
use super::finding::{Finding, FindingEnd};
use super::rules;
use super::tally::TimerShare;
use super::verdict::{Level, Verdict};

/// What else could explain what is seen.
pub(super) fn could_also_be(verdict: Verdict) -> &'static [&'static str] {
    match verdict {
        Verdict::NagleDelayedAck => rules::nagle_delayed_ack::COULD_ALSO_BE,
        Verdict::CorkHold => rules::cork_hold::COULD_ALSO_BE,
        Verdict::Pacing => rules::pacing::COULD_ALSO_BE,
        Verdict::ReceiverWindow => rules::receiver_window::COULD_ALSO_BE,
        Verdict::HeldUnread => rules::held_unread::COULD_ALSO_BE,
        Verdict::LossRecovery => rules::loss_recovery::COULD_ALSO_BE,
        Verdict::ReleasedByReply => rules::released_by_reply::COULD_ALSO_BE,
        Verdict::RttBoundNagle => rules::rtt_bound_nagle::COULD_ALSO_BE,
        Verdict::Healthy | Verdict::Idle => &[],
    }
}

/// What cannot be known, and what would tell.
pub(super) fn unknown(finding: &Finding, direction: Option<&Direction>) -> Vec<String> {
    let mut unknown = Vec::new();
    let remote = |end: &FindingEnd| end.socket.is_none();
    if remote(&finding.sender) || remote(&finding.receiver) {
        let who = if remote(&finding.sender) { "sender" } else { "receiver" };
        unknown.push(format!(
            "the {who} is on another host or in another network namespace; run stallscope there at the same time to see both ends"
        ));
    }
    if finding.is_across() && finding.level == Some(Level::Suspected) {
        unknown.push(
            "both ends were read, each on its host, but not at times that can be compared: the clocks are not related closely \
             enough, or the files overlap too little"
                .to_owned(),
        );
    }
    let socket = finding.sender.socket.as_ref().or(finding.receiver.socket.as_ref());
    let info = socket.and_then(|socket| socket.info.as_ref());
    if socket.is_some() && info.is_none() {
        unknown.push("the source gives no tcp_info for this socket: nothing can be said about holds".to_owned());
    } else if let Some(info) = info {
        if info.notsent_bytes().is_none() {
            unknown.push("this kernel (before 4.6) does not say what is held back".to_owned());
        } else if info.bytes_sent().is_none() {
            unknown.push(
                "this kernel (before 4.19) does not count bytes sent: who opened is taken from the ports".to_owned(),
            );
        }
    }
    unknown.extend(unseen_end(finding, direction));
    unknown
}

/// What cannot be known of a hold whose end was not seen.
fn unseen_end(finding: &Finding, direction: Option<&Direction>) -> Option<String> {
    let unwatched = direction.is_some_and(|direction| direction.watched_us == 0);
    let both = finding.sender.socket.is_some() && finding.receiver.socket.is_some();
    let why = if unwatched { "without probes" } else { "so far" };
    let share = direction.map(Direction::timer_share);
    Some(match (finding.verdict, finding.level, share) {
        (Verdict::NagleDelayedAck, Some(Level::Paired), _) => {
            format!("what ended the hold was not seen {why}: watch longer, or with probes, to prove it")
        }
        (Verdict::NagleDelayedAck, Some(Level::Suspected), Some(TimerShare::Unclear)) if both => {
            format!(
                "what ended the hold was not seen {why}, and the receiver sent too few pure ACKs to tell its timer from an \
                 answer that takes as long: record with close looks to tell"
            )
        }
        (Verdict::ReleasedByReply, Some(Level::Suspected), Some(TimerShare::Little)) if unwatched => {
            format!(
                "what ended the hold was not seen {why}: that the receiver hardly ever sends a pure ACK tells; a stall that \
                 is rare on this connection would look the same, and a recording with close looks would tell"
            )
        }
        (Verdict::RttBoundNagle, Some(Level::Suspected), _) if unwatched => {
            format!(
                "what ended the hold was not seen {why}: that all segments take about one round trip tells; a stall that is \
                 rare on this connection would look the same when it is met early"
            )
        }
        _ => return None,
    })
}

/// A finding in one sentence; `held` bytes are held back in its evidence.
pub(super) fn summary(finding: &Finding, held: Option<u32>, direction: Option<&Direction>) -> String {
    let held = held.map_or_else(|| "data".to_owned(), |bytes| format!("{bytes} B"));
    let length = finding.hold.p50_ms.map_or_else(String::new, |ms| format!(", {ms} ms at a time"));
    let is_suspected = finding.level == Some(Level::Suspected);
    match finding.verdict {
        Verdict::NagleDelayedAck if direction.is_some_and(|direction| direction.receiver_side.tells()) => {
            "a remote sender looks held by Nagle's algorithm while this end's delayed ACK waits 40 ms, again and again"
                .to_owned()
        }
        Verdict::NagleDelayedAck if finding.receiver.socket.is_none() || (finding.is_across() && is_suspected) => {
            format!(
                "Nagle's algorithm holds {held}{length}, for an acknowledgement that the remote peer seems to delay"
            )
        }
        Verdict::NagleDelayedAck if is_suspected => {
            format!("Nagle's algorithm holds {held}{length}, for an acknowledgement that the peer seems to delay")
        }
        Verdict::NagleDelayedAck => {
            format!(
                "Nagle's algorithm holds {held} for an acknowledgement that the peer's delayed-ACK timer holds{length}"
            )
        }
        Verdict::CorkHold => format!("a cork (TCP_CORK or MSG_MORE) holds {held} with nothing in flight{length}"),
        Verdict::Pacing => format!("the program's own pacing rate holds {held}{length}"),
        Verdict::ReceiverWindow => format!("the receiver's window holds {held}: its program does not read fast enough"),
        Verdict::HeldUnread => {
            format!("{held} is held{length}, but the receiving program has not read what came before it")
        }
        Verdict::LossRecovery => "a lost segment is waited for until its retransmission timeout".to_owned(),
        Verdict::ReleasedByReply if finding.hold.released_by_reply == 0 => {
            format!("{held} was held, most likely until the receiver answered: its timer hardly ever fires")
        }
        Verdict::ReleasedByReply => {
            format!("{held} was held{length}, and the receiver's answer let it go, not a timer")
        }
        Verdict::RttBoundNagle => {
            format!("Nagle's algorithm holds {held} for one round trip{length}; no timer is waited for")
        }
        Verdict::Healthy => "data moves and nothing is held".to_owned(),
        Verdict::Idle => "no data moved".to_owned(),
    }
}
