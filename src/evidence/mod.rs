//! Evidence on its way: taken from the live kernel into a recording, read from any file into an engine, converted for others.
//!
//! **Architecture invariant:** nothing here judges. What is kept is what the kernel said, whole messages; what is read goes the
//! same way as what is watched.

mod convert;
mod read;
mod take;
mod tap;

pub use convert::{ConvertError, export, redact};
pub use read::{read, read_together, told, told_together};
pub use take::{Progress, TakeError, TakeOptions, take};
pub use tap::Tap;
