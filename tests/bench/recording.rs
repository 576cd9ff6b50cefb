//! What a recording takes, on disk and of a core.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Scale;
use super::crowd::Crowd;
use super::measure::{PROGRAM, cpu_of};
use super::results::{Results, figure};

/// Records for a while.
pub fn run(scale: Scale, crowd: &Crowd, results: &mut Results) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.ssrec");
    let seconds = scale.seconds(20);
    let mut command = Command::new(PROGRAM);
    command.args(["record", "--for", &format!("{seconds}s"), "-o"]).arg(&file).stdout(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut used = Duration::ZERO;
    while child.try_wait().unwrap().is_none() {
        used = cpu_of(child.id()).unwrap_or(used).max(used);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success());
    let elapsed = began.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&file).unwrap().len() as f64 / crowd.sockets() as f64 / elapsed;
    results.note("a recording, per socket and second", format!("{} B", figure(bytes)));
    results.note("recording", format!("{} % of a core", figure(used.as_secs_f64() / elapsed * 100.0)));
}
