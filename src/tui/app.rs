//! The loop: events in, effects out, a frame when something changed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crossterm::event::Event;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::draw::draw;
use super::drive::Drive;
use super::handout;
use super::keys;
use super::message::{Effect, Message};
use super::state::{Mode, State};
use super::terminal::Screen;
use super::theme::Theme;
use super::update::update;
use super::worker::{Command, Slot, Worker};

/// How the display ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user left.
    Quit,
    /// A signal asked for it; its number.
    Signal(i32),
}

/// Something that wakes the loop.
enum Wake {
    Terminal(Event),
    Signal(i32),
    Published,
    /// The terminal cannot be read any more.
    Deaf(io::Error),
    /// The producer ended, which it never does by itself.
    Orphaned,
}

/// Runs the display over something that drives an engine, until the user leaves.
///
/// # Errors
/// The terminal fails, or a thread cannot be made.
pub(super) fn run(drive: Box<dyn Drive>, theme: Theme, filter: &str, period: Duration) -> io::Result<Ended> {
    let (wakes, inbox) = channel();
    let slot = Arc::new(Slot::default());
    // Before the terminal is taken, so that no signal finds the default handler with the terminal in raw mode.
    watch_signals(wakes.clone())?;
    let screen = Screen::take()?;
    watch_terminal(wakes.clone())?;
    let mode = if drive.playback().is_some() { Mode::Replay } else { Mode::Live };
    let worker = Worker::start(drive, publisher(Arc::clone(&slot), wakes))?;
    let mut state = State::new(period, filter);
    state.mode = mode;
    let mut app = App { screen, worker, theme, state, slot };
    if let Ok(parsed) = crate::filter::Filter::parse(filter) {
        app.worker.ask(Command::Filter(parsed, filter.to_owned()));
    }
    app.run(&inbox)
}

fn publisher(slot: Arc<Slot>, wakes: Sender<Wake>) -> Box<dyn Fn(super::view::View) + Send> {
    struct OnDrop(Sender<Wake>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            let _ = self.0.send(Wake::Orphaned);
        }
    }
    let wakes = OnDrop(wakes);
    Box::new(move |view| {
        if slot.put(view) {
            let _ = wakes.0.send(Wake::Published);
        }
    })
}

fn watch_signals(wakes: Sender<Wake>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT])?;
    let run = move || {
        for signal in signals.forever() {
            if wakes.send(Wake::Signal(signal)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(run).map(|_| ())
}

fn watch_terminal(wakes: Sender<Wake>) -> io::Result<()> {
    let run = move || {
        loop {
            let (wake, last) = match crossterm::event::read() {
                Ok(event) => (Wake::Terminal(event), false),
                Err(error) => (Wake::Deaf(error), true),
            };
            if wakes.send(wake).is_err() || last {
                return;
            }
        }
    };
    std::thread::Builder::new().name("keys".to_owned()).spawn(run).map(|_| ())
}

struct App {
    screen: Screen,
    worker: Worker,
    theme: Theme,
    state: State,
    slot: Arc<Slot>,
}

impl App {
    fn run(&mut self, inbox: &Receiver<Wake>) -> io::Result<Ended> {
        self.draw()?;
        loop {
            let Ok(first) = inbox.recv() else { return Ok(Ended::Quit) };
            // Whatever waits is taken before the next frame: a slow terminal falls behind in frames, not in keys.
            for wake in std::iter::once(first).chain(inbox.try_iter()) {
                if let Some(ended) = self.wake(wake)? {
                    return Ok(ended);
                }
            }
            self.draw()?;
        }
    }

    fn wake(&mut self, wake: Wake) -> io::Result<Option<Ended>> {
        match wake {
            Wake::Terminal(event) => match keys::message(&event, self.state.prompt.is_some(), self.state.mode) {
                Some(message) => self.take(message),
                None => Ok(None),
            },
            Wake::Published => match self.slot.take() {
                Some(view) => self.take(Message::View(view)),
                None => Ok(None),
            },
            Wake::Signal(SIGTSTP) => self.screen.suspend().map(|()| None),
            Wake::Signal(SIGCONT) => self.screen.resume().map(|()| None),
            Wake::Signal(signal) => Ok(Some(Ended::Signal(signal))),
            Wake::Deaf(error) => Err(error),
            Wake::Orphaned => Err(io::Error::other("the thread that watches the sockets or reads the file ended")),
        }
    }

    fn take(&mut self, message: Message) -> io::Result<Option<Ended>> {
        let mut effects = update(&mut self.state, message);
        while let Some(effect) = (!effects.is_empty()).then(|| effects.remove(0)) {
            if matches!(effect, Effect::Quit) {
                return Ok(Some(Ended::Quit));
            }
            if let Some(answer) = self.carry_out(effect)? {
                effects.extend(update(&mut self.state, answer));
            }
        }
        Ok(None)
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<Option<Message>> {
        match effect {
            Effect::Quit => {}
            Effect::Suspend => self.screen.suspend()?,
            Effect::Repaint => self.screen.repaint()?,
            Effect::Select { id, probe } => self.ask(Command::Select { id, probe }),
            Effect::Filter(filter, text) => self.ask(Command::Filter(filter, text)),
            Effect::Period(period) => self.ask(Command::Period(period)),
            Effect::Control(control) => self.ask(Command::Control(control)),
            Effect::Take(take) => self.ask(Command::Take(take)),
            Effect::Copy(detail, direction) => {
                let text = handout::markdown(&detail, direction);
                return Ok(Some(answer(handout::copy(&text, &mut io::stdout()))));
            }
            Effect::Write(detail, direction) => {
                let text = handout::markdown(&detail, direction);
                return Ok(Some(answer(handout::write(&text, &detail, Path::new(".")))));
            }
        }
        Ok(None)
    }

    /// A producer that is gone wakes the loop by itself.
    fn ask(&self, command: Command) {
        self.worker.ask(command);
    }

    fn draw(&mut self) -> io::Result<()> {
        // A frame tells how far things can be scrolled; a second one is needed only when that moved something.
        for _ in 0..2 {
            let (state, theme) = (&self.state, self.theme);
            let mut drawn = None;
            self.screen.terminal().draw(|frame| drawn = Some(draw(state, theme, frame)))?;
            let before = (self.state.top, self.state.scrolled, self.state.overlay_at);
            if let Some(drawn) = drawn {
                self.take(Message::Drawn(drawn))?;
            }
            if before == (self.state.top, self.state.scrolled, self.state.overlay_at) {
                break;
            }
        }
        Ok(())
    }
}

fn answer(result: io::Result<String>) -> Message {
    match result {
        Ok(text) => Message::Done(text),
        Err(error) => Message::Failed(error.to_string()),
    }
}
