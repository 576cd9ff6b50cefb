//! Ending when asked to, after saying what was seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT};

use super::Exit;

/// Set by the signals that ask the program to end. A second one ends it at once.
pub(super) struct Stop {
    /// Any of them came.
    pub(super) any: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
    hung_up: Arc<AtomicBool>,
}

impl Stop {
    /// Listens for these signals.
    pub(super) fn install(signals: &[i32]) -> Self {
        let stop = Self { any: Arc::default(), interrupted: Arc::default(), hung_up: Arc::default() };
        for &signal in signals {
            // Without a handler the signal ends the program at once, which is what it asks for.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.any));
            let _ = signal_hook::flag::register(signal, Arc::clone(&stop.any));
            let which = match signal {
                SIGINT => &stop.interrupted,
                SIGHUP => &stop.hung_up,
                _ => continue,
            };
            let _ = signal_hook::flag::register(signal, Arc::clone(which));
        }
        stop
    }

    /// The exit status that tells which signal came; `None` when none did.
    pub(super) fn exit(&self) -> Option<Exit> {
        let exit = if self.interrupted.load(Ordering::Relaxed) {
            Exit::Interrupted
        } else if self.hung_up.load(Ordering::Relaxed) {
            Exit::HungUp
        } else {
            Exit::Terminated
        };
        self.any.load(Ordering::Relaxed).then_some(exit)
    }
}
