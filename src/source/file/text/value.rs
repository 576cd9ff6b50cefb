//! The numbers that ss prints, in the kernel's units.

/// A whole number.
pub(super) fn count(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// A whole number that an old ss may have printed with its sign lost or kept.
pub(super) fn memory(text: &str) -> Option<u32> {
    match text.strip_prefix('-') {
        Some(negative) => u32::try_from(count(negative)?).ok().map(u32::wrapping_neg),
        None => count(text).map(|value| (value & 0xffff_ffff) as u32),
    }
}

/// A number with decimals, times `scale`.
pub(super) fn decimal(text: &str, scale: f64) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-'));
    let value: f64 = if plain { text.parse().ok()? } else { return None };
    let scaled = (value * scale).round();
    // Above 2^53 a double is not exact; no time in µs and no rate gets there.
    if !(0.0..=9.0e15).contains(&scaled) {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // In range, as tested above.
    let whole = scaled as u64;
    Some(whole)
}

/// `101ms(91.0%)`: milliseconds, in µs.
pub(super) fn limited(text: &str) -> Option<u64> {
    let (ms, share) = text.split_once("ms")?;
    let known = share.is_empty() || (share.starts_with('(') && share.ends_with(')'));
    if known { decimal(ms, 1000.0) } else { None }
}

/// A rate in bits per second, with or without a unit, in bytes per second.
pub(super) fn rate(text: &str) -> Option<u64> {
    let bits = text.strip_suffix("bps")?;
    let (number, scale) = match bits.as_bytes().last()? {
        b'K' | b'k' => (&bits[..bits.len() - 1], 1e3),
        b'M' => (&bits[..bits.len() - 1], 1e6),
        b'G' => (&bits[..bits.len() - 1], 1e9),
        b'T' => (&bits[..bits.len() - 1], 1e12),
        _ => return count(bits).map(|bits| bits / 8),
    };
    decimal(number, scale / 8.0)
}

/// The time of a `timer:`, in ms: `204ms`, `30sec`, `1min23sec`, and `2.972ms`, which is 2.972 seconds.
pub(super) fn timer(text: &str) -> Option<u32> {
    let (minutes, rest) = match text.split_once("min") {
        Some((minutes, rest)) => (count(minutes)?, rest),
        None => (0, text),
    };
    let number = rest.strip_suffix("ms").or_else(|| rest.strip_suffix("sec")).or(rest.is_empty().then_some(""))?;
    let ms = match number.split_once('.') {
        Some((seconds, fraction)) if fraction.len() <= 3 => {
            let digits = count(fraction)?;
            count(seconds)? * 1000 + digits * [1000, 100, 10, 1][fraction.len()]
        }
        Some(_) => return None,
        None if number.is_empty() => 0,
        None if rest.ends_with("ms") => count(number)?,
        None => count(number)?.checked_mul(1000)?,
    };
    u32::try_from(minutes.checked_mul(60_000)?.checked_add(ms)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_every_age() {
        for (text, ms) in [
            ("016ms", 16),
            ("204ms", 204),
            ("30sec", 30_000),
            ("1min23sec", 83_000),
            ("2.972ms", 2972),
            ("2.972sec", 2972),
            ("1min", 60_000),
            ("1min2.500ms", 62_500),
            ("", 0),
        ] {
            assert_eq!(timer(text), Some(ms), "{text}");
        }
        assert_eq!(timer("soon"), None);
        assert_eq!(timer("99999999999min"), None);
    }

    #[test]
    fn rates_and_times() {
        assert_eq!(rate("121362963bps"), Some(15_170_370));
        assert_eq!(rate("16.4Gbps"), Some(2_050_000_000));
        assert_eq!(rate("10.5kbps"), Some(1312 + 1));
        assert_eq!(rate("420.4Kbps"), Some(52_550));
        assert_eq!(rate("12"), None);
        assert_eq!(limited("101ms(91.0%)"), Some(101_000));
        assert_eq!(limited("3680ms"), Some(3_680_000));
        assert_eq!(decimal("226.666", 1000.0), Some(226_666));
        assert_eq!(decimal("683→757", 1000.0), None);
        assert_eq!(memory("4294966016"), Some(4_294_966_016));
        assert_eq!(memory("-1280"), Some(4_294_966_016));
    }
}
