//! Traffic on real TCP sockets: the stall, its cures, and everything that could be mistaken for it.
//!
//! [`Traffic`] says what the two ends of some connections do; [`start`] (or [`serve`] and [`connect`], where the ends live in
//! different network namespaces) makes them do it on threads, until a limit, a deadline or [`Stop::set`], and returns what
//! the clients measured by their own clocks.
//!
//! **Architecture invariant:** nothing here knows the wire format, the model or the diagnosis: what the clients measure is
//! independent of what is diagnosed, so that the one can judge the other.
#![allow(clippy::disallowed_methods)]

mod client;
mod conn;
mod demo;
mod error;
mod form;
mod mode;
mod options;
mod run;
mod server;
mod stop;
mod summary;
mod traffic;

pub use demo::demo;
pub use error::LabError;
pub use mode::{Mode, Sizes};
pub use options::{Options, QuickAck, RawOption, RawSetter, allows_congestion};
pub use run::{Ends, Measured, Outcome, Places, Running, Sample, Serving, connect, serve, start};
pub use stop::Stop;
pub use summary::Summary;
pub use traffic::{Client, Family, Message, Part, Reading, Sending, Server, Traffic, Upstream};
