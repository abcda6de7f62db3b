//! Persons' feedback on runs.

use proem_engine::run::Time;

use super::names::{Actor, RunId};
use super::run::Evaluation;

/// A person's feedback on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFeedback {
    /// The run that it belongs to.
    pub run: RunId,
    /// The person.
    pub actor: Actor,
    /// When the person said so.
    pub at: Time,
    /// `good` or `bad`.
    pub verdict: String,
    /// Why, in the person's words.
    pub note: String,
    /// The verdict on the run's prompt that follows, if any. It replaces the person's earlier verdict on this run's
    /// prompt.
    pub evaluation: Option<Evaluation>,
}

/// A run's question and a person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    /// The run that it belongs to.
    pub run: RunId,
    /// The actor that answered.
    pub actor: Actor,
    /// When it was answered.
    pub at: Time,
    /// At which step.
    pub step: u32,
    /// The question, in our words.
    pub question: String,
    /// The possible answers.
    pub options: Vec<String>,
    /// The chosen answer, by its place. `None` if nobody could be asked.
    pub answer: Option<u32>,
    /// The hash of everything that was shown, in hexadecimal digits. `None` if nobody could be asked.
    pub shown: Option<String>,
    /// The person's comment on it.
    pub words: Option<String>,
}
