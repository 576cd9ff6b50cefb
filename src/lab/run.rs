//! Starting, watching and ending traffic.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::conn::{Conn, End, dial};
use super::error::LabError;
use super::options::RawSetter;
use super::stop::{STEP, Stop};
use super::traffic::{Client, Family, Server, Traffic, Upstream};
use super::{client, server};

/// Where the two ends are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The address that the server listens on; the port is the kernel's choice.
    pub listen: IpAddr,
    /// The address that the client connects to.
    pub connect: IpAddr,
    /// The client's own address, where it matters.
    pub bind: Option<IpAddr>,
}

impl Places {
    /// Both ends on this host's loopback.
    pub fn loopback(family: Family) -> Self {
        let (listen, connect) = match family {
            Family::V4 => (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()),
            Family::V6 => (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()),
            Family::Mapped => (Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::LOCALHOST.into()),
        };
        Self { listen, connect, bind: None }
    }
}

/// The two ends of a connection that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// 0 for a client's own connection, 1 for a proxy's to the server behind it, and so on.
    pub leg: u32,
    /// The end that opened it.
    pub client: SocketAddr,
    /// The end that accepted it.
    pub server: SocketAddr,
}

/// One request by the client's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Just before its first write.
    pub started: Instant,
    /// From there to the last byte of the reply.
    pub took: Duration,
}

/// What one client measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its connection.
    pub ends: Ends,
    /// Its requests, in order; empty where no replies are expected.
    pub samples: Vec<Sample>,
}

/// What all clients measured.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One entry for each client.
    pub clients: Vec<Measured>,
    /// What went wrong at any end, in words.
    pub errors: Vec<String>,
}

#[derive(Debug, Default)]
struct Shared {
    requests: AtomicU64,
    ends: Mutex<Vec<Ends>>,
    errors: Mutex<Vec<String>>,
}

impl Shared {
    fn fail(&self, message: String) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    fn add(&self, ends: Ends) {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push(ends);
    }
}

/// A server that accepts connections.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    behind: Option<Box<Serving>>,
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connections that a proxy made to the server behind it.
    pub fn ends(&self) -> Vec<Ends> {
        let mut ends = self.shared.ends.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ends.extend(self.behind.iter().flat_map(|behind| behind.ends()).map(|ends| Ends { leg: ends.leg + 1, ..ends }));
        ends
    }

    /// Stops it, waits for its threads and returns what went wrong.
    pub fn finish(mut self) -> Vec<String> {
        self.end();
        let mut errors = std::mem::take(&mut *self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner));
        errors.extend(self.behind.take().map(|behind| behind.finish()).into_iter().flatten());
        errors
    }

    fn end(&mut self) {
        self.stop.set();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            self.shared.fail("a server's thread panicked".to_owned());
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end();
    }
}

/// Traffic that runs.
#[derive(Debug)]
pub struct Running {
    stop: Stop,
    clients: Vec<(Ends, JoinHandle<Vec<Sample>>)>,
    shared: Arc<Shared>,
    serving: Option<Serving>,
}

impl Running {
    /// All connections made so far.
    pub fn ends(&self) -> Vec<Ends> {
        let mut ends: Vec<Ends> = self.clients.iter().map(|(ends, _)| *ends).collect();
        ends.extend(self.serving.iter().flat_map(Serving::ends));
        ends
    }

    /// Requests done so far, by all clients.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Whether every client has ended, or the traffic was stopped. A client that stays after its last request has not.
    pub fn is_over(&self) -> bool {
        self.stop.is_set() || self.clients.iter().all(|(_, thread)| thread.is_finished())
    }

