//! One direction of a connection over time: the hold that lasts, the holds that ended, and what they amount to.

use crate::model::Moment;
use crate::wire::Socket;

use super::ack_gap::{self, AckGap};
use super::cut::Cut;
use super::fact::Fact;
use super::hold::{Cause, Ending, OpenHold};
use super::log::{EndedHold, HoldLog, Lengths};
use super::receiver_side::ReceiverSide;
use super::rules::held_unread::{self, DRAIN_AT_ONCE_US, DRAINS_THAT_TELL, LATE_DRAINS_ALLOWED};
use super::rules::{Shape, cork_hold, receiver_window, shape};
use super::tally::{Tally, TimerShare};
use super::tick::Tick;
use super::verdict::{Level, Verdict};

/// Looks further apart than this do not count as watching, µs.
const WATCHING_GAP_US: u64 = 100_000;

/// Holds ended by the timer that tell where none of them was seen twice.
const UNPROVEN_HOLDS_THAT_TELL: u64 = 2;

/// Holds of one round trip that tell what a connection waits for, where the timer has ended none yet.
const ROUND_TRIPS_THAT_TELL: u64 = 3;

/// A stream under Nagle's rule waits for the round trip, and now and then for the timer too: when a segment outgrows those before
/// it, R does not take it for the end of a write (`tcp_measure_rcv_mss`). One hold in so many is no pattern; with a
/// `tcp_pingpong_thresh` of 8, one request in eight is.
const ROUND_TRIPS_PER_TIMER: u64 = 10;

/// Holds under Nagle's rule, by what ended them.
#[derive(Clone, Copy, Debug)]
struct EndedBy {
    timer: u64,
    reply: u64,
    unread: u64,
    round_trip: u64,
}

impl EndedBy {
    /// Whether the timer ended too few of them for it to be what the connection waits for.
    fn tells_against(self) -> bool {
        self.reply >= self.timer || self.unread >= self.timer || self.round_trip >= self.timer * ROUND_TRIPS_PER_TIMER
    }
}

/// Both ends as they stood when a hold was seen best: what the evidence quotes.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// When.
    pub at: Moment,
    /// The sender.
    pub s: Socket,
    /// The receiver, when it is visible.
    pub r: Option<Socket>,
    /// Whether no segment of R was on its way to S.
    pub quiet: Option<bool>,
    /// How long before `at` R was read, µs.
    pub r_lag_us: i64,
    cause: Cause,
    weight: u32,
}

/// A look at both ends of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// When.
    pub at: Moment,
    /// The sender.
    pub s: &'a Socket,
    /// The receiver, when it is visible.
    pub r: Option<&'a Socket>,
    /// How long before `at` R was read, µs: 0 where both ends were read together, negative where R was read later.
    pub r_lag_us: i64,
    /// Whether S opened the connection, when known.
    pub s_opened: Option<bool>,
    /// The kernel's tick.
    pub tick: Tick,
    /// Whether both ends are of one instant: a probe's S, R, S. The two ends of a survey are not.
    pub is_cut: bool,
}

/// What one direction of a connection did while it was watched.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    open: Option<OpenHold>,
    /// A hold that ended with R's data still unread, and when.
    undrained: Option<(Moment, OpenHold)>,
    /// Holds that ended.
    pub log: HoldLog,
    /// What R alone tells of a sender that cannot be seen.
    pub receiver_side: ReceiverSide,
    exhibits: Vec<Exhibit>,
    gap: AckGap,
    tally: Tally,
    last_look: Option<Moment>,
    /// Time over which it was watched closely, µs.
    pub watched_us: u64,
}

impl Direction {
    /// Takes a look.
    pub fn look(&mut self, look: &Look<'_>) {
        let previous = self.count_watching(look.at);
        let quiet = look.r.and_then(|r| {
            if look.is_cut {
                self.gap.observe(look.at, look.s, r, look.s_opened)
            } else {
                ack_gap::glance(look.s, r, look.s_opened)
            }
        });
        let Look { s, r, r_lag_us, s_opened, tick, .. } = *look;
        let cut = Cut { s, r, s_opened, quiet, r_lag_us, tick };
        self.tally.see(&cut);
        self.see_drain(look.at, &cut);
        let shape = shape(&cut);
        if let (Some(hold), Some(shape)) = (&mut self.open, shape)
            && hold.is_same(look.at, &cut, shape)
        {
            hold.see(look.at, &cut, shape);
            self.exhibit(look.at, &cut, shape);
            return;
        }
        let not_before = self.close(look.at, &cut);
        if let Some(shape) = shape {
            let not_before = not_before.or(previous).unwrap_or_default();
            self.open = Some(OpenHold::begin(look.at, &cut, shape, not_before));
            self.exhibit(look.at, &cut, shape);
        }
    }

