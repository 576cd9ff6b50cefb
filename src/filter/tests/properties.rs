//! Properties over generated filters.

use proptest::prelude::*;

use crate::filter::{Filter, help};

/// Conditions of every kind, some with random parts.
pub(super) fn term() -> impl Strategy<Value = String> {
    let op = || prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "geq"]);
    let equality = || prop::sample::select(vec!["=", "!=", "=="]);
    let names: Vec<&str> =
        help().iter().filter(|entry| entry.values == "us" || entry.values == "ms").map(|e| e.name).collect();
    let unit = prop::sample::select(vec!["ns", "us", "ms", "s", "min"]);
    let states =
        prop::sample::select(vec!["established", "all", "big", "bucket", "connected", "closing", "new-syn-recv"]);
    prop_oneof![
        (prop::sample::select(names), op(), 0u64..1_000_000, unit)
            .prop_map(|(name, op, n, unit)| format!("{name} {op} {n}{unit}")),
        (op(), any::<u32>()).prop_map(|(op, n)| format!("notsent {op} {n}")),
        (op(), 0u16..1000, 0u16..1000).prop_map(|(op, a, b)| format!("share {op} {a}.{b}%")),
        (op(), any::<u64>()).prop_map(|(op, n)| format!("cookie {op} 0x{n:x}")),
        (op(), 0u32..1000).prop_map(|(op, n)| format!("pacing_rate {op} {n}kbps")),
        (equality(), "[^\"]{0,12}").prop_map(|(op, name)| format!("comm {op} \"{name}\"")),
        (equality(), "[^']{0,12}").prop_map(|(op, name)| format!("cong {op} '{name}'")),
        prop::collection::vec(states, 1..4).prop_map(|states| format!("state {}", states.join(" exclude "))),
        (op(), prop::sample::select(vec!["suspected", "paired", "confirmed"]))
            .prop_map(|(op, level)| format!("level {op} {level}")),
        (equality(), prop::sample::select(vec!["delack", "on"])).prop_map(|(op, timer)| format!("timer {op} {timer}")),
        address_term(vec![
            "10.1.2.3".into(),
            "0.0.0.0".into(),
            "::1".into(),
            "2001:db8::7".into(),
            "::ffff:10.1.2.3".into()
        ]),
        port_term(vec![0, 22, 5432, 65535]),
    ]
}

/// `sport` and `dport` against the ports given.
pub(super) fn port_term(ports: Vec<u16>) -> impl Strategy<Value = String> {
    let ops = prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
    (prop::sample::select(vec!["sport", "dport"]), ops, prop::sample::select(ports))
        .prop_map(|(side, op, port)| format!("{side} {op} :{port}"))
}

/// `src` and `dst` against networks around the addresses given, some with a port.
pub(super) fn address_term(addresses: Vec<String>) -> impl Strategy<Value = String> {
    let parts = (
        prop::sample::select(vec!["src", "dst"]),
        prop::sample::select(vec!["=", "!="]),
        prop::sample::select(addresses),
        0u8..=128,
        prop::option::of(prop::sample::select(vec![":22", ":5432"])),
    );
    parts.prop_map(|(side, op, ip, prefix, port)| {
        let prefix = if ip.contains(':') { prefix } else { prefix % 33 };
        format!("{side} {op} [{ip}/{prefix}]{}", port.unwrap_or_default())
    })
}

/// Conditions joined in every way.
pub(super) fn joined(term: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    term.prop_recursive(5, 24, 4, |inner| {
        let join = prop::sample::select(vec![" and ", " or ", " ", ", ", " || ", " && "]);
        prop_oneof![
            (prop::collection::vec(inner.clone(), 1..4), join)
                .prop_map(|(parts, join)| format!("({})", parts.join(join))),
            inner.prop_map(|inner| format!("not ({inner})")),
        ]
    })
}

proptest! {
    #[test]
    fn a_filter_printed_parses_to_an_equal_one(text in joined(term())) {
        let filter = Filter::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let printed = filter.to_string();
        let again = Filter::parse(&printed).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&again, &filter, "{} printed as {}", text, printed);
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        if let Err(error) = Filter::parse(&text) {
            prop_assert_eq!(error.to_string().split('\n').count(), 2);
            prop_assert!(error.column() <= text.chars().count() + 1);
        }
    }

    #[test]
    fn text_made_of_the_languages_own_pieces_never_panics(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "state", "exclude", "sport", "dst", "rtt", "comm", "verdict", "uid", "=", "!=", "<", "and", "or", "not", "!", "(", ")",
            ",", "'", "\"", "[", "]", ":", "/", "*", "10", "ms", "%", "0x", ".", "::1", "é", "\u{1f980}", " ", "\\", "-", "established",
        ]), 0..30)
    ) {
        let text = pieces.concat();
        let spaced = pieces.join(" ");
        for text in [text, spaced] {
            match Filter::parse(&text) {
                Ok(filter) => prop_assert_eq!(&Filter::parse(&filter.to_string()).unwrap(), &filter),
                Err(error) => prop_assert_eq!(error.to_string().split('\n').count(), 2),
            }
        }
    }
}
