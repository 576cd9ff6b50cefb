//! A hold: the time during which one direction's data waited for one and the same thing.

use crate::model::Moment;
use crate::wire::{Socket, TcpInfo};

use super::cut::{Cut, DELACK_MIN_US};
use super::fact::all_hold;
use super::rules::rtt_bound_nagle::{self, ROUND_TRIP_SLACK_US};
use super::rules::{NagleView, Shape};

/// Two looks further apart than this cannot tell what happened in between, µs: more than one hold fits.
pub const SAME_HOLD_GAP_US: u64 = 60_000;

/// A cork, pacing or window hold that ended within a gap longer than this lasted only until it was last seen, µs: half of the
/// 50 ms from which a cork counts, so that a late look cannot make a brief cork a lasting one.
const RELEASE_GAP_US: u64 = 25_000;

/// Holds shorter than this many ticks are the ordinary coming and going of data.
const BRIEF_TICKS: u32 = 2;

/// What ended a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// R's delayed-ACK timer: a pure ACK, no sooner than the timer fires.
    Timer,
    /// The same, with R's data unread until the rest had come and read at once then.
    TimerDrained,
    /// The same, with R's data still unread afterwards.
    TimerUnread,
    /// R's answer carried the acknowledgement.
    Reply,
    /// One round trip passed.
    RoundTrip,
    /// A retransmission.
    Loss,
    /// What held a cork, a pace or a window let go.
    Released,
    /// It was too short to matter.
    Brief,
    /// A pure ACK that came too soon or too late for the timer.
    Unexplained,
    /// Nobody looked in time.
    Unseen,
}

impl Ending {
    /// Whether R's delayed-ACK timer ended it.
    pub fn is_timer(self) -> bool {
        matches!(self, Self::Timer | Self::TimerDrained | Self::TimerUnread)
    }
}

/// What a hold waits for, without the detail of one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// An acknowledgement, under Nagle's rule.
    Nagle,
    /// A cork's timer.
    Cork,
    /// The pacing rate.
    Pacing,
    /// The receiver's window.
    Window,
    /// A retransmission timeout.
    Loss,
}

impl Shape {
    /// What it waits for.
    pub fn cause(self) -> Cause {
        match self {
            Self::Nagle(_) => Cause::Nagle,
            Self::Cork => Cause::Cork,
            Self::Pacing => Cause::Pacing,
            Self::Window => Cause::Window,
            Self::Loss => Cause::Loss,
        }
    }
}

/// Counters whose change tells what ended a hold.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    acked: Option<u64>,
    s_retrans: u32,
    s_pure_in: Option<u32>,
    s_data_in: Option<u32>,
    r_pure_out: Option<u32>,
    r_data_out: Option<u32>,
    r_received: Option<u64>,
    /// Of what R received, what its program has read.
    r_read: Option<u64>,
}

impl Marks {
    fn of(cut: &Cut<'_>) -> Self {
        let s = cut.s_info();
        Self {
            acked: s.and_then(TcpInfo::bytes_acked),
            s_retrans: s.and_then(TcpInfo::total_retrans).unwrap_or(0),
            s_pure_in: cut.s.pure_acks_in(),
            s_data_in: s.and_then(TcpInfo::data_segs_in),
            r_pure_out: cut.r.and_then(Socket::pure_acks_out),
            r_data_out: cut.r_info().and_then(TcpInfo::data_segs_out),
            r_received: cut.r_info().and_then(TcpInfo::bytes_received),
            r_read: cut.r_info().and_then(|info| info.bytes_received()?.checked_sub(cut.r?.rqueue.into())),
        }
    }
}

/// How R stood when it was first seen to have everything that is in flight.
#[derive(Clone, Copy, Debug)]
struct Receipt {
    /// Pure ACKs that R had sent.
    pure_out: u32,
    /// Bytes that R had received.
    received: Option<u64>,
    /// R's data age, µs.
    age_us: u64,
}

