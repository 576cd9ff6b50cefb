//! A plot of latency by request number, in characters.

use std::fmt::Write;

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Box-drawing characters.
    Unicode,
    /// ASCII alone.
    Ascii,
}

/// Columns for the data, beside a scale of 10: 80 in all.
const COLUMNS: usize = 69;
/// Lines for the data: two for each power of ten of [`LOWEST_MS`] to [`HIGHEST_MS`].
const LINES: usize = 11;
/// The lowest line stands for this and less, ms.
const LOWEST_MS: f64 = 0.01;
/// The highest line stands for this and more, ms.
const HIGHEST_MS: f64 = 1_000.0;

/// One series: the sign it is drawn with and its latencies in order, ms.
pub(super) struct Series<'a> {
    pub(super) sign: char,
    pub(super) values: &'a [f64],
}

/// Draws the series on a logarithmic scale, each sign where its latency is. Where several meet, the first is seen. Longer
/// series show the highest of the requests that share a column. Empty without any latency.
pub(super) fn plot(series: &[Series<'_>], charset: Charset) -> String {
    let longest = series.iter().map(|series| series.values.len()).max().unwrap_or(0);
    if longest == 0 {
        return String::new();
    }
    let columns = longest.min(COLUMNS);
    let mut grid = vec![vec![' '; columns]; LINES];
    for series in series.iter().rev() {
        for (column, ms) in bins(series.values, longest, columns) {
            grid[line_of(ms)][column] = series.sign;
        }
    }
    draw(&grid, longest, charset)
}

/// The highest value of each column that has any.
fn bins(values: &[f64], longest: usize, columns: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
    (0..columns).filter_map(move |column| {
        let edge = |column: usize| (column * longest / columns).min(values.len());
        let highest = values[edge(column)..edge(column + 1)].iter().copied().reduce(f64::max)?;
        Some((column, highest))
    })
}

/// Line 0 is the highest.
fn line_of(ms: f64) -> usize {
    let share = (ms.max(LOWEST_MS) / LOWEST_MS).log10() / (HIGHEST_MS / LOWEST_MS).log10();
    let from_below = share.clamp(0.0, 1.0) * (LINES - 1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..LINES by the clamp above")]
    let from_below = from_below.round() as usize;
    LINES - 1 - from_below
}

fn draw(grid: &[Vec<char>], longest: usize, charset: Charset) -> String {
    let (tick, side, corner, base) = match charset {
        Charset::Unicode => ('┤', '│', '└', '─'),
        Charset::Ascii => ('+', '|', '+', '-'),
    };
    // Every second line is a power of ten.
    let labels = ["1 s", "", "100 ms", "", "10 ms", "", "1 ms", "", "0.1 ms", "", "10 us"];
    let mut out = String::new();
    for (line, label) in grid.iter().zip(labels) {
        let axis = if label.is_empty() { side } else { tick };
        let data: String = line.iter().collect();
        out.push_str(format!("{label:>8} {axis}{data}").trim_end());
        out.push('\n');
    }
    let columns = grid.first().map_or(0, Vec::len);
    let _ = writeln!(out, "{:>8} {corner}{}", "", String::from(base).repeat(columns));
    let last = format!("request {longest}");
    let room = columns.saturating_sub(last.len() + 1);
    out.push_str(format!("{:>10}1{:room$}{}", "", "", if room > 0 { &last } else { "" }).trim_end());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_cliff_shows() {
        let values = [0.03, 44.0, 44.0];
        let text = plot(&[Series { sign: 'a', values: &values }], Charset::Unicode);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[3], "         │ aa", "{text}");
        assert_eq!(lines[9], "         │a", "{text}");
        assert!(plot(&[Series { sign: 'a', values: &values }], Charset::Ascii).is_ascii());
    }

    #[test]
    fn long_series_fit_and_keep_their_highest() {
        let mut values = vec![0.05; 1_000];
        values[500] = 208.0;
        let text = plot(&[Series { sign: 'x', values: &values }], Charset::Unicode);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains('x')).count(), 2, "{text}");
        assert!(text.contains("request 1000"));
    }

    #[test]
    fn nothing_measured_draws_nothing_and_extremes_stay_inside() {
        assert_eq!(plot(&[], Charset::Ascii), "");
        assert_eq!(plot(&[Series { sign: 'a', values: &[] }], Charset::Ascii), "");
        assert_eq!([line_of(0.0), line_of(1e9), line_of(f64::INFINITY)], [LINES - 1, 0, 0]);
    }
}
