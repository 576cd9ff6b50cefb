//! A hyper client and a hyper server joined by a connector made by hand, as Rust programs make them: such a connector leaves
//! Nagle on unless it is told.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::thread::{self, JoinHandle};

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use super::netns::isolated;
use super::programs::{assert_proven, stalls, watch};

/// The connector: a socket as hyper wants it.
struct Io(TcpStream);

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut room: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; 4096];
        let limit = room.remaining().min(bytes.len());
        let mut taken = ReadBuf::new(&mut bytes[..limit]);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut taken))?;
        room.put_slice(taken.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, parts)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// A body of ten bytes.
struct Ten {
    /// Not there yet when hyper asks first, as one that comes from another task: then hyper writes the headers without it.
    late: bool,
    given: bool,
}

impl Body for Ten {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if std::mem::take(&mut self.late) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let first = !std::mem::replace(&mut self.given, true);
        Poll::Ready(first.then(|| Ok(Frame::data(Bytes::from_static(b"0123456789")))))
    }
}

/// Reads a body to its end; how many bytes it had.
async fn drain(mut body: Incoming) -> hyper::Result<usize> {
    let mut bytes = 0;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(bytes)
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_io().build().expect("a runtime")
}

/// Answers the requests of one connection, each in one write once its body is there, until the client closes it.
fn serve() -> (SocketAddr, JoinHandle<()>) {
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("its address");
    let thread = thread::spawn(move || {
        runtime.block_on(async move {
            let (stream, _) = listener.accept().await.expect("a client");
            let answer = service_fn(|request: Request<Incoming>| async {
                assert_eq!(drain(request.into_body()).await?, 10);
                Ok::<_, hyper::Error>(Response::new(Ten { late: false, given: false }))
            });
            server::conn::http1::Builder::new().serve_connection(Io(stream), answer).await.expect("requests");
        });
    });
    (address, thread)
}

/// Posts one request after the other until told to stop; how many answers it had.
async fn post(address: SocketAddr, nodelay: bool, over: &AtomicBool) -> u32 {
    let stream = TcpStream::connect(address).await.expect("the server accepts");
    stream.set_nodelay(nodelay).expect("a socket option");
    let (mut sender, connection) = client::conn::http1::handshake(Io(stream)).await.expect("a connection");
    let connection = tokio::spawn(connection);
    let mut answers = 0;
    while !over.load(Ordering::Relaxed) {
        let request = Request::post("/").header("Host", "localhost").header("Content-Length", "10");
        let request = request.body(Ten { late: true, given: false }).expect("a request");
        sender.ready().await.expect("an open connection");
        let response = sender.send_request(request).await.expect("an answer");
        drain(response.into_body()).await.expect("its body");
        answers += 1;
    }
    drop(sender);
    connection.await.expect("the connection's task").expect("its end");
    answers
}

/// Runs both for as long as a watch takes: what was found, the server's port, and how many requests were answered.
fn run(nodelay: bool) -> (Vec<super::observe::Found>, u16, u32) {
    let (address, server) = serve();
    let over = Arc::<AtomicBool>::default();
    let seen = Arc::clone(&over);
    let client = thread::spawn(move || runtime().block_on(post(address, nodelay, &seen)));
    let findings = watch();
    over.store(true, Ordering::Relaxed);
    let answers = client.join().expect("the client had its answers");
    server.join().expect("the server read all requests");
    (findings, address.port(), answers)
}

#[test]
fn hyper_with_a_body_that_comes_late_stalls() {
    isolated("hyper_pair::hyper_with_a_body_that_comes_late_stalls", || {
        let (findings, port, answers) = run(false);
        assert!((10..200).contains(&answers), "{answers} answers");
        let stalls = stalls(&findings);
        assert!(!stalls.is_empty() && stalls.iter().all(|stall| stall.receiver.port() == port), "{findings:#?}");
        assert_proven(&findings, stalls[0].sender.port());
    });
}

#[test]
fn hyper_with_nodelay_does_not() {
    isolated("hyper_pair::hyper_with_nodelay_does_not", || {
        let (findings, _, answers) = run(true);
        assert!(answers > 500, "{answers} answers");
        assert!(stalls(&findings).is_empty(), "{findings:#?}");
    });
}
