//! Dates and times that stand before or between the lines of a paste.

/// µs in a day.
pub(super) const DAY_US: i64 = 86_400_000_000;

/// A time that a line bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// µs since 1970, or since midnight where the day is not known; in the zone of the writer unless `utc`.
    pub(super) us: i64,
    /// The day is known.
    pub(super) dated: bool,
    /// The zone is known, so that this is the wall clock.
    pub(super) utc: bool,
}

/// Reads a stamp at the front of a line; what is behind it is left.
pub(super) fn stamp(line: &str) -> Option<(Stamp, &str)> {
    let bare = line.trim_start().trim_start_matches('[');
    let (stamp, rest) = epoch(bare).or_else(|| iso(bare)).or_else(|| written(bare)).or_else(|| clock_only(bare))?;
    let rest = rest.trim_start_matches([']', ':', ',']);
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| (stamp, rest.trim_start()))
}

/// `1700000000`, `1700000000.123`.
fn epoch(text: &str) -> Option<(Stamp, &str)> {
    let (seconds, rest) = digits(text, 10, 10)?;
    let (fraction, rest) = fraction(rest);
    let us = i64::from(seconds) * 1_000_000 + fraction;
    (1_000_000_000..4_000_000_000).contains(&seconds).then_some((Stamp { us, dated: true, utc: true }, rest))
}

/// `2024-01-31 10:00:00.123`, with `T` and a zone.
fn iso(text: &str) -> Option<(Stamp, &str)> {
    let (year, rest) = digits(text, 4, 4)?;
    let rest = rest.strip_prefix(['-', '/'])?;
    let (month, rest) = digits(rest, 2, 2)?;
    let rest = rest.strip_prefix(['-', '/'])?;
    let (day, rest) = digits(rest, 2, 2)?;
    let rest = rest.strip_prefix(['T', ' ', '_'])?;
    let (time, rest) = clock(rest)?;
    let (offset, rest) = zone(rest);
    let us = days(year, month, day)? * DAY_US + time - offset.unwrap_or(0);
    Some((Stamp { us, dated: true, utc: offset.is_some() }, rest))
}

/// `Jan 31 10:00:00`, as `ts` prints, and `Wed Jan 31 10:00:00 UTC 2024`, as `date` does.
fn written(text: &str) -> Option<(Stamp, &str)> {
    const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let weekday = WEEKDAYS.iter().find_map(|name| text.strip_prefix(name));
    let text = weekday.map_or(text, |rest| rest.trim_start_matches([',', ' ']));
    let month = (1u32..).zip(MONTHS).find(|(_, name)| text.starts_with(name))?.0;
    let (day, rest) = digits(text.get(3..)?.trim_start(), 1, 2)?;
    let (mut time, mut rest) = clock(rest.trim_start())?;
    for (mark, shift) in [(" PM", 12), (" AM", 0)] {
        if let Some(after) = rest.strip_prefix(mark) {
            time = time % (DAY_US / 2) + shift * (DAY_US / 24);
            rest = after;
        }
    }
    let (utc, behind) = match rest.strip_prefix(" UTC").or_else(|| rest.strip_prefix(" GMT")) {
        Some(behind) => (true, behind),
        None => (false, other_zone(rest)),
    };
    match digits(behind.trim_start(), 4, 4).filter(|(year, _)| weekday.is_some() && (1990..2100).contains(year)) {
        Some((year, rest)) => Some((Stamp { us: days(year, month, day)? * DAY_US + time, dated: true, utc }, rest)),
        // Without a year any will do: only differences are used.
        None => Some((Stamp { us: days(2000, month, day)? * DAY_US + time, dated: true, utc: false }, rest)),
    }
}

/// Behind a zone such as ` CET`.
fn other_zone(text: &str) -> &str {
    let word = text.trim_start();
    let end = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
    if (2..=5).contains(&end) && text.starts_with(' ') { &word[end..] } else { text }
}

/// `10:00:00.123`.
fn clock_only(text: &str) -> Option<(Stamp, &str)> {
    clock(text).map(|(us, rest)| (Stamp { us, dated: false, utc: false }, rest))
}

fn clock(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = digits(text, 1, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
    let (second, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
    let (fraction, rest) = fraction(rest);
    let valid = hour < 24 && minute < 60 && second < 61;
    valid.then(|| ((i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)) * 1_000_000 + fraction, rest))
}

/// `Z`, ` UTC`, `+01:00`, in µs east of Greenwich.
fn zone(text: &str) -> (Option<i64>, &str) {
    if let Some(rest) = text.strip_prefix('Z').or_else(|| text.strip_prefix(" UTC")) {
        return (Some(0), rest);
    }
    let numeric = || {
        let sign = if text.starts_with('+') { 1 } else { -1 };
        let (hour, rest) = digits(text.strip_prefix(['+', '-'])?, 2, 2)?;
        let (minute, rest) = digits(rest.strip_prefix(':').unwrap_or(rest), 2, 2)?;
        Some((sign * (i64::from(hour) * 60 + i64::from(minute)) * 60_000_000, rest))
    };
    numeric().map_or((None, text), |(offset, rest)| (Some(offset), rest))
}

/// Between `min` and `max` digits, and no more behind them.
fn digits(text: &str, min: usize, max: usize) -> Option<(u32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(end);
    ((min..=max).contains(&end)).then(|| number.parse().ok().map(|number| (number, rest)))?
}

/// `.123` or `,123`, in µs.
fn fraction(text: &str) -> (i64, &str) {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return (0, text) };
    let end = rest.bytes().take_while(u8::is_ascii_digit).count();
    if end == 0 {
        return (0, text);
    }
    let us = rest.bytes().take(end).chain(std::iter::repeat(b'0')).take(6);
    (us.fold(0, |us, digit| us * 10 + i64::from(digit - b'0')), &rest[end..])
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March, so that the leap day is the last.
    let (year, month) = if month < 3 { (i64::from(year) - 1, month + 9) } else { (i64::from(year), month - 3) };
    let in_year = (153 * i64::from(month) + 2) / 5 + i64::from(day) - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + in_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: i64 = 1_706_695_200_000_000;

    #[test]
    fn every_way_to_write_a_time() {
        for text in [
            "1706695200",
            "1706695200.000 ESTAB",
            "2024-01-31T10:00:00Z",
            "2024-01-31 11:00:00+01:00",
            "[2024-01-31 10:00:00 UTC]",
            "Wed Jan 31 10:00:00 UTC 2024",
            "Wed Jan 31 10:00:00 AM UTC 2024",
        ] {
            let (stamp, _) = stamp(text).unwrap();
            assert_eq!(stamp, Stamp { us: T, dated: true, utc: true }, "{text}");
        }
        let (local, rest) = stamp("Jan 31 10:00:00 ESTAB 0").unwrap();
        assert!(!local.utc && local.dated);
        assert_eq!(rest, "ESTAB 0");
        assert_eq!(stamp("[10:00:00.250] x").unwrap().0.us, 36_000_250_000);
        assert_eq!(stamp("Wed 31 Jan"), None);
    }

    #[test]
    fn other_numbers_are_no_times() {
        for text in
            ["ESTAB 0 0", "0 20 127.0.0.1:1 127.0.0.1:2", "10.0.0.1:22", "fe80::1:22", "12345", "9:60:00", "10:00:00x"]
        {
            assert_eq!(stamp(text), None, "{text}");
        }
    }
}
