//! What is written at once while a run goes on: before something is sent, and at the end.

use proem_engine::run::Time;
use serde_json::Value as Json;

use super::call::{NewAssembly, NewAttempt, NewCall, ReadCall, Settlement};
use super::content::HashedContent;
use super::names::RunId;
use super::run::{Evaluation, NewRun, NewStep, Numbers, RunOutcome, Snapshot};

/// Everything that is written before something is sent, in one transaction. What is there already
/// stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// The run.
    pub run: RunId,
    /// The run's line, if it may not be there yet.
    pub begins: Option<Box<NewRun>>,
    /// Events that it took meanwhile.
    pub steps: Vec<NewStep>,
    /// The state to go on from, if it changed.
    pub snapshot: Option<Snapshot>,
    /// What became of the run's attempt before, if it is not written yet.
    pub settles: Option<Box<Settlement>>,
    /// The call, if it may not be there yet.
    pub call: Option<Box<NewCall>>,
    /// The attempt.
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
    /// What became of the run's last attempt, if it is not written yet.
    pub settles: Option<Box<Settlement>>,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Why there is no value of a model's, as JSON.
    pub because: Option<Json>,
    /// The value, as canonical JSON.
    pub value: Option<HashedContent>,
    /// What was found out about its calls.
    pub calls: Vec<ReadCall>,
    /// What was assembled, where nothing was called.
    pub assembly: Option<Box<NewAssembly>>,
    /// Sums and counts.
    pub numbers: Numbers,
    /// How good the results of its prompts were, one for each at most; a bad one is a failure that is learned from.
    pub evaluations: Vec<Evaluation>,
    /// Why it can't be replayed after all.
    pub not_replayable: Option<String>,
}
