//! Ways of holding an answer to its schema, where nobody says which of them a server takes.

use serde::{Deserialize, Serialize};

use super::{AnswerRequirement, Attempt, Exchange, FORMAT_SECTION};
use crate::assembly::Appendix;
use crate::call::{AnswerForm, FailureKind, ResponsePart};
use crate::providers::{CallEnforcement, SchemaEnforcement};

/// A way of holding an answer to its schema, where that is found by trying, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedWay {
    /// The way.
    pub way: SchemaEnforcement,
    /// What came of it.
    pub came: WayResult,
}

impl TriedWay {
    /// The way to take after it; `None` if none is left.
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
    pub(super) fn judge_way(&mut self) {
        let Some(tried) = &mut self.tried else { return };
        let is_call = |part: &ResponsePart| matches!(part, ResponsePart::Call(_));
        let is_unheld = match (&self.response, tried.way) {
            (None, _) | (_, SchemaEnforcement::Object | SchemaEnforcement::Text) => false,
            (Some(response), SchemaEnforcement::Tool) => {
                !self.problems.is_empty() && !response.content.iter().any(is_call)
            }
            (Some(_), SchemaEnforcement::Schema) => {
                self.problems.iter().any(|broken| matches!(broken.rule.as_str(), "json" | "type" | "required"))
            }
        };
        if self.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::ModeRefused) {
            tried.came = WayResult::Refused;
        } else if is_unheld {
            tried.came = WayResult::Unheld;
        }
    }
}

impl Exchange<'_> {
    /// Has the requests from here on held to their schema in the next way, if the way is found by trying and there is
    /// one.
    pub(super) fn try_next_way(&mut self) -> bool {
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