    /// Takes an S that may have left its hold, with an R that was read after that: enough to tell what ended the hold, and
    /// nothing else.
    pub fn look_after(&mut self, look: &Look<'_>) {
        let Look { at, s, r, r_lag_us, s_opened, tick, .. } = *look;
        let cut = Cut { s, r, s_opened, quiet: None, r_lag_us, tick };
        let lasts = |hold: &OpenHold| shape(&cut).is_some_and(|shape| hold.is_same(at, &cut, shape));
        if self.open.as_ref().is_some_and(|hold| at > hold.last_seen && !lasts(hold)) {
            self.close(at, &cut);
        }
    }

    /// Takes a look at R alone: the sender is on another host.
    pub fn look_at_receiver(&mut self, at: Moment, r: &Socket, tick: Tick) {
        self.count_watching(at);
        self.receiver_side.look(at, r, tick);
    }

    /// Counts the time since the look before, which it answers.
    fn count_watching(&mut self, at: Moment) -> Option<Moment> {
        let previous = self.last_look.replace(at)?;
        let gap = at.since(previous);
        if gap <= WATCHING_GAP_US {
            self.watched_us += gap;
        }
        Some(previous)
    }

    /// Ends the hold that lasted; answers when it was let go.
    fn close(&mut self, at: Moment, cut: &Cut<'_>) -> Option<Moment> {
        let hold = self.open.take()?;
        let (ending, ended) = hold.end(at, cut);
        match ending {
            Ending::TimerUnread => {
                if let Some((ended, earlier)) = self.undrained.replace((ended, hold)) {
                    self.add(&earlier, Ending::TimerUnread, ended);
                }
            }
            Ending::Unseen => {
                self.log.glimpses.count(&hold);
                self.add(&hold, ending, hold.last_seen);
                return None;
            }
            _ => self.add(&hold, ending, ended),
        }
        Some(ended)
    }

    /// A hold that left R's data unread waits for its word: read soon after the release, R had waited for the rest.
    fn see_drain(&mut self, at: Moment, cut: &Cut<'_>) {
        let Some((ended, hold)) = self.undrained.take() else { return };
        let soon = at.since(ended) <= DRAIN_AT_ONCE_US;
        match (hold.is_drained(cut), soon) {
            (true, true) => self.add(&hold, Ending::TimerDrained, ended),
            (false, true) => self.undrained = Some((ended, hold)),
            (_, false) => self.add(&hold, Ending::TimerUnread, ended),
        }
    }

    fn add(&mut self, hold: &OpenHold, ending: Ending, ended: Moment) {
        self.log.add(EndedHold {
            started: hold.started,
            length_us: ended.since(hold.started),
            cause: hold.cause,
            ending,
            bytes: hold.bytes,
            seen_twice: hold.seen_twice(),
            timer_seen: hold.timer_seen > 0,
        });
    }

    /// Whether nothing odd was ever seen in it.
    pub fn is_blank(&self) -> bool {
        self.exhibits.is_empty() && self.receiver_side.is_blank()
    }

    /// Whether R's program leaves data unread: then closer looks tell a program that waits for the rest from a slow one.
    pub fn leaves_unread(&self) -> bool {
        self.undrained.is_some() || self.open.as_ref().is_some_and(|hold| hold.unread > 0)
    }

    /// Keeps the most telling look of each cause.
    fn exhibit(&mut self, at: Moment, cut: &Cut<'_>, shape: Shape) {
        let weight = match shape {
            Shape::Nagle(view) => {
                u32::from(view.paired) * 2
                    + u32::from(view.timer_seen) * 4
                    + u32::from(view.aged)
                    + u32::from(!view.unread)
            }
            _ => 1,
        };
        let Cut { quiet, r_lag_us, .. } = *cut;
        let exhibit = Exhibit { at, s: *cut.s, r: cut.r.copied(), quiet, r_lag_us, cause: shape.cause(), weight };
        match self.exhibits.iter_mut().find(|old| old.cause == exhibit.cause) {
            Some(old) if weight >= old.weight => *old = exhibit,
            Some(_) => {}
            None => self.exhibits.push(exhibit),
        }
    }

