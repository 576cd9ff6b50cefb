//! Real programs: servers and clients that people run, started here, and what stallscope says of their connections.
//!
//! Each test has a network namespace of its own, so ports are free and nothing else is seen. A test whose program is not
//! installed is skipped and says so.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::netns::{Room, isolated, run, skipped};
use super::observe::{Check, Found, Observer};
use super::scenario::Level;

/// The longest that a program may take to start: a JVM compiles its source first.
const START_LIMIT: Duration = Duration::from_secs(40);
/// How long is watched.
const WATCH: Duration = Duration::from_secs(3);

/// A program that is ended with the test.
struct Program(Child);

impl Program {
    fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn();
        Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Waits until something listens on a port of this host.
    fn listens(mut self, port: u16) -> Self {
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect(at(port)).is_err() {
            assert!(self.0.try_wait().expect("its state").is_none(), "the server ended before it listened on {port}");
            assert!(Instant::now() < deadline, "nothing listens on {port} after {START_LIMIT:?}");
            thread::sleep(Duration::from_millis(20));
        }
        self
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A folder of the test's own, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stallscope-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Whether a program can be found; says which is missing.
fn have(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| find(program).is_none());
    if let Some(program) = missing {
        skipped(test, &format!("`{program}` is not installed"));
    }
    missing.is_none()
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// What is found in this namespace while its programs run.
pub fn watch() -> Vec<Found> {
    let room = Room::here().expect("a room");
    Check.observe(&room, WATCH).unwrap_or_else(|error| panic!("{error}")).findings
}

/// The stalls among findings.
pub fn stalls(findings: &[Found]) -> Vec<&Found> {
    findings.iter().filter(|found| found.severity == "stall").collect()
}

/// A stall that is proven, held back by the end with this port.
pub fn assert_proven(findings: &[Found], sender_port: u16) {
    let proven = findings.iter().any(|found| {
        found.verdict == "nagle-delayed-ack"
            && found.level >= Some(Level::Proven)
            && found.sender.port() == sender_port
            && found.p50_ms.is_some_and(|ms| (36.0..60.0).contains(&ms))
    });
    assert!(proven, "no proven stall of port {sender_port}: {findings:#?}");
}

/// A client on a kept connection: writes a request in parts and reads the answer, again and again until dropped.
struct Client {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<u32>>,
}

impl Client {
    fn start(port: u16, parts: Vec<Vec<u8>>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut stream = TcpStream::connect(at(port)).expect("the server accepts");
            stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
            let mut answers = 0;
            while !seen.load(Ordering::Relaxed) {
                for part in &parts {
                    stream.write_all(part).expect("the server reads");
                }
                read_answer(&mut stream);
                answers += 1;
            }
            answers
        });
        Self { over, thread: Some(thread) }
    }

    /// Ends it; how many answers it had.
    fn end(mut self) -> u32 {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().expect("ended once").join().expect("the client had its answers")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Reads one HTTP answer with a Content-Length.
fn read_answer(stream: &mut TcpStream) {
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&answer[..head]).to_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
            if answer.len() >= head + 4 + length.expect("a length") {
                return;
            }
        }
        let taken = stream.read(&mut buffer).expect("an answer");
        assert!(taken > 0, "closed within an answer: {:?}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..taken]);
    }
}

const POST: &str = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn whole(text: &str) -> Vec<Vec<u8>> {
    vec![text.as_bytes().to_vec()]
}

fn headers_and_body_apart() -> Vec<Vec<u8>> {
    vec![POST.as_bytes().to_vec(), b"0123456789".to_vec()]
}

fn headers_and_body_together() -> Vec<Vec<u8>> {
    whole(&format!("{POST}0123456789"))
}

/// Answers each request after its headers and body; writes headers and body of the answer apart, as its library does.
const JAVA_SERVER: &str = r#"
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

public class Server {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 8080), 0);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            byte[] body = "0123456789".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
"#;

