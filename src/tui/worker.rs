//! The producer's thread: drives an engine, looks up names, publishes views.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use crate::filter::Filter;
use crate::model::{ConnectionId, Owners};
use crate::source;
use crate::wire::HostId;

use super::build::Builder;
use super::drive::{Drive, Stepped};
use super::message::{Control, Take};
use super::view::{Said, View};

/// Time between two views while something is held: quick enough to see an age move, slow enough to read.
const LIVE_INTERVAL: Duration = Duration::from_millis(100);

/// Least time between two walks of `/proc` for names.
const NAMES_INTERVAL: Duration = Duration::from_millis(500);

/// A walk of `/proc` is followed by so many times its own length without one.
const NAMES_REST: u32 = 20;

/// What the producer is asked to do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Give every detail of that connection.
    Select {
        /// Which.
        id: Option<ConnectionId>,
        /// Whether to probe it whatever it does.
        probe: bool,
    },
    /// Show only what passes.
    Filter(Filter, String),
    /// Survey that often.
    Period(Duration),
    /// Move through recorded time.
    Control(Control),
    /// Begin, end or mark a recording.
    Take(Take),
    /// End.
    Stop,
}

/// What wakes the producer.
enum Wake {
    Asked(Command),
    /// Who holds which sockets, and how long it took to find out.
    Named(Vec<(u32, Owners)>, Duration),
}

/// A producer at work. Dropping it ends it.
#[derive(Debug)]
pub struct Worker {
    wakes: Sender<Wake>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a producer on its own thread. `publish` gets each view.
    ///
    /// # Errors
    /// The thread could not be made.
    pub fn start(drive: Box<dyn Drive>, publish: Box<dyn Fn(View) + Send>) -> std::io::Result<Self> {
        let (wakes, inbox) = channel();
        let names = drive.names_are_here().then(|| NameFinder::start(wakes.clone())).transpose()?;
        let producer = Producer {
            drive,
            builder: Builder::default(),
            names,
            pinned: None,
            published: None,
            said: None,
            tellings: 0,
        };
        let run = move || producer.run(&inbox, &*publish);
        let thread = std::thread::Builder::new().name("producer".to_owned()).spawn(run)?;
        Ok(Self { wakes, thread: Some(thread) })
    }

    /// Asks for something; answers whether the producer still works.
    pub fn ask(&self, command: Command) -> bool {
        self.wakes.send(Wake::Asked(command)).is_ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.wakes.send(Wake::Asked(Command::Stop));
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails, and the panic was shown.
            let _ = thread.join();
        }
    }
}

struct Producer {
    drive: Box<dyn Drive>,
    builder: Builder,
    names: Option<NameFinder>,
    pinned: Option<ConnectionId>,
    published: Option<Instant>,
    said: Option<Arc<(u64, Said)>>,
    tellings: u64,
}

impl Producer {
    fn run(mut self, inbox: &Receiver<Wake>, publish: &dyn Fn(View)) {
        let mut rest = Duration::ZERO;
        loop {
            let mut due = false;
            let mut next = inbox.recv_timeout(rest);
            while let Ok(wake) = next {
                match wake {
                    Wake::Asked(Command::Stop) => return,
                    Wake::Asked(command) => self.obey(command),
                    Wake::Named(found, took) => self.take_names(&found, took),
                }
                due = true;
                next = inbox.recv_timeout(Duration::ZERO);
            }
            if matches!(next, Err(RecvTimeoutError::Disconnected)) {
                return;
            }
            due |= self.step();
            let live = self.is_live();
            if due || (live && self.has_rested()) {
                publish(self.view());
                self.published = Some(Instant::now());
            }
            rest = self.drive.rest();
            if live {
                rest = rest.min(LIVE_INTERVAL);
            }
        }
    }

