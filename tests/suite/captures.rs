//! Dumps of other kernels: those of the project, and more that may lie beside it.

use std::path::{Path, PathBuf};

use stallscope::wire::{Message, Socket, messages};

use super::netns::skipped;

/// The kernels whose mid-stall dumps are part of the project.
pub const STALLED: [&str; 4] = ["5.10.223", "6.1.176", "6.12.117", "7.3.4"];

/// The bytes of a mid-stall dump: both ends of one connection.
pub fn stalled(kernel: &str) -> Vec<u8> {
    let path = fixtures().join(format!("stall-linux-{kernel}.nl"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dumps")
}

/// Every dump with the text that `ss -tinmoeO` printed for the same bytes.
pub fn with_text(test: &str) -> Vec<(PathBuf, PathBuf)> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("STALLSCOPE_SHARED").map_or(beside, PathBuf::from).join("captures");
    let mut folders = vec![fixtures()];
    if shared.is_dir() {
        folders.push(shared);
    } else {
        skipped(test, "the captures of more kernels are not at ../shared, nor where STALLSCOPE_SHARED says");
    }
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder of captures"));
    let dumps = entries.map(|entry| entry.expect("an entry").path());
    let dumps = dumps.filter(|path| path.extension().is_some_and(|extension| extension == "nl"));
    dumps.map(|dump| (dump.clone(), dump.with_extension("ss.txt"))).collect()
}

/// The sockets of the first dump in a file, and the bytes of each message: a file can hold several.
pub fn first_dump(bytes: &[u8]) -> Vec<(Socket, &[u8])> {
    let dump = messages(bytes).take_while(|message| !matches!(message, Message::Done { .. }));
    dump.filter_map(|message| match message {
        Message::Socket { socket, raw, defect } => {
            assert_eq!(defect, None);
            Some((socket, raw))
        }
        Message::Malformed(defect) => panic!("a message of a real dump is not read: {defect}"),
        _ => None,
    })
    .collect()
}
