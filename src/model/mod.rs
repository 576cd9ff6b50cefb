//! What was seen, kept so that it can be compared: sockets, their growth, and the connections that they make.
//!
//! **Architecture invariant:** pure. No clock, file or socket; time comes in with each [`Event`]. It knows `wire`'s records
//! and nothing else of this crate, and it holds no opinion: opinions are `diagnose`'s.

mod clock;
mod connection;
mod event;
mod event_buf;
mod growth;
mod notes;
mod table;
mod time;

pub use clock::{ClockSource, HostClock, READ_WITHIN_US};
pub use connection::{Connection, ConnectionId, Opener, Side};
pub use event::{Counters, Event, Host, Owner, Owners, ProbeTarget, SurveyReport};
pub use event_buf::EventBuf;
pub use growth::Growth;
pub use notes::Notes;
pub use table::{Entry, Table};
pub use time::Moment;
