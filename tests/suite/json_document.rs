//! docs/json.md against a real report: every path in the one is in the other, with the type that it says.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use stallscope::wire::{FIELDS, Unit};

use super::check::check_json;
use super::netns::isolated;
use super::stall::Stall;

/// What the document says of a path.
#[derive(Debug)]
struct Row {
    types: Vec<String>,
    always: bool,
}

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md");
    std::fs::read_to_string(path).expect("docs/json.md")
}

/// The rows of the table of paths: path, type, always, meaning.
fn rows(document: &str) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(types), Some(always)) = (cells.get(1), cells.get(2)) else { panic!("{line}") };
        // The table of fields has a unit and a kernel there.
        if !matches!(*always, "yes" | "no") {
            continue;
        }
        assert!(cells.get(3).is_some_and(|meaning| meaning.len() > 3), "no meaning: {line}");
        let types = types.split(" or ").map(str::to_owned).collect();
        rows.insert(cells[0].trim_matches('`').to_owned(), Row { types, always: *always == "yes" });
    }
    rows
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// All values by path. Both ends are one path: they are documented once.
fn walk<'a>(value: &'a Value, path: &str, seen: &mut BTreeMap<String, Vec<&'a Value>>) {
    if !path.is_empty() {
        seen.entry(path.to_owned()).or_default().push(value);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, &format!("{path}[]"), seen)),
        // The fields of tcp_info have a table of their own.
        Value::Object(_) if path.ends_with(".fields") => {}
        Value::Object(map) => {
            for (key, value) in map {
                let end = path == "findings[]" && key == "receiver";
                let key = if end { "sender" } else { key };
                walk(value, &if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }, seen);
            }
        }
        _ => {}
    }
}

/// That a report has what the document says, and nothing else.
pub fn assert_documented(report: &Value) {
    compare(report, &rows(&document()));
}

/// Checks a report; answers the paths that it has.
fn compare(report: &Value, rows: &BTreeMap<String, Row>) -> Vec<String> {
    let mut seen = BTreeMap::new();
    walk(report, "", &mut seen);
    let mut wrong = Vec::new();
    for (path, values) in &seen {
        // What a list holds is said with the list, unless it holds objects.
        if path.ends_with("[]") {
            continue;
        }
        let Some(row) = rows.get(path) else {
            wrong.push(format!("{path} is not documented"));
            continue;
        };
        for value in values {
            let is = type_of(value);
            // A number without a fraction is a number too.
            if !row.types.iter().any(|wanted| wanted == is || (wanted == "number" && is == "integer")) {
                wrong.push(format!("{path} is {is} ({value}), documented as {:?}", row.types));
            }
        }
    }
    let parent = |path: &str| path.rsplit_once('.').map(|(parent, _)| parent.to_owned());
    for (path, row) in rows.iter().filter(|(_, row)| row.always) {
        let parents = parent(path).map_or(1, |parent| seen.get(&parent).map_or(0, Vec::len));
        let wanted = if path == "findings[].sender" { parents * 2 } else { parents };
        let found = seen.get(path).map_or(0, Vec::len);
        if found != wanted {
            wrong.push(format!("{path} ({row:?}) is there {found} times in {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{report:#}", wrong.join("\n"));
    seen.into_keys().collect()
}

#[test]
fn the_document_and_a_real_report_agree() {
    isolated("json_document::the_document_and_a_real_report_agree", || {
        let document = document();
        let rows = rows(&document);
        assert!(rows.len() > 60, "only {} rows", rows.len());
        let _stall = Stall::start();
        let (report, status) = check_json(&["--for", "1s", "--all"]);
        assert_eq!(status, Some(1), "{report:#}");
        let seen = compare(&report, &rows);
        for path in ["findings[].evidence[].fact", "findings[].sender.timer.code", "findings[].sender.processes[].pid"]
        {
            assert!(seen.iter().any(|this| this == path), "{path} was not there to be compared");
        }
        let fields = report["findings"][0]["sender"]["fields"].as_object().expect("an object");
        assert!(fields.len() > 40, "{fields:?}");
        for name in fields.keys() {
            assert!(document.contains(&format!("\n| `{name}` |")), "the field {name} is not documented");
        }
        // A second report, in which almost nothing is there.
        compare(&check_json(&["--for", "0s", "dport = :1"]).0, &rows);
    });
}

#[test]
fn every_field_of_tcp_info_is_documented_as_it_is_read() {
    let document = document();
    let unit = |unit: Unit| match unit {
        Unit::Count => "number",
        Unit::Bits => "bits",
        Unit::Segments => "segments",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Micros => "µs",
        Unit::Millis => "ms",
    };
    let missing: Vec<_> = FIELDS
        .iter()
        .map(|field| format!("| `{}` | {} | {} | {} |", field.name, unit(field.unit), field.since, field.about))
        .filter(|line| !document.lines().any(|this| this == line))
        .collect();
    assert!(missing.is_empty(), "docs/json.md lacks:\n{}", missing.join("\n"));
}
