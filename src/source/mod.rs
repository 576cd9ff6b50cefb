//! Where events come from: the kernel of this host, or a file.
//!
//! **Architecture invariant:** the only modules that talk to the kernel about sockets and processes are here. They interpret no
//! more than they must to know where an answer ends; meaning is `wire`'s, `model`'s and `diagnose`'s.
#![allow(clippy::disallowed_methods)]

pub mod file;
mod host;
mod live;
mod owners;
mod route;

pub use host::{counters, host};
pub use live::{Clock, Live, LiveOptions, LookError};
pub use owners::look_up as look_up_owners;
pub use route::route_has_quickack;
