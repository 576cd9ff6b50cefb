//! How descriptions are written in files: durations as `20ms`, a part of a message as its size alone.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A duration as people write it (`40ms`, `1s`).
pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    humantime::parse_duration(&text).map_err(|error| D::Error::custom(format!("`{text}`: {error}")))
}

/// A duration that may be left out.
pub(super) fn maybe_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration(from).map(Some)
}

/// A part as a number of bytes, or as a table.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of bytes, or a table of bytes, more and pause")]
pub(super) enum PartForm {
    Bytes(usize),
    Table(PartTable),
}

/// A part in full.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartTable {
    pub(super) bytes: usize,
    #[serde(default)]
    pub(super) more: bool,
    #[serde(default, deserialize_with = "duration")]
    pub(super) pause: Duration,
}
