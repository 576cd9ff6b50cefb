//! Being asked to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

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
        for signal in [SIGINT, SIGTERM] {
            // Without a handler the signal ends the program at once, which is what it asks for.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.any));
            let _ = signal_hook::flag::register(signal, Arc::clone(&stop.any));
        }
        let _ = signal_hook::flag::register(SIGINT, Arc::clone(&stop.interrupted));
        stop
    }

    /// The exit status that they ask for, once one came.
    pub(super) fn exit(&self) -> Option<Exit> {
        let exit = if self.interrupted.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Terminated };
        self.any.load(Ordering::Relaxed).then_some(exit)
    }
}
