//! The order of rows: chosen by a column, never jumping by itself.

use std::cmp::{Ordering, Reverse};

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
    let row = |place: u32| &rows[place as usize];
    let turned = |ordering: Ordering| if sort.reverse { ordering.reverse() } else { ordering };
    places.sort_unstable_by(|a, b| {
        let (a, b) = (row(*a), row(*b));
        turned(compare(a, b, names, sort.column)).then_with(|| (a.since, a.id).cmp(&(b.since, b.id)))
    });
    places
}

fn compare(a: &Row, b: &Row, names: &Names, column: Column) -> Ordering {
    match column {
        Column::Verdict => rank(b).cmp(&rank(a)),
        Column::Level => (Reverse(a.level), Reverse(rank(a))).cmp(&(Reverse(b.level), Reverse(rank(b)))),
        Column::Sender => by_end(&a.sender, &b.sender, names),
        Column::Receiver => by_end(&a.receiver, &b.receiver, names),
        Column::Held => b.held.cmp(&a.held),
        Column::Unacked => b.unacked.cmp(&a.unacked),
        Column::Ato => b.ato_us.cmp(&a.ato_us),
        Column::Age => b.age_us.cmp(&a.age_us),
        Column::Rate => by_figure(b.rate, a.rate),
        Column::Share => by_figure(b.share, a.share),
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
    row.strip.as_ref().map_or(0, |strip| strip.iter().map(|ms| u32::from(*ms)).sum())
}

fn by_figure(a: Option<f64>, b: Option<f64>) -> Ordering {
    a.unwrap_or(-1.0).total_cmp(&b.unwrap_or(-1.0))
}

fn by_end(a: &RowEnd, b: &RowEnd, names: &Names) -> Ordering {
    let name = |end: &RowEnd| end.inode.and_then(|inode| names.get(&inode)).and_then(Option::as_ref);
    let key = |name: Option<&Name>| name.is_none();
    let (named_a, named_b) = (name(a), name(b));
    // Known names first, then addresses.
    let by_name = match (named_a, named_b) {
        (Some(a), Some(b)) => (&a.comm, a.pid).cmp(&(&b.comm, b.pid)),
        (a, b) => key(a).cmp(&key(b)),
    };
    by_name.then_with(|| (a.ip, a.port).cmp(&(b.ip, b.port)))
}
