//! Calls of tools of a recorded run: written before they are made, and as each of them ends.

use std::collections::BTreeMap;
use std::time::Duration;

use proem_engine::policy::{EffectSwitch, call_key};
use proem_engine::run::{
    Effect, EffectId, EffectResult, Event, EventKind, ToolOutcome, ToolPower, ToolUse, hide_fields,
};
use proem_llm::caller::wall_clock;
use proem_store::query::{RunDetail, ToolCallRow};
use proem_store::record::{HashedContent, NewToolCall, RunId, ToolCallState, ToolEnd, ToolIntent, ToolRefusal};
use proem_store::{Store, failpoint};

use super::Recording;
use super::rows::SendState;
use super::terms::RecordDepth;
use crate::records::sealed_states::{SealBinding, SealKey, SealedState, open_sealed_state, seal};

/// The outcome of a call, as its performer knows it.
#[derive(Debug, Clone)]
pub struct ToolReport<'r> {
    /// The effect's number within the run.
    pub effect: EffectId,
    /// An answer, a failure, or doubt about whether the tool was called.
    pub outcome: &'r ToolOutcome,
    /// How long it took.
    pub took: Duration,
    /// How often it was tried.
    pub attempts: u32,
}

impl Recording<'_> {
    /// Whether what its tools do can be looked up later.
    #[must_use]
    pub const fn keeps_content(&self) -> bool {
        matches!(self.kept.keeping, RecordDepth::Content)
    }

    /// Writes that a call is about to be made, with what the run did before.
    ///
    /// # Errors
    ///
    /// [`proem_store::Error`] if it can't be written. The call must not be made then.
    pub async fn intend_tool(&self, effect: EffectId, call: &ToolUse) -> Result<(), proem_store::Error> {
        self.intend_tools(vec![self.new_call(effect, call)]).await?;
        failpoint::pass("before-tool");
        Ok(())
    }

    /// Writes calls that may be made again at any time, with what the run did before, in one transaction.
    pub(super) async fn intend_free_tools(&self, effects: &[(EffectId, Effect)]) -> Result<(), proem_store::Error> {
        let known = self.held().known.clone();
        let call = |(effect, what): &(EffectId, Effect)| match what {
            Effect::Tool { call }
                if call.power == ToolPower::Free && call.refusal.is_none() && !known.contains(effect) =>
            {
                Some(self.new_call(*effect, call))
            }
            _ => None,
        };
        let calls: Vec<NewToolCall> = effects.iter().filter_map(call).collect();
        if calls.is_empty() { Ok(()) } else { self.intend_tools(calls).await }
    }

    /// Effects whose results an earlier process has recorded. They are not performed, so that nothing is intended.
    pub(in crate::records) fn note_known(&self, effects: impl IntoIterator<Item = EffectId>) {
        self.held().known.extend(effects);
    }

    async fn intend_tools(&self, calls: Vec<NewToolCall>) -> Result<(), proem_store::Error> {
        let intent = self.tool_intent(calls);
        let reached = reached_step(&intent);
        self.kept.store.intend_tools(intent).await?;
        self.written(reached);
        self.held().asked = SendState::Something;
        Ok(())
    }

    /// The rows to write about the run so far, with calls.
    fn tool_intent(&self, calls: Vec<NewToolCall>) -> ToolIntent {
        // Copied and not taken: if the store fails, the next write brings them along.
        let held = self.held();
        let (begins, steps, snapshot) = (held.begins.clone(), held.steps.clone(), held.snapshot.clone());
        ToolIntent { run: self.id.clone(), at: wall_clock(), begins, steps, snapshot, calls }
    }

    /// Writes a call that is not made, with its reason. If that can't be written, the run remembers its trouble.
    pub async fn refuse_tool(&self, call: &ToolUse, report: &ToolReport<'_>) {
        let intent = self.tool_intent(vec![self.new_call(report.effect, call)]);
        let reached = reached_step(&intent);
        let refusal = ToolRefusal { intent, end: self.tool_end(report) };
        match self.kept.store.refuse_tool(refusal).await {
            Ok(()) => self.written(reached),
            Err(error) => self.remember(&error.to_string()),
        }
    }

    /// Whether tools may have effects: a person has not stopped effects, and the records are not parked. Records that
    /// can't be read stop them.
    pub async fn effect_switch(&self) -> EffectSwitch {
        match self.kept.store.performing_moment(self.kept.project).await {
            Ok(moment) if !moment.is_stopped => EffectSwitch::On,
            _ => EffectSwitch::Killed,
        }
    }

    fn new_call(&self, effect: EffectId, call: &ToolUse) -> NewToolCall {
        NewToolCall {
            effect,
            tool: call.tool.clone(),
            power: call.power,
            key: call_key(&self.id.0, call, effect).to_string(),
            arguments: match hide_fields(&call.arguments) {
                Some(hidden) => {
                    self.cleaner.note_hidden();
                    self.cleaner.content(&hidden)
                }
                None => self.cleaner.content(&call.arguments),
            },
            labels: call.labels.clone(),
        }
    }

    /// Writes the outcome of a call. An outcome that can't be written is remembered as the run's trouble.
    pub async fn end_tool(&self, report: &ToolReport<'_>) {
        failpoint::pass("after-tool");
        if let Err(error) = self.kept.store.end_tool(self.tool_end(report)).await {
            self.remember(&error.to_string());
        }
    }

    fn tool_end(&self, report: &ToolReport<'_>) -> ToolEnd {
        let (state, result, sealed) = self.kept_outcome(report.effect, report.outcome);
        ToolEnd {
            run: self.id.clone(),
            effect: report.effect,
            at: wall_clock(),
            state,
            result,
            sealed,
            took_ms: u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
            attempts: report.attempts,
        }
    }

    /// An outcome as it is kept: its text without credentials, and sealed beside it if that is another.
    fn kept_outcome(&self, effect: EffectId, outcome: &ToolOutcome) -> (ToolCallState, HashedContent, Option<Vec<u8>>) {
        let state = match outcome.own() {
            ToolOutcome::Answered { .. } => ToolCallState::Answered,
            ToolOutcome::Failed { .. } | ToolOutcome::Unavailable { .. } => ToolCallState::Failed,
            ToolOutcome::Denied { .. } => ToolCallState::Denied,
            ToolOutcome::Unknown { .. } | ToolOutcome::OfAgent { .. } => ToolCallState::Unknown,
        };
        let exact = serde_json::to_vec(outcome).unwrap_or_default();
        let result = self.cleaner.serialised(&self.hidden_outcome(outcome));
        let is_exact = result
            .bytes
            .as_deref()
            .is_some_and(|bytes| serde_json::from_slice::<ToolOutcome>(bytes).is_ok_and(|kept| kept == *outcome));
        if is_exact || self.kept.keeping == RecordDepth::Hashes {
            return (state, result, None);
        }
        let binding = outcome_binding(&self.kept.project.0, &self.id.0, effect, &self.closure);
        match seal(self.kept.seal, &binding, &exact) {
            Ok(SealedState(bytes)) => (state, result, Some(bytes)),
            Err(error) => {
                self.remember(&error.to_string());
                (state, result, None)
            }
        }
    }
}

