//! Which connections a filter shows.

use crate::diagnose::{HoldFigures, Level, Subject, Verdict};
use crate::engine::Engine;
use crate::filter::{End, Filter, OwnField, OwnValue};
use crate::model::{ConnectionId, Owners, Side};
use crate::wire::Socket;

/// One end of a connection, as a filter sees it.
#[derive(Clone, Copy)]
pub struct ConnectionEnd<'a> {
    engine: &'a Engine,
    subject: &'a Subject<'a>,
    judged: (Side, Verdict, Option<Level>),
    side: Side,
    socket: &'a Socket,
}

impl End for ConnectionEnd<'_> {
    fn socket(&self) -> &Socket {
        self.socket
    }

    fn own(&self, field: OwnField, visit: &mut dyn FnMut(OwnValue<'_>)) {
        let (sender, verdict, level) = self.judged;
        match field {
            OwnField::Verdict => visit(OwnValue::Text(verdict.as_str())),
            OwnField::Level => level.into_iter().for_each(|level| visit(OwnValue::Text(level.as_str()))),
            OwnField::Severity => visit(OwnValue::Text(verdict.severity().as_str())),
            OwnField::Role => visit(OwnValue::Text(if sender == self.side { "sender" } else { "receiver" })),
            OwnField::Direction => {
                if let Some(opener) = self.subject.opener.side() {
                    visit(OwnValue::Text(if opener == self.side { "out" } else { "in" }));
                }
            }
            OwnField::Peer => {
                let visible = self.subject.ends[self.side.other() as usize].is_some();
                visit(OwnValue::Text(if visible { "local" } else { "remote" }));
            }
            OwnField::Pid | OwnField::Comm => self.owners(field, visit),
            _ => {
                let figures = self.subject.figures(sender, verdict, self.engine.now());
                if let Some(value) = figure(field, &figures) {
                    visit(OwnValue::Real(value));
                }
            }
        }
    }
}

impl ConnectionEnd<'_> {
    fn owners(&self, field: OwnField, visit: &mut dyn FnMut(OwnValue<'_>)) {
        let Owners::Known(owners) = self.engine.owners(self.socket) else { return };
        for owner in &owners {
            if field == OwnField::Pid {
                visit(OwnValue::Number(owner.pid.into()));
            } else {
                visit(OwnValue::Text(&owner.comm));
            }
        }
    }
}

fn figure(field: OwnField, figures: &HoldFigures) -> Option<f64> {
    match field {
        OwnField::Age => figures.age_ms,
        OwnField::Holds => Some(figures.observed as f64),
        OwnField::ByTimer => Some(figures.released_by_timer as f64),
        OwnField::ByReply => Some(figures.released_by_reply as f64),
        OwnField::Rate => figures.rate(),
        OwnField::Held => Some(figures.held_ms),
        OwnField::Share => figures.share,
        OwnField::P50 => figures.p50_ms.map(f64::from),
        OwnField::P90 => figures.p90_ms.map(f64::from),
        OwnField::Max => figures.max_ms,
        _ => None,
    }
}

/// The connections that a filter shows: those of which either visible end matches.
pub fn matching(engine: &Engine, filter: &Filter) -> Vec<ConnectionId> {
    engine.connections().filter(|id| filter.is_empty() || matches(engine, filter, *id)).collect()
}

/// Verdict, level and figures belong to a direction: each end is asked once for each direction that has a verdict of its own.
fn matches(engine: &Engine, filter: &Filter, id: ConnectionId) -> bool {
    let Some(subject) = engine.subject(id) else { return false };
    let own = |side: Side| {
        let (verdict, level) = subject.track?.directions[side as usize].verdict()?;
        Some((side, verdict, Some(level)))
    };
    let mut judged: Vec<_> = [Side::A, Side::B].into_iter().filter_map(own).collect();
    if judged.is_empty() {
        judged.push(subject.judge());
    }
    let ends = judged.iter().flat_map(|judged| {
        let end = |side: Side| {
            let socket = subject.ends[side as usize]?;
            Some(ConnectionEnd { engine, subject: &subject, judged: *judged, side, socket })
        };
        [end(Side::A), end(Side::B)]
    });
    filter.matches(ends.flatten())
}
