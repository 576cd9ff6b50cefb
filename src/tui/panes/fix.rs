//! *Fix*: who can change what, first things first, and what it costs.

use ratatui::text::{Line, Span};

use super::super::text;
use super::Context;
use super::words;
use crate::diagnose::Severity;

pub(super) fn lines(context: &Context<'_>) -> Vec<Line<'static>> {
    let finding = &context.shown.finding;
    let theme = context.theme;
    if finding.advice.is_empty() {
        return vec![Line::from("Nothing needs to be changed.")];
    }
    let mut lines = Vec::new();
    if finding.severity() == Severity::Stall {
        let worth = format!("Each hold cost {}; a fix saves at most that.", typical(context));
        lines.extend(text::wrap(&worth, context.width).into_iter().map(Line::from));
        lines.push(Line::default());
    }
    for (place, advice) in finding.advice.iter().enumerate() {
        let who = format!("{}. ", place + 1);
        let end = match advice.side {
            crate::diagnose::AdvisedSide::Sender => words::process(&finding.sender),
            _ => words::process(&finding.receiver),
        };
        let end = end.map_or_else(String::new, |end| format!(" ({end})"));
        lines.push(Line::from(vec![
            Span::styled(who, theme.key()),
            Span::styled(format!("{}{end}", advice.side.as_str()), theme.strong()),
        ]));
        let body = |text: &str| words::hanging("   ", &text::clean(text), context.width);
        lines.extend(body(&advice.fix).into_iter().map(|line| line.style(theme.strong())));
        lines.extend(body(&advice.why));
        lines.push(Line::default());
    }
    lines
}

fn typical(context: &Context<'_>) -> String {
    let p50 = context.shown.finding.hold.p50_ms;
    p50.map_or_else(|| "time".to_owned(), |ms| format!("{ms} ms (median)"))
}