impl Recording<'_> {
    /// An outcome without the fields that must stay hidden.
    fn hidden_outcome(&self, outcome: &ToolOutcome) -> ToolOutcome {
        match outcome {
            ToolOutcome::Answered { result } => match hide_fields(result) {
                Some(result) => {
                    self.cleaner.note_hidden();
                    ToolOutcome::Answered { result }
                }
                None => outcome.clone(),
            },
            ToolOutcome::OfAgent { outcome, turns, label } => ToolOutcome::OfAgent {
                outcome: Box::new(self.hidden_outcome(outcome)),
                turns: *turns,
                label: label.clone(),
            },
            _ => outcome.clone(),
        }
    }

    /// An event without the fields of tools' results that must stay hidden.
    pub(super) fn hidden_event(&self, event: &Event) -> Event {
        let EventKind::Performed { results } = &event.what else { return event.clone() };
        let hidden = |(effect, result): &(EffectId, EffectResult)| match result {
            EffectResult::Tool { outcome } => (*effect, EffectResult::Tool { outcome: self.hidden_outcome(outcome) }),
            other => (*effect, other.clone()),
        };
        Event { now: event.now, what: EventKind::Performed { results: results.iter().map(hidden).collect() } }
    }

    /// Something that the run was made from must stay hidden, so that it can't be replayed.
    pub fn note_hidden(&self) {
        self.cleaner.note_hidden();
    }
}

