//! What several tests need.
#![allow(dead_code, clippy::must_use_candidate, missing_docs, unreachable_pub)]

use std::path::{Path, PathBuf};

use stallscope::model::{Event, Owners};
use stallscope::source::file::FileSource;
use stallscope::wire::{Message, Socket, messages};

/// Sockets of each survey, and everything else that a file gave.
#[derive(Default)]
pub struct Seen {
    pub surveys: Vec<Vec<Socket>>,
    pub failures: Vec<String>,
    pub runs: Vec<u8>,
    pub owners: Vec<(u32, Owners)>,
    pub probes: usize,
    pub notes: Vec<String>,
}

impl Seen {
    pub fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::SurveyBegin { .. } => self.surveys.push(Vec::new()),
            Event::Run(run) => {
                self.runs.extend_from_slice(run);
                self.surveys.last_mut().expect("a survey is open").extend(sockets(run));
            }
            Event::SurveyEnd { report, .. } => self.failures.extend(report.failures.iter().cloned()),
            Event::Probe { .. } => self.probes += 1,
            Event::Owners(owners) => self.owners.extend_from_slice(owners),
            _ => {}
        }
    }
}

pub fn sockets(run: &[u8]) -> impl Iterator<Item = Socket> {
    messages(run).filter_map(|message| match message {
        Message::Socket { socket, .. } => Some(socket),
        _ => None,
    })
}

pub fn read_all(mut source: FileSource) -> Seen {
    let mut seen = Seen::default();
    while source.next(&mut |event| seen.take(&event)).expect("the file is read") {}
    seen.notes = source.notes();
    seen
}

pub fn read_bytes(bytes: &[u8]) -> Seen {
    read_all(FileSource::from_reader("test", Box::new(std::io::Cursor::new(bytes.to_vec()))).expect("it is known"))
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dumps").join(name)
}

/// Captures of other kernels; they are not part of the project.
pub fn shared_captures() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let base = std::env::var_os("STALLSCOPE_SHARED").map_or(beside, PathBuf::from);
    let captures = base.join("captures");
    if captures.is_dir() {
        return Some(captures);
    }
    eprintln!("SKIPPED: the captures of other kernels are not beside the project (STALLSCOPE_SHARED can name them)");
    None
}

/// Dumps with what `ss -tinmoeO` printed for the same bytes: `.nl` and `.ss.txt`.
pub fn oracle_pairs() -> Vec<(PathBuf, PathBuf)> {
    let mut folders = vec![fixture("")];
    folders.extend(shared_captures());
    let mut pairs = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).expect("the folder is read") {
            let dump = entry.expect("an entry").path();
            let text = dump.with_extension("ss.txt");
            if dump.extension().is_some_and(|extension| extension == "nl") {
                pairs.push((dump, text));
            }
        }
    }
    assert!(pairs.len() >= 4, "the fixtures are there");
    pairs
}