    fn view(&mut self) -> View {
        if let Some(said) = self.drive.said() {
            self.tellings += 1;
            self.said = Some(Arc::new((self.tellings, said)));
        }
        for ((host, inode), owners) in self.drive.named() {
            self.builder.learn(host, &[(inode, owners)]);
        }
        let period = self.drive.period();
        let mut view = self.builder.view(self.drive.engine(), period);
        view.head.stretched = self.drive.is_stretched();
        view.said.clone_from(&self.said);
        view.recording = self.drive.recording();
        view.playback = self.drive.playback();
        view
    }

    fn is_live(&mut self) -> bool {
        let now = self.drive.engine().now();
        self.builder.is_live(now)
    }

    fn has_rested(&self) -> bool {
        self.published.is_none_or(|at| at.elapsed() >= LIVE_INTERVAL)
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Select { id, probe } => self.select(id, probe),
            Command::Filter(filter, text) => self.builder.set_filter(filter, text),
            Command::Period(period) => self.drive.set_period(period),
            Command::Control(control) => self.drive.control(control),
            Command::Take(take) => self.drive.take(&take, self.builder.filter()),
            Command::Stop => {}
        }
    }

    fn select(&mut self, id: Option<ConnectionId>, probe: bool) {
        let engine = self.drive.engine();
        if let Some(old) = self.pinned.take() {
            engine.unpin(old);
        }
        self.pinned = id.filter(|_| probe);
        if let Some(new) = self.pinned {
            engine.pin(new);
        }
        self.builder.select(id);
    }

    /// Answers whether there is something new to show.
    fn step(&mut self) -> bool {
        match self.drive.step() {
            Ok(stepped) => {
                if stepped == Stepped::Rewound {
                    self.builder.rewind();
                }
                if matches!(stepped, Stepped::Surveyed | Stepped::Rewound) {
                    self.builder.set_trouble(None);
                    self.ask_names();
                }
                stepped != Stepped::Waited
            }
            Err(why) => {
                self.builder.set_trouble(Some(why));
                true
            }
        }
    }

    fn ask_names(&mut self) {
        if let Some(names) = &mut self.names {
            let unnamed = self.builder.unnamed(self.drive.engine());
            names.ask(unnamed);
        }
    }

    fn take_names(&mut self, found: &[(u32, Owners)], took: Duration) {
        self.drive.learn(found);
        self.builder.learn(HostId::default(), found);
        if let Some(names) = &mut self.names {
            names.answered(took);
        }
    }
}

/// Looks up names on a thread of its own: a walk of `/proc` can take longer than a hold.
struct NameFinder {
    questions: Sender<FxHashSet<u32>>,
    asked: bool,
    rest_until: Instant,
}

impl NameFinder {
    fn start(answers: Sender<Wake>) -> std::io::Result<Self> {
        let (questions, inbox) = channel::<FxHashSet<u32>>();
        let run = move || {
            for inodes in inbox {
                let began = Instant::now();
                let found = source::look_up_owners(&inodes);
                if answers.send(Wake::Named(found, began.elapsed())).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("names".to_owned()).spawn(run)?;
        Ok(Self { questions, asked: false, rest_until: Instant::now() })
    }

    fn ask(&mut self, inodes: FxHashSet<u32>) {
        if !self.asked && !inodes.is_empty() && Instant::now() >= self.rest_until {
            self.asked = self.questions.send(inodes).is_ok();
        }
    }

    fn answered(&mut self, took: Duration) {
        self.asked = false;
        self.rest_until = Instant::now() + NAMES_INTERVAL.max(took * NAMES_REST);
    }
}

/// The latest view, for a reader that may be slower than the producer.
#[derive(Debug, Default)]
pub struct Slot(std::sync::Mutex<Option<Arc<View>>>);

impl Slot {
    /// Leaves a view; answers whether the one before was taken.
    pub fn put(&self, view: View) -> bool {
        self.lock().replace(Arc::new(view)).is_none()
    }

    /// Takes the view that was left.
    pub fn take(&self) -> Option<Arc<View>> {
        self.lock().take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<View>>> {
        // Nothing inside can be half done: a view is put whole.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
