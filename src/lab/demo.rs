//! Four connections side by side, for a first look.

use std::time::Duration;

use super::traffic::{Message, Traffic};

/// Pause before each healthy request: enough to see that it is busy, and cheap.
const HEALTHY_THINK: Duration = Duration::from_millis(20);

/// A healthy connection, a write-write-read one, one whose reply comes in two writes, and one with a forgotten cork. All run
/// until they are stopped.
pub fn demo() -> Vec<Traffic> {
    let mut healthy = Traffic::new("healthy");
    healthy.client.request = Message::of(&[20]);
    healthy.client.think = HEALTHY_THINK;

    let stalling = Traffic::new("write-write-read");

    let mut response = Traffic::new("reply in two writes");
    response.client.request = Message::of(&[20]);
    response.server.reply = Message::of(&[10, 10]);

    let mut corked = Traffic::new("forgotten cork");
    corked.client.request = Message::of(&[20]);
    corked.client.options.cork = true;

    vec![healthy, stalling, response, corked]
}

#[cfg(test)]
mod tests {
    use super::super::{Places, Stop, start};
    use super::*;

    #[test]
    fn all_four_run_side_by_side_until_stopped() {
        let stop = Stop::after(Duration::from_secs(20));
        let running: Vec<_> = demo()
            .iter()
            .map(|traffic| start(traffic, Places::loopback(traffic.family), None, &stop).expect("loopback"))
            .collect();
        for traffic in &running {
            assert!(traffic.wait_for(3));
            assert_eq!(traffic.ends().len(), 1);
        }
        for traffic in running {
            assert_eq!(traffic.stop().errors, Vec::<String>::new());
        }
    }
}
