//! Ways of holding an answer to its schema, where nobody says which of them a server takes.

use serde::{Deserialize, Serialize};

use super::{AnswerRequirement, Attempt, Exchange, FORMAT_SECTION};
use crate::assembly::Appendix;
use crate::call::{AnswerForm, FailureKind, FinishReason, ResponsePart};
use crate::providers::{CallEnforcement, SchemaEnforcement};

/// A way of holding an answer to its schema, where that is found by trying, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedWay {
    /// The means by which the provider was to keep to the schema.
    pub way: SchemaEnforcement,
    /// What came of it.
    pub came: WayResult,
}

impl TriedWay {
    /// The way to take after it. `None` if none is left.
    #[must_use]
    pub const fn following(self) -> Option<SchemaEnforcement> {
        match self.came {
            WayResult::Taken => Some(self.way),
            WayResult::Refused | WayResult::Unheld => self.way.next_to_try(),
        }
    }
}

/// What came of a way of holding an answer to its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WayResult {
    /// Nothing speaks against it.
    Taken,
    /// The server refused it, so that no model was asked.
    Refused,
    /// The answer is one that the way excludes: no call where one is forced, or no value of the schema's shape where the
    /// server writes by the schema.
    Unheld,
}

impl Attempt {
    /// Whether the server refused the way in which the answer was held to its schema, so that no model was asked.
    #[must_use]
    pub fn is_way_refused(&self) -> bool {
        self.tried.is_some_and(|tried| tried.came == WayResult::Refused)
    }

    /// Notes what came of the way that was tried.
    fn judge_way(&mut self) {
        let Some(tried) = &mut self.tried else { return };
        let is_unheld = self.response.as_ref().is_some_and(|response| match tried.way {
            SchemaEnforcement::Object | SchemaEnforcement::Text => false,
            SchemaEnforcement::Tool => {
                let is_wanting = response.finish == FinishReason::Length || !self.problems.is_empty();
                is_wanting && !response.content.iter().any(|part| matches!(part, ResponsePart::Call(_)))
            }
            SchemaEnforcement::Schema if response.finish == FinishReason::Length => {
                !response.content.iter().any(begins_value)
            }
            SchemaEnforcement::Schema => {
                self.problems.iter().any(|broken| matches!(broken.rule.as_str(), "json" | "type" | "required"))
            }
        });
        if self.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::ModeRefused) {
            tried.came = WayResult::Refused;
        } else if is_unheld {
            tried.came = WayResult::Unheld;
        }
    }
}

/// Whether a piece of an answer is where a value of a schema may begin.
fn begins_value(part: &ResponsePart) -> bool {
    matches!(part, ResponsePart::Text { text } if text.measure(|text| text.trim_start().starts_with(['{', '['])))
}

impl Exchange<'_> {
    /// Keeps an attempt that brought no value. If its way of holding the answer was refused or doesn't hold, the
    /// requests from here on take the next one. Whether they do.
    pub(super) fn keep(&mut self, mut attempt: Attempt) -> bool {
        attempt.judge_way();
        let is_left = attempt.tried.is_some_and(|tried| tried.came != WayResult::Taken);
        self.state.attempts.push(attempt);
        is_left && self.try_next_way()
    }

    /// Has the requests from here on held to their schema in the next way, if the way is found by trying and there is
    /// one.
    fn try_next_way(&mut self) -> bool {
        let request = &mut self.state.request;
        let Some(next) = request.way.and_then(SchemaEnforcement::next_to_try) else { return false };
        let is_told = request.way.is_some_and(SchemaEnforcement::is_by_prompt);
        request.way = Some(next);
        if let (AnswerRequirement::Calls { tools, .. }, AnswerForm::Tools { .. }) = (self.terms.owed, &request.answer) {
            request.answer = tools.form(CallEnforcement::Object);
        }
        if let Some(contract) = self.terms.owed.contract().filter(|_| next.is_by_prompt() && !is_told) {
            let note = contract.form_note();
            request.assembly.append(FORMAT_SECTION, Appendix::Ours(&note), self.terms.counter);
        }
        true
    }
}
