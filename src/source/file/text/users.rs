//! `users:(("nginx",pid=12,fd=3),…)`: command names can hold blanks, quotes, colons and parentheses.

use std::sync::Arc;

use crate::model::Owner;

/// Takes `users:(…)` out of a text; line ends inside it stay.
pub(super) fn take_users(text: &mut String) -> Option<Vec<Owner>> {
    let start = text.find("users:(")?;
    let open = start + "users:(".len();
    let (owners, len) = owners(&text[open..]);
    let end = open + len;
    let lines = text[start..end].matches('\n').count();
    text.replace_range(start..end, &format!(" {}", "\n".repeat(lines)));
    Some(owners)
}

/// Reads `("name",…),("name",…))`; the owners, and how many bytes they took.
fn owners(text: &str) -> (Vec<Owner>, usize) {
    let mut owners = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let skipped = rest.len() - rest.trim_start_matches([',', '\n', ' ']).len();
        let Some((owner, len)) = owner(&rest[skipped..]) else { break };
        owners.extend(owner);
        at += skipped + len;
        if text[at..].starts_with(')') {
            return (owners, at + 1);
        }
    }
    (owners, at)
}

/// Reads one `("name",pid=1,fd=3)`; `None` where none begins or ends.
fn owner(text: &str) -> Option<(Option<Owner>, usize)> {
    let inner = text.strip_prefix("(\"")?;
    let (quote, fields_at) = name_end(inner)?;
    let fields = &inner[fields_at..];
    let close = fields.find(')')?;
    let comm = inner[..quote].replace('\n', "");
    let owner = parse_fields(comm.into(), &fields[..close].replace(['\n', ' '], ""));
    Some((owner, 2 + fields_at + close + 1))
}

/// Where the name ends and its fields begin: at a quote that `,pid=` or a number follows.
fn name_end(inner: &str) -> Option<(usize, usize)> {
    inner.match_indices("\",").map(|(at, _)| (at, at + 2)).find(|(_, fields)| {
        let fields = inner[*fields..].trim_start_matches('\n');
        fields.starts_with("pid=") || fields.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// `pid=1,tid=2,fd=3` since 3.14, `1,3` before.
fn parse_fields(comm: Arc<str>, fields: &str) -> Option<Owner> {
    let (mut pid, mut fd) = (None, None);
    for (nth, field) in fields.split(',').enumerate() {
        match field.split_once('=') {
            Some(("pid", value)) => pid = value.parse().ok(),
            Some(("fd", value)) => fd = value.parse().ok(),
            Some(_) => {}
            None if nth == 0 => pid = field.parse().ok(),
            None => fd = field.parse().ok(),
        }
    }
    Some(Owner { pid: pid?, comm, fd: fd?, cmdline: Arc::default(), exe: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> (Vec<(String, u32, u32)>, String) {
        let mut text = text.to_owned();
        let owners = take_users(&mut text).unwrap();
        (owners.into_iter().map(|owner| (owner.comm.to_string(), owner.pid, owner.fd)).collect(), text)
    }

    #[test]
    fn owners_of_every_age() {
        let (owners, rest) = names(r#"users:(("a",pid=1,fd=3),("b c",pid=2,tid=7,fd=4)) ino:5"#);
        assert_eq!(owners, [("a".to_owned(), 1, 3), ("b c".to_owned(), 2, 4)]);
        assert_eq!(rest.trim(), "ino:5");
        assert_eq!(names(r#"users:(("ppp",2399,8))"#).0, [("ppp".to_owned(), 2399, 8)]);
    }

    #[test]
    fn names_hold_anything() {
        assert_eq!(names(r#"users:(("a"),("b:(",pid=1,fd=3))"#).0[0].0, r#"a"),("b:("#);
        let (owners, rest) = names("users:((\"lo\nng\",pid=1,\nfd=3)) x");
        assert_eq!(owners, [("long".to_owned(), 1, 3)]);
        assert_eq!(rest.matches('\n').count(), 2);
    }

    #[test]
    fn what_is_cut_is_left() {
        assert_eq!(names("users:((\"a\",pid=1").0, []);
        assert_eq!(names("users:((\"a\",pid=1,fd=2),(\"b").0.len(), 1);
    }
}
