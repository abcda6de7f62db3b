//! Calls of another program's agents, each recorded as a run with one call of a tool.
//!
//! Invariants: a call is written down before it is made. A call or an answer that can't be written down is an error, so
//! that nothing passes unrecorded. A call whose process ended in the middle stays as one that may have happened.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use proem_engine::assembly::PromptId;
use proem_engine::run::{CallLabel, EffectId, ToolLabels, ToolOutcome, ToolPower};
pub use proem_runtime::records::RecordDepth;
use proem_store::record::{
    NewRun, NewToolCall, Replayable, RunFinish, RunId, RunOutcome, ToolCallState, ToolEnd, ToolIntent,
};
use proem_text::json::compact;
use serde_json::json;

use super::writing::{OpenRecords, RecordChoice};
use crate::error::Error;
use crate::message::{Note, WithNotes};
use crate::project::OpenProject;
use crate::when;

/// The kind of such runs, and the source of what their clients say.
const KIND: &str = "mcp";

/// The agent of such runs. No folder of a book has such a name, and lists leave it out by it.
const AGENT: &str = "client:mcp";

/// The only call of its run.
const CALL: EffectId = EffectId(0);

/// Why such a run can't be replayed.
const NOT_REPLAYED: &str = "a client's call is made by that client alone";

/// A call as a client makes it. Its texts hold no credential.
#[derive(Debug, Clone, Copy)]
pub struct ServedCall<'c> {
    /// The tool's name.
    pub tool: &'c str,
    /// Its arguments, as the text of a JSON object.
    pub arguments: &'c str,
    /// The client's name, as it says. Empty if it says none.
    pub client: &'c str,
}

/// Records the calls of clients. Clones are not needed: any number of calls share one.
#[derive(Debug)]
pub struct CallRecorder {
    records: OpenRecords,
}

/// A call that is written down and not yet answered.
#[derive(Debug)]
#[must_use = "a call that is never answered stays as one that may have happened"]
pub struct UnansweredCall<'r> {
    calls: &'r CallRecorder,
    run: RunId,
    since: Instant,
}

impl CallRecorder {
    /// Opens the records of a project.
    ///
    /// # Errors
    ///
    /// If the configuration keeps no records, or they can't be opened.
    pub async fn open(project: &OpenProject) -> Result<WithNotes<Self>, Error> {
        let WithNotes { value, notes } = OpenRecords::begin(project, RecordChoice::AsConfigured, None).await?;
        match (value, notes.first()) {
            (Some(records), _) => Ok(WithNotes { value: Self { records }, notes }),
            (None, Some(Note { message, .. })) => {
                let failure = Error::outside(message.text.clone());
                Err(message.hint.clone().into_iter().fold(failure, Error::hinting))
            }
            (None, None) => Err(Error::invalid(
                "no records are kept, so no call can be recorded; change `records.keep` in your configuration",
            )),
        }
    }

    /// Writes a call down that is about to be made.
    ///
    /// # Errors
    ///
    /// If it can't be written. Then it must not be made.
    pub async fn begin(&self, call: ServedCall<'_>) -> Result<UnansweredCall<'_>, Error> {
        let run = OpenRecords::id()?;
        let prompt = PromptId {
            agent: AGENT.to_owned(),
            name: call.tool.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            closure: String::new(),
        };
        let client = self.records.keeps_content().then_some(call.client);
        let begins = NewRun {
            settings: json!({ "client": client }),
            replayable: Replayable::No(NOT_REPLAYED.to_owned()),
            ..self.records.unasked_run(&run, KIND, prompt, call.arguments)
        };
        let from_client = CallLabel { sources: Some(BTreeSet::from([KIND.to_owned()])), secret: false };
        let made = NewToolCall {
            effect: CALL,
            tool: call.tool.to_owned(),
            power: ToolPower::Free,
            key: run.0.clone(),
            arguments: self.records.content(call.arguments),
            labels: ToolLabels { arguments: BTreeMap::new(), decision: from_client },
        };
        let intent = ToolIntent {
            run: run.clone(),
            at: when::time_now(),
            begins: Some(Box::new(begins)),
            steps: Vec::new(),
            snapshot: None,
            calls: vec![made],
        };
        self.records.store().intend_tools(intent).await?;
        Ok(UnansweredCall { calls: self, run, since: Instant::now() })
    }

    /// Deletes what is older than it may be, exports if that is configured, and closes the records.
    pub async fn close(self) -> Vec<Note> {
        self.records.end().await
    }
}

impl UnansweredCall<'_> {
    /// Writes the answer down: the text of its document, or why there is none. Neither holds a credential. `depth` says
    /// whether more than the hash of an answer is kept.
    ///
    /// # Errors
    ///
    /// If it can't be written. Then the client must not have it.
    pub async fn answer(self, answer: Result<&str, &str>, depth: RecordDepth) -> Result<(), Error> {
        let (state, outcome, ended) = match answer {
            Ok(text) => {
                (ToolCallState::Answered, ToolOutcome::Answered { result: text.to_owned() }, RunOutcome::Assembled)
            }
            Err(why) => (ToolCallState::Failed, ToolOutcome::failure(why), RunOutcome::Failed),
        };
        let took = self.since.elapsed();
        let result = self.calls.records.content(compact(&json!(outcome)));
        let result = if depth == RecordDepth::Hashes && answer.is_ok() { result.forgotten() } else { result };
        let end = ToolEnd {
            run: self.run.clone(),
            effect: CALL,
            at: when::time_now(),
            state,
            result,
            sealed: None,
            took_ms: whole_milliseconds(took),
            attempts: 1,
        };
        let store = self.calls.records.store();
        store.end_tool(end).await?;
        store.finish(RunFinish::new(self.run, when::time_now(), ended)).await?;
        Ok(())
    }
}

fn whole_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
