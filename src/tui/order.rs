//! The order of rows: chosen by a column, never jumping by itself.

use std::cmp::Ordering;

use crate::diagnose::{Severity, Verdict};

use super::columns::Column;
use super::view::{Name, Names, Row, RowEnd};

/// By which column, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// Turned round from that column's natural order.
    pub reverse: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Verdict, reverse: false }
    }
}

/// Places in `rows`, in the order to show them. Equal rows stay in the order in which they were first seen, so that a row
/// moves only when what it is sorted by does.
pub fn order(rows: &[Row], names: &Names, sort: Sort) -> Vec<u32> {
    let mut places: Vec<u32> = (0u32..).take(rows.len()).collect();
    // Names are looked up once a row, not once a comparison.
    let named: Vec<_> = match sort.column {
        Column::Sender => rows.iter().map(|row| name(&row.sender, names)).collect(),
        Column::Receiver => rows.iter().map(|row| name(&row.receiver, names)).collect(),
        _ => Vec::new(),
    };
    let by_name = |a: u32, b: u32| {
        let of = |place: u32| named.get(place as usize).copied().flatten();
        // Known names first.
        match (of(a), of(b)) {
            (Some(a), Some(b)) => (&a.comm, a.pid).cmp(&(&b.comm, b.pid)),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    };
    let turned = |ordering: Ordering| if sort.reverse { ordering.reverse() } else { ordering };
    places.sort_unstable_by(|a, b| {
        let (row_a, row_b) = (&rows[*a as usize], &rows[*b as usize]);
        let by_column = by_name(*a, *b).then_with(|| compare(row_a, row_b, sort.column));
        turned(by_column).then_with(|| (row_a.since, row_a.id).cmp(&(row_b.since, row_b.id)))
    });
    places
}

fn name<'a>(end: &RowEnd, names: &'a Names) -> Option<&'a Name> {
    names.get(&(end.host, end.inode?)).and_then(Option::as_ref)
}

fn compare(a: &Row, b: &Row, column: Column) -> Ordering {
    let address = |end: &RowEnd| (end.ip, end.port);
    match column {
        Column::Verdict => rank(b).cmp(&rank(a)),
        Column::Level => (b.level, rank(b)).cmp(&(a.level, rank(a))),
        Column::Sender => address(&a.sender).cmp(&address(&b.sender)),
        Column::Receiver => address(&a.receiver).cmp(&address(&b.receiver)),
        Column::Held => b.held.cmp(&a.held),
        Column::Unacked => b.unacked.cmp(&a.unacked),
        Column::Ato => b.ato_us.cmp(&a.ato_us),
        Column::Age => b.age_us().cmp(&a.age_us()),
        Column::Rate => by_figure(b.rate(), a.rate()),
        Column::Share => by_figure(b.share(), a.share()),
        Column::MinRtt => b.min_rtt_us.cmp(&a.min_rtt_us),
        Column::LastMinute => minute(b).cmp(&minute(a)),
    }
}

/// Stalls first, of them those whose connection is still there, and of them those that two timers make. Healthy and idle
/// connections are one group, so that no row moves when its program pauses.
fn rank(row: &Row) -> (Severity, bool, bool) {
    (row.severity(), row.gone.is_none(), row.verdict == Verdict::NagleDelayedAck)
}

fn minute(row: &Row) -> u32 {
    row.strip().map_or(0, |strip| strip.iter().map(|ms| u32::from(*ms)).sum())
}

fn by_figure(a: Option<f64>, b: Option<f64>) -> Ordering {
    a.unwrap_or(-1.0).total_cmp(&b.unwrap_or(-1.0))
}
