//! stallscope shows which TCP connections of a host are waiting on a kernel timer, and proves it.
//!
//! Data flows one way:
//!
//! ```text
//! kernel or file → source → (tee to record) → wire → model → diagnose → report or tui
//! ```
#![forbid(unsafe_code)]

pub mod cli;
pub mod diagnose;
pub mod engine;
pub mod evidence;
pub mod filter;
pub mod lab;
pub mod model;
pub mod record;
pub mod report;
pub mod source;
pub mod trial;
pub mod tui;
pub mod watch;
pub mod wire;