/// A hold that lasts.
#[derive(Clone, Debug)]
pub struct OpenHold {
    /// What it waits for.
    pub cause: Cause,
    /// When it began, as well as it can be told.
    pub started: Moment,
    /// The latest look that met it.
    pub last_seen: Moment,
    /// Looks that met it.
    pub samples: u32,
    /// Looks at both ends whose numbers fit together.
    pub paired: u32,
    /// Of those, looks in which R's program had not read what arrived.
    pub unread: u32,
    /// Looks in which R's kernel reported its delayed-ACK timer.
    pub timer_seen: u32,
    /// Looks at which it was older than the round trip explains.
    pub aged: u32,
    /// Looks at both ends that were old enough to be proof.
    pub proof: u32,
    /// Looks at which the round trip that all segments take explains it.
    round_trip: u32,
    /// The most bytes that it held.
    pub bytes: u32,
    /// The shortest and longest time after which R's timer can end it, µs after R received.
    delay_us: (u64, u64),
    /// How long after R received its timer is due, µs.
    due_us: u64,
    tick_us: u64,
    /// R's data age at the latest look, µs.
    r_age_us: Option<u64>,
    min_rtt_us: u64,
    first: Marks,
    receipt: Option<Receipt>,
    /// R's data age when its ACK was seen to leave while S still waited for it: at least and at most, µs.
    left_us: Option<(u64, u64)>,
}

impl OpenHold {
    /// Begins a hold with the look that met it first. It cannot have begun before `not_before`, a look that did not meet it.
    pub fn begin(at: Moment, cut: &Cut<'_>, shape: Shape, not_before: Moment) -> Self {
        let started = start_moment(at, age_us(cut, shape.cause()), not_before.min(at), cut.tick.times(1));
        let mut hold = Self {
            cause: shape.cause(),
            started,
            last_seen: at,
            samples: 0,
            paired: 0,
            unread: 0,
            timer_seen: 0,
            aged: 0,
            proof: 0,
            round_trip: 0,
            bytes: 0,
            delay_us: (cut.shortest_delay_us(), cut.longest_delay_us()),
            due_us: cut.expected_delay_us(),
            tick_us: cut.tick.times(1),
            r_age_us: None,
            min_rtt_us: cut.min_rtt_us(),
            first: Marks::of(cut),
            receipt: None,
            left_us: None,
        };
        hold.see(at, cut, shape);
        hold
    }

    /// Whether a later look met the same hold: nothing was acknowledged since.
    pub fn is_same(&self, at: Moment, cut: &Cut<'_>, shape: Shape) -> bool {
        let lasting = matches!(self.cause, Cause::Cork | Cause::Window | Cause::Loss);
        shape.cause() == self.cause
            && Marks::of(cut).acked == self.first.acked
            && (lasting || at.since(self.last_seen) <= SAME_HOLD_GAP_US)
    }

    /// Takes another look at it.
    pub fn see(&mut self, at: Moment, cut: &Cut<'_>, shape: Shape) {
        if self.cause == Cause::Nagle {
            self.see_acknowledgement(at, cut);
        }
        self.last_seen = at;
        self.samples += 1;
        self.bytes = self.bytes.max(cut.notsent().unwrap_or(0));
        self.r_age_us = cut.r_age_us();
        if let Shape::Nagle(view) = shape {
            self.see_nagle(cut, view);
        } else {
            self.paired += u32::from(cut.r.is_some());
        }
    }

    /// R's count of pure ACKs tells when its acknowledgement left, also while it is under way.
    fn see_acknowledgement(&mut self, at: Moment, cut: &Cut<'_>) {
        if cut.all_arrived_unacknowledged() != Some(true) {
            return;
        }
        let Some((pure_out, age_us)) = cut.r.and_then(Socket::pure_acks_out).zip(cut.r_age_us()) else { return };
        match self.receipt {
            None => {
                let received = cut.r_info().and_then(TcpInfo::bytes_received);
                self.receipt = Some(Receipt { pure_out, received, age_us });
            }
            Some(receipt) if self.left_us.is_none() && pure_out != receipt.pure_out => {
                self.left_us = Some(self.acknowledged_between(at));
            }
            Some(_) => {}
        }
    }

    /// R's data age if it acknowledged between the latest look and `at`: at least and at most, µs.
    fn acknowledged_between(&self, at: Moment) -> (u64, u64) {
        let soonest = self.r_age_us.unwrap_or(0);
        (soonest, soonest + at.since(self.last_seen))
    }

    fn see_nagle(&mut self, cut: &Cut<'_>, view: NagleView) {
        self.aged += u32::from(view.aged && !is_overdue(cut));
        self.paired += u32::from(view.paired);
        self.unread += u32::from(view.paired && view.unread);
        self.timer_seen += u32::from(view.timer_seen);
        self.round_trip += u32::from(all_hold(rtt_bound_nagle::TESTS, cut));
        let old = cut.r_age_us().is_some_and(|age| age + cut.tick.times(1) > cut.proof_age_us());
        self.proof += u32::from(view.paired && old);
    }

    /// Whether every look found it within the round trip that all segments take.
    pub fn is_round_trip(&self) -> bool {
        self.samples > 0 && self.round_trip == self.samples
    }

