//! The links do what they say: measured by the clients' own clocks, without any diagnosis.

use std::time::Duration;

use stallscope::lab::{Family, Message, Mode, Sizes, Stop, Traffic, start};

use super::judge::median_ms;
use super::link::{Joined, Link, Seen};
use super::netns::{isolated, skipped};
use super::relay::{From, Loss};
use super::sys;

/// No traffic here runs longer.
const LIMIT: Duration = Duration::from_secs(40);

fn joined(link: &Link, seen: Seen) -> Option<Joined> {
    match Joined::new(link, seen) {
        Ok(joined) => Some(joined),
        Err(reason) => {
            skipped("link", &reason);
            None
        }
    }
}

fn relay(rtt: u64, rate: Option<u32>, losses: &[Loss]) -> Link {
    Link::Relay { rtt: Duration::from_millis(rtt), rate, losses: losses.to_vec() }
}

fn request_response(requests: u64) -> Traffic {
    let mut traffic = Traffic::new("request and reply");
    traffic.client.request = Message::of(&[20]);
    traffic.client.requests = Some(requests);
    traffic
}

/// What the requests of some traffic took on a link, ms.
fn latencies(traffic: &Traffic, joined: &Joined) -> Vec<Duration> {
    let (places, stop, ours) = (joined.places(traffic.family), Stop::after(LIMIT), traffic.clone());
    let serving = {
        let (ours, stop) = (traffic.clone(), stop.clone());
        joined.server.run(move || stallscope::lab::serve(&ours, places.listen, None, &stop)).expect("a server")
    };
    let address = (places.connect, serving.address().port()).into();
    let running = joined
        .client
        .run(move || stallscope::lab::connect(&ours, address, places.bind, None, &stop))
        .expect("a connection over the link");
    let outcome = running.finish();
    assert_eq!(outcome.errors, Vec::<String>::new());
    assert_eq!(serving.finish(), Vec::<String>::new());
    outcome.clients[0].samples.iter().map(|sample| sample.took).collect()
}

fn median(traffic: &Traffic, joined: &Joined) -> f64 {
    median_ms(&latencies(traffic, joined)).expect("requests")
}

fn between(value: f64, least: f64, most: f64) {
    assert!(value >= least && value <= most, "{value:.2} ms is not within {least} and {most}");
}

#[test]
fn modes_stall_or_not_as_their_names_say() {
    isolated("links::modes_stall_or_not_as_their_names_say", || {
        for congestion in ["cubic", "bbr"] {
            for mode in Mode::ALL.into_iter().take(10) {
                let mut traffic = mode.traffic(&Sizes { requests: 15, ..Sizes::default() });
                traffic.client.stay = false;
                traffic.client.options.congestion = Some(congestion.to_owned());
                traffic.server.options.congestion = Some(congestion.to_owned());
                let joined = Joined::new(&Link::Loopback, Seen::Both).expect("loopback");
                let took = median(&traffic, &joined);
                match mode {
                    Mode::Nagle | Mode::QuickAckOnce | Mode::Response => between(took, 38.0, 50.0),
                    Mode::CorkForgotten => between(took, 190.0, 225.0),
                    _ => between(took, 0.0, 5.0),
                }
            }
        }
    });
}

#[test]
fn a_relay_adds_its_round_trip_time() {
    isolated("links::a_relay_adds_its_round_trip_time", || {
        for (rtt, seen) in [(1, Seen::Both), (20, Seen::Both), (20, Seen::Client), (80, Seen::Server)] {
            let link = relay(rtt, None, &[]);
            let Some(joined) = joined(&link, seen) else { return };
            let took = median(&request_response(15), &joined);
            between(took, rtt as f64, rtt as f64 + 6.0);
        }
    });
}

#[test]
fn a_relay_carries_ipv6() {
    isolated("links::a_relay_carries_ipv6", || {
        for seen in [Seen::Both, Seen::Client] {
            let Some(joined) = joined(&relay(20, None, &[]), seen) else { return };
            let traffic = Traffic { family: Family::V6, ..request_response(10) };
            between(median(&traffic, &joined), 20.0, 26.0);
        }
    });
}

#[test]
fn a_relay_loses_the_chosen_packets() {
    isolated("links::a_relay_loses_the_chosen_packets", || {
        let loss = |from| Loss { from, pure_acks: false, nth: 5, every: None };
        let link = relay(1, None, &[loss(From::Client), loss(From::Server)]);
        let Some(joined) = joined(&link, Seen::Both) else { return };
        let took = latencies(&request_response(20), &joined);
        assert_eq!(joined.relay.as_ref().expect("a relay").dropped(), 2);
        // A timeout is 200 ms; what a busy machine adds to the others is less.
        let slow = took.iter().filter(|took| **took > Duration::from_millis(100)).count();
        assert!((1..=2).contains(&slow), "a lost packet costs its request a timeout: {took:?}");
    });
}

#[test]
fn a_relay_limits_the_rate() {
    isolated("links::a_relay_limits_the_rate", || {
        let Some(joined) = joined(&relay(2, Some(500_000), &[]), Seen::Both) else { return };
        let mut traffic = request_response(4);
        traffic.client.request = Message::of(&[50_000]);
        // 50 kB at 500 kB/s.
        between(median(&traffic, &joined), 100.0, 190.0);
    });
}

#[test]
fn veth_joins_one_namespace_and_two() {
    isolated("links::veth_joins_one_namespace_and_two", || {
        for seen in [Seen::Both, Seen::Client] {
            let Some(joined) = joined(&Link::Veth, seen) else { return };
            for family in [Family::V4, Family::V6, Family::Mapped] {
                let traffic = Traffic { family, ..request_response(50) };
                between(median(&traffic, &joined), 0.0, 5.0);
            }
            drop(joined);
            super::netns::ip("link del lab0").expect("the link that was just made");
        }
    });
}

#[test]
fn options_that_need_a_setter_are_set() {
    isolated("links::options_that_need_a_setter_are_set", || {
        let mut traffic = request_response(5);
        traffic.client.options.low_water = Some(1);
        traffic.client.options.pacing_rate = Some(1_000_000);
        let places = stallscope::lab::Places::loopback(Family::V4);
        let refused = start(&traffic, places, None, &Stop::after(LIMIT)).expect_err("no setter").to_string();
        assert!(refused.contains("SO_MAX_PACING_RATE"), "{refused}");
        let outcome = start(&traffic, places, Some(sys::set_option), &Stop::after(LIMIT)).expect("set").finish();
        assert_eq!(outcome.clients[0].samples.len(), 5);
    });
}
