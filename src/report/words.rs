//! Small helpers for words.

use crate::model::{ClockSource, HostClock};

/// `3 stalls`, `1 stall`, `0 stalls`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A name as it may be shown: control characters, line breaks, bidirectional overrides and other invisible characters are
/// written out, so that no process can put an escape sequence or a false line into the output.
pub fn clean(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if is_harmless(c) {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

fn is_harmless(c: char) -> bool {
    let invisible = matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !invisible
}

/// Fills `text` into lines of at most `width` columns, each after `indent`.
pub(super) fn fill(text: &str, indent: &str, width: usize) -> String {
    let options = textwrap::Options::new(width).initial_indent(indent).subsequent_indent(indent).break_words(false);
    textwrap::fill(text, options)
}

/// Milliseconds for people: whole from 10 on, one digit below.
pub(super) fn ms(ms: f64) -> String {
    if ms >= 10.0 || ms == 0.0 { format!("{ms:.0} ms") } else { format!("{ms:.1} ms") }
}

/// How a clock relates to the first host's, in words.
pub fn clock_words(clock: HostClock) -> String {
    let ahead = clock.ahead_us.map(|us| {
        let (amount, way) = (us.unsigned_abs() as f64 / 1e3, if us < 0 { "behind" } else { "ahead" });
        format!("its wall clock is {amount:.1} ms {way}")
    });
    let unsure = clock.uncertainty_us.map_or_else(String::new, |us| format!(" ± {:.1} ms", us as f64 / 1e3));
    match (clock.source, ahead) {
        (ClockSource::Reference, _) => "the clock that the others are held against".to_owned(),
        (ClockSource::SameBoot, _) if clock.uncertainty_us == Some(0) => {
            "same boot: one clock, offset 0 exactly".to_owned()
        }
        (ClockSource::SameBoot, _) => format!("same boot as one of the others, offset 0{unsure}"),
        (ClockSource::ByteCounts, Some(ahead)) => format!("{ahead}{unsure}, by the byte counts of both ends"),
        (ClockSource::ByteCounts, None) => format!("offset known to{unsure}, by the byte counts of both ends"),
        (ClockSource::WallClock, _) => "offset not estimated: taken to be that of the wall clocks".to_owned(),
        (ClockSource::Unknown, _) => "offset not known: the files are taken to begin together".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_written_out() {
        assert_eq!(clean("redis-server"), "redis-server");
        assert_eq!(clean("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(clean("x\u{202e}y\n"), "x\\u{202e}y\\u{a}");
        assert_eq!(clean("日本"), "日本");
    }

    #[test]
    fn clocks_are_told_with_what_is_not_known_of_them() {
        let clock = |source, ahead_us, uncertainty_us| {
            clock_words(HostClock { source, ahead_us, uncertainty_us, ..HostClock::default() })
        };
        let by_counts = clock(ClockSource::ByteCounts, Some(-3_200_000), Some(1_240));
        assert_eq!(by_counts, "its wall clock is 3200.0 ms behind ± 1.2 ms, by the byte counts of both ends");
        assert_eq!(clock(ClockSource::SameBoot, Some(3), Some(0)), "same boot: one clock, offset 0 exactly");
        assert!(clock(ClockSource::WallClock, Some(0), None).contains("not estimated"));
    }

    #[test]
    fn figures_read_well() {
        assert_eq!([ms(44.2), ms(0.04), ms(0.0), ms(9.96)], ["44 ms", "0.0 ms", "0 ms", "10.0 ms"]);
        assert_eq!(count(1, "stall"), "1 stall");
    }
}
