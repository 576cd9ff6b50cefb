//! stallscope shows which TCP connections of a host are waiting on a kernel timer, and proves it.
//!
//! Data flows one way:
//!
//! ```text
//! kernel or file → source → (tee to record) → wire → model → diagnose → report or tui
//! ```
#![forbid(unsafe_code)]

pub mod model;
pub mod record;
pub mod source;
pub mod wire;
