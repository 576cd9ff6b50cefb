//! What this program does as a child of itself.

use std::process::{Child, Command, Stdio};

const ROLE: &str = "STALLSCOPE_BENCH_ROLE";

/// Plays the role that the environment gives; answers whether there was one.
pub fn play() -> bool {
    let Ok(role) = std::env::var(ROLE) else { return false };
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["hold", sockets, address] => crate::crowd::hold(sockets.parse().unwrap(), address),
        ["churn", rate, stalls] => crate::churn::make(rate.parse().unwrap(), stalls.parse().unwrap()),
        ["survey", rounds] => crate::growth::measure(rounds.parse().unwrap()),
        _ => panic!("no such role: {role}"),
    }
    true
}

/// A child that plays a role. It ends when its standard input does.
pub fn spawn(role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}
