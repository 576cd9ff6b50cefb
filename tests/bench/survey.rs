//! A whole survey against a raw dump and `ss`, and a filter over what it found.

use rustc_hash::FxHashSet;
use stallscope::engine::Engine;
use stallscope::filter::Filter;
use stallscope::report::matching;
use stallscope::source::{Live, LiveOptions, look_up_owners};

use super::Scale;
use super::crowd::Crowd;
use super::measure::{RawDump, Series, alternate, has_ss, run as run_program};
use super::results::Results;

/// Rows of a table on a screen of 60 lines.
const SHOWN: usize = 50;

/// Measures the survey.
pub fn run(scale: Scale, crowd: &Crowd, results: &mut Results) {
    let mut raw = RawDump::open();
    let mut live = Live::open(LiveOptions::default()).expect("netlink");
    let mut engine = Engine::new(10_000);
    let mut survey = || live.survey(&mut |event| engine.feed(event)).expect("survey");
    survey();
    let mut dump = || raw.run();
    let series = alternate(scale.rounds * 5, &mut [&mut dump, &mut survey]);
    let (dump, whole) = (&series[0], &series[1]);
    let (ratio, words) = whole.over(dump);
    results.at_most("one survey, whole, against a raw dump", 1.25, ratio, "x", &words);
    if has_ss() {
        against_ss(scale, results, &mut survey);
    }
    assert!(engine.table().socket_count() >= crowd.sockets(), "sockets were missed");
    filter(scale, results, &engine);
}

fn against_ss(scale: Scale, results: &mut Results, survey: &mut dyn FnMut()) {
    let mut ss = || run_program("ss", &["-tinH"]);
    let series = alternate(scale.rounds, &mut [&mut ss, survey]);
    let (ratio, words) = series[0].over(&series[1]);
    results.at_least("the same, against ss -tinH", 8.0, ratio, "x faster", &words);
    let shown = inodes();
    let mut ss = || run_program("ss", &["-tinpH"]);
    let mut named = || {
        survey();
        assert_eq!(look_up_owners(&shown).len(), shown.len());
    };
    let series = alternate(scale.rounds, &mut [&mut ss, &mut named]);
    let (ratio, words) = series[0].over(&series[1]);
    results.at_least("survey and owners of all rows shown, against ss -tinpH", 15.0, ratio, "x faster", &words);
}

/// The inodes of both ends of as many connections as a screen shows.
fn inodes() -> FxHashSet<u32> {
    let mut engine = Engine::new(10_000);
    let mut live = Live::open(LiveOptions::default()).expect("netlink");
    live.survey(&mut |event| engine.feed(event)).expect("survey");
    let ends = engine.connections().take(SHOWN).filter_map(|id| engine.subject(id)).flat_map(|subject| subject.ends);
    ends.flatten().map(|socket| socket.inode).collect()
}

fn filter(scale: Scale, results: &mut Results, engine: &Engine) {
    let filter = Filter::parse("rtt > 10ms or notsent > 0 or sport = 1").expect("filter");
    let mut shown = usize::MAX;
    let time = Series::of(scale.rounds * 5, &mut || shown = matching(engine, &filter).len());
    assert!(shown < engine.table().connection_count(), "the filter let everything pass");
    let (ms, words) = time.typical();
    results.at_most("a filter over all of them", 10.0, ms, "ms", &words);
}
