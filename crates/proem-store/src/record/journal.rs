//! Writes during a run: before something is sent, and at the end.

use proem_engine::run::Time;
use serde_json::Value as Json;

use super::call::{NewAssembly, NewAttempt, NewCall, ReadCall, Settlement};
use super::content::HashedContent;
use super::names::RunId;
use super::run::{Evaluation, NewRun, NewStep, Numbers, RunOutcome, Snapshot};

/// Everything to write before something is sent, in one transaction. Lines that exist already stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// The run that is about to send.
    pub run: RunId,
    /// The run's line, if it may not be there yet.
    pub begins: Option<Box<NewRun>>,
    /// Events that it took meanwhile.
    pub steps: Vec<NewStep>,
    /// The state to go on from, if it changed.
    pub snapshot: Option<Snapshot>,
    /// The outcome of the run's previous attempt, if it is not written yet.
    pub settles: Option<Box<Settlement>>,
    /// The call, if it may not be there yet.
    pub call: Option<Box<NewCall>>,
    /// The attempt that is about to be made, with its highest cost.
    pub attempt: NewAttempt,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFinish {
    /// The run that ends.
    pub run: RunId,
    /// When it ended.
    pub at: Time,
    /// The run's line, if it may not be there yet.
    pub begins: Option<Box<NewRun>>,
    /// The last events.
    pub steps: Vec<NewStep>,
    /// The outcome of the run's last attempt, if it is not written yet.
    pub settles: Option<Box<Settlement>>,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Why there is no value of a model's, as JSON.
    pub because: Option<Json>,
    /// The value, as canonical JSON.
    pub value: Option<HashedContent>,
    /// The findings about its calls.
    pub calls: Vec<ReadCall>,
    /// The assembly, if nothing was called.
    pub assembly: Option<Box<NewAssembly>>,
    /// Sums and counts.
    pub numbers: Numbers,
    /// How good the results of its prompts were, one for each at most. A bad one is a failure that is learned from.
    pub evaluations: Vec<Evaluation>,
    /// Why it can't be replayed after all.
    pub not_replayable: Option<String>,
}

impl RunFinish {
    /// The end of a run of which nothing else is to be written.
    #[must_use]
    pub fn new(run: RunId, at: Time, outcome: RunOutcome) -> Self {
        Self {
            settles: None,
            run,
            at,
            begins: None,
            steps: Vec::new(),
            outcome,
            because: None,
            value: None,
            calls: Vec::new(),
            assembly: None,
            numbers: Numbers::default(),
            evaluations: Vec::new(),
            not_replayable: None,
        }
    }
}
