//! The one way in which traffic ends early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time for which a thread does not look at its [`Stop`].
pub(super) const STEP: Duration = Duration::from_millis(50);

/// A flag and a deadline shared by all threads of some traffic. Clones share the flag.
#[derive(Clone, Debug)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    outer: Vec<Arc<AtomicBool>>,
    deadline: Instant,
}

impl Stop {
    /// Stops when set, or after `limit` from now.
    pub fn after(limit: Duration) -> Self {
        let now = Instant::now();
        // A limit past the clock's end is a limit of a day, which nothing here outlives.
        let deadline = now.checked_add(limit).unwrap_or(now + Duration::from_secs(86_400));
        Self { flag: Arc::default(), outer: Vec::new(), deadline }
    }

    /// Stops with `outer`, and may be set without stopping that.
    pub fn within(outer: &Self) -> Self {
        let flags = outer.outer.iter().chain([&outer.flag]).cloned().collect();
        Self { flag: Arc::default(), outer: flags, deadline: outer.deadline }
    }

    /// Ends the traffic; every thread sees it within 100 ms.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the traffic is to end.
    pub fn is_set(&self) -> bool {
        let set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        set(&self.flag) || self.outer.iter().any(set) || Instant::now() >= self.deadline
    }

    /// Waits for `time`; `false` when stopped meanwhile.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while !self.is_set() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(STEP));
        }
        false
    }
}
