//! Where events come from.

pub mod file;
