//! A network namespace of its own, so that only the benchmark's sockets are in it.

use std::process::Command;

const INSIDE: &str = "STALLSCOPE_BENCH_INSIDE";

/// Whether this process is where it should be, or cannot be there.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs this program again in new namespaces; answers its exit status.
pub fn enter() -> i32 {
    let exe = std::env::current_exe().unwrap();
    let mut command = if unshare("true").status().is_ok_and(|status| status.success()) {
        let mut command = unshare("ip link set lo up && exec \"$0\"");
        command.arg(exe);
        command
    } else {
        println!("SKIPPED: a namespace of its own (`unshare` or user namespaces are missing): other sockets count too");
        Command::new(exe)
    };
    command.env(INSIDE, "1").status().unwrap().code().unwrap_or(1)
}

fn unshare(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "--", "sh", "-c", script]);
    command
}
