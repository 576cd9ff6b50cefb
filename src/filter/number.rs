//! Numbers with units.

use std::fmt;

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Count,
    Time,
    Bytes,
    BytesPerSecond,
    PerSecond,
    Fraction,
}

impl Dimension {
    /// For a message: what a value of the field is, and how one is written.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Count => "a number (k, M and G are decimal)",
            Self::Time => "a time with its unit, such as 10ms, 500us or 1.5s",
            Self::Bytes => "a size in bytes, such as 4096, 4k (1024 each) or 4kB (1000 each)",
            Self::BytesPerSecond => "a rate, such as 1Mbps, 125kB/s or plain bytes per second",
            Self::PerSecond => "a number per second, such as 5 or 0.5",
            Self::Fraction => "a share, such as 10% or 0.1",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Count => "a count",
            Self::Time => "a time",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "a rate in bytes",
            Self::PerSecond => "a number per second",
            Self::Fraction => "a share",
        }
    }
}

/// Billionths of a dimension's base unit (1, second, byte, byte per second): fine enough for every unit, and wide enough in
/// 128 bits for every 64-bit counter.
pub(super) const NANO: u128 = 1_000_000_000;

/// A unit: its name, what it measures, and how many base units it is, as numerator and denominator.
type Unit = (&'static str, Dimension, u128, u128);

/// Units, each dimension's own. `k`, `M`, `G` alone are powers of 1024 for bytes, as dd(1) and head(1) have it.
const UNITS: [Unit; 46] = {
    use Dimension::{Bytes, BytesPerSecond as Rate, Count, Fraction, PerSecond, Time};
    const K: u128 = 1_000;
    const KI: u128 = 1_024;
    [
        ("ns", Time, 1, NANO),
        ("us", Time, 1, K * K),
        ("µs", Time, 1, K * K),
        ("μs", Time, 1, K * K),
        ("usec", Time, 1, K * K),
        ("ms", Time, 1, K),
        ("msec", Time, 1, K),
        ("s", Time, 1, 1),
        ("sec", Time, 1, 1),
        ("min", Time, 60, 1),
        ("h", Time, 3_600, 1),
        ("B", Bytes, 1, 1),
        ("k", Bytes, KI, 1),
        ("K", Bytes, KI, 1),
        ("KiB", Bytes, KI, 1),
        ("kB", Bytes, K, 1),
        ("KB", Bytes, K, 1),
        ("M", Bytes, KI * KI, 1),
        ("MiB", Bytes, KI * KI, 1),
        ("MB", Bytes, K * K, 1),
        ("G", Bytes, KI * KI * KI, 1),
        ("GiB", Bytes, KI * KI * KI, 1),
        ("GB", Bytes, K * K * K, 1),
        ("bps", Rate, 1, 8),
        ("kbps", Rate, K, 8),
        ("Kbps", Rate, K, 8),
        ("Mbps", Rate, K * K, 8),
        ("Gbps", Rate, K * K * K, 8),
        ("bit/s", Rate, 1, 8),
        ("kbit/s", Rate, K, 8),
        ("Mbit/s", Rate, K * K, 8),
        ("Gbit/s", Rate, K * K * K, 8),
        ("B/s", Rate, 1, 1),
        ("kB/s", Rate, K, 1),
        ("KB/s", Rate, K, 1),
        ("MB/s", Rate, K * K, 1),
        ("GB/s", Rate, K * K * K, 1),
        ("KiB/s", Rate, KI, 1),
        ("MiB/s", Rate, KI * KI, 1),
        ("GiB/s", Rate, KI * KI * KI, 1),
        ("k", Count, K, 1),
        ("K", Count, K, 1),
        ("M", Count, K * K, 1),
        ("G", Count, K * K * K, 1),
        ("/s", PerSecond, 1, 1),
        ("%", Fraction, 1, 100),
    ]
};

/// A number of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    /// In billionths of the base unit.
    pub(super) nano: u128,
    dimension: Dimension,
}

impl Literal {
    /// Reads a number for a field called `name`.
    ///
    /// # Errors
    /// The message says what was expected.
    pub(super) fn parse(name: &str, text: &str, dimension: Dimension) -> Result<Self, String> {
        if let Some(nano) = hexadecimal(text).filter(|_| dimension == Dimension::Count) {
            return Ok(Self { nano, dimension });
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, suffix) = text.split_at(digits);
        let expected = || format!("expected {} for {name}", dimension.describe());
        let decimal = decimal(digits).ok_or_else(expected)?;
        let (times, over) = if suffix.is_empty() {
            bare(name, decimal, dimension).ok_or_else(expected)?
        } else {
            unit(name, suffix, dimension)?
        };
        let nano = decimal.checked_mul(times).ok_or_else(|| "this number is too large".to_owned())?;
        if nano % over != 0 {
            return Err("more decimals than can be told apart; expected at most nine of the base unit".to_owned());
        }
        Ok(Self { nano: nano / over, dimension })
    }
}

/// What a number without a unit means: the field's own unit, save that a time must say its unit, because the kernel's
/// microseconds and the milliseconds that `ss` prints are easily confused. `held_ms > 100` says it in the name.
fn bare(name: &str, decimal: u128, dimension: Dimension) -> Option<(u128, u128)> {
    match dimension {
        Dimension::Time if name.ends_with("_ms") => Some((1, 1_000)),
        Dimension::Time if decimal != 0 => None,
        _ => Some((1, 1)),
    }
}

fn unit(name: &str, suffix: &str, dimension: Dimension) -> Result<(u128, u128), String> {
    let named = || UNITS.iter().filter(|(known, ..)| *known == suffix);
    if let Some((_, _, times, over)) = named().find(|(_, of, ..)| *of == dimension) {
        return Ok((*times, *over));
    }
    let expected = dimension.describe();
    Err(match named().next() {
        Some((_, other, ..)) => {
            format!("{suffix} is a unit of {}, and {name} is {}; expected {expected}", other.noun(), dimension.noun())
        }
        None => format!("no such unit; expected {expected} for {name}"),
    })
}

/// `0x…`, as `ss` prints cookies, in billionths.
fn hexadecimal(text: &str) -> Option<u128> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let value = u64::from_str_radix(digits, 16).ok().filter(|_| plain)?;
    Some(u128::from(value) * NANO)
}

/// Digits with at most one point and at most nine decimals, in billionths.
fn decimal(digits: &str) -> Option<u128> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + part.len() == 0 || part.len() > 9 || part.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u128 = format!("{part:0<9}").parse().ok()?;
    whole.checked_mul(NANO)?.checked_add(part)
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (over, suffix) = match self.dimension {
            Dimension::Time if self.nano == 0 || self.nano >= NANO => (1, "s"),
            Dimension::Time if self.nano >= NANO / 1_000 => (1_000, "ms"),
            Dimension::Time if self.nano >= 1_000 => (1_000_000, "us"),
            Dimension::Time => (NANO, "ns"),
            Dimension::Fraction => (100, "%"),
            _ => (1, ""),
        };
        // A share too large for percent is shown as it is.
        let (scaled, suffix) = self.nano.checked_mul(over).map_or((self.nano, ""), |scaled| (scaled, suffix));
        let (whole, part) = (scaled / NANO, scaled % NANO);
        let decimals = format!("{part:09}");
        let decimals = decimals.trim_end_matches('0');
        let point = if decimals.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{decimals}{suffix}")
    }
}
