//! Tests of the display.
