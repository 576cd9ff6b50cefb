//! A fact: one thing that must hold for a verdict, with the numbers of both ends.

use super::cut::Cut;

/// What a test of a fact answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// The kernel did not send what would tell, or the end cannot be seen.
    Unknown,
}

impl Answer {
    /// From a condition that may be unknown.
    pub fn of(condition: Option<bool>) -> Self {
        match condition {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

/// A test that a rule makes of a cut. Rules are lists of these, so that what decides and what is shown cannot differ.
#[derive(Clone, Copy)]
pub struct Test {
    /// What the fact says, as a person reads it.
    pub fact: &'static str,
    /// Whether it holds.
    pub holds: fn(&Cut<'_>) -> Option<bool>,
    /// The sender's numbers.
    pub sender: fn(&Cut<'_>) -> Option<String>,
    /// The receiver's numbers.
    pub receiver: fn(&Cut<'_>) -> Option<String>,
}

impl Test {
    /// Makes the test.
    pub fn ask(&self, cut: &Cut<'_>) -> Answer {
        Answer::of((self.holds)(cut))
    }

    /// Makes the test and words it.
    pub fn word(&self, cut: &Cut<'_>) -> Fact {
        Fact {
            fact: self.fact.to_owned(),
            sender: (self.sender)(cut),
            receiver: (self.receiver)(cut),
            answer: self.ask(cut),
        }
    }
}

/// For the end that a test does not look at.
pub fn nothing(_: &Cut<'_>) -> Option<String> {
    None
}

/// A fact as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it says.
    pub fact: String,
    /// The sender's numbers, where it looked at any.
    pub sender: Option<String>,
    /// The receiver's numbers, where it looked at any.
    pub receiver: Option<String>,
    /// Whether it holds.
    pub answer: Answer,
}

/// Whether no test is answered with no: what cannot be known does not speak against.
pub fn none_fails(tests: &[Test], cut: &Cut<'_>) -> bool {
    tests.iter().all(|test| test.ask(cut) != Answer::No)
}

/// Whether every test is answered with yes.
pub fn all_hold(tests: &[Test], cut: &Cut<'_>) -> bool {
    tests.iter().all(|test| test.ask(cut) == Answer::Yes)
}
