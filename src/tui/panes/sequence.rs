//! A sequence drawing: two lifelines, what goes between them, and when.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::text;
use super::super::theme::Theme;

/// Cells of the column of times, at the right.
const TIMES: usize = 8;

/// One step of a drawing.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The sender's side does something.
    Left(String),
    /// The receiver's side does something.
    Right(String),
    /// The sender's side holds something back.
    HeldLeft(String),
    /// The receiver's side holds something back.
    HeldRight(String),
    /// Both wait.
    Wait(String),
    /// Something travels to the receiver.
    Send(String),
    /// Something travels to the sender.
    Return(String),
    /// Nothing happens, for shape.
    Gap,
}

/// A drawing under construction.
#[derive(Debug)]
pub(super) struct Drawing {
    theme: Theme,
    width: usize,
    /// The lines so far.
    pub(super) lines: Vec<Line<'static>>,
}

impl Drawing {
    /// Begins with the two ends' names above their lifelines.
    pub(super) fn new(left: &str, right: &str, theme: Theme, width: usize) -> Self {
        let mut drawing = Self { theme, width, lines: Vec::new() };
        let inner = drawing.inner() + 2;
        let half = inner.saturating_sub(1) / 2;
        let left = text::fit(left, half, theme.more());
        let right = text::fit_right(right, inner - half, theme.more());
        drawing.lines.push(Line::styled(format!("{left}{right}"), theme.strong()));
        drawing
    }

    /// Cells between the lifelines.
    fn inner(&self) -> usize {
        self.width.saturating_sub(TIMES + 3).max(8)
    }

    /// Adds a step; `when` is its time, ms since the first.
    pub(super) fn step(&mut self, step: &Step, when: Option<f64>) {
        let time = when.map_or_else(String::new, text::millis);
        match step {
            Step::Left(text) => self.note(text, false, Style::new(), &time),
            Step::Right(text) => self.note(text, true, Style::new(), &time),
            Step::HeldLeft(text) => self.note(text, false, self.alarm(), &time),
            Step::HeldRight(text) => self.note(text, true, self.alarm(), &time),
            Step::Wait(text) => self.wait(text, &time),
            Step::Send(text) => self.arrow(text, true, &time),
            Step::Return(text) => self.arrow(text, false, &time),
            Step::Gap => self.note("", false, Style::new(), ""),
        }
    }

    fn alarm(&self) -> Style {
        self.theme.severity(crate::diagnose::Severity::Stall)
    }

    fn push(&mut self, left: &str, middle: Span<'static>, right: &str, time: &str) {
        let time = text::fit_right(time, TIMES, "");
        let side = |text: &str| Span::raw(text.to_owned());
        self.lines.push(Line::from(vec![side(left), middle, side(right), Span::styled(time, self.theme.strong())]));
    }

    fn note(&mut self, words: &str, at_right: bool, style: Style, time: &str) {
        let inner = self.inner();
        let down = self.theme.lines().down;
        for (place, line) in text::wrap(words, inner.saturating_sub(2)).into_iter().enumerate() {
            let line = if at_right {
                text::fit_right(&format!("{line} "), inner, self.theme.more())
            } else {
                text::fit(&format!(" {line}"), inner, self.theme.more())
            };
            self.push(down, Span::styled(line, style), down, if place == 0 { time } else { "" });
        }
    }

    fn wait(&mut self, words: &str, time: &str) {
        let inner = self.inner();
        let wait = self.theme.lines().wait;
        self.push(wait, Span::raw(" ".repeat(inner)), wait, "");
        let words = text::clip(words, inner, self.theme.more()).into_owned();
        let left = inner.saturating_sub(text::cells(&words)) / 2;
        let line = text::fit(&format!("{}{words}", " ".repeat(left)), inner, "");
        let style = self.alarm();
        self.push(wait, Span::styled(line, style), wait, time);
        self.push(wait, Span::raw(" ".repeat(inner)), wait, "");
    }

    fn arrow(&mut self, words: &str, to_right: bool, time: &str) {
        let lines = self.theme.lines();
        let inner = self.inner();
        let words = format!(" {} ", text::clip(words, inner.saturating_sub(6), self.theme.more()));
        let strokes = inner.saturating_sub(text::cells(&words) + 1);
        let (before, after) = (lines.across.repeat(strokes / 2), lines.across.repeat(strokes - strokes / 2));
        if to_right {
            let middle = format!("{before}{words}{after}{}", lines.right);
            self.push(lines.tee_right, Span::raw(middle), lines.down, time);
        } else {
            let middle = format!("{}{before}{words}{after}", lines.left);
            self.push(lines.down, Span::raw(middle), lines.tee_left, time);
        }
    }
}
