//! Text for a person at 80 columns: one block per finding, worst first, and a last line that sums up.

use std::fmt::Write;

use crate::diagnose::{Answer, Fact, Finding, FindingEnd, Severity};

use super::words::{clean, count, fill, ms};
use super::{Paint, Report, TickSource, host_words, owners_phrase};

/// Columns of a line.
const WIDTH: usize = 80;

/// The report as text.
pub fn to_text(report: &Report, paint: Paint) -> String {
    let mut out = String::new();
    let (quiet, loud): (Vec<_>, Vec<_>) =
        report.findings.iter().partition(|finding| finding.severity() == Severity::None);
    for finding in loud {
        block(&mut out, finding, paint);
        out.push('\n');
    }
    if !quiet.is_empty() {
        for finding in quiet {
            line(&mut out, finding, paint);
        }
        out.push('\n');
    }
    context(&mut out, report);
    let _ = writeln!(out, "{}", paint.strong(report.conclusion()));
    out
}

/// One finding as a block that can be pasted into a ticket.
fn block(out: &mut String, finding: &Finding, paint: Paint) {
    let level = finding.level.map_or("", |level| level.as_str()).to_uppercase();
    let head = format!("{} {level} {}", sign(finding.severity()), finding.verdict);
    let _ = writeln!(out, "{}  {}", paint.severity(finding.severity(), head), cost(finding));
    end(out, "sender", &finding.sender, finding.sender_opened);
    end(out, "receiver", &finding.receiver, finding.sender_opened.map(|opened| !opened));
    let _ = writeln!(out, "{}", fill(&format!("{}.", clean(&finding.summary)), "  ", WIDTH));
    holds(out, finding);
    if !finding.evidence.is_empty() {
        out.push_str("  evidence\n");
        finding.evidence.iter().for_each(|fact| evidence(out, fact));
    }
    list(out, "could also be", &finding.could_also_be);
    list(out, "not known", &finding.unknown);
    if !finding.advice.is_empty() {
        out.push_str("  what to do\n");
        for (n, advice) in finding.advice.iter().enumerate() {
            let _ = writeln!(out, "{}", hang(&format!("{}. {}: {}", n + 1, advice.side.as_str(), advice.fix), 4, 7));
            let _ = writeln!(out, "{}", hang(&format!("({})", advice.why), 7, 7));
        }
    }
}

/// The sign that goes with a severity, so that colour is never alone.
pub(super) fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Stall => "●",
        Severity::Limit => "▲",
        Severity::Note => "○",
        Severity::None => "·",
    }
}

fn cost(finding: &Finding) -> String {
    let mut parts = Vec::new();
    if let Some(rate) = finding.hold.rate().filter(|rate| *rate > 0.0) {
        parts.push(format!("{rate:.1} holds/s"));
    }
    if let Some(share) = finding.hold.share.filter(|share| *share > 0.0) {
        parts.push(format!("{:.0} % of the time held", share * 100.0));
    }
    if finding.gone.is_some() {
        parts.push("connection is gone".to_owned());
    }
    parts.join(", ")
}

fn end(out: &mut String, role: &str, end: &FindingEnd, opened: Option<bool>) {
    let address = crate::wire::Endpoint { ip: end.ip, port: end.port };
    let opened = if opened == Some(true) { " (opened the connection)" } else { "" };
    let text = format!("{role:<9} {address}  {}{opened}", owners_phrase(end));
    let _ = writeln!(out, "{}", hang(&text, 2, 12));
}

fn holds(out: &mut String, finding: &Finding) {
    let hold = &finding.hold;
    if hold.observed == 0 {
        return;
    }
    let watched = if hold.watched_ms > 0.0 {
        format!("in {:.1} s of close watching", hold.watched_ms / 1e3)
    } else {
        "by surveys alone".to_owned()
    };
    let mut text = format!("holds     {} seen {watched}", hold.observed);
    if hold.released_by_timer + hold.released_by_reply > 0 {
        let _ = write!(text, ": {} ended by the timer, {} by a reply", hold.released_by_timer, hold.released_by_reply);
    }
    if let (Some(p50), Some(p90), Some(max)) = (hold.p50_ms, hold.p90_ms, hold.max_ms) {
        let _ = write!(text, "; p50 {p50} ms, p90 {p90} ms, max {}", ms(max));
    }
    if let Some(age) = hold.age_ms {
        let _ = write!(text, "; one lasts for {} now", ms(age));
    }
    if let Some(over) = finding.over_ms() {
        let _ = write!(text, "; not seen in the last {:.1} s", over / 1e3);
    }
    if let Some(busy) = hold.busy_ms {
        let _ = write!(text, "; busy for {} between the first and last survey", ms(busy));
    }
    let _ = writeln!(out, "{}", hang(&text, 2, 12));
}

