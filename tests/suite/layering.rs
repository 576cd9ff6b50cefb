//! The architecture as docs/architecture.md draws it, held against the source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Longest file, lines.
const LONGEST: usize = 500;

/// What touches the system, and the tokens that tell.
const TOUCHES: [(&str, &[&str]); 4] = [
    ("clock", &["Instant", "SystemTime"]),
    ("files", &["std::fs", "File", "OpenOptions"]),
    ("sockets", &["TcpStream", "TcpListener", "UdpSocket", "UnixStream", "netlink_sys"]),
    ("threads", &["std::thread", "thread::spawn", "thread::sleep"]),
];

/// What the document allows a module.
#[derive(Debug, Default)]
struct Row {
    uses: BTreeSet<String>,
    touches: BTreeSet<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The table of docs/architecture.md.
fn table() -> BTreeMap<String, Row> {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).expect("docs/architecture.md");
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let uses = words(cells[2]).filter(|word| !word.is_empty()).collect();
        let touches: BTreeSet<_> = words(cells[3]).filter(|word| word != "nothing").collect();
        for touch in &touches {
            assert!(TOUCHES.iter().any(|(name, _)| name == touch), "{line}: {touch:?} is not known");
        }
        let earlier = rows.insert(cells[1].trim_matches('`').to_owned(), Row { uses, touches });
        assert!(earlier.is_none(), "{} stands twice in the table", cells[1]);
    }
    rows
}

/// The names in one cell of the table.
fn words(cell: &str) -> impl Iterator<Item = String> + '_ {
    cell.split(',').map(|word| word.trim().trim_matches('`').to_owned())
}

/// The top-level modules that src/lib.rs declares.
fn modules() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("src/lib.rs")).expect("src/lib.rs");
    let name =
        |line: &str| Some(line.trim_start_matches("pub ").strip_prefix("mod ")?.trim_end_matches(';').to_owned());
    text.lines().filter_map(name).collect()
}

/// Every Rust file under src, its path relative to src.
fn files() -> Vec<(PathBuf, String)> {
    let src = root().join("src");
    let mut directories = vec![src.clone()];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory of src") {
            let path = entry.expect("an entry of src").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                files.push((path.strip_prefix(&src).expect("under src").to_owned(), text));
            }
        }
    }
    assert!(files.len() > 40, "only {} files found under {}", files.len(), src.display());
    files
}

/// The top-level module that a file belongs to; `None` for lib.rs and main.rs.
fn module_of(path: &Path) -> Option<String> {
    let first = path.iter().next()?.to_str()?.trim_end_matches(".rs");
    (!matches!(first, "lib" | "main")).then(|| first.to_owned())
}

/// A file without comments, strings' insides kept, and without its unit tests, which stand last.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let kept = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    kept.collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The modules named after `crate::`, also in braces.
fn used(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let names = match after.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![after],
        };
        for name in names {
            let name: String = name.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            found.insert(name);
        }
    }
    found
}

/// Whether `token` stands in `code` as a word of its own.
fn has_token(code: &str, token: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(token).any(|(at, _)| {
        !code[..at].chars().next_back().is_some_and(is_word)
            && !code[at + token.len()..].chars().next().is_some_and(is_word)
    })
}

#[test]
fn every_module_uses_what_the_document_allows_and_nothing_else() {
    let table = table();
    let modules: BTreeSet<_> = modules().into_iter().collect();
    let mut wrong = Vec::new();
    for module in &modules {
        if !table.contains_key(module) {
            wrong.push(format!("`{module}` has no row in docs/architecture.md"));
        }
    }
    for (path, text) in files().iter().filter(|(path, _)| !is_test(path)) {
        let Some(module) = module_of(path) else { continue };
        let Some(row) = table.get(&module) else { continue };
        let code = code(text);
        for used in used(&code).into_iter().filter(|used| modules.contains(used) && *used != module) {
            if !row.uses.contains(&used) {
                wrong.push(format!("{}: `{module}` may not use `{used}`", path.display()));
            }
        }
        for (touch, tokens) in TOUCHES {
            if let Some(token) = tokens.iter().find(|token| has_token(&code, token))
                && !row.touches.contains(touch)
            {
                wrong.push(format!("{}: `{module}` may not touch {touch} (`{token}`)", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_allowed_uses_form_no_circle() {
    let table = table();
    let mut rest: BTreeMap<_, BTreeSet<_>> = table.iter().map(|(name, row)| (name.clone(), row.uses.clone())).collect();
    while let Some(free) = rest.iter().find(|(_, uses)| uses.is_empty()).map(|(name, _)| name.clone()) {
        rest.remove(&free);
        for uses in rest.values_mut() {
            uses.remove(&free);
        }
    }
    assert!(rest.is_empty(), "these use each other in a circle, or name what has no row: {rest:?}");
}

#[test]
fn files_are_short_and_finished() {
    let mut wrong = Vec::new();
    for (path, text) in files() {
        let lines = text.lines().count();
        if lines > LONGEST {
            wrong.push(format!("{}: {lines} lines, more than {LONGEST}", path.display()));
        }
        for mark in ["TODO", "FIXME", "XXX", "todo!", "unimplemented!", "dbg!"] {
            if text.contains(mark) {
                wrong.push(format!("{}: {mark}", path.display()));
            }
        }
        let code = code(&text);
        if has_token(&code, "unsafe") {
            wrong.push(format!("{}: unsafe code", path.display()));
        }
        let prints = ["println!", "eprintln!", "print!", "eprint!"].into_iter().find(|print| has_token(&code, print));
        if let Some(print) = prints.filter(|_| !is_test(&path) && module_of(&path).as_deref() != Some("cli")) {
            wrong.push(format!("{}: {print} outside of the command line", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_reader_of_the_source_sees_what_it_must() {
    assert_eq!(used("use crate::{wire::Socket, model};\ncrate::report::clean()"), set(&["wire", "model", "report"]));
    assert!(has_token("let now = Instant::now();", "Instant"));
    assert!(!has_token("Instantly", "Instant") && !has_token("profile", "File"));
    assert_eq!(code("a // b\n#[cfg(test)]\nmod tests {\n c }"), "a ");
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
