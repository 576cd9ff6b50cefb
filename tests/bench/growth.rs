//! Time and memory from a hundred sockets to a hundred thousand.

use stallscope::engine::Engine;
use stallscope::source::{Live, LiveOptions};

use super::crowd::Crowd;
use super::measure::{RawDump, alternate, resident_kib};
use super::results::{Results, figure};
use super::{Scale, role};

const SIZES: [usize; 5] = [100, 1_000, 10_000, 40_000, 100_000];

/// What one size costs.
struct Cost {
    sockets: usize,
    /// On a core: the machine may be busy.
    dump_ms: f64,
    survey_ms: f64,
    resident_kib: f64,
}

/// As a child: measures surveys of what is there, in a process that did nothing else.
pub fn measure(rounds: usize) {
    let mut raw = RawDump::open();
    let mut live = Live::open(LiveOptions::default()).expect("netlink");
    let mut engine = Engine::new(10_000);
    let mut survey = || live.survey(&mut |event| engine.feed(event)).expect("survey");
    let mut dump = || raw.run();
    let series = alternate(rounds, &mut [&mut dump, &mut survey]);
    let resident = resident_kib(std::process::id()).unwrap();
    println!("{} {} {} {resident}", engine.table().socket_count(), series[0].cpu(), series[1].cpu());
}

/// Measures each size; without long rows, up to the sockets of the busy host.
pub fn run(scale: Scale, results: &mut Results) {
    let most = if scale.long { usize::MAX } else { scale.sockets };
    let costs: Vec<Cost> = SIZES.into_iter().filter(|size| *size <= most).map(|size| cost_of(size, scale)).collect();
    for cost in &costs {
        let survey = format!(
            "survey {} ms, {} x the dump; {} MiB resident",
            figure(cost.survey_ms),
            figure(cost.survey_ms / cost.dump_ms),
            figure(cost.resident_kib / 1024.0)
        );
        results.note(&format!("growth: {} sockets", cost.sockets), survey);
    }
    // What the first size costs is there whatever the number: the dump's walk, the program itself.
    if let [first, .., before, last] = &costs[..] {
        let each = |of: fn(&Cost) -> f64, cost: &Cost| (of(cost) - of(first)) / (cost.sockets - first.sockets) as f64;
        let own = |cost: &Cost| cost.survey_ms - cost.dump_ms;
        let time = each(own, last) / each(own, before);
        let memory = each(|cost| cost.resident_kib, last) / each(|cost| cost.resident_kib, before);
        let from = format!(" (from {} to {})", before.sockets, last.sockets);
        results.at_most("growth: time of its own per socket", 1.25, time, "x", &from);
        results.at_most("growth: memory per socket", 1.25, memory, "x", &from);
    }
}

fn cost_of(size: usize, scale: Scale) -> Cost {
    let crowd = Crowd::gather(size);
    let output = role::spawn(&format!("survey {}", scale.rounds)).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [sockets, dump_ms, survey_ms, resident_kib] = numbers[..] else { panic!("{text}") };
    assert!(sockets as usize >= crowd.sockets(), "sockets were missed");
    Cost { sockets: sockets as usize, dump_ms, survey_ms, resident_kib }
}
