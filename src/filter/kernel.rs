//! Filters as programs for the kernel (`inet_diag_bc_audit` and `inet_diag_bc_run`, `net/ipv4/inet_diag.c`).
//!
//! A program is a run of operations, each a conditional jump forward: by `yes`, its own length, when its condition holds,
//! else by `no`. It passes the socket when a jump lands exactly on its end, and drops it when one lands 4 bytes beyond.
//! Only operations that 2.6 kernels have are used: `S_EQ` and `D_EQ` are newer, and a port alone is a host condition of no
//! family with an empty prefix.

use std::net::{IpAddr, Ipv6Addr};

use netlink_packet_sock_diag::{AF_INET, AF_INET6};

use super::expr::{Expr, Op, Side, Term};
use super::host::{Host, Network};

/// `INET_DIAG_BC_*` (`include/uapi/linux/inet_diag.h`).
const JMP: u8 = 1;
const S_GE: u8 = 2;
const S_LE: u8 = 3;
const D_GE: u8 = 4;
const D_LE: u8 = 5;
const S_COND: u8 = 7;
const D_COND: u8 = 8;

/// `AF_UNSPEC`.
const AF_UNSPEC: u8 = 0;

/// Longest program sent, in bytes: `no` and the attribute's length are 16-bit, and the kernel's check of a program takes
/// quadratic time, so well below that.
const MAX_LEN: usize = 4096;

/// Compiles the expression *or* the same seen from the other end; `None` when it asks for more than ports and addresses or
/// when the program would be too long.
pub(super) fn compile(expr: &Expr) -> Option<Vec<u8>> {
    let (both, other) = (expr.clone(), swapped(expr)?);
    let both = if both == other { both } else { Expr::any(vec![both, other]) };
    let mut program = Program::default();
    let (accept, reject) = (program.label(), program.label());
    program.expression(&both, Exits { yes: accept, no: reject, next: accept })?;
    program.link(accept, reject)
}

/// The expression with source and destination exchanged; `None` when it has other terms, or addresses on which kernels
/// differ from each other or from the evaluation here.
fn swapped(expr: &Expr) -> Option<Expr> {
    Some(match expr {
        Expr::And(parts) => Expr::And(parts.iter().map(swapped).collect::<Option<_>>()?),
        Expr::Or(parts) => Expr::Or(parts.iter().map(swapped).collect::<Option<_>>()?),
        Expr::Not(inner) => Expr::Not(Box::new(swapped(inner)?)),
        Expr::Term(Term::Port { side, op, port }) => {
            Expr::Term(Term::Port { side: side.swapped(), op: *op, port: *port })
        }
        Expr::Term(Term::Host { side, equal, host }) if expressible(host) => {
            Expr::Term(Term::Host { side: side.swapped(), equal: *equal, host: *host })
        }
        Expr::Term(_) => return None,
    })
}

/// Kernels before 3.8 ignore the family when the prefix is empty, and an IPv6 prefix that covers the v4-mapped range
/// matches mapped sockets there but not here, where their addresses are IPv4.
fn expressible(host: &Host) -> bool {
    const MAPPED: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0);
    match host.network {
        None => host.port.is_some(),
        Some(Network { prefix: 0, .. }) => false,
        Some(network) => !network.contains(IpAddr::V6(MAPPED)),
    }
}

/// A place in the program, known once everything before it is written.
#[derive(Clone, Copy, PartialEq)]
struct Label(usize);

/// Where a piece of program goes when it holds and when not, and what will be placed right behind it.
#[derive(Clone, Copy)]
struct Exits {
    yes: Label,
    no: Label,
    next: Label,
}

#[derive(Default)]
struct Program {
    code: Vec<u8>,
    /// Operations whose `no` is still to be written, with its aim.
    jumps: Vec<(usize, Label)>,
    /// Where each label is placed.
    labels: Vec<usize>,
}

impl Program {
    fn label(&mut self) -> Label {
        self.labels.push(0);
        Label(self.labels.len() - 1)
    }

    fn place(&mut self, label: Label) {
        self.labels[label.0] = self.code.len();
    }

    fn expression(&mut self, expr: &Expr, exits: Exits) -> Option<()> {
        match expr {
            Expr::And(parts) => self.parts(parts, exits, |next| Exits { yes: next, no: exits.no, next }),
            Expr::Or(parts) => self.parts(parts, exits, |next| Exits { yes: exits.yes, no: next, next }),
            Expr::Not(inner) => self.expression(inner, Exits { yes: exits.no, no: exits.yes, next: exits.next }),
            Expr::Term(term) => self.term(term, exits),
        }
    }

