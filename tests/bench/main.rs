//! The benchmark: one whole survey against a raw dump and against `ss`, in the same run.
//!
//! `cargo bench` uses 1 000 sockets; `STALLSCOPE_BENCH_SOCKETS=40000 cargo bench` shows a busy host. Sockets are held by child
//! processes of this program, 19 000 each, since a process may have 20 000 descriptors.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used)]

mod crowd;
mod measure;

use stallscope::diagnose::Verdict;
use stallscope::engine::Engine;
use stallscope::filter::Filter;
use stallscope::report::matching;
use stallscope::source::{Live, LiveOptions};

use crowd::Crowd;
use measure::{Series, Table, alternate};

fn main() {
    if crowd::is_child() {
        crowd::hold();
        return;
    }
    let sockets = std::env::var("STALLSCOPE_BENCH_SOCKETS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let rounds = std::env::var("STALLSCOPE_BENCH_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(9);
    let crowd = Crowd::gather(sockets);
    println!("{} sockets held by {} processes, {rounds} rounds", crowd.sockets(), crowd.processes());
    bench(rounds);
}

fn bench(rounds: usize) {
    let mut raw = measure::RawDump::open();
    let mut live = Live::open(LiveOptions::default()).expect("netlink");
    let mut engine = Engine::new(10_000);
    let filter = Filter::parse("rtt > 10ms or notsent > 0").expect("filter");
    let mut survey = || live.survey(&mut |event| engine.feed(event)).expect("survey");
    survey();
    let mut ss = || measure::ss(&["-tinH"]);
    let mut actions: Vec<(&str, &mut dyn FnMut())> = Vec::new();
    let mut dump = || raw.run();
    actions.push(("raw dump", &mut dump));
    actions.push(("one survey, whole", &mut survey));
    if measure::has_ss() {
        actions.push(("ss -tinH", &mut ss));
    } else {
        println!("SKIPPED: ss is not installed (Debian: iproute2)");
    }
    let mut series = alternate(rounds, &mut actions);
    assert!(engine.table().connection_count() > 0, "nothing was surveyed");
    let mut shown = 0;
    series.push(Series::of("filter all connections", rounds, &mut || shown = matching(&engine, &filter).len()));
    let mut healthy = 0;
    series.push(Series::of("judge all connections", rounds, &mut || {
        let ids = engine.connections();
        healthy = ids.filter_map(|id| engine.subject(id)).filter(|s| s.judge().1 != Verdict::NagleDelayedAck).count();
    }));
    assert!(healthy > 0, "nothing was judged");
    Table::print(&series);
    println!("{shown} connections matched the filter; resident {} KiB", measure::resident_kib());
}