/// The first step that isn't written with an intent.
fn reached_step(intent: &ToolIntent) -> u32 {
    let taken = intent.steps.last().map(|last| last.step.saturating_add(1));
    let state = intent.snapshot.as_ref().map(|snapshot| snapshot.step);
    taken.max(state).unwrap_or(0)
}

/// The binding of a sealed outcome: it opens as no other call's, and as no state.
fn outcome_binding<'b>(project: &'b str, run: &'b str, effect: EffectId, definition: &'b str) -> SealBinding<'b> {
    SealBinding { project, run, step: effect.0, definition, policy: "outcome of a tool" }
}

/// The known outcomes of the calls that a state waits for. A call that began and has no outcome may have happened,
/// unless it may be made again.
///
/// # Errors
///
/// [`proem_store::Error`] if the records can't be read.
pub(in crate::records) async fn known_outcomes(
    (store, key): (&Store, &SealKey),
    detail: &RunDetail,
    effects: &[(EffectId, Effect)],
    is_fork: bool,
) -> Result<BTreeMap<EffectId, EffectResult>, proem_store::Error> {
    let mut known = BTreeMap::new();
    for (effect, what) in effects {
        let Effect::Tool { call } = what else { continue };
        let Some(row) = detail.tools.iter().find(|row| row.effect == *effect) else { continue };
        let outcome = match row.state {
            ToolCallState::Pending | ToolCallState::Unknown => {
                // A fork has another key, by which nobody can tell its call from a second one.
                let may_repeat = match call.power {
                    ToolPower::Free => true,
                    power => power.is_repeatable() && !is_fork,
                };
                (!may_repeat).then(|| ToolOutcome::doubt("the run broke off before its end"))
            }
            _ => Some(stored_outcome(store, key, detail, row).await?),
        };
        known.extend(outcome.map(|outcome| (*effect, EffectResult::Tool { outcome })));
    }
    Ok(known)
}

/// The outcome of a call that has ended. One that can't be read may have happened: nobody knows how it ended.
async fn stored_outcome(
    store: &Store,
    key: &SealKey,
    detail: &RunDetail,
    row: &ToolCallRow,
) -> Result<ToolOutcome, proem_store::Error> {
    let RunId(run) = &detail.row.id;
    let bytes = match (&row.sealed, &row.result) {
        (Some(sealed), _) => {
            let binding = outcome_binding(&detail.row.project.0, run, row.effect, &detail.row.prompt.closure);
            open_sealed_state(key, &binding, &SealedState(sealed.clone()))
        }
        (None, Some(hash)) => {
            let bytes = store.contents(std::slice::from_ref(hash)).await?.remove(hash);
            // A text that was changed in the records is not what was answered.
            bytes.filter(|bytes| proem_store::record::content_hash(bytes) == *hash)
        }
        (None, None) => None,
    };
    let outcome = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(outcome.unwrap_or_else(|| ToolOutcome::doubt("its outcome can't be read")))
}
