//! Telling what a file is from its first bytes.

use crate::record::MAGIC;

/// How the characters of a text are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, or anything that ASCII is a part of.
    Utf8,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Empty,
    Recording,
    Dump,
    Capture,
    Text(Encoding),
    Other(String),
}

/// First bytes of files that get mixed up with evidence, and what they are.
const OTHERS: [(&[u8], &str); 11] = [
    (b"\x1f\x8b", "packed with gzip; unpack it first (gunzip)"),
    (b"BZh", "packed with bzip2; unpack it first (bunzip2)"),
    (b"\xfd7zXZ\0", "packed with xz; unpack it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first (unzstd)"),
    (b"PK\x03\x04", "a zip archive; unpack it first (unzip)"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    (b"\x7fELF", "an ELF program"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image; paste the text instead"),
    (b"SQLite format 3\0", "an SQLite database"),
];

/// First bytes of pcap (µs and ns, both byte orders) and pcapng.
const CAPTURES: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// Tells what a file is from its first bytes.
pub(super) fn detect(prefix: &[u8]) -> Content {
    if prefix.is_empty() {
        return Content::Empty;
    }
    if prefix.starts_with(&MAGIC) {
        return Content::Recording;
    }
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| prefix.starts_with(magic)) {
        return Content::Other((*what).to_owned());
    }
    if CAPTURES.iter().any(|magic| prefix.starts_with(magic)) {
        return Content::Capture;
    }
    if is_netlink(prefix) {
        return Content::Dump;
    }
    text(prefix).map_or_else(|| Content::Other(binary(prefix)), Content::Text)
}

/// Whether a netlink message of a kind that belongs into a dump of sockets stands at the front.
fn is_netlink(prefix: &[u8]) -> bool {
    let Some(header) = prefix.first_chunk::<8>() else { return false };
    let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
    let kind = u16::from_ne_bytes([header[4], header[5]]);
    match kind {
        // SOCK_DIAG_BY_FAMILY, and TCPDIAG_GETSOCK before Linux 3.3.
        20 | 18 => (16 + 72..=64 << 10).contains(&len),
        // NLMSG_ERROR, NLMSG_DONE.
        2 | 3 => (16..=64).contains(&len),
        _ => false,
    }
}

fn text(prefix: &[u8]) -> Option<Encoding> {
    match prefix {
        [0xff, 0xfe, ..] => return Some(Encoding::Utf16Le),
        [0xfe, 0xff, ..] => return Some(Encoding::Utf16Be),
        _ => {}
    }
    let zeros = |start: usize| prefix.iter().skip(start).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), prefix.len() / 2);
    if half > 1 && odd * 10 > half * 7 && even * 20 < half {
        return Some(Encoding::Utf16Le);
    }
    if half > 1 && even * 10 > half * 7 && odd * 20 < half {
        return Some(Encoding::Utf16Be);
    }
    let strange = prefix.iter().filter(|byte| matches!(byte, 0..=6 | 14..=26 | 28..=31 | 127)).count();
    let broken = prefix.utf8_chunks().map(|chunk| chunk.invalid().len()).sum::<usize>();
    (even + odd == 0 && (strange + broken) * 20 < prefix.len()).then_some(Encoding::Utf8)
}

fn binary(prefix: &[u8]) -> String {
    let bytes: Vec<String> = prefix.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("neither text nor anything known (it begins with the bytes {})", bytes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_told_apart() {
        assert_eq!(detect(b""), Content::Empty);
        assert_eq!(detect(b"State Recv-Q\n"), Content::Text(Encoding::Utf8));
        assert_eq!(detect(b"E\0S\0T\0A\0B\0"), Content::Text(Encoding::Utf16Le));
        assert_eq!(detect(b"\0E\0S\0T\0A\0B"), Content::Text(Encoding::Utf16Be));
        assert_eq!(detect(&[0xa1, 0xb2, 0xc3, 0xd4, 0]), Content::Capture);
        assert!(matches!(detect(b"PK\x03\x04rest"), Content::Other(what) if what.contains("zip archive")));
        assert!(matches!(detect(&[7, 0, 200, 1, 255, 3]), Content::Other(what) if what.contains("07 00 c8")));
        let mut dump = 160u32.to_ne_bytes().to_vec();
        dump.extend(20u16.to_ne_bytes());
        dump.extend([0; 10]);
        assert_eq!(detect(&dump), Content::Dump);
    }
}