    /// The look that shows best what a verdict says.
    pub fn exhibit_of(&self, verdict: Verdict) -> Option<&Exhibit> {
        let cause = match verdict {
            Verdict::CorkHold => Cause::Cork,
            Verdict::Pacing => Cause::Pacing,
            Verdict::ReceiverWindow => Cause::Window,
            Verdict::LossRecovery => Cause::Loss,
            _ => Cause::Nagle,
        };
        self.exhibits.iter().find(|exhibit| exhibit.cause == cause)
    }

    /// The hold that lasts now.
    pub fn open(&self) -> Option<&OpenHold> {
        self.open.as_ref()
    }

    /// When the latest hold ended that was seen to.
    pub fn last_end(&self) -> Option<Moment> {
        self.log.recent().next_back().map(|hold| hold.started.after(hold.length_us))
    }

    /// What it all amounts to; `None` when nothing was held that matters.
    pub fn verdict(&self) -> Option<(Verdict, Level)> {
        let nagle = self.nagle().map(|level| (Verdict::NagleDelayedAck, level));
        let cork = self.cork().map(|level| (Verdict::CorkHold, level));
        nagle.or(cork).or_else(|| self.limit()).or_else(|| self.note())
    }

    /// Holds that are the stall's, by how they ended.
    pub fn stall_endings(&self) -> &'static [Ending] {
        if self.is_peeking() { &[Ending::Timer, Ending::TimerDrained] } else { &[Ending::Timer] }
    }

    fn is_peeking(&self) -> bool {
        let drained = self.log.count(Cause::Nagle, Ending::TimerDrained);
        let late = self.log.count(Cause::Nagle, Ending::TimerUnread);
        drained >= DRAINS_THAT_TELL.into() && late * LATE_DRAINS_ALLOWED < drained
    }

    /// Takes the count of acknowledgements that delayed-ACK timers of R's namespace sent; none has fired since `none_since`, and
    /// ended nothing. A receiver that cannot be seen has a namespace of its own.
    pub fn count_timer_acks(&mut self, delayed_acks: u64, none_since: Option<Moment>) {
        self.receiver_side.count_timer_acks(delayed_acks);
        if let Some(since) = none_since.filter(|_| self.is_paired()) {
            self.log.refute_timers(since);
        }
    }

    fn nagle(&self) -> Option<Level> {
        let ever = self.ended_by(|endings| self.log.merged(Cause::Nagle, endings).count);
        let open = self.open.as_ref().filter(|hold| hold.cause == Cause::Nagle);
        let seen_now = |look: fn(&OpenHold) -> bool| open.is_some_and(look);
        if ever.timer > 0 {
            // A connection that did something else for hours and stalls now is stalled, and so is one that stalled for long.
            let lately = || self.ended_by(|endings| self.log.count_recent(Cause::Nagle, endings));
            if ever.tells_against() && lately().tells_against() {
                return None;
            }
            // One hold that no second look bore out is too little to call a connection stalled.
            if self.log.proofs == 0 && ever.timer < UNPROVEN_HOLDS_THAT_TELL && self.log.timer_seen == 0 {
                return None;
            }
            let timer_seen = self.log.timer_seen > 0 || seen_now(|hold| hold.timer_seen > 0);
            return Some(match (timer_seen, self.log.proofs > 0, self.is_paired()) {
                (true, ..) => Level::Confirmed,
                (_, true, _) => Level::Proven,
                (_, _, true) => Level::Paired,
                _ => Level::Suspected,
            });
        }
        if ever.reply > 0 || ever.unread > 0 || ever.round_trip >= ROUND_TRIPS_THAT_TELL {
            return None;
        }
        if seen_now(|hold| hold.timer_seen > hold.unread) {
            return Some(Level::Confirmed);
        }
        let seen_paired = self.log.glimpses.paired > 0 || seen_now(|hold| hold.paired > hold.unread);
        match (self.timer_share(), seen_paired) {
            (TimerShare::Little, _) => None,
            (TimerShare::Unclear, true) => Some(Level::Suspected),
            (TimerShare::Most, true) => Some(Level::Paired),
            (_, false) => self.suspected(),
        }
    }

    /// How much of S's waiting R's timer can explain. Where looks were close, they tell by themselves.
    pub fn timer_share(&self) -> TimerShare {
        if self.watched_us > 0 { TimerShare::Most } else { self.tally.timer_share() }
    }

    /// What the connection's own counters say, where nothing was watched closely.
    pub fn counted(&self) -> Option<Fact> {
        if self.watched_us > 0 { None } else { self.tally.fact() }
    }

    fn ended_by(&self, count: impl Fn(&[Ending]) -> u64) -> EndedBy {
        EndedBy {
            timer: count(self.stall_endings()),
            reply: count(&[Ending::Reply]),
            unread: count(&[Ending::TimerUnread]),
            round_trip: count(&[Ending::RoundTrip]),
        }
    }

    fn is_paired(&self) -> bool {
        self.exhibits.iter().any(|exhibit| exhibit.cause == Cause::Nagle && exhibit.r.is_some())
    }

    /// One end alone: a hold too old for the round trip counts while nothing that ended speaks against it.
    fn suspected(&self) -> Option<Level> {
        if self.receiver_side.tells() {
            return Some(Level::Suspected);
        }
        let others = [Ending::Loss, Ending::RoundTrip, Ending::Unexplained];
        let one_ended = !self.is_paired() && self.log.merged(Cause::Nagle, &others).count == 0;
        let aged = self.open.as_ref().is_some_and(|hold| hold.cause == Cause::Nagle && hold.aged > 0);
        let glimpsed = self.log.glimpses.aged > 0 || (aged && self.watched_us == 0);
        (one_ended && glimpsed).then_some(Level::Suspected)
    }

    fn cork(&self) -> Option<Level> {
        let (held, both, twice) = self.lasting(Cause::Cork, cork_hold::LASTING_US);
        held.then_some(match (both, twice) {
            (true, true) => Level::Proven,
            (true, false) => Level::Paired,
            _ => Level::Suspected,
        })
    }

    /// Whether holds of that cause lasted: at all, seen from both ends, and seen to end after two looks.
    fn lasting(&self, cause: Cause, lasting_us: u64) -> (bool, bool, bool) {
        let ended = self.log.merged(cause, &[Ending::Released, Ending::Loss]);
        let open = self.open.as_ref().filter(|hold| hold.cause == cause && hold.age_us(hold.last_seen) >= lasting_us);
        let held = ended.max_us >= lasting_us || open.is_some();
        let both = self.exhibits.iter().any(|exhibit| exhibit.cause == cause && exhibit.r.is_some());
        let twice =
            self.log.recent().any(|hold| hold.cause == cause && hold.length_us >= lasting_us && hold.seen_twice);
        (held, both, twice)
    }

    /// The limit that held longest.
    fn limit(&self) -> Option<(Verdict, Level)> {
        let level = |both: bool| if both { Level::Paired } else { Level::Suspected };
        let mut limits = Vec::new();
        for (verdict, cause, lasting_us) in [
            (Verdict::ReceiverWindow, Cause::Window, receiver_window::LASTING_US),
            (Verdict::Pacing, Cause::Pacing, cork_hold::LASTING_US),
            (Verdict::LossRecovery, Cause::Loss, 0),
        ] {
            let (held, both, _) = self.lasting(cause, lasting_us);
            if held && self.seen(cause) {
                limits.push((self.held(cause, &[Ending::Released, Ending::Loss]), verdict, level(both)));
            }
        }
        let unread = [Ending::TimerUnread, Ending::TimerDrained];
        let lost = self.log.merged(Cause::Nagle, &[Ending::Loss]).total_us;
        if lost > 0 {
            limits.push((lost, Verdict::LossRecovery, level(self.is_paired())));
        }
        if self.is_held_unread() {
            limits.push((self.held(Cause::Nagle, &unread), Verdict::HeldUnread, self.unread_level()));
        }
        limits.into_iter().max_by_key(|limit| limit.0).map(|(_, verdict, level)| (verdict, level))
    }

    /// A receiver that was scheduled away a few times is not a slow reader.
    fn is_held_unread(&self) -> bool {
        let ended = self.log.merged(Cause::Nagle, &[Ending::TimerUnread, Ending::TimerDrained]);
        let open = self.open.as_ref().filter(|hold| hold.cause == Cause::Nagle && hold.unread > 0);
        if self.watched_us == 0 {
            return open.is_some() || self.log.glimpses.unread > 0;
        }
        let lasts = open.is_some_and(|hold| hold.age_us(hold.last_seen) >= cork_hold::LASTING_US);
        let often = ended.count + self.log.glimpses.unread >= held_unread::HOLDS_THAT_TELL;
        lasts || (often && ended.total_us * held_unread::SHARE_THAT_TELLS >= self.watched_us)
    }

    /// One look alone may have met a program that was scheduled away.
    fn unread_level(&self) -> Level {
        let open = self.open.as_ref().is_some_and(|hold| hold.cause == Cause::Nagle && hold.unread > 0);
        let once = self.watched_us == 0 && self.log.glimpses.unread + u64::from(open) < 2;
        if once { Level::Suspected } else { Level::Paired }
    }

    fn seen(&self, cause: Cause) -> bool {
        self.exhibits.iter().any(|exhibit| exhibit.cause == cause)
    }

    fn held(&self, cause: Cause, endings: &[Ending]) -> u64 {
        let open = self.open.as_ref().filter(|hold| hold.cause == cause);
        self.log.merged(cause, endings).total_us + open.map_or(0, |hold| hold.age_us(hold.last_seen))
    }

    fn note(&self) -> Option<(Verdict, Level)> {
        let level = if self.is_paired() { Level::Paired } else { Level::Suspected };
        let reply = self.log.count(Cause::Nagle, Ending::Reply);
        let round_trip = self.log.count(Cause::Nagle, Ending::RoundTrip);
        if reply == 0 && round_trip == 0 {
            return self.glimpsed_note().map(|verdict| (verdict, Level::Suspected));
        }
        let verdict = if reply >= round_trip { Verdict::ReleasedByReply } else { Verdict::RttBoundNagle };
        Some((verdict, level))
    }

    /// What holds whose end nobody saw are most likely, where looks were far apart and they are not the timer's.
    fn glimpsed_note(&self) -> Option<Verdict> {
        if self.watched_us > 0 {
            return None;
        }
        let open = self.open.as_ref().filter(|hold| hold.cause == Cause::Nagle);
        let met = |glimpsed: u64, look: fn(&OpenHold) -> bool| glimpsed > 0 || open.is_some_and(look);
        let glimpses = &self.log.glimpses;
        let waited = met(glimpses.paired + glimpses.aged, |hold| hold.paired > hold.unread || hold.aged > 0);
        if waited && self.timer_share() == TimerShare::Little {
            return Some(Verdict::ReleasedByReply);
        }
        met(glimpses.round_trip, OpenHold::is_round_trip).then_some(Verdict::RttBoundNagle)
    }

    /// The lengths of the holds that a verdict speaks of.
    pub fn lengths(&self, verdict: Verdict) -> Lengths {
        match verdict {
            Verdict::NagleDelayedAck => {
                let mut endings = self.stall_endings().to_vec();
                endings.push(Ending::Reply);
                self.log.merged(Cause::Nagle, &endings)
            }
            Verdict::ReleasedByReply => self.log.merged(Cause::Nagle, &[Ending::Timer, Ending::Reply]),
            Verdict::RttBoundNagle => self.log.merged(Cause::Nagle, &[Ending::RoundTrip]),
            Verdict::HeldUnread => self.log.merged(Cause::Nagle, &[Ending::TimerUnread, Ending::TimerDrained]),
            Verdict::CorkHold => self.log.merged(Cause::Cork, &[Ending::Released]),
            Verdict::Pacing => self.log.merged(Cause::Pacing, &[Ending::Released]),
            Verdict::ReceiverWindow => self.log.merged(Cause::Window, &[Ending::Released]),
            Verdict::LossRecovery => {
                let mut lengths = self.log.merged(Cause::Loss, &[Ending::Loss]);
                lengths.merge(&self.log.merged(Cause::Nagle, &[Ending::Loss]));
                lengths
            }
            Verdict::Healthy | Verdict::Idle => Lengths::default(),
        }
    }

    /// The hold that lasts now, when it is one that the verdict speaks of.
    pub fn open_of(&self, verdict: Verdict) -> Option<&OpenHold> {
        self.open.as_ref().filter(|hold| match verdict {
            Verdict::NagleDelayedAck | Verdict::ReleasedByReply | Verdict::RttBoundNagle | Verdict::HeldUnread => {
                hold.cause == Cause::Nagle
            }
            Verdict::CorkHold => hold.cause == Cause::Cork,
            Verdict::Pacing => hold.cause == Cause::Pacing,
            Verdict::ReceiverWindow => hold.cause == Cause::Window,
            Verdict::LossRecovery => hold.cause == Cause::Loss,
            Verdict::Healthy | Verdict::Idle => false,
        })
    }
}
