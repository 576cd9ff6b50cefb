//! Many established loopback sockets, held by child processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::time::Duration;

use super::role;

/// Sockets that one process holds at most.
const PER_PROCESS: usize = 19_000;

/// The processes and their sockets.
pub struct Crowd {
    children: Vec<Child>,
    sockets: usize,
}

/// Holds `wanted` sockets until standard input ends.
pub fn hold(wanted: usize, address: &str) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = Vec::new();
    for _ in 0..wanted / 2 {
        let mut client = TcpStream::connect(address).expect("connect (raise ulimit -n?)");
        let (mut server, _) = listener.accept().unwrap();
        // One exchange, so that the sockets have a past.
        client.write_all(b"?").unwrap();
        server.read_exact(&mut [0]).unwrap();
        held.push((client, server));
    }
    println!("{}", held.len() * 2);
    let _ = std::io::stdin().read(&mut [0]);
}

impl Crowd {
    /// Starts the processes and waits until they hold about `sockets`.
    pub fn gather(sockets: usize) -> Self {
        let mut children = Vec::new();
        let mut left = sockets;
        while left > 1 {
            let here = left.min(PER_PROCESS);
            left -= here;
            // An address for each, so that none runs out of ports.
            children.push(role::spawn(&format!("hold {here} 127.1.{}.1", children.len())));
        }
        let count = |child: &mut Child| -> usize {
            let mut line = String::new();
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            line.trim().parse().expect("a child could not open its sockets")
        };
        let sockets = children.iter_mut().map(count).sum();
        // What moved within the last second looks active, and would be probed.
        std::thread::sleep(Duration::from_millis(1_100));
        Self { children, sockets }
    }

    /// How many sockets are held.
    pub fn sockets(&self) -> usize {
        self.sockets
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
