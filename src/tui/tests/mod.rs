//! Tests of the display: frames at several sizes, keys as messages.

mod frames;
mod keyboard;
mod replay;
mod world;