    /// All parts in order: each but the last leaves as `inner` says, the last as the whole does.
    fn parts(&mut self, parts: &[Expr], exits: Exits, inner: impl Fn(Label) -> Exits) -> Option<()> {
        let (last, first) = parts.split_last()?;
        for part in first {
            let next = self.label();
            self.expression(part, inner(next))?;
            self.place(next);
        }
        self.expression(last, exits)
    }

    fn term(&mut self, term: &Term, exits: Exits) -> Option<()> {
        if self.code.len() > MAX_LEN {
            return None;
        }
        let turned = Exits { yes: exits.no, no: exits.yes, next: exits.next };
        match term {
            Term::Port { side, op, port } => match op {
                Op::Eq => self.condition(*side, &Host { network: None, port: Some(*port) }, exits),
                Op::Ne => self.condition(*side, &Host { network: None, port: Some(*port) }, turned),
                Op::Ge => self.port(side_of(*side, S_GE, D_GE), *port, exits),
                Op::Lt => self.port(side_of(*side, S_GE, D_GE), *port, turned),
                Op::Le => self.port(side_of(*side, S_LE, D_LE), *port, exits),
                Op::Gt => self.port(side_of(*side, S_LE, D_LE), *port, turned),
            },
            Term::Host { side, equal, host } => self.condition(*side, host, if *equal { exits } else { turned }),
            Term::States(_) | Term::Number { .. } | Term::Word { .. } | Term::Text { .. } => return None,
        }
        Some(())
    }

    /// A comparison of a port, which stands in the `no` of a second operation.
    fn port(&mut self, code: u8, port: u16, exits: Exits) {
        let [low, high] = port.to_ne_bytes();
        self.operation(code, &[0, 0, low, high], exits);
    }

    /// `struct inet_diag_hostcond`: family, prefix length, two bytes of padding, port or -1, address.
    fn condition(&mut self, side: Side, host: &Host, exits: Exits) {
        let (family, prefix) = match host.network {
            None => (AF_UNSPEC, 0),
            Some(Network { ip: IpAddr::V4(_), prefix }) => (AF_INET, prefix),
            Some(Network { ip: IpAddr::V6(_), prefix }) => (AF_INET6, prefix),
        };
        let mut argument = vec![family, prefix, 0, 0];
        argument.extend_from_slice(&host.port.map_or(-1, i32::from).to_ne_bytes());
        match host.network.map(|network| network.ip) {
            None => {}
            Some(IpAddr::V4(ip)) => argument.extend_from_slice(&ip.octets()),
            Some(IpAddr::V6(ip)) => argument.extend_from_slice(&ip.octets()),
        }
        self.operation(side_of(side, S_COND, D_COND), &argument, exits);
    }

    /// One operation with its argument, and the jump behind it when what follows is not where it goes on success.
    fn operation(&mut self, code: u8, argument: &[u8], exits: Exits) {
        self.jumps.push((self.code.len(), exits.no));
        // The longest operation takes 28 bytes.
        let yes = u8::try_from(4 + argument.len()).unwrap_or(u8::MAX);
        self.code.extend_from_slice(&[code, yes, 0, 0]);
        self.code.extend_from_slice(argument);
        if exits.yes != exits.next {
            self.jumps.push((self.code.len(), exits.yes));
            self.code.extend_from_slice(&[JMP, 4, 0, 0]);
        }
    }

    /// Writes the jumps. The two last labels are the end of the program, and 4 bytes beyond it.
    fn link(mut self, accept: Label, reject: Label) -> Option<Vec<u8>> {
        let end = self.code.len();
        if end > MAX_LEN {
            return None;
        }
        self.labels[accept.0] = end;
        self.labels[reject.0] = end + 4;
        for (at, aim) in self.jumps {
            let distance = u16::try_from(self.labels[aim.0].checked_sub(at)?).ok()?;
            self.code[at + 2..at + 4].copy_from_slice(&distance.to_ne_bytes());
        }
        Some(self.code)
    }
}

fn side_of(side: Side, source: u8, destination: u8) -> u8 {
    match side {
        Side::Src => source,
        Side::Dst => destination,
    }
}
