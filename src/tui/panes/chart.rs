//! Bars in text.

use super::super::theme::Theme;

/// Eighths of a cell that a bar `rows` high has at most.
const EIGHTHS: usize = 8;

/// Held milliseconds per second as one line of bars, the newest at the right; a full bar is a whole second. What is not
/// nothing is shown.
pub(in super::super) fn minute(strip: impl ExactSizeIterator<Item = u32>, cells: usize, theme: Theme) -> String {
    let strip: Vec<u32> = strip.collect();
    let bars = theme.bars();
    let bar = |cell: usize| {
        let (from, to) = (cell * strip.len() / cells, (cell + 1) * strip.len() / cells);
        let part = strip.get(from..to.max(from + 1)).unwrap_or_default();
        let most = f64::from(part.iter().copied().max().unwrap_or(0));
        bars[eighths(most, 1_000.0, 1)]
    };
    (0..cells).map(bar).collect()
}

/// A value as eighths of `rows` cells; nothing only for 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn eighths(value: f64, full: f64, rows: usize) -> usize {
    if value <= 0.0 || full <= 0.0 {
        return 0;
    }
    let most = EIGHTHS * rows;
    // Between 0 and `most`, so the cast loses nothing.
    ((value / full).min(1.0) * most as f64).round().max(1.0) as usize
}

/// Columns of values as `rows` lines of bars, the top one first. `full` is the value that fills them.
pub(super) fn columns(values: &[f64], full: f64, rows: usize, theme: Theme) -> Vec<String> {
    let bars = theme.bars();
    let heights: Vec<usize> = values.iter().map(|value| eighths(*value, full, rows)).collect();
    let line = |row: usize| {
        let below = (rows - 1 - row) * EIGHTHS;
        heights.iter().map(|height| bars[height.saturating_sub(below).min(EIGHTHS)]).collect()
    };
    (0..rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEME: fn() -> Theme = || Theme::new(true, false);

    #[test]
    fn a_stall_of_every_second_is_a_full_strip_and_one_hold_is_visible() {
        assert_eq!(minute([1_000; 60].into_iter(), 6, THEME()), "██████");
        let mut one = [0; 60];
        one[59] = 44;
        assert_eq!(minute(one.into_iter(), 6, THEME()), "     ▁");
        assert_eq!(minute([990; 60].into_iter(), 0, THEME()), "");
        assert_eq!(minute([990; 60].into_iter(), 70, THEME()).chars().count(), 70);
    }

    #[test]
    fn columns_fill_from_below() {
        assert_eq!(columns(&[0.0, 5.0, 10.0, 20.0], 10.0, 2, THEME()), ["  ██", " ███"]);
        assert_eq!(columns(&[], 10.0, 1, THEME()), [""]);
    }
}
