//! The display: at rest, and with a busy host's connections.

use std::time::{Duration, Instant};

use super::Scale;
use super::crowd::Crowd;
use super::measure::{Series, cpu_of};
use super::results::{Results, figure};
use super::terminal::{Display, line};

/// Everything that moved at the first survey is looked at closely for a while; rest is what comes afterwards.
const SETTLES: Duration = Duration::from_secs(6);

/// Letters typed into the prompt before it is emptied.
const LETTERS: usize = 30;

/// Measures what the display costs when nothing happens.
pub fn rest(scale: Scale, results: &mut Results) {
    let display = Display::start(&[]);
    display.wait_for(" sockets");
    std::thread::sleep(SETTLES);
    let (cpu, began) = (cpu_of(display.pid()).unwrap(), Instant::now());
    std::thread::sleep(Duration::from_secs(scale.seconds(20)));
    let used = cpu_of(display.pid()).unwrap().saturating_sub(cpu);
    let share = used.as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    results.at_most("at rest: 200 sockets, surveyed every second", 0.5, share, "% of a core", "");
}

/// Measures keys, frames and sorting.
pub fn busy(scale: Scale, crowd: &Crowd, results: &mut Results) {
    let mut display = Display::start(&[]);
    display.wait_for(&format!("{} sockets", crowd.sockets()));
    let keys = type_letters(&mut display, scale.rounds);
    let more = format!(", worst {} ms", figure(keys.percentile(100)));
    let what = "a frame of 200x60: key to screen, median";
    results.at_most(what, 4.0, keys.median(), "ms", &more);
    let sorts = sort_by_each(&mut display, scale.rounds);
    let more = format!(", worst {} ms", figure(sorts.percentile(100)));
    results.at_most("a sort, key to screen, median over all columns", 10.0, sorts.median(), "ms", &more);
    drop(display);
    // As many surveys as there may be: many keys meet one.
    let mut display = Display::start(&["--interval", "1ms"]);
    display.wait_for(&format!("{} sockets", crowd.sockets()));
    display.wait_for("stretched");
    let keys = type_letters(&mut display, scale.rounds);
    let more = format!(" (median {} ms)", figure(keys.median()));
    results.at_most("key to screen while surveys run, worst", 50.0, keys.percentile(100), "ms", &more);
}

/// Types into the filter's prompt; times each letter until it is on screen.
fn type_letters(display: &mut Display, rounds: usize) -> Series {
    let mut series = Series::default();
    for _ in 0..rounds {
        display.press("/");
        let (_, prompt) = display.wait_for(" filter / ");
        for letters in 1..=LETTERS {
            let typed = format!("/ {}", "x".repeat(letters));
            let pressed = Instant::now();
            display.press("x");
            let seen = display.wait(&typed, &mut |screen| line(screen, prompt).contains(&typed));
            series.add(seen - pressed);
            // Out of step with surveys.
            std::thread::sleep(Duration::from_millis(7));
        }
        display.press("\x1b");
        display.wait("table", &mut |screen| !line(screen, prompt).contains(" filter / "));
    }
    series
}

/// Sorts by one column after the other; times each until it is said.
fn sort_by_each(display: &mut Display, rounds: usize) -> Series {
    const COLUMNS: usize = 12;
    let mut series = Series::default();
    display.press("s");
    let (_, notice) = display.wait_for("sorted by");
    for _ in 0..rounds * COLUMNS {
        let mut before = String::new();
        display.wait("notice", &mut |screen| {
            before = line(screen, notice);
            true
        });
        let pressed = Instant::now();
        display.press("s");
        let so = &mut |screen: &vt100::Screen| {
            let now = line(screen, notice);
            now.contains("sorted by") && now != before
        };
        series.add(display.wait("other order", so) - pressed);
    }
    series
}
