//! Being asked to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Exit;

/// Set by the signals that ask the program to end.
pub(super) struct Stop {
    /// Whether any of them came.
    pub(super) any: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl Stop {
    /// Takes over SIGINT and SIGTERM. A second one ends the program at once.
    pub(super) fn install() -> Self {
        let stop = Self { any: Arc::default(), interrupted: Arc::default() };
        stop.take_over(SIGINT);
        stop.take_over(SIGTERM);
        let _ = signal_hook::flag::register(SIGINT, Arc::clone(&stop.interrupted));
        stop
    }

    /// The same, and SIGHUP: what is being written is finished when the terminal goes away.
    pub(super) fn install_with_hang_up() -> Self {
        let stop = Self::install();
        stop.take_over(SIGHUP);
        stop
    }

    /// Without a handler the signal ends the program at once, which is what it asks for; so a failure needs no telling.
    fn take_over(&self, signal: i32) {
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&self.any));
        let _ = signal_hook::flag::register(signal, Arc::clone(&self.any));
    }

    /// The exit status that they ask for, once one came.
    pub(super) fn exit(&self) -> Option<Exit> {
        let exit = if self.interrupted.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Terminated };
        self.any.load(Ordering::Relaxed).then_some(exit)
    }
}
