//! The real program on a pseudo-terminal: start, see the stall, drill down, resize, leave; and the terminal afterwards.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

/// Generous: the program needs one second, a machine that runs many tests at once can need many.
const PATIENCE: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(20);

/// What the terminal would show, and every byte that it was sent.
struct Received {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

/// The program on its terminal.
struct Session {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    received: Arc<Mutex<Received>>,
    /// The terminal's attributes before the program had it.
    before: String,
}

impl Session {
    fn start(arguments: &[&str], environment: &[(&str, &str)], (columns, rows): (u16, u16)) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_stallscope"));
        command.args(arguments);
        command.env_remove("NO_COLOR");
        for (name, value) in [("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8")].iter().chain(environment) {
            command.env(name, value);
        }
        command.cwd(std::env::temp_dir());
        let before = attributes(&*pair.master);
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let received = Arc::new(Mutex::new(Received {
            screen: vt100::Parser::new(nonzero(rows), nonzero(columns), 0),
            bytes: Vec::new(),
        }));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let into = Arc::clone(&received);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                let mut into = into.lock().unwrap();
                into.screen.process(&buffer[..n]);
                into.bytes.extend_from_slice(&buffer[..n]);
            }
        });
        let keys = pair.master.take_writer().expect("a writer");
        Self { master: pair.master, keys, child, received, before }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.received.lock().unwrap().screen.screen_mut().set_size(nonzero(rows), nonzero(columns));
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("the terminal can be resized");
    }

    fn screen(&self) -> String {
        self.received.lock().unwrap().screen.screen().contents()
    }

    /// Waits until the screen has all of these.
    fn wait_for(&self, wanted: &[&str]) {
        self.wait_until(&format!("{wanted:?} on screen"), || {
            let screen = self.screen();
            wanted.iter().all(|wanted| screen.contains(wanted))
        });
    }

    fn wait_until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < deadline, "no {what} in {PATIENCE:?}; the screen:\n{}", self.screen());
            std::thread::sleep(POLL);
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.process_id().unwrap().cast_signed()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the program is there");
    }

    /// The state letter of `/proc/PID/stat`.
    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid().as_raw_nonzero())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    }

    fn wait_for_exit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                return status;
            }
            assert!(Instant::now() < deadline, "the program does not end; the screen:\n{}", self.screen());
            std::thread::sleep(POLL);
        }
    }

    /// Asserts that everything that was switched on was switched off again, in the bytes sent to the terminal.
    fn assert_switched_off(&self) {
        self.wait_until("end of the other screen", || last_is_off(&self.received.lock().unwrap().bytes, "1049"));
        let received = self.received.lock().unwrap();
        for mode in ["1000", "1006", "2004"] {
            assert!(last_is_off(&received.bytes, mode), "mode {mode} is left on");
        }
        assert!(!received.screen.screen().hide_cursor(), "the cursor is left hidden");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Gone already, unless a test failed.
        let _ = self.child.kill();
    }
}

/// The terminal's attributes (`tcgetattr`), in words.
fn attributes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("terminal attributes"))
}

fn nonzero(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).expect("a terminal has cells")
}

/// Whether a private mode was switched, and off last.
fn last_is_off(bytes: &[u8], mode: &str) -> bool {
    let last = |sequence: String| bytes.windows(sequence.len()).rposition(|window| window == sequence.as_bytes());
    let (on, off) = (last(format!("\x1b[?{mode}h")), last(format!("\x1b[?{mode}l")));
    on.is_some() && off > on
}

#[test]
fn the_demonstration_shows_the_stall_drills_down_resizes_and_leaves_the_terminal_whole() {
    let mut session = Session::start(&["demo"], &[], (80, 24));
    session.wait_for(&["STALLED", "● nagle-delayed-ack", "proven", "Fix, at the sender"]);
    assert_eq!(color_of(&session, "nagle-delayed-ack"), vt100::Color::Idx(1));
    session.press("\r");
    session.wait_for(&["1 What is happening", "Nagle HOLDS", "kernel HOLDS the ACK", "delayed-ACK timer fired"]);
    session.resize(120, 40);
    session.wait_for(&["1 What is happening", "2 Evidence", "exactly one segment is unacknowledged"]);
    session.resize(20, 5);
    session.wait_for(&["too small"]);
    session.resize(80, 24);
    session.press("4");
    session.wait_for(&["notsent_bytes", "sender", "receiver"]);
    session.press("q");
    assert!(session.wait_for_exit().success());
    session.assert_switched_off();
    assert_eq!(attributes(&*session.master), session.before);
}

