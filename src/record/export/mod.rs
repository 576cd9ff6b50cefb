//! Events to what other programs read: NDJSON, CSV, the text of ss, and dumps that ss reads.

mod rows;
mod text;

use std::io::{self, Write};

use crate::model::Event;
use crate::wire::{Message, messages};

pub use rows::SCHEMA_VERSION;
pub use text::{SsVersion, ss_header, ss_row};

/// `NLMSG_DONE` with an errno of 0: length 20, type 3, flags 2 (`NLM_F_MULTI`).
fn done_message() -> [u8; 20] {
    let mut done = [0; 20];
    done[..4].copy_from_slice(&20u32.to_ne_bytes());
    done[4..6].copy_from_slice(&3u16.to_ne_bytes());
    done[6..8].copy_from_slice(&2u16.to_ne_bytes());
    done
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a socket and survey, each on a line of its own.
    Json,
    /// One line a socket and survey, with a header.
    Csv,
    /// What `ss -tinmoeO` prints, one table a survey.
    SsText(SsVersion),
    /// Netlink messages, each survey closed by `NLMSG_DONE`: `TCPDIAG_FILE=FILE ss -tin` reads the first survey.
    SsDump,
}

/// Which survey a row belongs to, and when it was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Survey {
    number: u64,
    at_us: u64,
    wall_us: Option<i64>,
}

/// Writes events in one of the formats. Only surveys are written; probes, counters and marks have no place in these.
#[derive(Debug)]
pub struct Exporter<W> {
    out: W,
    format: Format,
    survey: Survey,
    line: String,
    dates: bool,
}

impl<W: Write> Exporter<W> {
    /// Begins an export.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn new(mut out: W, format: Format) -> io::Result<Self> {
        if format == Format::Csv {
            out.write_all(rows::csv_header().as_bytes())?;
        }
        Ok(Self { out, format, survey: Survey::default(), line: String::new(), dates: false })
    }

    /// Puts the date before each table of text, where it is known, in seconds since 1970: ss prints none, and without it the
    /// tables are a series of which only the order is known.
    #[must_use]
    pub fn with_dates(self) -> Self {
        Self { dates: true, ..self }
    }

    /// Adds an event.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        match *event {
            Event::SurveyBegin { at, wall_us } => {
                self.survey = Survey { number: self.survey.number + 1, at_us: at.0, wall_us };
                if let Format::SsText(_) = self.format {
                    let between = if self.survey.number > 1 { "\n" } else { "" };
                    write!(self.out, "{between}")?;
                    if let Some(us) = wall_us.filter(|us| self.dates && *us >= 0) {
                        writeln!(self.out, "{}.{:06}", us / 1_000_000, us % 1_000_000)?;
                    }
                    writeln!(self.out, "{}", ss_header())?;
                }
                Ok(())
            }
            Event::Run(run) => self.run(run),
            Event::SurveyEnd { .. } if self.format == Format::SsDump => self.out.write_all(&done_message()),
            _ => Ok(()),
        }
    }

    fn run(&mut self, run: &[u8]) -> io::Result<()> {
        for message in messages(run) {
            let Message::Socket { socket, raw, .. } = message else { continue };
            if self.format == Format::SsDump {
                self.out.write_all(raw)?;
                self.out.write_all(&[0; 3][..raw.len().next_multiple_of(4) - raw.len()])?;
                continue;
            }
            self.line.clear();
            match self.format {
                Format::Json => rows::json_row(&mut self.line, &self.survey, &socket),
                Format::Csv => rows::csv_row(&mut self.line, &self.survey, &socket),
                Format::SsText(version) => ss_row(&mut self.line, &socket, version),
                Format::SsDump => {}
            }
            self.line.push('\n');
            self.out.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }

    /// Ends the export and gives back what it was written to.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
