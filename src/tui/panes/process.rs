//! *Process*: who holds the two ends.

use ratatui::text::{Line, Span};

use super::super::text;
use super::Context;
use super::words;
use crate::diagnose::FindingEnd;
use crate::model::{Owner, Owners};

/// Processes of one end that are listed.
const LISTED: usize = 16;

pub(super) fn lines(context: &Context<'_>) -> Vec<Line<'static>> {
    let finding = &context.shown.finding;
    let mut lines = Vec::new();
    for (role, end) in [("Sender", &finding.sender), ("Receiver", &finding.receiver)] {
        let opened = match (role, finding.sender_opened) {
            ("Sender", Some(true)) | ("Receiver", Some(false)) => ", opened the connection",
            (_, Some(_)) => ", accepted it",
            (_, None) => "",
        };
        let title = format!("{role}  {}{opened}", address(end));
        lines.extend(
            text::wrap(&title, context.width).into_iter().map(|line| Line::styled(line, context.theme.strong())),
        );
        add_owners(end, context, &mut lines);
        lines.push(Line::default());
    }
    let age = context.head.now.since(context.detail.since) as f64 / 1e3;
    lines.push(Line::from(format!("First seen {} ago.", text::millis(age))));
    lines
}

/// The address in full, loopback too.
fn address(end: &FindingEnd) -> String {
    crate::wire::Endpoint { ip: end.ip, port: end.port }.to_string()
}

fn add_owners(end: &FindingEnd, context: &Context<'_>, lines: &mut Vec<Line<'static>>) {
    let mut say = |text: String| lines.extend(words::hanging("  ", &text, context.width));
    let Some(socket) = &end.socket else {
        return say(
            "on another host, in another network namespace, or not a kernel socket: it cannot be seen here".into()
        );
    };
    let (inode, uid) = (socket.inode, socket.uid);
    say(format!("socket inode {inode}, uid {uid}, state {}", socket.state.name()));
    match &end.owners {
        Owners::NotLooked => say("its processes were not looked up yet".to_owned()),
        Owners::Unreadable => {
            say(format!("held by a process that may not be read; root would see it, and so would uid {uid}"));
        }
        Owners::Nobody => say("no process of this PID namespace holds it".to_owned()),
        Owners::Known(owners) => {
            for owner in owners.iter().take(LISTED) {
                add_owner(owner, context, lines);
            }
            if owners.len() > LISTED {
                lines.push(Line::from(format!("  and {} more", owners.len() - LISTED)));
            }
        }
    }
}

fn add_owner(owner: &Owner, context: &Context<'_>, lines: &mut Vec<Line<'static>>) {
    lines.push(Line::from(vec![
        Span::raw("  "),
        Span::styled(text::clean(&owner.comm).into_owned(), context.theme.strong()),
        Span::raw(format!("  pid {}  fd {}", owner.pid, owner.fd)),
    ]));
    let command = text::clean(&owner.cmdline);
    if !command.is_empty() {
        lines.extend(words::hanging("    ", &command, context.width).into_iter().take(4));
    }
    if let Some(exe) = &owner.exe {
        lines.extend(words::hanging("    exe ", &text::clean(exe), context.width).into_iter().take(2));
    }
}
