//! Numbers of variable length, and a cursor that reads them without ever running past its end.

/// Appends `value`, seven bits a byte, the lowest first; the top bit says that more follow.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Appends `bytes` behind their length.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Maps small negative and positive numbers to small unsigned ones: 0, -1, 1, -2, …
pub(super) fn zigzag(value: i64) -> u64 {
    (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned()
}

/// The inverse of [`zigzag`].
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Reads from a slice; every method answers `None` at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A varint that is used as a length or an index.
    pub(super) fn len(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    pub(super) fn word64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64) {
            let mut out = Vec::new();
            put(&mut out, value);
            put(&mut out, zigzag(signed));
            let mut cursor = Cursor(&out);
            prop_assert_eq!(cursor.varint(), Some(value));
            prop_assert_eq!(cursor.varint().map(unzigzag), Some(signed));
            prop_assert!(cursor.is_empty());
        }

        #[test]
        fn any_bytes_end(bytes: Vec<u8>) {
            let mut cursor = Cursor(&bytes);
            while cursor.varint().is_some() {}
        }
    }
}
