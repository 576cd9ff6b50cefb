//! `released-by-reply`: held like a stall, but R's answer brought the acknowledgement before its timer did.

/// What else can look like this.
pub static COULD_ALSO_BE: &[&str] = &[
    "a receiver that computes on the first part, or a serial server with a pipelined request",
    "a stall in which the answer happens to come before the timer: then TCP_NODELAY at the sender still saves the wait",
];
