//! Which connections deserve a closer look, and when the next one is due.

use rustc_hash::FxHashMap;

use crate::model::{Connection, ConnectionId, Entry, Moment, Side, Table};

use super::cut::{Cut, SHORT_ATO_US};
use super::rules::nagle_delayed_ack::ABOVE_ROUND_TRIP_US;
use super::rules::shape;
use super::tick::Tick;

/// How long a candidate is watched after it last gave a reason, µs: a stall once in ten seconds gives one every ten.
const STAYS_US: u64 = 30_000_000;

/// The same for one that merely moves data: until the next survey says so again, µs.
const ACTIVE_STAYS_US: u64 = 3_000_000;

/// Data this recent makes a connection active at the first survey, ms.
const ACTIVE_MS: u32 = 1_000;

/// How long a candidate is probed before the next one takes its place when there are too many, µs: some ten holds.
const TURN_US: u64 = 500_000;

/// The shortest interval between two probes of one connection whose `ato` is short, µs.
const SHORTEST_INTERVAL_US: u64 = 2_000;

/// How much a connection looks as if it stalls. Connections of one class take turns among themselves, so that hundreds that
/// merely wait for answers cannot crowd out the one that stalls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It moves data. Looked at only while there is room to spare.
    #[default]
    Active,
    /// It got pure ACKs, and either waited longer than its round trips take or sent more segments than it got.
    Possible,
    /// It has a hold's shape, or grew as one does: all three at once.
    Likely,
}

/// The interval where the receiver leaves data unread, µs.
const UNREAD_INTERVAL_US: u64 = 3_000;

/// In which directions a connection is interesting, and how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Side A as the sender, then side B.
    pub sender: [bool; 2],
    /// How much.
    pub class: Class,
}

impl Interest {
    /// Both directions, first in line.
    pub const BOTH: Self = Self { sender: [true; 2], class: Class::Likely };

    /// Whether either direction is interesting.
    pub fn any(self) -> bool {
        self.sender.contains(&true)
    }

    /// Whether both directions are.
    pub fn both(self) -> bool {
        self.sender == [true; 2]
    }
}

/// Candidates that take turns among themselves.
#[derive(Clone, Debug, Default)]
struct Ring {
    order: Vec<ConnectionId>,
    cursor: usize,
}

