//! Small helpers for words.

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
    fn figures_read_well() {
        assert_eq!([ms(44.2), ms(0.04), ms(0.0), ms(9.96)], ["44 ms", "0.0 ms", "0 ms", "10.0 ms"]);
        assert_eq!(count(1, "stall"), "1 stall");
    }
}
