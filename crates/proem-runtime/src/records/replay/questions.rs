//! The questions that tools asked models, once more: each request is made of the recorded arguments and answers.
//!
//! The events of a run have the results of such tools, but not how they came about. Each request and each answer within
//! the call is in the records under an effect of its own.

use proem_engine::run::{
    Effect, EffectId, EffectResult, Event, EventKind, Exchange, ExchangeEnd, Machine as _, Outcome, Step, Time,
    ToolOutcome, ToolUse,
};
use proem_guard::show;
use proem_store::query::CallRow;
use proem_store::record::CallState;
use proem_text::json;

use super::{Difference, ReplayReport, ReplayedCall, RunRecord, first_difference};
use crate::Error;
use crate::tools::ToolQuestions;

impl RunRecord {
    /// Compares the requests that a tool sent to a model with the recorded ones, and its result with the last answer.
    /// `next` is the event with the tool's result.
    pub(super) fn compare_question(
        &self,
        replayed: &mut ReplayReport,
        asking: ToolQuestions<'_>,
        (effect, call): (EffectId, &ToolUse),
        next: Option<&Event>,
    ) -> Result<(), Error> {
        let Some(question) = asking.questions.get(&call.tool) else { return Ok(()) };
        let recorded = tool_answer(effect, next);
        let first = effect.first_within();
        let prepared = match question.prepare(&call.arguments, asking.key, asking.screening) {
            Ok(prepared) => prepared,
            Err(error) => {
                if self.calls.contains_key(&first) {
                    replayed.differs_at("request", "a request".to_owned(), json::quote_json(&error.to_string()));
                }
                return Ok(());
            }
        };
        let mut exchange = Exchange::new(question.terms(asking.key), prepared.request).numbered_from(first.0);
        let (mut now, mut what) = (Time(0), EventKind::Started);
        loop {
            let step = match exchange.step(Event { now, what }) {
                Ok(step) => step,
                Err(error) => {
                    replayed.differs_at("answer", "another one".to_owned(), json::quote_json(&error.to_string()));
                    return Ok(());
                }
            };
            what = match step {
                Step::Do(effects) => {
                    let mut results = Vec::new();
                    for (id, effect) in effects {
                        let Effect::Call { request } = effect else { return Ok(()) };
                        let Some(row) = self.calls.get(&id) else {
                            if recorded.is_some() {
                                let found = format!("a request to {}", request.model);
                                replayed.differs_at("request", "nothing".to_owned(), found);
                            }
                            // It never came to be sent.
                            return Ok(());
                        };
                        let replaying = ReplayedCall { effect: id, request: &request, next: None };
                        self.compare(replayed, &replaying, &[question.model()])?;
                        let (None, Some(result)) = (&replayed.difference, self.call_result(row)) else {
                            return Ok(());
                        };
                        results.push((id, result));
                    }
                    EventKind::Performed { results }
                }
                Step::Wait { until } => {
                    now = until;
                    EventKind::Woken
                }
                Step::Done(outcome) => {
                    let found = answer_text(&outcome).map(|value| question.result_text(value));
                    if let (Some(recorded), found) = (recorded, found.unwrap_or_default())
                        && recorded != found
                    {
                        let (byte, recorded, found) = first_difference(recorded, &found);
                        let what = format!("result of {}", call.tool);
                        let (call, byte) = (replayed.calls, Some(byte));
                        replayed.differs(Difference { call, what, byte, recorded, found });
                    }
                    return Ok(());
                }
                // A question to a model asks no person.
                Step::Ask(_) => return Ok(()),
            };
        }
    }

    /// The outcome of a call within a tool. `None` if the record doesn't have it.
    fn call_result(&self, row: &CallRow) -> Option<EffectResult> {
        let text = self.text(row.result.as_ref()?)?;
        match row.state {
            CallState::Answered => {
                Some(EffectResult::Response { response: Box::new(serde_json::from_str(&text).ok()?) })
            }
            CallState::Failed => Some(EffectResult::Failed { failure: serde_json::from_str(&text).ok()? }),
            CallState::Pending | CallState::Unknown => None,
        }
    }
}

impl ReplayReport {
    fn differs_at(&mut self, what: &str, recorded: String, found: String) {
        self.differs(Difference { call: self.calls, what: what.to_owned(), byte: None, recorded, found });
    }
}

/// The recorded result of a tool, if it gave one.
fn tool_answer(effect: EffectId, next: Option<&Event>) -> Option<&str> {
    let EventKind::Performed { results } = &next?.what else { return None };
    let (_, result) = results.iter().find(|(id, _)| *id == effect)?;
    match result {
        EffectResult::Tool { outcome: ToolOutcome::Answered { result } } => Some(result),
        _ => None,
    }
}

/// The value that an exchange ended with.
fn answer_text(outcome: &Outcome) -> Option<serde_json::Value> {
    match &outcome.ended {
        ExchangeEnd::Answered { value } => Some(show::exact_value(value)),
        _ => None,
    }
}