    /// Waits until this many requests are done; `false` when the traffic ended before.
    pub fn wait_for(&self, requests: u64) -> bool {
        while self.requests() < requests {
            if self.is_over() {
                return self.requests() >= requests;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Ends the traffic and returns what was measured.
    pub fn stop(self) -> Outcome {
        self.stop.set();
        self.finish()
    }

    /// Waits for the clients to reach their limits (or for the stop), then ends the servers.
    pub fn finish(mut self) -> Outcome {
        let mut outcome = Outcome::default();
        for (ends, thread) in self.clients.drain(..) {
            match thread.join() {
                Ok(samples) => outcome.clients.push(Measured { ends, samples }),
                Err(_) => outcome.errors.push("a client's thread panicked".to_owned()),
            }
        }
        outcome.errors.append(&mut self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner));
        outcome.errors.extend(self.serving.take().map(Serving::finish).into_iter().flatten());
        outcome
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.set();
    }
}

/// Starts both ends of some traffic in this network namespace.
///
/// # Errors
/// When the description contradicts itself, an address cannot be used, or a socket option is refused.
pub fn start(traffic: &Traffic, places: Places, setter: Option<RawSetter>, stop: &Stop) -> Result<Running, LabError> {
    let serving = serve(traffic, places.listen, setter, stop)?;
    let address = SocketAddr::new(places.connect, serving.address().port());
    let mut running = connect(traffic, address, places.bind, setter, stop)?;
    running.serving = Some(serving);
    Ok(running)
}

/// Starts the servers of some traffic, listening on `listen`, in the network namespace of the calling thread.
///
/// # Errors
/// When the description contradicts itself or the address cannot be used.
pub fn serve(traffic: &Traffic, listen: IpAddr, setter: Option<RawSetter>, stop: &Stop) -> Result<Serving, LabError> {
    traffic.check()?;
    let stop = Stop::within(stop);
    let leg = Leg { request: traffic.client.request.bytes(), two_way: traffic.two_way, server: traffic.server.clone() };
    serve_leg(leg, listen, setter, &stop)
}

/// Opens the connections of some traffic to the server at `address` and starts the clients, in the network namespace of the
/// calling thread.
///
/// # Errors
/// When a connection cannot be made within 10 s, or a socket option is refused.
pub fn connect(
    traffic: &Traffic,
    address: SocketAddr,
    bind: Option<IpAddr>,
    setter: Option<RawSetter>,
    stop: &Stop,
) -> Result<Running, LabError> {
    traffic.check()?;
    let stop = &Stop::within(stop);
    let mut running = Running { stop: stop.clone(), clients: Vec::new(), shared: Arc::default(), serving: None };
    let reply = traffic.server.reply.bytes();
    for _ in 0..traffic.connections {
        let (conn, ends) = open(&traffic.client, address, bind, setter, stop)?;
        let (client, shared, two_way) = (traffic.client.clone(), Arc::clone(&running.shared), traffic.two_way);
        let thread = spawn("client", move || run_client(&conn, &client, reply, two_way, &shared))?;
        running.clients.push((ends, thread));
    }
    Ok(running)
}

fn open(
    client: &Client,
    address: SocketAddr,
    bind: Option<IpAddr>,
    setter: Option<RawSetter>,
    stop: &Stop,
) -> Result<(Conn, Ends), LabError> {
    let stream = dial(address, bind.map(|ip| SocketAddr::new(ip, 0)), &client.options, stop)?;
    let conn = Conn::new(stream, &client.options, setter, stop, client.request.bytes())?;
    let (own, peer) = conn.addresses().map_err(|source| {
        LabError::new("read", "the addresses of a new connection", source, "the server may have closed it; look there")
    })?;
    Ok((conn, Ends { leg: 0, client: own, server: peer }))
}

fn run_client(conn: &Conn, client: &Client, reply: usize, two_way: bool, shared: &Shared) -> Vec<Sample> {
    let worker = client::Worker { conn, client, reply, requests: &shared.requests };
    let mut samples = Vec::new();
    let end = if two_way { worker.run_two_way() } else { worker.run(&mut samples) };
    if let Some(failure) = end.failure("client") {
        shared.fail(failure);
    }
    samples
}

/// What a server needs to know of its leg.
#[derive(Clone)]
struct Leg {
    request: usize,
    two_way: bool,
    server: Server,
}

/// A server's connections to be: its leg, and the address of the server behind it.
struct Accepting {
    leg: Leg,
    behind: Option<SocketAddr>,
    setter: Option<RawSetter>,
    stop: Stop,
    shared: Arc<Shared>,
}

fn serve_leg(leg: Leg, listen: IpAddr, setter: Option<RawSetter>, stop: &Stop) -> Result<Serving, LabError> {
    let behind = leg.server.upstream.as_deref().map(|next| serve_upstream(next, listen, setter, stop)).transpose()?;
    let object = SocketAddr::new(listen, 0);
    let fail = |source| LabError::new("listen on", object.to_string(), source, "use an address of this host");
    let listener = TcpListener::bind(object).map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    leg.server.options.apply_early(&listener)?;
    let shared = Arc::<Shared>::default();
    let accepting = Accepting {
        leg,
        behind: behind.as_ref().map(|next| reachable(next.address())),
        setter,
        stop: stop.clone(),
        shared: Arc::clone(&shared),
    };
    let thread = Some(spawn("server", move || accept_all(&listener, &accepting))?);
    Ok(Serving { address, stop: stop.clone(), thread, shared, behind: behind.map(Box::new) })
}

fn serve_upstream(
    next: &Upstream,
    listen: IpAddr,
    setter: Option<RawSetter>,
    stop: &Stop,
) -> Result<Serving, LabError> {
    let leg = Leg { request: next.client.request.bytes(), two_way: false, server: next.server.clone() };
    serve_leg(leg, listen, setter, stop)
}

/// An address to connect to for one that was listened on.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn accept_all(listener: &TcpListener, accepting: &Accepting) {
    thread::scope(|scope| {
        while !accepting.stop.is_set() {
            match accept(listener) {
                Ok(Some(stream)) => drop(scope.spawn(|| serve_one(stream, accepting))),
                Ok(None) => {}
                Err(error) => return accepting.shared.fail(format!("server: accept: {error}")),
            }
        }
    });
}

/// The next connection, if one comes within a step.
fn accept(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(STEP.subsec_nanos()) };
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut fds, Some(&limit)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(None),
        Ok(_) => listener.accept().map(|(stream, _)| Some(stream)),
        Err(error) => Err(error.into()),
    }
}