    /// How long it has lasted at `at`, µs.
    pub fn age_us(&self, at: Moment) -> u64 {
        at.since(self.started)
    }

    /// Whether two looks at both ends met it, one of them old enough: the first half of the proof.
    pub fn seen_twice(&self) -> bool {
        self.paired >= 2 && (self.proof >= 1 || self.cause != Cause::Nagle)
    }

    /// What ended it, and when, from the first look that does not meet it any more.
    pub fn end(&self, at: Moment, cut: &Cut<'_>) -> (Ending, Moment) {
        let ended = release_moment(at, cut, self.last_seen);
        let ending = self.classify(at, cut, ended);
        // Whatever went by meanwhile, what S and R report is of the latest of it: a brief cork must not be taken for one that
        // lasted from look to look. It lasted at least until it was last seen.
        let unseen = ending == Ending::Released && at.since(self.last_seen) > RELEASE_GAP_US;
        let ended = match ending {
            Ending::Timer | Ending::TimerDrained | Ending::TimerUnread => self.timer_moment(ended),
            _ if unseen => self.last_seen,
            _ => ended,
        };
        (ending, ended)
    }

    /// When the timer let it go. What S and R report is of their latest segment: where that came more than a tick after the
    /// timer was due, it belongs to a later request, and the timer's due moment, within what was seen, is the better guess.
    fn timer_moment(&self, ended: Moment) -> Moment {
        let Some(r_age) = self.r_age_us else { return ended };
        let due = self.last_seen.before(r_age).after(self.due_us + self.min_rtt_us / 2);
        if ended <= due.after(self.tick_us) { ended } else { due.max(self.last_seen) }
    }

    fn classify(&self, at: Moment, cut: &Cut<'_>, ended: Moment) -> Ending {
        let now = Marks::of(cut);
        if self.cause == Cause::Loss || now.s_retrans > self.first.s_retrans {
            return Ending::Loss;
        }
        if self.cause != Cause::Nagle {
            return Ending::Released;
        }
        if at.since(self.last_seen) > SAME_HOLD_GAP_US {
            return Ending::Unseen;
        }
        let length = ended.since(self.started);
        match cut.r {
            Some(_) => self.classify_pair(at, cut, &now, length),
            None => self.classify_sender(cut, &now, length),
        }
    }

    /// Both ends are visible: R's own count of pure ACKs tells.
    fn classify_pair(&self, at: Moment, cut: &Cut<'_>, now: &Marks, length: u64) -> Ending {
        let replies = risen(self.first.r_data_out, now.r_data_out);
        let acks = self.pure_acks(cut, now, replies);
        if length < cut.tick.times(BRIEF_TICKS) {
            return Ending::Brief;
        }
        if acks == 0 {
            return match self.receipt {
                _ if replies > 0 => Ending::Reply,
                Some(receipt) if receipt.age_us < self.delay_us.0 && self.is_far(cut) => Ending::RoundTrip,
                _ => Ending::Unexplained,
            };
        }
        let (soonest, latest) = self.left_us.unwrap_or_else(|| self.acknowledged_between(at));
        if latest < self.delay_us.0 && self.receipt.is_some() && self.is_far(cut) {
            return Ending::RoundTrip;
        }
        if self.paired == 0 || latest < self.delay_us.0 {
            return match (length <= self.min_rtt_us + ROUND_TRIP_SLACK_US, self.paired) {
                (true, _) => self.short_ending(cut),
                (false, 0) => Ending::Unseen,
                (false, _) => Ending::Unexplained,
            };
        }
        if soonest > self.delay_us.1 {
            return Ending::Unexplained;
        }
        match (self.unread == self.paired, self.is_drained(cut)) {
            (false, _) => Ending::Timer,
            (true, true) => Ending::TimerDrained,
            (true, false) => Ending::TimerUnread,
        }
    }

    /// Pure ACKs of R since it had everything. Where the way is long, the one for what arrived since S was let go is not among
    /// them: the one that let S go may have left before R was first looked at.
    fn pure_acks(&self, cut: &Cut<'_>, now: &Marks, replies: u32) -> u32 {
        let Some(receipt) = self.receipt else { return risen(self.first.r_pure_out, now.r_pure_out) };
        let acks = risen(Some(receipt.pure_out), now.r_pure_out);
        let of_more = self.left_us.is_none() && replies == 0 && now.r_received > receipt.received && self.is_far(cut);
        acks.saturating_sub(u32::from(of_more))
    }

    /// Whether a segment takes so long that looks meet it on its way.
    fn is_far(&self, cut: &Cut<'_>) -> bool {
        self.min_rtt_us >= cut.tick.times(1)
    }

