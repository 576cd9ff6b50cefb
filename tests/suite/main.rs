//! The integration tests: one binary, one module for each subject.
//!
//! Tests that need a network of their own run in namespaces that they make themselves (see `netns`), so that they run side
//! by side, without root, and on a host with any settings.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test binary has no interface, and a helper that fails is a test that fails"
)]

mod agreement;
mod captures;
mod check;
mod decoder;
mod directions;
mod engine;
mod evidence;
mod evidence_fixtures;
mod files;
mod hosts;
mod hyper_pair;
mod inputs;
mod json_document;
mod judge;
mod lab;
mod layering;
mod link;
mod links;
mod netns;
mod observe;
mod programs;
mod relay;
mod rules;
mod scenario;
mod scenario_vectors;
mod scenarios;
mod shape;
mod sim;
mod stall;
mod sys;
mod table;
mod tui;
mod vectors;
