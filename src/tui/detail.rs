//! Everything about the selected connection.

use crate::diagnose::{Finding, Track};
use crate::engine::Engine;
use crate::model::ConnectionId;

use super::build::{min_rtt, side_of};
use super::view::{Detail, Exhibited, Shown};

/// The detail of a connection; `None` when it is not known.
pub(super) fn of(engine: &Engine, id: ConnectionId) -> Option<Detail> {
    let subject = engine.subject(id)?;
    let mut findings = engine.findings(id);
    findings.sort_by_key(|finding| std::cmp::Reverse((finding.severity(), finding.level)));
    let shown = |finding| shown(subject.ends, subject.track, engine, finding);
    let directions: Vec<_> = findings.into_iter().map(shown).collect();
    if directions.is_empty() {
        return None;
    }
    let first_seen = engine.table().connection(id).map(|connection| connection.first_seen);
    Some(Detail {
        id,
        since: first_seen.or(subject.track.map(|track| track.since)).unwrap_or_default(),
        probes: subject.track.map_or(0, |track| track.probes),
        directions,
    })
}

fn shown(ends: [Option<&crate::wire::Socket>; 2], track: Option<&Track>, engine: &Engine, finding: Finding) -> Shown {
    let side = side_of(ends, (finding.sender.ip, finding.sender.port));
    let direction = track.map(|track| &track.directions[side as usize]);
    let verdict = finding.verdict;
    let (s, r) = (finding.sender.socket, finding.receiver.socket);
    Shown {
        exhibit: Exhibited {
            in_flight: s.and_then(|socket| socket.in_flight()),
            held: s.and_then(|socket| socket.info?.notsent_bytes()),
            unread: r.map(|socket| socket.rqueue),
            min_rtt_us: [s, r].into_iter().flatten().find_map(|socket| min_rtt(&socket)),
        },
        // A hold of a connection that is gone lasts no longer.
        open: direction.filter(|_| finding.gone.is_none()).and_then(|direction| direction.open_of(verdict)).cloned(),
        recent: direction.map(|direction| direction.log.recent().copied().collect()).unwrap_or_default(),
        lengths: direction.map(|direction| direction.lengths(verdict).by_ms().to_vec()).unwrap_or_default(),
        strip: direction.map_or([0; crate::diagnose::STRIP_SECONDS], |direction| direction.log.strip(engine.now())),
        finding,
    }
}
