//! Colours and signs. Sixteen colours, chosen to read on dark and on light terminals; nothing is told by colour alone.

use ratatui::style::{Color, Modifier, Style};

use crate::diagnose::{Answer, Severity};

/// How things look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    color: bool,
    ascii: bool,
}

/// What colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// Unless `NO_COLOR` is set or the terminal is known to have none.
    #[default]
    Auto,
    /// Whatever the environment says.
    Always,
    /// None: bold, reverse and underline only.
    Never,
}

impl Theme {
    /// A theme with or without colours, with or without characters beyond ASCII.
    #[cfg(test)]
    pub fn new(color: bool, ascii: bool) -> Self {
        Self { color, ascii }
    }

    /// The theme that fits the environment, which `var` reads.
    pub fn of_environment(choice: ColorChoice, ascii: bool, var: &dyn Fn(&str) -> Option<String>) -> Self {
        // The kernel's own console lacks most signs; the old video terminals lack colours too.
        const PLAIN: [&str; 5] = ["dumb", "vt100", "vt102", "vt220", "vt320"];
        let term = var("TERM").unwrap_or_default();
        let plain = PLAIN.contains(&term.as_str());
        let no_color = var("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match choice {
            ColorChoice::Auto => !no_color && !plain,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        Self { color, ascii: ascii || plain || term == "linux" || !is_utf8(var) }
    }

    /// Whether only ASCII is drawn.
    pub fn is_ascii(self) -> bool {
        self.ascii
    }

    fn colored(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// How a verdict of that severity is written.
    pub fn severity(self, severity: Severity) -> Style {
        match severity {
            Severity::Stall => self.colored(Color::Red).add_modifier(Modifier::BOLD),
            Severity::Limit => self.colored(Color::Magenta),
            Severity::Note | Severity::None => Style::new(),
        }
    }

    /// The sign of a severity, one cell.
    pub fn sign(self, severity: Severity) -> &'static str {
        match (severity, self.ascii) {
            (Severity::Stall, false) => "●",
            (Severity::Stall, true) => "!",
            (Severity::Limit, false) => "◐",
            (Severity::Limit, true) => "~",
            (Severity::Note, false) => "○",
            (Severity::Note, true) => "o",
            (Severity::None, _) => " ",
        }
    }

    /// An alarm in the header.
    pub fn alarm(self) -> Style {
        self.severity(Severity::Stall).add_modifier(Modifier::REVERSED)
    }

    /// That all is well.
    pub fn good(self) -> Style {
        self.colored(Color::Green)
    }

    /// Something to be careful about: a failure, an error.
    pub fn warning(self) -> Style {
        self.colored(Color::Red)
    }

    /// Titles and names.
    #[allow(clippy::unused_self)]
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What can be overlooked. Dim is not used: many terminals make it unreadable on light ground.
    pub fn faint(self) -> Style {
        self.colored(Color::DarkGray)
    }

    /// Keys and links between panes.
    pub fn key(self) -> Style {
        self.colored(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The row or entry that keys act on.
    #[allow(clippy::unused_self)]
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The sign of an answer, with its style.
    pub fn answer(self, answer: Answer) -> (&'static str, Style) {
        match (answer, self.ascii) {
            (Answer::Yes, false) => ("✓", self.good()),
            (Answer::Yes, true) => ("+", self.good()),
            (Answer::No, false) => ("✗", self.warning()),
            (Answer::No, true) => ("x", self.warning()),
            (Answer::Unknown, _) => ("?", self.faint()),
        }
    }

    /// What stands for the rest of a text that was cut.
    pub fn more(self) -> &'static str {
        if self.ascii { "~" } else { "…" }
    }

    /// From sender to receiver.
    pub fn arrow(self) -> &'static str {
        if self.ascii { ">" } else { "→" }
    }

    /// Nine heights of a bar one cell wide, from nothing to full.
    pub fn bars(self) -> [&'static str; 9] {
        if self.ascii {
            [" ", ".", ".", ":", ":", "|", "|", "#", "#"]
        } else {
            [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
        }
    }

    /// The pieces of drawings.
    pub fn lines(self) -> &'static Lines {
        if self.ascii { &ASCII_LINES } else { &LINES }
    }
}

/// The characters that sequence drawings and charts are made of, one cell each.
#[derive(Debug)]
pub struct Lines {
    /// A lifeline.
    pub down: &'static str,
    /// A lifeline that waits.
    pub wait: &'static str,
    /// A horizontal stroke.
    pub across: &'static str,
    /// The head of an arrow to the right.
    pub right: &'static str,
    /// The head of an arrow to the left.
    pub left: &'static str,
    /// A lifeline from which a stroke goes to the right.
    pub tee_right: &'static str,
    /// A lifeline from which a stroke goes to the left.
    pub tee_left: &'static str,
}

static LINES: Lines =
    Lines { down: "│", wait: "┊", across: "─", right: "▶", left: "◀", tee_right: "├", tee_left: "┤" };
static ASCII_LINES: Lines =
    Lines { down: "|", wait: ":", across: "-", right: ">", left: "<", tee_right: "+", tee_left: "+" };

/// What the locale says, in the order in which the C library asks.
fn is_utf8(var: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| var(name).filter(|value| !value.is_empty()));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(choice: ColorChoice, vars: &[(&str, &str)]) -> Theme {
        let var = |name: &str| vars.iter().find(|(this, _)| *this == name).map(|(_, value)| (*value).to_owned());
        Theme::of_environment(choice, false, &var)
    }

    #[test]
    fn the_environment_decides_unless_told_otherwise() {
        let utf8 = ("LANG", "de_DE.UTF-8");
        assert_eq!(theme(ColorChoice::Auto, &[utf8]), Theme::new(true, false));
        assert_eq!(theme(ColorChoice::Auto, &[utf8, ("NO_COLOR", "1")]), Theme::new(false, false));
        assert_eq!(theme(ColorChoice::Auto, &[utf8, ("NO_COLOR", "")]), Theme::new(true, false));
        assert_eq!(theme(ColorChoice::Always, &[utf8, ("NO_COLOR", "1")]), Theme::new(true, false));
        assert_eq!(theme(ColorChoice::Never, &[utf8]), Theme::new(false, false));
        assert_eq!(theme(ColorChoice::Auto, &[utf8, ("TERM", "vt100")]), Theme::new(false, true));
        assert_eq!(theme(ColorChoice::Auto, &[utf8, ("TERM", "linux")]), Theme::new(true, true));
    }

    #[test]
    fn a_locale_without_utf_8_gets_ascii() {
        assert!(theme(ColorChoice::Auto, &[("LC_ALL", "C"), ("LANG", "C.UTF-8")]).is_ascii());
        assert!(!theme(ColorChoice::Auto, &[("LC_ALL", ""), ("LANG", "C.UTF-8")]).is_ascii());
        assert!(theme(ColorChoice::Auto, &[]).is_ascii());
    }

    #[test]
    fn in_ascii_every_sign_is_ascii() {
        let theme = Theme::new(true, true);
        let lines = theme.lines();
        let mut all = vec![theme.more(), theme.arrow(), lines.down, lines.wait, lines.across, lines.right, lines.left];
        all.extend(theme.bars());
        all.extend([Severity::Stall, Severity::Limit, Severity::Note].map(|severity| theme.sign(severity)));
        all.extend([Answer::Yes, Answer::No, Answer::Unknown].map(|answer| theme.answer(answer).0));
        assert!(all.iter().all(|sign| sign.is_ascii() && sign.len() == 1), "{all:?}");
    }
}
