//! Bytes ↔ records. Pure: slices in, values out.
//!
//! **Architecture invariant:** nothing here knows a clock, a file, a socket or any other module of this crate. What is read
//! from the kernel is validated once, in [`messages`]; afterwards no accessor can panic.

mod encode;
mod field;
mod message;
mod request;
mod socket;
mod tcp_info;

pub use encode::encode_socket;
pub use field::{Field, Unit, Width};
pub use message::{Defect, Message, TCPDIAG_GETSOCK, messages};
pub use request::{SURVEY_STATES, dump_both_request, dump_request, exact_request};
pub use socket::{Congestion, Cookie, Endpoint, Family, HostId, SkMem, Socket, TcpState, Timer};
pub use tcp_info::{FIELDS, TCP_INFO_MAX, TCP_INFO_MIN, TcpInfo, field};