impl Ring {
    /// Those whose turn it is, when `room` share one.
    fn turn(&self, room: usize) -> impl Iterator<Item = ConnectionId> + '_ {
        let n = self.order.len();
        let start = if n > room { self.cursor.min(n.saturating_sub(1)) } else { 0 };
        self.order[start..].iter().chain(&self.order[..start]).take(room).copied()
    }

    fn next_turn(&mut self, room: usize) {
        if self.order.len() > room {
            self.cursor = (self.cursor + room) % self.order.len();
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    interest: Interest,
    reason_at: Moment,
    due: Moment,
    interval_us: u64,
    pinned: bool,
}

/// The connections that are looked at closely, and their turns.
#[derive(Clone, Debug)]
pub struct Candidates {
    all: FxHashMap<ConnectionId, Candidate>,
    /// By [`Class`].
    rings: [Ring; 3],
    turn_began: Moment,
    interval_us: u64,
    jitter: u64,
}

impl Candidates {
    /// No candidates; those to come are looked at every `interval_us`.
    pub fn new(interval_us: u64) -> Self {
        let interval_us = interval_us.max(1);
        Self {
            all: FxHashMap::default(),
            rings: Default::default(),
            turn_began: Moment(0),
            interval_us,
            jitter: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Takes a reason to look at a connection.
    pub fn add(&mut self, id: ConnectionId, interest: Interest, at: Moment) {
        if !interest.any() {
            return;
        }
        let Some(candidate) = self.all.get_mut(&id) else {
            let interval_us = self.interval_us;
            self.all.insert(id, Candidate { interest, reason_at: at, due: at, interval_us, pinned: false });
            self.rings[interest.class as usize].order.push(id);
            return;
        };
        candidate.reason_at = candidate.reason_at.max(at);
        for (old, new) in candidate.interest.sender.iter_mut().zip(interest.sender) {
            *old |= new;
        }
        if interest.class > candidate.interest.class {
            let old = std::mem::replace(&mut candidate.interest.class, interest.class);
            self.rings[old as usize].order.retain(|other| *other != id);
            self.rings[interest.class as usize].order.push(id);
        }
    }

    /// Looks at a connection whatever it does, until it is unpinned.
    pub fn pin(&mut self, id: ConnectionId, at: Moment) {
        self.add(id, Interest::BOTH, at);
        if let Some(candidate) = self.all.get_mut(&id) {
            candidate.pinned = true;
        }
    }

    /// Ends [`Candidates::pin`]: the connection stays only while it gives reasons.
    pub fn unpin(&mut self, id: ConnectionId) {
        if let Some(candidate) = self.all.get_mut(&id) {
            candidate.pinned = false;
        }
    }

    /// Forgets a connection.
    pub fn remove(&mut self, id: ConnectionId) {
        if let Some(candidate) = self.all.remove(&id) {
            self.rings[candidate.interest.class as usize].order.retain(|other| *other != id);
        }
    }

    /// Forgets what gave no reason for long.
    pub fn expire(&mut self, now: Moment) {
        let stays = |class: Class| if class == Class::Active { ACTIVE_STAYS_US } else { STAYS_US };
        self.all.retain(|_, candidate| {
            candidate.pinned || now.since(candidate.reason_at) <= stays(candidate.interest.class)
        });
        let all = &self.all;
        for ring in &mut self.rings {
            ring.order.retain(|id| all.contains_key(id));
        }
    }

    /// Looks more often at a connection that needs it: four times within one `ato` where holds are short, and every 3 ms where
    /// it matters how soon the receiver reads.
    pub fn set_pace(&mut self, id: ConnectionId, ato_us: u32, unread: bool) {
        if let Some(candidate) = self.all.get_mut(&id) {
            let short = ato_us > 0 && ato_us < SHORT_ATO_US;
            let mut wanted = self.interval_us;
            if short {
                wanted = wanted.min((u64::from(ato_us) / 4).max(SHORTEST_INTERVAL_US));
            }
            if unread {
                wanted = wanted.min(UNREAD_INTERVAL_US);
            }
            candidate.interval_us = wanted;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// When the next look is due, among the `room` candidates whose turn it is.
    pub fn next_due(&self, room: usize) -> Option<Moment> {
        self.turn(room).filter_map(|id| self.all.get(&id)).map(|candidate| candidate.due).min()
    }

    /// The connections to look at now. At most `room` share a turn; when there are more candidates, turns go round.
    pub fn take_due(&mut self, now: Moment, room: usize) -> Vec<(ConnectionId, Interest)> {
        if now.since(self.turn_began) >= TURN_US {
            self.turn_began = now;
            for (ring, room) in self.rooms(room).into_iter().enumerate() {
                self.rings[ring].next_turn(room);
            }
        }
        let jitter = self.next_jitter();
        let turn: Vec<_> = self.turn(room).collect();
        let mut due = Vec::new();
        for id in turn {
            let Some(candidate) = self.all.get_mut(&id) else { continue };
            if candidate.due <= now {
                // The same jitter for all keeps them in one batch; it keeps looks out of step with what they look at.
                candidate.due = now.after(candidate.interval_us - candidate.interval_us / 16 * jitter / 8);
                due.push((id, candidate.interest));
            }
        }
        due
    }

    fn turn(&self, room: usize) -> impl Iterator<Item = ConnectionId> + '_ {
        let rooms = self.rooms(room);
        self.rings.iter().zip(rooms).rev().flat_map(|(ring, room)| ring.turn(room))
    }

    /// How the room is shared, by [`Class`]: a better class gets what it needs, up to three quarters of what is left while
    /// others wait.
    fn rooms(&self, room: usize) -> [usize; 3] {
        let wanted = self.rings.each_ref().map(|ring| ring.order.len());
        let mut rooms = [0; 3];
        let mut left = room;
        for class in (0..rooms.len()).rev() {
            let waiting: usize = wanted[..class].iter().sum();
            let fair = (left * 3).div_ceil(4).max(left.saturating_sub(waiting));
            rooms[class] = wanted[class].min(fair);
            left -= rooms[class];
        }
        rooms
    }

    /// 0 to 15, from a xorshift generator: nothing depends on its quality.
    fn next_jitter(&mut self) -> u64 {
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        self.jitter % 16
    }
}

/// Why the survey makes a connection a candidate: the shape of either direction, or what grew since the survey before.
pub fn interest_of(table: &Table, connection: &Connection, tick: Tick) -> Interest {
    let mut interest = Interest::default();
    for side in [Side::A, Side::B] {
        let s = table.end(connection, side);
        let r = table.end(connection, side.other());
        let class = match (s, r) {
            (Some(s), r) if has_shape(s, r, connection, side, tick) => Some(Class::Likely),
            (Some(s), r) => grew(s, r),
            (None, Some(r)) => receiver_grew(r),
            (None, None) => None,
        };
        interest.sender[side as usize] = class.is_some();
        interest.class = interest.class.max(class.unwrap_or_default());
    }
    interest
}

fn has_shape(s: &Entry, r: Option<&Entry>, connection: &Connection, sender: Side, tick: Tick) -> bool {
    let s_opened = connection.opener.side().map(|opener| opener == sender);
    shape(&Cut { s: &s.socket, r: r.map(|r| &r.socket), s_opened, quiet: None, r_lag_us: 0, tick }).is_some()
}

/// What the growth of S and R says of the direction in which S sends. S was busy for longer than its segments' round trips
/// while R sent pure ACKs: at least one wait that might be a hold. That is likely where S sent more segments than it got, as a
/// message in two parts makes.
fn grew(s: &Entry, r: Option<&Entry>) -> Option<Class> {
    let Some(growth) = &s.growth else { return is_active(s).then_some(Class::Active) };
    if growth.data_segs_out == 0 {
        return None;
    }
    let pure_acks = r.and_then(|r| r.growth).map_or(growth.pure_acks_in, |growth| growth.pure_acks_out);
    let more_out_than_in = growth.data_segs_out > growth.data_segs_in;
    let min_rtt =
        s.socket.info.as_ref().and_then(crate::wire::TcpInfo::min_rtt).filter(|us| *us != u32::MAX).unwrap_or(0);
    let round_trips = u64::from(min_rtt) * u64::from(growth.data_segs_out);
    // Before 4.10 there is no busy_time to tell.
    let waited = growth.busy_us.is_none_or(|busy| busy >= round_trips + ABOVE_ROUND_TRIP_US);
    Some(match (waited && pure_acks > 0, more_out_than_in && pure_acks > 0) {
        (true, true) => Class::Likely,
        (true, false) | (false, true) => Class::Possible,
        (false, false) => Class::Active,
    })
}

/// Whether data moved just before the first survey.
fn is_active(entry: &Entry) -> bool {
    let recent = |ms: Option<u32>| ms.is_some_and(|ms| ms < ACTIVE_MS);
    let info = entry.socket.info.as_ref();
    info.is_some_and(|info| recent(info.last_data_sent()) && recent(info.last_data_recv()))
}

/// The sender is remote. R got more segments than it answered, and sent pure ACKs.
fn receiver_grew(r: &Entry) -> Option<Class> {
    let Some(growth) = &r.growth else { return is_active(r).then_some(Class::Active) };
    if growth.data_segs_in == 0 {
        return None;
    }
    let pattern = growth.pure_acks_out > 0 && growth.data_segs_out > 0 && growth.data_segs_in > growth.data_segs_out;
    Some(if pattern { Class::Likely } else { Class::Active })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_US: u64 = 10_000;

    fn crowd(counts: [(Class, u32); 3]) -> Candidates {
        let mut candidates = Candidates::new(INTERVAL_US);
        let mut next = 0;
        for (class, count) in counts {
            for _ in 0..count {
                candidates.add(ConnectionId::numbered(next), Interest { sender: [true, false], class }, Moment(0));
                next += 1;
            }
        }
        candidates
    }

    /// How often each connection is looked at in five seconds, with `room` in one turn.
    fn looks(candidates: &mut Candidates, room: usize) -> FxHashMap<ConnectionId, u32> {
        let mut looks = FxHashMap::default();
        for ms in 0..5_000 {
            for (id, _) in candidates.take_due(Moment(ms * 1000), room) {
                *looks.entry(id).or_default() += 1;
            }
        }
        looks
    }

    #[test]
    fn with_room_for_all_each_is_looked_at_every_interval() {
        let mut candidates = crowd([(Class::Likely, 3), (Class::Possible, 3), (Class::Active, 3)]);
        let looks = looks(&mut candidates, 9);
        assert_eq!(looks.len(), 9);
        assert!(looks.values().all(|n| (490..=580).contains(n)), "{looks:?}");
    }

    #[test]
    fn a_likely_one_is_not_crowded_out_and_the_others_take_turns() {
        let mut candidates = crowd([(Class::Likely, 1), (Class::Possible, 40), (Class::Active, 40)]);
        let looks = looks(&mut candidates, 8);
        assert!(looks[&ConnectionId::numbered(0)] >= 490, "{looks:?}");
        assert!((1..41).all(|n| looks.get(&ConnectionId::numbered(n)).is_some_and(|n| *n > 10)), "{looks:?}");
    }

    #[test]
    fn a_better_reason_moves_a_connection_up_and_none_lets_it_go() {
        let mut candidates = crowd([(Class::Likely, 0), (Class::Possible, 0), (Class::Active, 2)]);
        let id = ConnectionId::numbered(0);
        candidates.add(id, Interest::BOTH, Moment(0));
        candidates.expire(Moment(ACTIVE_STAYS_US + 1));
        assert_eq!(candidates.len(), 1, "the active one is forgotten first");
        candidates.pin(id, Moment(0));
        candidates.expire(Moment(STAYS_US + 1));
        assert_eq!(candidates.len(), 1, "a pinned one stays");
        candidates.unpin(id);
        candidates.expire(Moment(STAYS_US + 1));
        assert!(candidates.is_empty());
        assert_eq!(candidates.next_due(8), None);
    }

    #[test]
    fn short_holds_and_unread_data_are_looked_at_more_often() {
        let mut candidates = crowd([(Class::Likely, 2), (Class::Possible, 0), (Class::Active, 0)]);
        candidates.set_pace(ConnectionId::numbered(0), 8_000, false);
        candidates.set_pace(ConnectionId::numbered(1), 40_000, true);
        let looks = looks(&mut candidates, 2);
        assert!(looks[&ConnectionId::numbered(0)] >= 2_400, "{looks:?}");
        assert!(looks[&ConnectionId::numbered(1)] >= 1_600, "{looks:?}");
    }
}