fn java(property: Option<&str>) -> (Folder, Program) {
    let folder = Folder::new("java");
    let source = folder.write("Server.java", JAVA_SERVER);
    let mut command = Command::new("java");
    let program = Program::start(command.args(property).arg(source)).listens(8080);
    (folder, program)
}

#[test]
fn jdk_http_server_stalls() {
    isolated("programs::jdk_http_server_stalls", || {
        if !have("programs::jdk_http_server_stalls", &["java", "javac"]) {
            return;
        }
        let _server = java(None);
        let client = Client::start(8080, whole(GET));
        let findings = watch();
        assert!(client.end() > 10);
        assert_proven(&findings, 8080);
    });
}

#[test]
fn jdk_http_server_with_nodelay_does_not() {
    isolated("programs::jdk_http_server_with_nodelay_does_not", || {
        if !have("programs::jdk_http_server_with_nodelay_does_not", &["java", "javac"]) {
            return;
        }
        let _server = java(Some("-Dsun.net.httpserver.nodelay=true"));
        let client = Client::start(8080, whole(GET));
        let findings = watch();
        assert!(client.end() > 100);
        assert!(stalls(&findings).is_empty(), "{findings:#?}");
    });
}

/// Keeps connections open and answers in one write; the library's request handler reads headers, then the body.
const PYTHON_SERVER: &str = r"
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = -1

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.send_header('Content-Length', '10')
        self.end_headers()
        self.wfile.write(b'0123456789')

    def log_message(self, *arguments):
        pass

http.server.ThreadingHTTPServer(('127.0.0.1', 8081), Handler).serve_forever()
";

fn python() -> (Folder, Program) {
    let folder = Folder::new("python");
    let source = folder.write("server.py", PYTHON_SERVER);
    let program = Program::start(Command::new("python3").arg(source)).listens(8081);
    (folder, program)
}

#[test]
fn python_http_server_and_a_client_that_writes_headers_and_body_apart() {
    const TEST: &str = "programs::python_http_server_and_a_client_that_writes_headers_and_body_apart";
    isolated(TEST, || {
        if !have(TEST, &["python3"]) {
            return;
        }
        let _server = python();
        let client = Client::start(8081, headers_and_body_apart());
        let findings = watch();
        assert!(client.end() > 10);
        let stalls = stalls(&findings);
        assert!(!stalls.is_empty() && stalls.iter().all(|stall| stall.receiver.port() == 8081), "{findings:#?}");
        assert_proven(&findings, stalls[0].sender.port());

        let client = Client::start(8081, headers_and_body_together());
        let cured = watch();
        assert!(client.end() > 100);
        // The first client's connection is gone by now.
        assert!(cured.iter().all(|found| found.severity != "stall"), "{cured:#?}");
    });
}

#[test]
fn redis_with_its_benchmark_is_healthy() {
    const TEST: &str = "programs::redis_with_its_benchmark_is_healthy";
    isolated(TEST, || {
        if !have(TEST, &["redis-server", "redis-benchmark"]) {
            return;
        }
        let folder = Folder::new("redis");
        let mut server = Command::new("redis-server");
        server
            .args(["--port", "6379", "--bind", "127.0.0.1", "--save", "", "--daemonize", "no", "--dir"])
            .arg(&folder.0);
        let _server = Program::start(&mut server).listens(6379);
        let mut benchmark = Command::new("redis-benchmark");
        benchmark.args(["-h", "127.0.0.1", "-c", "4", "-n", "100000000", "-t", "set,get", "-q"]);
        let mut client = Program::start(&mut benchmark);
        let findings = watch();
        assert!(client.0.try_wait().expect("its state").is_none(), "the benchmark ended early");
        assert!(stalls(&findings).is_empty(), "{findings:#?}");
    });
}

/// Where Debian and others keep `PostgreSQL`'s server programs.
fn postgres_folder() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<PathBuf> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
    folders.retain(|folder| folder.join("initdb").is_file() && folder.join("pgbench").is_file());
    folders.sort();
    folders.pop()
}

