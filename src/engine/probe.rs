//! Taking a probe's answers: from four messages to two consistent looks.

use crate::diagnose::unchanged;
use crate::model::READ_WITHIN_US;

use super::{Cookie, Engine, HostId, Message, Moment, ProbeTarget, Reading, Side, Socket, Track, messages};

/// The readings of one probe, in the order asked.
#[derive(Default)]
struct Readings {
    first: [Option<Socket>; 2],
    second: [Option<Socket>; 2],
    gone: bool,
}

impl Engine {
    pub(super) fn take_probe(&mut self, host: HostId, at: Moment, target: ProbeTarget, answers: &[u8]) {
        self.advance(at);
        let readings = self.read_answers(host, target, answers);
        let Some(entry) = self.table.socket(host, target.first) else { return };
        let (id, first_side) = (entry.connection, entry.side);
        let Some(connection) = self.table.connection(id) else { return };
        let (since, opener) = (connection.first_seen, connection.opener);
        let (tick, uncertainty_us) = (self.tick_of(connection), self.uncertainty_us(connection));
        let across = self.table.is_across(connection);
        if readings.gone {
            // The next survey tells whether anything is left of it.
            self.notes.count("probed socket vanished");
            self.candidates.remove(id);
        }
        let counted = self.hosts.of(host).delayed_acks();
        let track = self.tracks.entry(id).or_insert_with(|| Box::new(Track::new(since, counted)));
        track.opener = opener;
        if readings.first[0].is_some() || readings.second[0].is_some() {
            self.probes += 1;
            track.probes += 1;
            track.probed = Some(at);
        }
        for socket in readings.first.iter().chain(&readings.second).flatten() {
            self.hosts.at(host).meter.observe(socket);
        }
        let looked = match (&readings.first[0], across) {
            (Some(socket), true) => {
                // A clock that is read before the request and a reading that is late are no more than this apart, but where the
                // machine is out of breath.
                let reading = Reading { from: at, until: at.after(READ_WITHIN_US), socket };
                track.look_across(first_side, reading, uncertainty_us, tick)
            }
            (None, true) => false,
            (_, false) => look(track, at, target, first_side, &readings, tick),
        };
        if looked {
            let ato = readings.first.iter().chain(&readings.second).flatten();
            let ato = ato.filter_map(|socket| socket.info?.ato()).filter(|ato| *ato > 0).min();
            let stays = track.verdict().is_some();
            let unread = track.directions.iter().any(crate::diagnose::Direction::leaves_unread);
            self.candidates.set_pace(id, ato.unwrap_or(0), unread);
            if stays {
                self.candidates.add(id, interest(first_side, target), at);
            }
        }
    }

    fn read_answers(&mut self, host: HostId, target: ProbeTarget, answers: &[u8]) -> Readings {
        let mut readings = Readings::default();
        for (place, message) in messages(answers).enumerate() {
            // Asked in the order first, second, first, second; alone, the first is asked once.
            let (wanted, slots) = match (place % 2, target.second) {
                (1, Some(second)) => (second, &mut readings.second),
                _ => (target.first, &mut readings.first),
            };
            match message {
                Message::Socket { mut socket, .. } if is(&socket, wanted) => {
                    socket.host = host;
                    if let Some(slot) = slots.get_mut(place / 2) {
                        *slot = Some(socket);
                    }
                }
                // A socket without tcp_info is a connection that is over: TIME_WAIT answers so.
                Message::Socket { .. } | Message::Error { .. } => readings.gone = true,
                Message::Malformed(defect) => self.notes.defect(defect),
                Message::Done { .. } | Message::Other { .. } => {}
            }
        }
        readings
    }
}

fn is(socket: &Socket, wanted: Cookie) -> bool {
    socket.cookie == wanted && socket.info.is_some()
}

fn interest(first: Side, target: ProbeTarget) -> crate::diagnose::Interest {
    let mut interest = crate::diagnose::Interest { class: crate::diagnose::Class::Likely, ..Default::default() };
    interest.sender[first as usize] = true;
    if target.second.is_none() {
        interest.sender[first.other() as usize] = true;
    }
    interest
}

/// Takes the consistent looks that the readings hold: S, R, S with S unchanged between its two readings. Answers whether there
/// was one.
fn look(
    track: &mut Track,
    at: Moment,
    target: ProbeTarget,
    first: Side,
    readings: &Readings,
    tick: crate::diagnose::Tick,
) -> bool {
    let [a1, a2] = readings.first.each_ref().map(Option::as_ref);
    let [b1, b2] = readings.second.each_ref().map(Option::as_ref);
    if target.second.is_none() {
        let Some(a) = a1 else { return false };
        track.look_alone(at, first, a, tick);
        return true;
    }
    let mut looked = false;
    if let (Some(a1), Some(b1), Some(a2)) = (a1, b1, a2)
        && unchanged(a1, a2)
    {
        track.look(at, first, a2, Some(b1), tick, true);
        looked = true;
    }
    if let (Some(b1), Some(a2), Some(b2)) = (b1, a2, b2)
        && unchanged(b1, b2)
    {
        track.look(at, first.other(), b2, Some(a2), tick, true);
        looked = true;
    }
    looked
}
