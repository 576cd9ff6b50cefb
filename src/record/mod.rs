//! Recordings: events to bytes that outlive the process, and back; and what is made of them.
//!
//! The format is described in `docs/recording-format.md`.

mod codec;
mod create;
mod delta;
pub mod export;
mod frame;
pub(crate) mod input;
mod reader;
mod redact;
mod varint;
mod writer;

pub use create::{CreateError, create, default_name};
pub use frame::{MAGIC, VERSION};
pub use reader::{ReadError, Reader};
pub use redact::{RedactOptions, Redactor};
pub use writer::Writer;
