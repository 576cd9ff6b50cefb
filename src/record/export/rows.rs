//! Sockets as NDJSON and CSV. Numbers are in the kernel's units; what the kernel did not send is left out, which is not zero.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::Survey;
use crate::wire::{FIELDS, Family, SkMem, Socket};

/// Version of the NDJSON objects and the CSV columns; a change of meaning raises it, an addition does not.
pub const SCHEMA_VERSION: u32 = 1;

/// CSV columns before those of memory and `tcp_info`.
const COLUMNS: &str = "schema,survey,at_us,wall_us,cookie,family,mapped,state,local_ip,local_port,remote_ip,remote_port,\
                       interface,rqueue,wqueue,uid,inode,timer,expires_ms,timer_retrans,congestion,shutdown";

fn family(socket: &Socket) -> u8 {
    match socket.family {
        Family::V4 => 4,
        Family::V6 => 6,
    }
}

/// Appends one object without a line end.
pub(super) fn json_row(out: &mut String, survey: &Survey, socket: &Socket) {
    let known = |field| socket.info.as_ref().and_then(|info| info.get(field));
    let info: Map<String, Value> =
        FIELDS.iter().filter_map(|field| known(field).map(|value| (field.name.to_owned(), value.into()))).collect();
    let mem: Map<String, Value> = SkMem::NAMES
        .iter()
        .zip(socket.skmem.unwrap_or_default().0)
        .filter_map(|(name, value)| value.map(|value| ((*name).to_owned(), value.into())))
        .collect();
    let row = json!({
        "schema": SCHEMA_VERSION,
        "survey": survey.number,
        "at_us": survey.at_us,
        "wall_us": survey.wall_us,
        "cookie": format!("{:x}", socket.cookie.0),
        "family": family(socket),
        "mapped": socket.mapped,
        "state": socket.state.name(),
        "local": { "ip": socket.local.ip, "port": socket.local.port },
        "remote": { "ip": socket.remote.ip, "port": socket.remote.port },
        "interface": socket.interface,
        "rqueue": socket.rqueue,
        "wqueue": socket.wqueue,
        "uid": socket.uid,
        "inode": socket.inode,
        "timer": { "name": socket.timer.name(), "code": socket.timer.0, "expires_ms": socket.expires_ms, "retrans": socket.retrans },
        "congestion": socket.congestion.as_str(),
        "shutdown": socket.shutdown,
        "skmem": mem,
        "tcp_info": info,
    });
    let _ = write!(out, "{row}");
}

/// The header line.
pub(super) fn csv_header() -> String {
    let mut line = COLUMNS.to_owned();
    for name in SkMem::NAMES {
        line.push_str(",skmem_");
        line.push_str(name);
    }
    for field in FIELDS {
        line.push(',');
        line.push_str(field.name);
    }
    line.push('\n');
    line
}

/// Appends one line without its end. No value holds a comma or a quote.
pub(super) fn csv_row(out: &mut String, survey: &Survey, socket: &Socket) {
    let optional = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let wall = survey.wall_us.map_or_else(String::new, |wall| wall.to_string());
    let congestion = socket.congestion.as_str().replace([',', '"'], "_");
    let _ = write!(
        out,
        "{SCHEMA_VERSION},{},{},{wall},{:x},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{congestion},{}",
        survey.number,
        survey.at_us,
        socket.cookie.0,
        family(socket),
        socket.mapped,
        socket.state.name(),
        socket.local.ip,
        socket.local.port,
        socket.remote.ip,
        socket.remote.port,
        socket.interface,
        socket.rqueue,
        socket.wqueue,
        socket.uid,
        socket.inode,
        socket.timer.name(),
        socket.expires_ms,
        socket.retrans,
        optional(socket.shutdown.map(u64::from)),
    );
    for value in socket.skmem.unwrap_or_default().0 {
        let _ = write!(out, ",{}", optional(value.map(u64::from)));
    }
    for field in FIELDS {
        let _ = write!(out, ",{}", optional(socket.info.as_ref().and_then(|info| info.get(field))));
    }
}