/// A program that must not run as root, and this namespace has no other user: in a further user namespace, the same user is
/// mapped to one that is not root.
fn not_root(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-user=1000", "--map-group=1000", "--"]).arg(program);
    command
}

#[test]
fn postgresql_with_pgbench_is_healthy() {
    const TEST: &str = "programs::postgresql_with_pgbench_is_healthy";
    isolated(TEST, || {
        let Some(programs) = postgres_folder() else {
            return skipped(TEST, "PostgreSQL's `initdb` and `pgbench` are not installed");
        };
        let folder = Folder::new("postgresql");
        let data = folder.0.join("data");
        let quick = |program: &str, arguments: &[&str]| {
            let mut command = not_root(&programs.join(program));
            run(command.args(arguments).current_dir(&folder.0), START_LIMIT).expect("a program of PostgreSQL")
        };
        let data_text = data.to_string_lossy().into_owned();
        let made = quick("initdb", &["-A", "trust", "-U", "tester", "--no-sync", "-D", &data_text]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut server = not_root(&programs.join("postgres"));
        server.args(["-D", &data_text, "-p", "5432", "-h", "127.0.0.1", "-k", "", "-c", "fsync=off"]);
        let _server = Program::start(&mut server).listens(5432);
        let reach = ["-h", "127.0.0.1", "-p", "5432", "-U", "tester", "postgres"];
        let filled = retry(|| quick("pgbench", &[&["-i", "-q"][..], &reach].concat()).status.success());
        assert!(filled, "pgbench could not fill its tables");
        let mut benchmark = Command::new(programs.join("pgbench"));
        benchmark.args(["-c", "4", "-T", "60", "-S"]).args(reach).current_dir(&folder.0);
        let mut client = Program::start(&mut benchmark);
        let findings = watch();
        assert!(client.0.try_wait().expect("its state").is_none(), "the benchmark ended early");
        assert!(stalls(&findings).is_empty(), "{findings:#?}");
    });
}

/// A server that listens may still refuse for a moment.
fn retry(mut attempt: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + START_LIMIT;
    while !attempt() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(100));
    }
    true
}

/// A proxy that passes requests on as they come, over kept connections.
fn nginx_configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
        events {{ worker_connections 64; }}
        http {{
            access_log off;
            client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
            uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
            upstream behind {{ server 127.0.0.1:8081; keepalive 4; }}
            server {{
                listen 127.0.0.1:8082;
                keepalive_requests 1000000;
                location / {{ proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection \"\"; }}
            }}
        }}"
    )
}

#[test]
fn nginx_between_a_leg_that_stalls_and_one_that_does_not() {
    const TEST: &str = "programs::nginx_between_a_leg_that_stalls_and_one_that_does_not";
    isolated(TEST, || {
        if !have(TEST, &["nginx", "python3"]) {
            return;
        }
        let _behind = python();
        let folder = Folder::new("nginx");
        let configuration = folder.write("nginx.conf", &nginx_configuration(&folder.0));
        // As root it would hand its folders to another user, which this namespace does not have.
        let mut command = not_root(&find("nginx").expect("found above"));
        command.arg("-e").arg("stderr").arg("-c").arg(configuration).arg("-p").arg(&folder.0);
        let _proxy = Program::start(&mut command).listens(8082);
        let client = Client::start(8082, headers_and_body_apart());
        let findings = watch();
        assert!(client.end() > 10);
        let stalls = stalls(&findings);
        assert!(!stalls.is_empty(), "the front leg stalls: {findings:#?}");
        assert_proven(&findings, stalls[0].sender.port());
        let behind = stalls.iter().any(|stall| [stall.sender.port(), stall.receiver.port()].contains(&8081));
        assert!(!behind, "the leg behind the proxy is healthy: {findings:#?}");
    });
}
