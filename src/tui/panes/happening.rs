//! *What is happening*: the latest hold as a sequence drawing, with this connection's own numbers.

use ratatui::text::Line;

use super::super::text;
use super::Context;
use super::sequence::{Drawing, Step};
use super::words;
use crate::diagnose::{Cause, EndedHold, Ending, FindingEnd, Verdict};

/// The latest hold that a verdict speaks of.
struct Latest {
    /// Bytes sent before it and not acknowledged.
    sent: String,
    /// Bytes that it held.
    held: String,
    /// How long it lasted, or has lasted, ms.
    length_ms: f64,
    /// What ended it; `None` while it lasts.
    ending: Option<Ending>,
}

pub(super) fn lines(context: &Context<'_>) -> Vec<Line<'static>> {
    let finding = &context.shown.finding;
    let name = |end: &FindingEnd, role: &str| {
        let who =
            words::process(end).unwrap_or_else(|| if end.socket.is_none() { "remote".into() } else { role.into() });
        format!("{who} {}", text::address(end.ip, end.port))
    };
    let (left, right) = (name(&finding.sender, "sender"), name(&finding.receiver, "receiver"));
    let mut drawing = Drawing::new(&left, &right, context.theme, context.width);
    let latest = latest(context);
    let steps = match (finding.verdict, &latest) {
        (Verdict::Healthy | Verdict::Idle, _) | (_, None) => quiet(context),
        (Verdict::NagleDelayedAck, Some(latest)) => stall(latest, true),
        (Verdict::ReleasedByReply | Verdict::RttBoundNagle, Some(latest)) => stall(latest, false),
        (Verdict::HeldUnread, Some(latest)) => unread(latest, context),
        (Verdict::CorkHold, Some(latest)) => cork(latest),
        (Verdict::Pacing, Some(latest)) => pacing(latest),
        (Verdict::ReceiverWindow, Some(latest)) => window(latest, context),
        (Verdict::LossRecovery, Some(latest)) => loss(latest),
    };
    for (step, when) in &steps {
        drawing.step(step, *when);
    }
    let mut lines = drawing.lines;
    let legend = legend(context, latest.as_ref());
    lines.push(Line::default());
    lines.extend(text::wrap(&legend, context.width).into_iter().map(Line::from));
    lines
}

type Steps = Vec<(Step, Option<f64>)>;

fn latest(context: &Context<'_>) -> Option<Latest> {
    let shown = context.shown;
    let bytes = |n: Option<u32>| n.map_or_else(|| "some bytes".to_owned(), |n| text::bytes(n.into()));
    let sent = bytes(shown.exhibit.in_flight);
    let cause = cause(shown.finding.verdict)?;
    // One that ended tells the whole story, and stands still while it is read.
    let ended = shown.recent.iter().rev().find(|hold: &&EndedHold| hold.cause == cause && hold.ending != Ending::Brief);
    if let Some(hold) = ended {
        let length_ms = hold.length_us as f64 / 1e3;
        return Some(Latest { sent, held: bytes(Some(hold.bytes)), length_ms, ending: Some(hold.ending) });
    }
    if let Some(open) = &shown.open {
        let length_ms = open.age_us(context.head.now) as f64 / 1e3;
        return Some(Latest { sent, held: bytes(Some(open.bytes)), length_ms, ending: None });
    }
    // A remote sender: what was measured at the receiver is all there is.
    let p50 = shown.finding.hold.p50_ms?;
    Some(Latest { sent, held: bytes(None), length_ms: f64::from(p50), ending: Some(Ending::Timer) })
}

fn cause(verdict: Verdict) -> Option<Cause> {
    Some(match verdict {
        Verdict::CorkHold => Cause::Cork,
        Verdict::Pacing => Cause::Pacing,
        Verdict::ReceiverWindow => Cause::Window,
        Verdict::LossRecovery => Cause::Loss,
        Verdict::Healthy | Verdict::Idle => return None,
        _ => Cause::Nagle,
    })
}

fn at(step: Step, ms: f64) -> (Step, Option<f64>) {
    (step, Some(ms))
}

fn then(step: Step) -> (Step, Option<f64>) {
    (step, None)
}

fn stall(latest: &Latest, delayed: bool) -> Steps {
    let (sent, held) = (&latest.sent, &latest.held);
    let mut steps = vec![
        at(Step::Left(format!("writes {sent}: sent at once")), 0.0),
        then(Step::Send(sent.clone())),
        then(Step::Right("program reads; not the whole message".to_owned())),
        then(Step::Left(format!("writes {held} more"))),
        then(Step::HeldLeft(format!("Nagle HOLDS {held} until the ACK"))),
    ];
    if delayed {
        steps.push(then(Step::HeldRight("kernel HOLDS the ACK for a reply to carry".to_owned())));
    }
    let wait = if delayed { "each waits for the other" } else { "the sender waits for the ACK" };
    steps.push(at(Step::Wait(format!("{wait}: {}", text::millis(latest.length_ms))), latest.length_ms));
    let Some(ending) = latest.ending else {
        steps.push(then(Step::Gap));
        return steps;
    };
    let (word, note) = match ending {
        Ending::Reply => ("answer + ACK", "the program answered"),
        Ending::RoundTrip => ("ACK", "acknowledged at once"),
        Ending::Loss => ("ACK", "after a retransmission"),
        Ending::Unseen | Ending::Unexplained => ("ACK", "what ended it was not seen"),
        _ => ("pure ACK", "the delayed-ACK timer fired"),
    };
    steps.push(then(Step::Right(note.to_owned())));
    steps.push(at(Step::Return(word.to_owned()), latest.length_ms));
    steps.push(then(Step::Send(held.clone())));
    if delayed {
        steps.push(then(Step::Right("message whole: program answers".to_owned())));
    }
    steps
}

fn unread(latest: &Latest, context: &Context<'_>) -> Steps {
    let unread = context.shown.exhibit.unread.map_or_else(|| "it".to_owned(), |n| text::bytes(n.into()));
    vec![
        at(Step::Send(latest.sent.clone()), 0.0),
        then(Step::HeldRight(format!("program has NOT READ {unread}"))),
        then(Step::Left(format!("Nagle holds {} until the ACK", latest.held))),
        at(Step::Wait(format!("{}: the receiver is busy", text::millis(latest.length_ms))), latest.length_ms),
        then(Step::Return("ACK".to_owned())),
        then(Step::Send(latest.held.clone())),
    ]
}

fn cork(latest: &Latest) -> Steps {
    let mut steps = vec![
        at(Step::Left(format!("writes {} into a cork", latest.held)), 0.0),
        then(Step::HeldLeft(format!("TCP_CORK or MSG_MORE HOLDS {}", latest.held))),
        then(Step::Right("nothing arrives, nothing is in flight".to_owned())),
        at(Step::Wait(format!("the cork's timer: {}", text::millis(latest.length_ms))), latest.length_ms),
    ];
    if latest.ending.is_some() {
        steps.push(then(Step::Left("200 ms passed, or the cork was pulled".to_owned())));
        steps.push(at(Step::Send(latest.held.clone()), latest.length_ms));
    }
    steps
}

fn pacing(latest: &Latest) -> Steps {
    vec![
        at(Step::Left(format!("writes {}", latest.held)), 0.0),
        then(Step::HeldLeft("its own pacing rate spaces the data".to_owned())),
        at(Step::Wait(format!("the next slot: {}", text::millis(latest.length_ms))), latest.length_ms),
        then(Step::Send(latest.held.clone())),
    ]
}

fn window(latest: &Latest, context: &Context<'_>) -> Steps {
    let unread = context.shown.exhibit.unread.map_or_else(|| "data".to_owned(), |n| text::bytes(n.into()));
    vec![
        at(Step::HeldRight(format!("program has NOT READ {unread}")), 0.0),
        then(Step::Return("window: no room".to_owned())),
        then(Step::Left(format!("{} wait to be sent", latest.held))),
        at(Step::Wait(format!("for room: {}", text::millis(latest.length_ms))), latest.length_ms),
    ]
}

fn loss(latest: &Latest) -> Steps {
    let mut steps = vec![
        at(Step::Send(format!("{} LOST on the way", latest.sent)), 0.0),
        at(Step::Wait(format!("retransmission timeout: {}", text::millis(latest.length_ms))), latest.length_ms),
    ];
    if latest.ending.is_some() {
        steps.push(then(Step::Send("sent again".to_owned())));
        steps.push(then(Step::Return("ACK".to_owned())));
    }
    steps
}

fn quiet(context: &Context<'_>) -> Steps {
    match context.shown.finding.verdict {
        Verdict::Idle => {
            vec![then(Step::Gap), then(Step::Left("no data moved while watching".to_owned())), then(Step::Gap)]
        }
        _ => vec![
            then(Step::Left("writes: sent at once".to_owned())),
            then(Step::Send("data".to_owned())),
            then(Step::Return("data or ACK".to_owned())),
            then(Step::Left("nothing is held back".to_owned())),
        ],
    }
}

/// What the drawing's times are, and what is going on now.
fn legend(context: &Context<'_>, latest: Option<&Latest>) -> String {
    let finding = &context.shown.finding;
    let mut parts = Vec::new();
    let open = context.shown.open.as_ref().map(|open| text::millis(open.age_us(context.head.now) as f64 / 1e3));
    match (latest, open) {
        (Some(Latest { ending: None, .. }), _) => parts.push("This hold lasts now.".to_owned()),
        (Some(_), Some(age)) => parts.push(format!("The latest whole hold; the next has lasted {age}.")),
        (Some(_), None) => parts.push("The latest hold.".to_owned()),
        (None, _) => {}
    }
    let rtt = context.shown.exhibit.min_rtt_us.map(|us| text::millis(f64::from(us) / 1e3));
    parts.extend(rtt.map(|rtt| format!("min_rtt: {rtt}.")));
    if finding.sender.socket.is_none() || finding.receiver.socket.is_none() {
        parts.push("One end is on another host: what it does is inferred.".to_owned());
    }
    parts.join(" ")
}
