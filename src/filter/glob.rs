//! Names with wildcards.

/// A pattern: `*` stands for any characters, `?` for one, and a backslash takes the next one literally.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole of `name` matches. Takes at most pattern × name steps and no memory.
    pub(super) fn matches(&self, name: &str, ignore_case: bool) -> bool {
        let (mut pattern, mut name) = (self.0.as_str(), name);
        // Where to go on when what followed the last `*` did not fit: one character further.
        let mut retry: Option<(&str, &str)> = None;
        loop {
            if let Some(after) = pattern.strip_prefix('*') {
                retry = Some((after, name));
                pattern = after;
            } else if pattern.is_empty() && name.is_empty() {
                return true;
            } else if let Some(rest) = step(pattern, name, ignore_case) {
                (pattern, name) = rest;
            } else {
                let Some((after, from)) = retry else { return false };
                let Some(first) = from.chars().next() else { return false };
                name = &from[first.len_utf8()..];
                pattern = after;
                retry = Some((after, name));
            }
        }
    }
}

/// Takes one character of each when they fit.
fn step<'a>(pattern: &'a str, name: &'a str, ignore_case: bool) -> Option<(&'a str, &'a str)> {
    let mut rest = pattern.chars();
    let mut wanted = rest.next()?;
    let any = wanted == '?';
    if wanted == '\\' {
        wanted = rest.next().unwrap_or('\\');
    }
    let mut others = name.chars();
    let found = others.next()?;
    let same = any || found == wanted || (ignore_case && found.eq_ignore_ascii_case(&wanted));
    same.then_some((rest.as_str(), others.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).matches(name, false)
    }

    #[test]
    fn wildcards_match_whole_names() {
        assert!(fits("redis-*", "redis-server") && fits("*", "") && fits("", "") && fits("a**b", "ab"));
        assert!(fits("*s*r", "redis-server") && fits("?édis", "rédis") && fits("*ab", "aab"));
        assert!(!fits("redis", "redis-server") && !fits("?", "") && !fits("*x", "redis") && !fits("", "a"));
    }

    #[test]
    fn a_backslash_takes_the_next_character_literally() {
        assert!(fits(r"a\*", "a*") && !fits(r"a\*", "ab") && fits(r"a\", r"a\"));
    }

    #[test]
    fn case_counts_only_where_it_is_asked_for() {
        assert!(!fits("Cubic", "cubic") && Pattern::new("Cubic").matches("cubic", true));
    }
}
