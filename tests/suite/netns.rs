//! Namespaces for tests: a process in a user and network namespace of its own, and rooms (threads in further network
//! namespaces) inside it.

use std::io::{self, Read, Write};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::sys;

/// Set in the process that runs a test's body, to the name of that test.
const INSIDE: &str = "STALLSCOPE_TEST_INSIDE";
/// What stands between the name of a test and the reason why it was skipped.
const SKIPPED: &str = ": skipped: ";
/// The longest time that the body of a test may take.
const BODY_LIMIT: Duration = Duration::from_secs(90);

/// Says that something was not tested, and why, past the capture of a passing test's output.
pub fn skipped(who: &str, reason: &str) {
    writeln!(io::stderr(), "{who}{SKIPPED}{reason}").ok();
}

/// Runs `body` in a process of its own inside new user and network namespaces with loopback up, and fails when it fails.
/// `test` is the full name of the calling test. Where the system forbids namespaces the test is skipped and says so.
pub fn isolated(test: &str, body: impl FnOnce()) {
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        watch_over(BODY_LIMIT);
        ip("link set lo up").expect("loopback of a new namespace");
        return body();
    }
    if let Err(reason) = available() {
        return skipped(test, &reason);
    }
    let output = run_isolated(test, &[]).expect("a test process");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    let stderr = String::from_utf8_lossy(&output.stderr);
    eprint!("{stderr}");
    for (who, reason) in stderr.lines().filter_map(|line| line.split_once(SKIPPED)) {
        skipped(who, reason);
    }
    assert!(output.status.success(), "{test} failed in its namespaces: {}", output.status);
}

/// Why namespaces cannot be made here.
pub fn available() -> Result<(), String> {
    let output = run(&mut unshare("true"), Duration::from_secs(10))
        .map_err(|error| format!("`unshare` of util-linux cannot be run: {error}"))?;
    let reason = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("no user namespaces here: {}", reason.trim())) }
}

/// Runs the body of `test` in its namespaces, with more environment, whether or not it is ignored.
pub fn run_isolated(test: &str, environment: &[(&str, String)]) -> io::Result<Output> {
    let exe = std::env::current_exe()?;
    let mut command = unshare(exe);
    command.args(["--exact", test, "--nocapture", "--include-ignored", "--test-threads=1"]).env(INSIDE, test);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    run(&mut command, BODY_LIMIT + Duration::from_secs(10))
}

fn unshare(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "--"]).arg(program);
    command
}

/// Ends this process if it is still there after `limit`: a test may fail, never hang.
fn watch_over(limit: Duration) {
    thread::spawn(move || {
        thread::sleep(limit);
        eprintln!("still running after {limit:?}: ended");
        std::process::exit(124);
    });
}

/// Runs a command to its end, or kills it after `limit`.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let end = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= end {
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(2));
    };
    let join = |thread: Option<JoinHandle<Vec<u8>>>| thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
    Ok(Output { status, stdout: join(stdout), stderr: join(stderr) })
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth showing.
        from.read_to_end(&mut bytes).ok();
        bytes
    })
}

/// Runs `ip` with these arguments in the calling thread's network namespace.
pub fn ip(arguments: &str) -> Result<(), String> {
    let output = run(Command::new("ip").args(arguments.split_whitespace()), Duration::from_secs(10))
        .map_err(|error| format!("`ip` of iproute2 cannot be run: {error}"))?;
    let reason = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("ip {arguments}: {}", reason.trim())) }
}

/// Writes a setting under `/proc/sys/net/ipv4` of the calling thread's network namespace.
pub fn sysctl(name: &str, value: &str) -> Result<(), String> {
    let path = format!("/proc/sys/net/ipv4/{}", name.replace('.', "/"));
    std::fs::write(&path, value).map_err(|error| format!("cannot set {name} to {value}: {error}"))
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace. Sockets, commands and threads made in it belong to that namespace.
pub struct Room {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// The thread's id, by which `ip link set … netns` finds the namespace.
    pub id: i32,
}

impl Room {
    /// A room in the namespace that the process started in.
    pub fn here() -> io::Result<Self> {
        Self::open(|| Ok(()))
    }

    /// A room in a new namespace, with loopback up.
    pub fn new() -> io::Result<Self> {
        Self::open(|| {
            sys::unshare_network()?;
            ip("link set lo up").map_err(io::Error::other)
        })
    }

    fn open(enter: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let (entered, answer) = channel();
        let thread = thread::spawn(move || {
            let result = enter().map(|()| rustix::thread::gettid().as_raw_nonzero().get());
            let failed = result.is_err();
            if entered.send(result).is_err() || failed {
                return;
            }
            for job in queue {
                job();
            }
        });
        let id = answer.recv().map_err(io::Error::other)??;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), id })
    }

    /// Runs `job` in the room and returns what it returns.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, answer) = channel();
        let job: Job = Box::new(move || drop(done.send(job())));
        self.jobs.as_ref().expect("taken only on drop").send(job).expect("the room's thread runs");
        answer.recv().expect("the job did not panic")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            // A panic in a job has been reported by the job's caller already.
            thread.join().ok();
        }
    }
}