    /// Whether R's program has read what it had left unread during the hold, and some of the rest with it.
    pub fn is_drained(&self, cut: &Cut<'_>) -> bool {
        let received = self.receipt.map_or(self.first.r_received, |receipt| receipt.received);
        Marks::of(cut).r_read > received
    }

    /// A hold no longer than the round trip explains: the round trip is to blame only where it is as long as a tick. Where it
    /// takes microseconds, somebody was scheduled away.
    fn short_ending(&self, cut: &Cut<'_>) -> Ending {
        if self.is_far(cut) { Ending::RoundTrip } else { Ending::Brief }
    }

    /// Only S is visible: a pure ACK after a wait that neither the round trip nor its usual variation explains.
    fn classify_sender(&self, cut: &Cut<'_>, now: &Marks, length: u64) -> Ending {
        if length < cut.tick.times(BRIEF_TICKS) {
            return Ending::Brief;
        }
        if length <= self.min_rtt_us + ROUND_TRIP_SLACK_US {
            return self.short_ending(cut);
        }
        if risen(self.first.s_pure_in, now.s_pure_in) == 0 {
            return if risen(self.first.s_data_in, now.s_data_in) > 0 { Ending::Reply } else { Ending::Unexplained };
        }
        let (shortest, longest) = self.delay_us;
        let waited = length.saturating_sub(self.min_rtt_us);
        if waited < shortest || waited > longest + cut.tick.times(2) || usual_round_trip(cut, length) {
            return Ending::Unexplained;
        }
        Ending::Timer
    }
}

/// Whether S has waited longer than a delayed ACK takes, where only S is seen: something was lost. R's smoothed round trip, which
/// bounds its timer, cannot be seen; S's own stands for it.
fn is_overdue(cut: &Cut<'_>) -> bool {
    let rtt = cut.s_info().and_then(TcpInfo::rtt).unwrap_or(0);
    let longest = u64::from(rtt.max(DELACK_MIN_US)) + 2 * cut.min_rtt_us() + cut.tick.times(2);
    cut.r.is_none() && cut.s_age_us().is_some_and(|age| age > longest)
}

/// Whether a hold of that length is what every segment of this connection takes: a long queue, not a timer. The stall mixes
/// waits with immediate acknowledgements, so its `rttvar` is of the size of its `rtt`.
fn usual_round_trip(cut: &Cut<'_>, length: u64) -> bool {
    let Some((rtt, var)) = cut.s_info().and_then(|info| Some((info.rtt()?, info.rttvar()?))) else { return false };
    length <= u64::from(rtt) + ROUND_TRIP_SLACK_US && u64::from(var) * 2 < u64::from(rtt)
}

/// How much a wrapping counter rose; 0 when either reading is missing.
fn risen(first: Option<u32>, now: Option<u32>) -> u32 {
    first.zip(now).map_or(0, |(first, now)| rise(first, now))
}

/// How much a wrapping counter rose. One that fell was read of another socket, or too late: 0.
pub(super) fn rise(first: u32, now: u32) -> u32 {
    now.wrapping_sub(first).cast_signed().max(0).cast_unsigned()
}

/// When a hold began that a look at `at` met first. What is in flight was sent `age_us` before; the held write followed at once,
/// unless a look in between did not meet the hold: then it came somewhere after that look.
fn start_moment(at: Moment, age_us: u64, not_before: Moment, tick_us: u64) -> Moment {
    let sent = at.before(age_us);
    if sent.after(tick_us) >= not_before { sent.max(not_before) } else { not_before.after(at.since(not_before) / 2) }
}

/// How long a hold has lasted at the first look that met it, µs.
fn age_us(cut: &Cut<'_>, cause: Cause) -> u64 {
    if cause == Cause::Cork {
        // The probe timer was armed for one RTO when the write was held (`tcp_check_probe_timer`).
        let rto = cut.s_info().and_then(TcpInfo::rto).map_or(0, u64::from);
        return rto.saturating_sub(u64::from(cut.s.expires_ms) * 1000);
    }
    cut.s_age_us().unwrap_or(0)
}

/// When the hold was let go: the earliest of the events that S and R report since the last look that met it.
fn release_moment(at: Moment, cut: &Cut<'_>, last_seen: Moment) -> Moment {
    let acked = cut.s_info().and_then(TcpInfo::last_ack_recv).map(|ms| u64::from(ms) * 1000);
    let ages = [cut.s_age_us(), acked, cut.r_age_us()];
    let moments = ages.into_iter().flatten().map(|age| at.before(age));
    moments.filter(|moment| *moment > last_seen).min().unwrap_or(at)
}
