//! What went wrong while looking, counted. Nothing here stops a watch; everything here is shown.

use std::collections::BTreeMap;

use crate::wire::Defect;

use super::event::SurveyReport;

/// Counts of everything that was survived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    counts: BTreeMap<String, u64>,
}

impl Notes {
    /// Counts one more `what`.
    pub fn count(&mut self, what: &str) {
        self.count_many(what, 1);
    }

    /// Counts `n` more of `what`; 0 adds no line.
    pub fn count_many(&mut self, what: &str, n: u64) {
        if n > 0 {
            if let Some(count) = self.counts.get_mut(what) {
                *count += n;
            } else {
                self.counts.insert(what.to_owned(), n);
            }
        }
    }

    /// Counts a message that could not be read.
    pub fn defect(&mut self, defect: Defect) {
        self.count(&format!("message not read: {defect}"));
    }

    /// Counts what a survey had to survive.
    pub fn survey(&mut self, report: &SurveyReport) {
        for failure in &report.failures {
            self.count(failure);
        }
        self.count_many(
            "survey read cut off by the receive buffer: sockets may be missing",
            report.truncated_reads.into(),
        );
        self.count_many(
            "survey overflowed its receive queue (ENOBUFS): sockets may be missing",
            report.overflows.into(),
        );
        if report.interrupted {
            self.count("socket table changed during a survey (NLM_F_DUMP_INTR): sockets may be missing or doubled");
        }
    }

    /// The notes, one line each, with how often.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.counts.iter().map(|(what, n)| if *n == 1 { what.clone() } else { format!("{what} ({n} times)") })
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}