fn evidence(out: &mut String, fact: &Fact) {
    let mark = match fact.answer {
        Answer::Yes => "✓",
        Answer::No => "✗",
        Answer::Unknown => "?",
    };
    let _ = writeln!(out, "{}", hang(&format!("{mark} {}", fact.fact), 4, 6));
    let numbers = [("sender", &fact.sender), ("receiver", &fact.receiver)];
    let numbers: Vec<_> =
        numbers.iter().filter_map(|(who, text)| text.as_ref().map(|text| format!("{who}: {text}"))).collect();
    if !numbers.is_empty() {
        let _ = writeln!(out, "{}", hang(&numbers.join("; "), 8, 8));
    }
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {title}");
    for item in items {
        let _ = writeln!(out, "{}", hang(&format!("- {}", clean(item)), 4, 6));
    }
}

/// A connection in which nothing is wrong, in one line.
fn line(out: &mut String, finding: &Finding, paint: Paint) {
    let address = |end: &FindingEnd| crate::wire::Endpoint { ip: end.ip, port: end.port };
    let word = paint.severity(finding.severity(), format!("{} {:<8}", sign(finding.severity()), finding.verdict));
    let (from, to) = (&finding.sender, &finding.receiver);
    let who = |end: &FindingEnd| owners_phrase(end);
    let _ = writeln!(out, "{word} {} → {}", address(from), address(to));
    let _ = writeln!(out, "{}", hang(&format!("{} → {}", who(from), who(to)), 11, 11));
}

fn context(out: &mut String, report: &Report) {
    let host = &report.host;
    let known = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
    let hz = match report.tick_source {
        TickSource::Measured => format!("HZ {} (measured)", report.tick.hz()),
        TickSource::Clock => format!("HZ {} (clock)", report.tick.hz()),
        TickSource::Assumed => "HZ unknown".to_owned(),
    };
    let user = host.user.clone().unwrap_or_else(|| format!("uid {}", host.uid));
    let who = if host.kernel.is_empty() {
        format!("host and kernel unknown, {hz}")
    } else {
        format!("host {}, Linux {}, {hz}, as {}", clean(&host.hostname), clean(&host.kernel), clean(&user))
    };
    let lines = [
        who,
        format!(
            "tcp_pingpong_thresh {}, tcp_autocorking {}, congestion control {}",
            known(host.pingpong_thresh.map(u64::from)),
            known(host.autocorking.map(u64::from)),
            host.congestion.as_deref().map_or("unknown".to_owned(), clean),
        ),
        format!(
            "while watching: DelayedACKs +{}, DelayedACKLocked +{}, TCPAutoCorking +{}",
            known(report.counters.delayed_acks),
            known(report.counters.delayed_ack_locked),
            known(report.counters.auto_corking),
        ),
        format!(
            "{} in {} ({} with both ends here), {}, {}",
            count(report.sockets, "socket"),
            count(report.connections, "connection"),
            report.paired,
            count(usize::try_from(report.surveys).unwrap_or(usize::MAX), "survey"),
            count(usize::try_from(report.probes).unwrap_or(usize::MAX), "probe"),
        ),
    ];
    for line in lines {
        let _ = writeln!(out, "{}", hang(&line, 0, 2));
    }
    for (n, host) in report.hosts.iter().enumerate() {
        let _ = writeln!(out, "{}", hang(&format!("host {}: {}", n + 1, host_words(host)), 0, 2));
    }
    for note in &report.notes {
        let _ = writeln!(out, "{}", hang(&format!("note: {}", clean(note)), 0, 2));
    }
}

fn hang(text: &str, first: usize, rest: usize) -> String {
    let (first, rest) = (" ".repeat(first), " ".repeat(rest));
    let options = textwrap::Options::new(WIDTH).initial_indent(&first).subsequent_indent(&rest).break_words(false);
    textwrap::fill(text, options)
}
