//! A decision as one document, for the record and for people.

use proem_guard::check::Reach;
use proem_guard::show;
use proem_text::hex;
use serde_json::{Value as Json, json};

use super::decision::{Decision, RefusalNotice, Ruling};
use super::reason::DecisionReason;

impl Decision {
    /// Whether a text of the action has a credential, so that no record may have it.
    #[must_use]
    pub fn finds_credential(&self) -> bool {
        self.reasons.iter().any(|reason| matches!(reason, DecisionReason::Credential(_)))
    }

    /// The decision as JSON. Quotations of the action went through `guard::show`. A permit is not part of it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let reasons: Vec<Json> = self
            .reasons
            .iter()
            .map(|reason| json!({ "reason": reason.as_str(), "words": reason.to_string() }))
            .collect();
        let conditions: Vec<Json> = self
            .conditions
            .iter()
            .map(|result| {
                json!({
                    "condition": result.condition.as_str(),
                    "met": result.is_met(),
                    "against": result.against,
                })
            })
            .collect();
        let failures: Vec<Json> = self
            .check
            .failures
            .iter()
            .map(|failure| {
                json!({
                    "field": failure.field,
                    "rule": failure.rule.as_str(),
                    "start": failure.span.start,
                    "end": failure.span.end,
                    "excerpt": show::exact_json(&failure.excerpt),
                })
            })
            .collect();
        let confidence = self.confidence;
        json!({
            "ruling": self.ruling.as_str(),
            "escalated": matches!(self.ruling, Ruling::Escalation | Ruling::Refusal(RefusalNotice::Escalated)),
            "hold_minutes": self.hold.map(|hold| hold.0),
            "reasons": reasons,
            "conditions": conditions,
            "unmet": self.unmet.iter().map(|condition| condition.as_str()).collect::<Vec<_>>(),
            "confidence": {
                "sources": confidence.sources,
                "boundary": confidence.boundary,
                "schema": confidence.schema,
                "precedent": confidence.precedent,
                "mean": confidence.mean(),
                "stated": self.stated.thousandths(),
            },
            "external": self.reach == Reach::External,
            "failures": failures,
            "content": hex::encode_hex(self.content.0),
            "policy": hex::encode_hex(self.policy.0),
        })
    }
}
