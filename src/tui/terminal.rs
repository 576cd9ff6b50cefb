//! The terminal, taken and given back whole: on quitting, on a panic, on a signal, and around being stopped.

use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// Whether the terminal is taken: the panic hook must know.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Sets the panic hook once in a process's life.
static HOOK: Once = Once::new();

/// A terminal that was taken. Dropping it gives it back.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Screen {
    /// Whether there is a terminal to draw on and to read keys from.
    pub fn is_there() -> bool {
        io::stdout().is_terminal() && io::stdin().is_terminal()
    }

    /// Takes the terminal: raw mode, the other screen, the mouse.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn take() -> io::Result<Self> {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).inspect_err(|_| give_back())?;
        Ok(Self { terminal })
    }

    /// What to draw on.
    pub fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<io::Stdout>> {
        &mut self.terminal
    }

    /// Draws everything anew with the next frame.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn repaint(&mut self) -> io::Result<()> {
        // `Terminal::clear` asks the terminal for its cursor, and the answer would have to come past the thread that reads keys.
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    /// Gives the terminal back, stops the process like any job, and takes the terminal again when it is resumed.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.resume()
    }

    /// Takes the terminal again, whatever state somebody else left it in.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        // Raw mode counts as set already after a stop that could not be caught; the terminal may not be in it any more.
        disable_raw_mode()?;
        enter()?;
        self.repaint()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    let taken = enable_raw_mode().and_then(|()| {
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, cursor::Hide)
    });
    taken.inspect_err(|_| give_back())
}

/// Gives the terminal back if it is taken. A terminal that is gone cannot be given back, which is no error.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
}
