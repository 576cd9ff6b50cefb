//! The program on a pseudo-terminal of 200 by 60.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

use super::measure::PROGRAM;

const COLUMNS: u16 = 200;
const ROWS: u16 = 60;

/// Longer than anything here takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

type Shared = Arc<(Mutex<vt100::Parser>, Condvar)>;

/// The program on its terminal.
pub struct Display {
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    screen: Shared,
    began: Instant,
}

impl Display {
    /// Starts it.
    pub fn start(arguments: &[&str]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(arguments);
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        command.cwd(std::env::temp_dir());
        let (rows, columns) = (NonZero::new(ROWS).unwrap(), NonZero::new(COLUMNS).unwrap());
        let screen: Shared = Arc::new((Mutex::new(vt100::Parser::new(rows, columns, 0)), Condvar::new()));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let keys = pair.master.take_writer().expect("a writer");
        let began = Instant::now();
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let into = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                into.0.lock().unwrap().process(&buffer[..n]);
                into.1.notify_all();
            }
        });
        Self { keys, child, screen, began }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.process_id().expect("it was started")
    }

    /// When it was started.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until the screen is so; answers when it was.
    pub fn wait(&self, what: &str, so: &mut dyn FnMut(&vt100::Screen) -> bool) -> Instant {
        let deadline = Instant::now() + PATIENCE;
        let mut screen = self.screen.0.lock().unwrap();
        while !so(screen.screen()) {
            assert!(
                Instant::now() < deadline,
                "no {what} in {PATIENCE:?}; the screen:\n{}",
                screen.screen().contents()
            );
            screen = self.screen.1.wait_timeout(screen, Duration::from_millis(100)).unwrap().0;
        }
        Instant::now()
    }

    /// Waits until a text is on screen; answers when it was, and in which line.
    pub fn wait_for(&self, text: &str) -> (Instant, u16) {
        let mut line = 0;
        let when = self.wait(text, &mut |screen| match screen.rows(0, COLUMNS).position(|row| row.contains(text)) {
            Some(place) => {
                line = u16::try_from(place).unwrap();
                true
            }
            None => false,
        });
        (when, line)
    }
}

/// A line of the screen.
pub fn line(screen: &vt100::Screen, number: u16) -> String {
    screen.contents_between(number, 0, number, COLUMNS)
}

impl Drop for Display {
    fn drop(&mut self) {
        // Twice: the first may only close what lies over the table.
        let _ = self.keys.write_all(b"\x03\x03");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
