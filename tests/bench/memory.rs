//! What the display needs in memory, and that it needs no more later.

use std::time::{Duration, Instant};

use super::Scale;
use super::crowd::Crowd;
use super::measure::{cpu_of, resident_kib};
use super::results::{Results, figure};
use super::terminal::Display;

/// Seconds of a whole measurement.
const WHOLE: u64 = 600;

/// Measures ten minutes of the display, or shorter.
pub fn run(scale: Scale, crowd: &Crowd, results: &mut Results) {
    let seconds = scale.minutes(WHOLE);
    let display = Display::start(&[]);
    display.wait_for(&format!("{} sockets", crowd.sockets()));
    // Names take a while to find, which is all of a short run's first half.
    let (settled, end) =
        (Duration::from_secs(if scale.long { 120 } else { seconds / 2 }), Duration::from_secs(seconds));
    let began = Instant::now();
    let mut samples = Vec::new();
    while began.elapsed() < end {
        std::thread::sleep(Duration::from_millis(500));
        let mib = resident_kib(display.pid()).expect("it runs") as f64 / 1024.0;
        samples.push((began.elapsed(), mib));
    }
    let after = samples.iter().filter(|(at, _)| *at >= settled).map(|(_, mib)| *mib);
    let first = after.clone().next().unwrap();
    let most = after.fold(0.0, f64::max);
    let span = if scale.long { "10 minutes" } else { "a while" };
    results.at_most(&format!("display open for {span}: resident"), 64.0, most, "MiB", "");
    let what = if scale.long { "the same, growth from minute 2 on" } else { "the same, growth in its second half" };
    results.at_most(what, 1.0, most - first, "MiB", "");
    let cpu = cpu_of(display.pid()).unwrap().as_secs_f64() / display.began().elapsed().as_secs_f64() * 100.0;
    results.note("the same, all the display takes", format!("{} % of a core", figure(cpu)));
}
