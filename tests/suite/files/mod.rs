//! Evidence in files: recordings, what other programs wrote, damage, and what is given away.
// Helpers outside of test functions.
#![allow(clippy::expect_used, clippy::cast_possible_truncation, unreachable_pub)]

mod common;
mod foreign;
mod giving;
mod mutation;
mod recording;
mod seeds;
mod series;
mod together;
