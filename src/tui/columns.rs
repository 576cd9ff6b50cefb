//! The columns of the overview: their titles and widths, and which fit.

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// Sign and verdict.
    Verdict,
    /// How sure it is.
    Level,
    /// The process and address that holds data back.
    Sender,
    /// The process and address that it waits for.
    Receiver,
    /// Bytes held.
    Held,
    /// Unacknowledged segments.
    Unacked,
    /// The receiver's delayed-ACK timeout.
    Ato,
    /// Age of the hold that lasts.
    Age,
    /// Holds per second.
    Rate,
    /// Share of time held.
    Share,
    /// Smallest round-trip time.
    MinRtt,
    /// Held time over the last minute.
    LastMinute,
}

impl Column {
    /// Every column, in the order in which they stand.
    pub const ALL: [Self; 12] = [
        Self::Verdict,
        Self::Level,
        Self::Sender,
        Self::Receiver,
        Self::Held,
        Self::Unacked,
        Self::Ato,
        Self::Age,
        Self::Rate,
        Self::Share,
        Self::MinRtt,
        Self::LastMinute,
    ];

    /// What stands above it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Verdict => "VERDICT",
            Self::Level => "LEVEL",
            Self::Sender => "SENDER",
            Self::Receiver => "RECEIVER",
            Self::Held => "HELD",
            Self::Unacked => "UNACK",
            Self::Ato => "ATO",
            Self::Age => "AGE",
            Self::Rate => "HOLDS/s",
            Self::Share => "SHARE",
            Self::MinRtt => "MIN RTT",
            Self::LastMinute => "LAST MINUTE",
        }
    }

    /// What it tells, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Verdict => "what holds the connection back: sign and word",
            Self::Level => "how sure that is: suspected, paired, proven, confirmed",
            Self::Sender => "the end that holds data back: process, id, address (loopback left out)",
            Self::Receiver => "its peer, whose acknowledgement or window it waits for",
            Self::Held => "bytes written and not sent (notsent)",
            Self::Unacked => "segments of the sender that are not acknowledged",
            Self::Ato => "the receiver's delayed-ACK timeout; no evidence by itself",
            Self::Age => "how long the hold that lasts has lasted",
            Self::Rate => "holds per second of close watching",
            Self::Share => "share of the time of close watching that was held",
            Self::MinRtt => "smallest round-trip time: what the network itself needs",
            Self::LastMinute => "held time in each part of the last minute, newest at the right",
        }
    }

    /// Least cells that it needs, without the blank behind it.
    fn least(self) -> usize {
        match self {
            Self::Verdict => 19,
            Self::Level => 9,
            Self::Sender => 13,
            // Two more for the arrow.
            Self::Receiver => 15,
            Self::Held | Self::MinRtt | Self::Age | Self::Rate => 7,
            Self::Unacked | Self::Share | Self::Ato => 5,
            Self::LastMinute => 11,
        }
    }

    /// Most cells that it has a use for.
    fn most(self) -> usize {
        match self {
            Self::Sender | Self::Receiver => 36,
            Self::LastMinute => 60,
            other => other.least(),
        }
    }

    /// Whether it is written at the right end of its cells.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Held | Self::Unacked | Self::Ato | Self::Age | Self::Rate | Self::Share | Self::MinRtt)
    }
}

/// The columns in the order in which they are given room: what answers "who, and how much" comes first.
const BY_NEED: [Column; 12] = [
    Column::Verdict,
    Column::Sender,
    Column::Receiver,
    Column::Level,
    Column::Share,
    Column::LastMinute,
    Column::Held,
    Column::Age,
    Column::Rate,
    Column::Unacked,
    Column::Ato,
    Column::MinRtt,
];

/// Which of the wanted columns fit into `width` cells, with the cells that each gets, in the order in which they stand.
pub fn layout(wanted: &[Column], width: usize) -> Vec<(Column, usize)> {
    let mut left = width;
    let mut given: Vec<(Column, usize)> = Vec::new();
    for column in BY_NEED.into_iter().filter(|column| wanted.contains(column)) {
        let need = column.least() + usize::from(!given.is_empty());
        if need <= left {
            left -= need;
            given.push((column, column.least()));
        } else if given.is_empty() {
            return vec![(column, width)];
        }
    }
    given.sort_by_key(|(column, _)| Column::ALL.iter().position(|this| this == column));
    widen(&mut given, left);
    given
}

/// Shares out what is left: to the two ends until names fit, then to the strip.
fn widen(given: &mut [(Column, usize)], mut left: usize) {
    const NAMES_FIT: usize = 24;
    let steps: [(&[Column], usize); 3] = [
        (&[Column::Receiver, Column::Sender], NAMES_FIT),
        (&[Column::LastMinute], usize::MAX),
        (&[Column::Sender, Column::Receiver], usize::MAX),
    ];
    for (which, up_to) in steps {
        let mut grew = true;
        while grew && left > 0 {
            grew = false;
            for (column, cells) in given.iter_mut().filter(|(column, _)| which.contains(column)) {
                if left > 0 && *cells < column.most().min(up_to) {
                    *cells += 1;
                    left -= 1;
                    grew = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_never_take_more_than_there_is() {
        for width in 0..300 {
            let given = layout(&Column::ALL, width);
            let cells: usize = given.iter().map(|(_, cells)| cells).sum();
            assert!(cells + given.len().saturating_sub(1) <= width, "{width}: {given:?}");
        }
    }

    #[test]
    fn eighty_cells_tell_what_who_and_how_much() {
        let shown: Vec<_> = layout(&Column::ALL, 80).into_iter().map(|(column, _)| column).collect();
        for column in
            [Column::Verdict, Column::Level, Column::Sender, Column::Receiver, Column::Share, Column::LastMinute]
        {
            assert!(shown.contains(&column), "{column:?} of {shown:?}");
        }
        assert_eq!(layout(&Column::ALL, 200).len(), Column::ALL.len());
    }
}
