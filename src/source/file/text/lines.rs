//! Lines of a text of any encoding, read as they come.

use std::io::{self, Read};

use crate::record::input::Input;
use crate::source::file::detect::Encoding;

/// Longest line that is taken whole, in bytes; what is longer is taken in parts.
const LINE_MAX: usize = 256 << 10;

/// Reads one line after another.
pub(super) struct Lines<R> {
    input: Input<R>,
    encoding: Encoding,
    number: u64,
    /// Bytes of the window that are known to hold no line end.
    searched: usize,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: Input<R>, encoding: Encoding) -> Self {
        Self { input, encoding, number: 0, searched: 0 }
    }

    /// Fills in the next line without its end; its number from 1, or `None` at the end of the text.
    pub(super) fn next(&mut self, line: &mut String) -> io::Result<Option<u64>> {
        let unit = if self.encoding == Encoding::Utf8 { 1 } else { 2 };
        let mut want = 4 << 10;
        loop {
            let window = self.input.peek(want)?;
            let held = window.len();
            if held == 0 {
                return Ok(None);
            }
            let end = line_end(&window[self.searched.min(held)..], self.encoding).map(|at| at + self.searched);
            let over = held < want || held >= LINE_MAX;
            if end.is_none() && !over {
                self.searched = held & !1;
                want *= 2;
                continue;
            }
            self.number += 1;
            self.searched = 0;
            line.clear();
            decode(&window[..end.unwrap_or(held)], self.encoding, line);
            self.input.consume(end.map_or(held, |end| end + unit));
            return Ok(Some(self.number));
        }
    }
}

/// Where the line feed stands; for UTF-16 the slice begins at a whole unit.
fn line_end(bytes: &[u8], encoding: Encoding) -> Option<usize> {
    match encoding {
        Encoding::Utf8 => bytes.iter().position(|byte| *byte == b'\n'),
        Encoding::Utf16Le => bytes.as_chunks::<2>().0.iter().position(|unit| *unit == [b'\n', 0]).map(|at| at * 2),
        Encoding::Utf16Be => bytes.as_chunks::<2>().0.iter().position(|unit| *unit == [0, b'\n']).map(|at| at * 2),
    }
}

fn decode(bytes: &[u8], encoding: Encoding, line: &mut String) {
    let units = bytes.as_chunks::<2>().0;
    match encoding {
        Encoding::Utf8 => line.push_str(&String::from_utf8_lossy(bytes)),
        Encoding::Utf16Le => line.extend(wide(units.iter().map(|unit| u16::from_le_bytes(*unit)))),
        Encoding::Utf16Be => line.extend(wide(units.iter().map(|unit| u16::from_be_bytes(*unit)))),
    }
}

fn wide(units: impl Iterator<Item = u16>) -> impl Iterator<Item = char> {
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], encoding: Encoding) -> Vec<String> {
        let mut lines = Lines::new(Input::new(bytes), encoding);
        let (mut line, mut all) = (String::new(), Vec::new());
        while lines.next(&mut line).unwrap().is_some() {
            all.push(line.clone());
        }
        all
    }

    #[test]
    fn every_encoding_gives_the_same_lines() {
        let text = "ESTAB 0\n\nü last";
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for lines in [all(text.as_bytes(), Encoding::Utf8), all(&le, Encoding::Utf16Le), all(&be, Encoding::Utf16Be)] {
            assert_eq!(lines, ["ESTAB 0", "", "ü last"]);
        }
    }

    #[test]
    fn a_line_without_end_is_taken_in_parts() {
        let endless = vec![b'x'; 3 * LINE_MAX];
        let lines = all(&endless, Encoding::Utf8);
        assert_eq!(lines.iter().map(String::len).sum::<usize>(), endless.len());
        assert!(lines.iter().all(|line| line.len() <= 2 * LINE_MAX));
    }
}
