//! What the errors say, and where they point.

use crate::filter::{Filter, FilterError};

fn error(text: &str) -> FilterError {
    match Filter::parse(text) {
        Ok(filter) => panic!("{text} parsed as {filter}"),
        Err(error) => error,
    }
}

/// Asserts that a filter is refused at a column with a message that holds `words`.
fn assert_refused(text: &str, column: usize, words: &str) {
    let error = error(text);
    assert_eq!(error.column(), column, "{error}");
    assert!(error.message().contains(words), "{error}");
}

#[test]
fn errors_point_at_the_place_and_say_what_was_expected() {
    assert_refused("dport = :http5", 9, "expected a port's number");
    assert_refused("sport = :70000", 9, "at most 65535");
    assert_refused("dst 10.0.0.0/33", 5, "0 to 32 bits");
    assert_refused("dst localhost", 5, "names are not looked up");
    assert_refused("dst fe80::1%eth0", 5, "without its %zone");
    assert_refused("dst [::1", 5, "closing ]");
    assert_refused("dst > 10.0.0.1", 5, "expected = or !=");
    assert_refused("state alive", 7, "expected a state");
    assert_refused("notsent", 8, "expected one of = != < <= > >= after notsent");
    assert_refused("notsent > ", 11, "expected a size in bytes");
    assert_refused("notsent > 0 and", 16, "expected a condition");
    assert_refused("notsent > 0 )", 13, "closes no (");
    assert_refused("uid = 1 and (uid = 2", 13, "never closed");
    assert_refused("uid = 1 or or uid = 2", 12, "expected a condition");
    assert_refused("comm = 'x", 8, "expected a closing '");
    assert_refused("10.0.0.1:22", 1, "needs src, dst, sport or dport");
    assert_refused("verdict = nagle", 11, "one of nagle-delayed-ack");
    assert_refused("verdict > idle", 9, "no order");
    assert_refused("uid = 0x", 7, "no such unit");
    assert_refused("uid = 1.2.3", 7, "expected a number");
    assert_refused("uid = 99999999999999999999999999999999999999", 7, "expected a number");
}

#[test]
fn a_unit_of_another_kind_is_told_apart() {
    assert_refused("notsent > 10ms", 11, "ms is a unit of a time, and notsent is bytes");
    assert_refused("rtt > 4k", 7, "k is a unit of bytes, and rtt is a time");
    assert_refused("rtt > 10", 7, "a time with its unit");
    assert_refused("rtt > 10parsecs", 7, "no such unit");
    assert_refused("rtt > 0.0000000001s", 7, "a time with its unit");
    assert_refused("rtt > 0.5ns", 7, "more decimals");
}

#[test]
fn near_names_are_suggested() {
    assert_refused("notsnet > 0", 1, "did you mean notsent?");
    assert_refused("dprot = :22", 1, "did you mean dport?");
    assert_refused("state etsablished", 7, "did you mean established?");
    assert_refused("dport = :htps", 9, "did you mean https?");
    assert_refused("level = provne", 9, "did you mean proven?");
    assert!(!error("xyzzy > 0").message().contains("did you mean"));
}

#[test]
fn what_ss_has_and_this_has_not_is_explained() {
    for name in ["dev", "fwmark", "cgroup", "autobound"] {
        assert_refused(&format!("uid = 0 and {name} = x"), 13, &format!("{name} is not supported: "));
    }
}

#[test]
fn the_caret_stands_under_the_place_whatever_the_letters_before_it() {
    let shown = error("comm = 日本é and foo > 1").to_string();
    let (text, carets) = shown.split_once('\n').unwrap();
    assert_eq!(text, "comm = 日本é and foo > 1");
    assert!(carets.starts_with(&format!("{}^^^ ", " ".repeat(17))), "{carets}");
    assert_eq!(error("comm = 日本é and foo > 1").column(), 16);
}

#[test]
fn an_error_cannot_carry_escape_sequences_or_break_its_two_lines() {
    let shown = error("\u{1b}[31mred\u{202e}\n\u{7} > 1 x").to_string();
    assert_eq!(shown.lines().count(), 2);
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7}']));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth| format!("{}uid = 1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Filter::parse(&nested(64)).is_ok());
    assert_refused(&nested(65), 65, "nested deeper than 64");
    assert_refused(&"! ".repeat(100_000), 129, "nested deeper than 64");
}
