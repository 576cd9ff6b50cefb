//! Undoing what pasting does to a line.

/// Calls `each` with the lines that one physical line stands for: usually itself, without the marks that mail, tickets and
/// program text put before and behind it.
pub(super) fn clean(line: &str, each: &mut dyn FnMut(&str)) {
    let plain = without_escapes(line);
    let plain = plain.trim_end();
    if is_string_literal(plain) {
        let unescaped =
            without_quotes(plain).replace("\\r", "").replace("\\t", "\t").replace("\\\"", "\"").replace("\\n", "\n");
        unescaped.lines().for_each(|part| each(&marks(part)));
    } else {
        each(&marks(plain));
    }
}

/// Without terminal colours, carriage returns and blanks that only look like blanks.
fn without_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => {
                let csi = chars.clone().next() == Some('[');
                if csi {
                    chars.by_ref().find(char::is_ascii_alphabetic);
                }
            }
            '\r' | '\u{feff}' | '\u{200b}' => {}
            '\u{a0}' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A line of JSON, Go or Java: line ends and quotes are escaped.
fn is_string_literal(line: &str) -> bool {
    line.contains("\\n") || line.contains("\\t") || line.contains("\\\"")
}

/// Without the quotes that begin and end a string of a program.
fn without_quotes(line: &str) -> &str {
    let line = line.trim();
    let line = line.trim_end_matches(['+', ',', ';', ' ']);
    let line = line.strip_prefix('"').unwrap_or(line);
    line.strip_suffix('"').filter(|inner| !inner.ends_with('\\')).unwrap_or(line)
}

fn marks(line: &str) -> String {
    let mut line = line.trim_start();
    while let Some(rest) = without_prefix(line) {
        line = rest.trim_start();
    }
    let mut out = line.replace("=3D", "=").replace("=20", " ");
    if out.contains('&') {
        out = out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    }
    // Bold, but not the `**` that ss 4.1.1 prints before an interface.
    if !out.contains("** %") {
        out = out.replace("**", "");
    }
    out.trim_matches('`').trim().to_owned()
}

/// Without one mark of quoting or comment. `<->`, `-->` and `<--` are ss's own.
fn without_prefix(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("//").or_else(|| line.strip_prefix(['>', '<', '#', '|']))?;
    let own = line.starts_with("<-") || line.starts_with("<<");
    let alone = rest.is_empty() || rest.starts_with([' ', '\t', '>', '#']) || line.starts_with("//");
    (!own && alone).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(line: &str) -> Vec<String> {
        let mut out = Vec::new();
        clean(line, &mut |part| out.push(part.to_owned()));
        out
    }

    #[test]
    fn marks_of_pasting_are_taken_off() {
        for dirty in
            ["> > ESTAB 0", ">> ESTAB 0", "# ESTAB 0", "// ESTAB 0", "< ESTAB 0", "  \tESTAB 0  \r", "**ESTAB** 0"]
        {
            assert_eq!(cleaned(dirty), ["ESTAB 0"], "{dirty}");
        }
        assert_eq!(cleaned("\x1b[1mESTAB\x1b[0m 0"), ["ESTAB 0"]);
        assert_eq!(cleaned("pid=3D12"), ["pid=12"]);
    }

    #[test]
    fn what_is_ss_own_stays() {
        assert_eq!(cleaned("  <-> skmem:(r0)"), ["<-> skmem:(r0)"]);
        assert_eq!(cleaned("--> x"), ["--> x"]);
        assert_eq!(cleaned("UNCONN 0 0 ** %cdreth0:67* *:*"), ["UNCONN 0 0 ** %cdreth0:67* *:*"]);
    }

    #[test]
    fn string_literals_are_unpacked() {
        assert_eq!(cleaned(r#""ESTAB 0\n\t cubic rto:204\n" +"#), ["ESTAB 0", "cubic rto:204"]);
        assert_eq!(cleaned(r#""users:((\"a\",pid=1,fd=2))\n","#), [r#"users:(("a",pid=1,fd=2))"#]);
    }
}
