//! A stall made with plain sockets: two writes of 10 bytes, then a 20-byte reply is waited for.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A client and a server that stall until dropped.
pub struct Stall {
    pub client: SocketAddr,
    pub server: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Stall {
    /// Over IPv4 loopback of the calling thread's namespace.
    pub fn start() -> Self {
        let listener = TcpListener::bind((IpAddr::from(Ipv4Addr::LOCALHOST), 0)).expect("a port on loopback");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection on loopback");
        Self::between(&listener, stream)
    }

    /// Between a listener and a stream that is connected to it, in whatever namespaces they were made.
    pub fn between(listener: &TcpListener, stream: TcpStream) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (client, server) = (stream.local_addr().expect("connected"), stream.peer_addr().expect("connected"));
        let (accepted, _) = listener.accept().expect("the other end");
        let stopped = Arc::clone(&stop);
        // Both end when the client shuts the connection down; what they answer then does not matter.
        let threads =
            vec![thread::spawn(move || drop(ask(&stream, &stopped))), thread::spawn(move || drop(answer(accepted)))];
        Self { client, server, stop, threads }
    }

    /// A filter that shows this connection and no other.
    pub fn filter(&self) -> String {
        format!("sport = :{0} or dport = :{0}", self.client.port())
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

fn ask(mut stream: &TcpStream, stop: &AtomicBool) -> io::Result<()> {
    let mut reply = [0; 20];
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(&[1; 10])?;
        stream.write_all(&[2; 10])?;
        stream.read_exact(&mut reply)?;
    }
    stream.shutdown(Shutdown::Both)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0; 20];
    loop {
        stream.read_exact(&mut request)?;
        stream.write_all(&[3; 20])?;
    }
}
