//! The display: at rest, and with a busy host's connections.

use std::time::{Duration, Instant};

use super::Scale;
use super::crowd::Crowd;
use super::measure::{Series, cpu_of, is_busy};
use super::results::{Results, figure};
use super::terminal::{Display, line};

/// Everything that moved at the first survey is looked at closely for a while, s; rest is what comes afterwards.
const SETTLES: u64 = 6;

/// Letters typed into the prompt before it is emptied.
const LETTERS: usize = 30;

/// Measures what the display costs when nothing happens.
pub fn rest(scale: Scale, results: &mut Results) {
    let display = Display::start(&[]);
    display.wait_for(" sockets");
    std::thread::sleep(Duration::from_secs(scale.seconds(SETTLES)));
    let (cpu, began) = (cpu_of(display.pid()).unwrap(), Instant::now());
    std::thread::sleep(Duration::from_secs(scale.seconds(20)));
    let used = cpu_of(display.pid()).unwrap().saturating_sub(cpu);
    let share = used.as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    results.at_most("at rest: 200 sockets, surveyed every second", 0.5, share, "% of a core", "");
}

/// Measures keys, frames and sorting.
pub fn busy(scale: Scale, crowd: &Crowd, results: &mut Results) {
    // One survey and no more: what is measured is the display alone.
    let mut display = Display::start(&["--interval", "1h"]);
    display.wait_for(&format!("{} sockets", crowd.sockets()));
    // Names come a little later.
    display.wait_for("survey");
    let (ms, words) = type_letters(&mut display, scale.rounds).typical();
    results.at_most("a frame of 200x60, from key to screen", 4.0, ms, "ms", &words);
    let (ms, words) = sort_by_each(&mut display, scale.rounds).typical();
    results.at_most("a sort, by each column in turn, from key to screen", 10.0, ms, "ms", &words);
    drop(display);
    // As many surveys as there may be: many keys meet one.
    let mut display = Display::start(&["--interval", "1ms"]);
    display.wait_for(&format!("{} sockets", crowd.sockets()));
    display.wait_for("stretched");
    let keys = type_letters(&mut display, scale.rounds);
    let more =
        format!(", median {} ms{}", figure(keys.median()), if is_busy() { "; the machine was busy" } else { "" });
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
            let (cpu, pressed) = (cpu_of(display.pid()).unwrap(), Instant::now());
            display.press("x");
            let seen = display.wait(&typed, &mut |screen| line(screen, prompt).contains(&typed));
            series.add(seen - pressed, cpu_of(display.pid()).unwrap().saturating_sub(cpu));
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
        let (cpu, pressed) = (cpu_of(display.pid()).unwrap(), Instant::now());
        display.press("s");
        let so = &mut |screen: &vt100::Screen| {
            let now = line(screen, notice);
            now.contains("sorted by") && now != before
        };
        let seen = display.wait("other order", so);
        series.add(seen - pressed, cpu_of(display.pid()).unwrap().saturating_sub(cpu));
    }
    series
}
