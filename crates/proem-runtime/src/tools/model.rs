//! Tools that ask a model: an exchange of its own within the call.
//!
//! Invariants: each attempt passes the gate of the run that the tool is called in, so that it is booked and recorded
//! like every call, under the call of the tool. The answer is the tool's result only if it meets the tool's signature.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proem_agents::lisp::{ModelQuestion, ToolDefinition};
use proem_agents::screen::Screening;
use proem_engine::call::FailureKind;
use proem_engine::run::{
    Attempt, CancelReason, Effect, EffectId, Event, EventKind, Exchange, ExchangeEnd, FallbackReason, Outcome,
    ToolLack, ToolUse,
};
use proem_guard::{InstallationKey, show};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::attempt_end::AttemptEnd;
use crate::driver::{CallPerformer, DriveEnd, DriveStart, Journal, PauseReason, RunBounds, go_on};
use crate::records::Recording;

/// The questions of a run's tools, and what their requests are made with.
#[derive(Debug, Clone, Copy)]
pub struct ToolQuestions<'m> {
    /// By the names of their tools.
    pub questions: &'m BTreeMap<String, ModelQuestion>,
    /// The installation's key.
    pub key: &'m InstallationKey,
    /// The guard for what they are asked with.
    pub screening: Screening<'m>,
}

/// The means by which the tools of a run ask models.
#[derive(Debug)]
pub struct ToolModels<'m> {
    asking: ToolQuestions<'m>,
    calls: CallPerformer<'m>,
    asked: Mutex<AskedModels>,
}

/// The questions that the tools of a run asked models.
#[derive(Debug, Default)]
pub struct AskedModels {
    /// Every attempt, in the order in which the calls ended.
    pub attempts: Vec<Attempt>,
    /// Texts that did not go in as they were, in words.
    pub noted: Vec<String>,
}

impl<'m> ToolModels<'m> {
    /// `calls` has the gate of the run.
    #[must_use]
    pub fn new(asking: ToolQuestions<'m>, calls: CallPerformer<'m>) -> Self {
        Self { asking, calls, asked: Mutex::default() }
    }

    /// The questions so far.
    #[must_use]
    pub fn take_asked(&self) -> AskedModels {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, change: impl FnOnce(&mut AskedModels)) {
        change(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Asks a model within a call of a tool.
pub(super) async fn ask_model(
    models: Option<&ToolModels<'_>>,
    definition: &ToolDefinition,
    (effect, call): (EffectId, &ToolUse),
    recording: Option<&Recording<'_>>,
    stop: &CancellationToken,
) -> AttemptEnd {
    let none = || AttemptEnd::Lacking(ToolLack::Model, "no model can be asked here".to_owned());
    let Some(models) = models else { return none() };
    let ToolQuestions { questions, key, screening } = models.asking;
    let Some(question) = questions.get(&call.tool) else { return none() };
    let prepared = match question.prepare(&call.arguments, key, screening) {
        Ok(prepared) => prepared,
        Err(error) => return AttemptEnd::Refused(show::terminal_str(&error.to_string()).into_string()),
    };
    models.note(|asked| asked.noted.extend(prepared.noted.iter().map(|note| note.in_words())));
    let account = serde_json::to_value(&prepared.report).unwrap_or_default();
    let journal = QuestionJournal { recording, account };
    let mut exchange = Exchange::new(question.terms(key), prepared.request).numbered_from(effect.first_within().0);
    let time = Some(Duration::from_secs(definition.timeout_seconds.into()));
    let bounds = RunBounds { stop: stop.clone(), time };
    let start = DriveStart::Event(EventKind::Started);
    let outcome = match go_on(&mut exchange, start, &models.calls, &bounds, &journal).await {
        Ok(driven) => match driven.reached {
            DriveEnd::Done(outcome) => outcome,
            DriveEnd::Asked(_) => return AttemptEnd::Refused("its question asked a person".to_owned()),
        },
        Err(error) => return AttemptEnd::Refused(error.to_string()),
    };
    let end = attempt_end(question, &outcome, definition);
    models.note(|asked| asked.attempts.extend(outcome.attempts));
    end
}

fn attempt_end(question: &ModelQuestion, outcome: &Outcome, definition: &ToolDefinition) -> AttemptEnd {
    let because = match &outcome.ended {
        ExchangeEnd::Answered { value } => {
            return AttemptEnd::Answered(question.result_text(show::exact_value(value)));
        }
        ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => *because,
    };
    let failure = outcome.attempts.last().and_then(|attempt| attempt.failure.as_ref());
    let message = failure.map_or_else(|| because.in_words(), |failure| failure.message.clone());
    let message = show::terminal_str(&message).into_string();
    match because {
        FallbackReason::Failed(FailureKind::NoKey | FailureKind::UnknownModel) => {
            AttemptEnd::Lacking(ToolLack::Model, message)
        }
        FallbackReason::Cancelled(CancelReason::Deadline) => {
            let seconds = definition.timeout_seconds;
            AttemptEnd::Lacking(ToolLack::Answer, format!("the model gave no answer within {seconds} s"))
        }
        FallbackReason::Cancelled(CancelReason::Asked) => AttemptEnd::Refused(message),
        _ => AttemptEnd::Lacking(ToolLack::Answer, message),
    }
}

/// Gives the record of each attempt the account of its request. The run's own journal writes the call of the tool.
struct QuestionJournal<'j, 'r> {
    recording: Option<&'j Recording<'r>>,
    account: Json,
}

impl Journal for QuestionJournal<'_, '_> {
    fn stepped(&self, _event: &Event) {}

    async fn intends(
        &self,
        _state: &(dyn Fn() -> Result<Json, proem_engine::Error> + Sync),
        effects: &[(EffectId, Effect)],
    ) -> Result<(), proem_engine::Error> {
        if let Some(recording) = self.recording {
            effects.iter().for_each(|(effect, _)| recording.accounts(*effect, &self.account));
        }
        Ok(())
    }

    async fn pauses(
        &self,
        _state: &(dyn Fn() -> Result<Json, proem_engine::Error> + Sync),
        _pausing: PauseReason<'_>,
    ) -> Result<(), proem_engine::Error> {
        Ok(())
    }
}
