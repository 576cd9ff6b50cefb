//! Moments as people type them.

use std::time::UNIX_EPOCH;

/// What is expected, for the prompt.
pub const EXAMPLES: &str = "90s or 1:30 from the start, +5s, -5s, 50%, or 2026-01-31 23:59:59 (UTC)";

/// A moment asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// µs from the first moment.
    FromStart(u64),
    /// µs from where the replay stands; negative goes back.
    By(i64),
    /// Percent of the whole, 0 to 100.
    Percent(u8),
    /// µs since 1970 (UTC).
    Wall(i64),
}

impl Aim {
    /// Reads a moment.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let aim = if let Some(later) = text.strip_prefix('+') {
            span(later).and_then(|us| i64::try_from(us).ok()).map(Self::By)
        } else if let Some(earlier) = text.strip_prefix('-') {
            span(earlier).and_then(|us| i64::try_from(us).ok()).map(|us| Self::By(-us))
        } else if let Some(percent) = text.strip_suffix('%') {
            percent.trim().parse().ok().filter(|percent| *percent <= 100).map(Self::Percent)
        } else {
            span(text).map(Self::FromStart).or_else(|| wall(text))
        };
        aim.ok_or_else(|| format!("expected {EXAMPLES}"))
    }
}

/// `90`, `1.5`, `1m30s`, `1:30` or `1:02:03.25`, in µs.
fn span(text: &str) -> Option<u64> {
    let text = text.trim();
    let us = |seconds: f64| (0.0..1e12).contains(&seconds).then_some((seconds * 1e6).round());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be within 0..1e18")]
    let whole = |us: f64| us as u64;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':'));
    if digits && !text.is_empty() {
        let mut seconds = 0.0;
        let parts: Vec<_> = text.split(':').collect();
        if parts.len() > 3 {
            return None;
        }
        for part in parts {
            seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
        }
        return us(seconds).map(whole);
    }
    u64::try_from(humantime::parse_duration(text).ok()?.as_micros()).ok()
}

fn wall(text: &str) -> Option<Aim> {
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok().map(Aim::Wall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_people_write_them() {
        let cases = [
            ("90", Aim::FromStart(90_000_000)),
            ("1:30", Aim::FromStart(90_000_000)),
            ("1:02:03.25", Aim::FromStart(3_723_250_000)),
            (" 1m 30s ", Aim::FromStart(90_000_000)),
            ("250ms", Aim::FromStart(250_000)),
            ("+5s", Aim::By(5_000_000)),
            ("-0.5", Aim::By(-500_000)),
            ("50%", Aim::Percent(50)),
            ("1970-01-01 00:00:02", Aim::Wall(2_000_000)),
            ("1970-01-01T00:00:02Z", Aim::Wall(2_000_000)),
        ];
        for (text, aim) in cases {
            assert_eq!(Aim::parse(text), Ok(aim), "{text}");
        }
    }

    #[test]
    fn everything_else_says_what_was_expected() {
        for text in ["", ":", "1:2:3:4", "101%", "-1%", "soon", "1e3", "..", "99999999999999999999", "+-5s", "25:99x"] {
            assert!(Aim::parse(text).is_err_and(|why| why.contains("from the start")), "{text}");
        }
    }
}