fn serve_one(stream: TcpStream, accepting: &Accepting) {
    let failure = match serve_conn(stream, accepting) {
        Ok(end) => end.failure("server"),
        Err(error) => Some(format!("server: {error}")),
    };
    if let Some(failure) = failure {
        accepting.shared.fail(failure);
    }
}

fn serve_conn(stream: TcpStream, accepting: &Accepting) -> Result<End, LabError> {
    let Accepting { leg, setter, stop, .. } = accepting;
    let conn = Conn::new(stream, &leg.server.options, *setter, stop, leg.server.reply.bytes())?;
    let next = match (&leg.server.upstream, accepting.behind) {
        (Some(next), Some(address)) => {
            let (conn, ends) = open(&next.client, address, None, *setter, stop)?;
            accepting.shared.add(Ends { leg: 1, ..ends });
            Some((conn, next))
        }
        _ => None,
    };
    let behind = next.as_ref().map(|(conn, next)| server::Behind {
        conn,
        client: &next.client,
        reply: next.server.reply.bytes(),
    });
    let worker = server::Worker { conn: &conn, server: &leg.server, request: leg.request, behind };
    Ok(if leg.two_way { worker.run_two_way() } else { worker.run() })
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, LabError> {
    thread::Builder::new().name(format!("lab-{name}")).spawn(work).map_err(|source| {
        LabError::new("start a thread for a", name, source, "raise the limit on threads, or use fewer connections")
    })
}
