//! Text made safe and cut to cells: the one way by which names of other people's processes reach the screen.

use std::borrow::Cow;
use std::net::IpAddr;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Makes a foreign text harmless: nothing in it can move the cursor, change colours, hide or turn what stands beside it.
///
/// Control characters and characters written from right to left become U+FFFD (a terminal may reorder a whole line around
/// the latter); characters without a width of their own are left out.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter_map(harmless).collect())
}

fn harmless(c: char) -> Option<char> {
    if c.is_control() || turns(c) {
        return Some(char::REPLACEMENT_CHARACTER);
    }
    c.width().is_some_and(|width| width > 0).then_some(c)
}

/// Whether a character turns the direction of writing: the marks and embeddings, and the scripts written from right to left
/// (Hebrew to Arabic Extended-A, their presentation forms, and the supplementary blocks of Unicode's bidi class R and AL).
fn turns(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Cells that a text takes.
pub fn cells(text: &str) -> usize {
    text.width()
}

/// Cuts a text to at most `width` cells; one that was cut ends in `more`.
pub fn clip<'a>(text: &'a str, width: usize, more: &str) -> Cow<'a, str> {
    if cells(text) <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(cells(more));
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        cut.push(c);
    }
    if width >= cells(more) {
        cut.push_str(more);
    }
    Cow::Owned(cut)
}

/// Cuts or fills a text to exactly `width` cells, its end filled with blanks.
pub fn fit(text: &str, width: usize, more: &str) -> String {
    let mut text = clip(text, width, more).into_owned();
    let missing = width.saturating_sub(cells(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// The same with the blanks in front.
pub fn fit_right(text: &str, width: usize, more: &str) -> String {
    let text = clip(text, width, more);
    format!("{}{text}", " ".repeat(width.saturating_sub(cells(&text))))
}

/// Breaks a text into lines of at most `width` cells at blanks, and inside words that are longer.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| cells(line));
        let blank = usize::from(line > 0);
        if line + blank + cells(word) > width && line > 0 {
            lines.push(String::new());
        }
        let Some(last) = lines.last_mut() else { continue };
        if !last.is_empty() {
            last.push(' ');
        }
        push_word(&mut lines, word, width);
    }
    lines
}

fn push_word(lines: &mut Vec<String>, word: &str, width: usize) {
    for c in word.chars() {
        let full = lines.last().is_some_and(|line| cells(line) + c.width().unwrap_or(0) > width);
        if full {
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            last.push(c);
        }
    }
}

/// Bytes, with a binary unit from 10 KiB on.
pub fn bytes(n: u64) -> String {
    match n {
        0..10_240 => format!("{n} B"),
        10_240..10_485_760 => format!("{} KiB", n >> 10),
        _ => format!("{} MiB", n >> 20),
    }
}

/// A length of time given in ms, with three digits at most.
pub fn millis(ms: f64) -> String {
    match ms {
        0.0 => "0 ms".to_owned(),
        _ if ms < 0.0995 => format!("{:.0} µs", ms * 1e3),
        _ if ms < 9.95 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 9_950.0 => format!("{:.1} s", ms / 1e3),
        _ if ms < 99_500.0 => format!("{:.0} s", ms / 1e3),
        _ if ms < 5_970_000.0 => format!("{:.0} min", ms / 60e3),
        _ => format!("{:.0} h", ms / 3_600e3),
    }
}

/// How long ago something was, given in µs, in whole units.
pub fn ago(us: u64) -> String {
    let seconds = us / 1_000_000;
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6_000 => format!("{}m", seconds / 60),
        6_000..360_000 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A share as a percentage; 100 % is said only of all.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent >= 99.95 => "100%".to_owned(),
        _ if percent >= 9.95 => format!("{:.0}%", percent.min(99.0)),
        _ if percent > 0.0 => format!("{:.1}%", percent.max(0.1)),
        _ => "0%".to_owned(),
    }
}

/// An address and port. The loopback address goes without saying.
pub fn address(ip: IpAddr, port: u16) -> String {
    match ip {
        _ if ip.is_loopback() => format!(":{port}"),
        IpAddr::V4(ip) => format!("{ip}:{port}"),
        IpAddr::V6(ip) => format!("[{ip}]:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_keeps_its_width_and_says_nothing_to_the_terminal() {
        assert_eq!(clean("evil\x1b[31m\u{202e}\r"), "evil\u{fffd}[31m\u{fffd}\u{fffd}");
        assert_eq!(clean("a\u{200b}\u{301}b\u{feff}"), "ab\u{fffd}");
        assert_eq!(clean("שלום"), "\u{fffd}".repeat(4));
        assert_eq!(clean("naïve 日本 🦀"), "naïve 日本 🦀");
        assert!(matches!(clean("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn cutting_never_splits_a_wide_character() {
        assert_eq!(clip("日本語", 5, "…"), "日本…");
        assert_eq!(fit("日本語", 4, "…"), "日… ");
        assert_eq!(fit_right("7", 3, "…"), "  7");
        assert_eq!(clip("abc", 0, "…"), "");
    }

    #[test]
    fn lines_break_at_blanks_and_inside_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
    }

    #[test]
    fn numbers_keep_to_three_digits() {
        assert_eq!([0.05, 3.12, 44.2, 1_900.0, 75_000.0].map(millis), ["50 µs", "3.1 ms", "44 ms", "1.9 s", "75 s"]);
        assert_eq!([0.0, 0.0001, 0.034, 0.993, 0.9999].map(percent), ["0%", "0.1%", "3.4%", "99%", "100%"]);
        assert_eq!([999_999, 99_000_000, 100_000_000, 7_200_000_000].map(ago), ["0s", "99s", "1m", "2h"]);
        assert_eq!([10, 65_536].map(bytes), ["10 B", "64 KiB"]);
    }
}
