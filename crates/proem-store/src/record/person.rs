//! What persons say of runs.

use proem_engine::run::Time;

use super::names::{Actor, RunId};
use super::run::Evaluation;

/// What a person thinks of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFeedback {
    /// Which run.
    pub run: RunId,
    /// Who thinks so.
    pub actor: Actor,
    /// When the person said so.
    pub at: Time,
    /// `good` or `bad`.
    pub verdict: String,
    /// Why, in the person's words.
    pub note: String,
    /// What that says of the run's prompt, if it says anything; it takes the place of what a person said of this
    /// run's prompt before.
    pub evaluation: Option<Evaluation>,
}

/// What a run asked and what a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    /// Which run.
    pub run: RunId,
    /// Who answered.
    pub actor: Actor,
    /// When it was answered.
    pub at: Time,
    /// At which step.
    pub step: u32,
    /// What was asked, in our words.
    pub question: String,
    /// What could be answered.
    pub options: Vec<String>,
    /// Which of them was; `None` if nobody could be asked.
    pub answer: Option<u32>,
    /// The hash of everything that was shown, in hexadecimal digits; `None` if nobody could be asked.
    pub shown: Option<String>,
    /// What the person said to it.
    pub words: Option<String>,
}