fn color_of(session: &Session, text: &str) -> vt100::Color {
    let received = session.received.lock().unwrap();
    let screen = received.screen.screen();
    let (rows, columns) = screen.size();
    for row in 0..rows.get() {
        let line: String = (0..columns.get()).map(|column| screen.cell(row, column).map_or(" ", one_cell)).collect();
        if let Some(at) = line.find(text) {
            let column = u16::try_from(line[..at].chars().count()).unwrap();
            return screen.cell(row, column).unwrap().fgcolor();
        }
    }
    panic!("{text:?} is not on screen:\n{}", screen.contents());
}

fn one_cell(cell: &vt100::Cell) -> &str {
    if cell.has_contents() { cell.contents() } else { " " }
}

#[test]
fn a_signal_ends_the_display_and_leaves_the_terminal_whole() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut session = Session::start(&[], &[], (80, 24));
        session.wait_for(&["VERDICT"]);
        session.signal(signal);
        assert_eq!(session.wait_for_exit().exit_code(), code);
        session.assert_switched_off();
        assert_eq!(attributes(&*session.master), session.before);
    }
}

#[test]
fn stopped_and_resumed_it_gives_the_terminal_back_and_takes_it_again() {
    let mut session = Session::start(&[], &[], (80, 24));
    session.wait_for(&["VERDICT"]);
    let raw = attributes(&*session.master);
    assert_ne!(raw, session.before);
    session.press("\x1a");
    session.wait_until("stop", || session.is_stopped());
    assert_eq!(attributes(&*session.master), session.before);
    session.assert_switched_off();
    session.signal(Signal::CONT);
    session.wait_until("resumption", || !session.is_stopped() && attributes(&*session.master) == raw);
    session.wait_for(&["VERDICT"]);
    session.press("q");
    assert!(session.wait_for_exit().success());
    session.assert_switched_off();
}

#[test]
fn an_old_terminal_gets_ascii_without_colours() {
    let mut session = Session::start(&["demo"], &[("TERM", "vt100")], (80, 24));
    session.wait_for(&["STALLED", "! nagle-delayed-ack"]);
    assert_eq!(color_of(&session, "nagle-delayed-ack"), vt100::Color::Default);
    session.press("q");
    assert!(session.wait_for_exit().success());
    assert!(session.received.lock().unwrap().bytes.is_ascii());
}

/// A recording of a write-write-read connection.
const STALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recordings/nagle-delayed-ack.ssrec");

#[test]
fn a_recording_is_replayed_with_its_time_under_control() {
    let mut session = Session::start(&["--from", STALL], &[], (80, 24));
    session.wait_for(&["REPLAY", "nagle-delayed-ack"]);
    session.press("$");
    session.wait_for(&["paused 1x", "STALLED", "proven", "█"]);
    let end = session.screen();
    session.press("0 ");
    session.wait_until("another moment", || session.screen() != end);
    session.press(" t");
    session.wait_for(&["go to: "]);
    session.press("100%\r");
    session.wait_for(&["paused", "proven"]);
    session.press("\r");
    session.wait_for(&["1 What is happening", "Nagle HOLDS"]);
    session.press("q");
    assert!(session.wait_for_exit().success());
    session.assert_switched_off();
    assert_eq!(attributes(&*session.master), session.before);
}

#[test]
fn a_file_that_cannot_be_replayed_is_told_before_the_screen_is_taken() {
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (files, wanted) in [
        (&["/nonexistent.ssrec"][..], "/nonexistent.ssrec"),
        (&[other], "holds no TCP socket"),
        (&["-"], "check --from"),
        (&["/"], "is a directory"),
        (&["/dev/zero"], "is a stream"),
        (&[STALL, "dport = :80"], "--filter 'dport = :80'"),
        (&[STALL, "-"], "check --from"),
    ] {
        let arguments: Vec<_> = ["--from"].iter().chain(files).copied().collect();
        let mut session = Session::start(&arguments, &[], (200, 24));
        session.wait_for(&[wanted]);
        assert_eq!(session.wait_for_exit().exit_code(), 2, "{wanted}");
        assert!(!String::from_utf8_lossy(&session.received.lock().unwrap().bytes).contains("[?1049h"));
    }
}

#[test]
fn without_a_terminal_it_names_check() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("needs a terminal") && error.contains("stallscope check"), "{error}");
}
