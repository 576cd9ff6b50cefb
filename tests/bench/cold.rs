//! From nothing to an answer, with 200 sockets.

use super::Scale;
use super::measure::{PROGRAM, Series, alternate, cpu_of, has_ss, run as run_program};
use super::results::{Results, figure};
use super::terminal::Display;

/// Measures the start of the display and of one survey.
pub fn run(scale: Scale, results: &mut Results) {
    let mut table = Series::default();
    for _ in 0..scale.rounds {
        let display = Display::start(&[]);
        let (seen, _) = display.wait_for(" sockets");
        table.add(seen - display.began(), cpu_of(display.pid()).unwrap_or_default());
    }
    let (ms, words) = table.typical();
    results.at_most("start to first table, 200 sockets", 50.0, ms, "ms", &words);
    if !has_ss() {
        return;
    }
    let mut check = || run_program(PROGRAM, &["check", "--for", "0s"]);
    let mut ss = || run_program("ss", &["-tinH"]);
    let series = alternate(scale.rounds * 3, &mut [&mut check, &mut ss]);
    let more = format!(" ({} ms against {} ms)", figure(series[0].median()), figure(series[1].median()));
    let difference = series[0].median() - series[1].median();
    results.at_most("check --for 0s, more than ss -tinH", 20.0, difference, "ms", &more);
}
