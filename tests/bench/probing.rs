//! What close looks cost.

use std::time::Duration;

use stallscope::watch::{Watch, WatchOptions};

use super::Scale;
use super::measure::cpu_of_this_thread;
use super::results::{Results, figure};

/// Measures one connection looked at every millisecond, and 64 every ten.
pub fn run(scale: Scale, results: &mut Results) {
    probe(scale, results, "probing one connection every 1 ms", (1, 1), 4.0);
    probe(scale, results, "probing 64 candidates every 10 ms", (64, 10), 5.0);
}

fn probe(scale: Scale, results: &mut Results, what: &str, (connections, every_ms): (usize, u64), most: f64) {
    let options = WatchOptions {
        interval: Duration::from_secs(3_600),
        probe_interval: Duration::from_millis(every_ms),
        ..WatchOptions::default()
    };
    let mut watch = Watch::start(options, &mut |_| {}).expect("netlink");
    watch.survey(&mut |_| {}).expect("survey");
    let ids: Vec<_> = watch.engine.connections().take(connections).collect();
    assert_eq!(ids.len(), connections);
    for id in ids {
        watch.engine.pin(id);
    }
    let seconds = scale.seconds(5);
    let (cpu, began) = (cpu_of_this_thread(), watch.clock().now());
    let until = began.after(seconds * 1_000_000);
    let before = watch.engine.probes();
    while watch.clock().now() < until {
        watch.step(until, &mut |_| {}).expect("a step");
    }
    let elapsed = watch.clock().now().since(began) as f64 / 1e6;
    let share = cpu_of_this_thread().saturating_sub(cpu).as_secs_f64() / elapsed * 100.0;
    let looks = (watch.engine.probes() - before) as f64 / elapsed;
    assert!(looks > 0.0, "nothing was looked at");
    results.at_most(what, most, share, "% of a core", &format!(", {} looks a second", figure(looks)));
}
