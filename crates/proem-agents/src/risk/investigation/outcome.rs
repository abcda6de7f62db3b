//! The result of an investigation.

use proem_engine::call::{FailureKind, Usage};
use proem_engine::run::{FallbackReason, Outcome};
use proem_risk::assess::Assessment;
use proem_risk::level::Level;
use serde::{Deserialize, Serialize};

use crate::risk::hop::Hop;

/// How an investigation ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvestigationEnd {
    /// The assessment with what was measured on the way. Its level is the rules', or higher if the model raised it with
    /// cited evidence.
    pub assessment: Assessment,
    /// The model's synthesis. `None` if it gave no usable answer.
    pub synthesis: Option<Synthesis>,
    /// The steps that were taken, in order.
    pub hops: Vec<Hop>,
    /// All exchanges with the model, in order.
    pub exchanges: Vec<ExchangeRecord>,
    /// The problems, in our words: a fallback, a citation that was not evidence, a level that the model wanted lower.
    pub notes: Vec<String>,
}

/// An exchange that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExchangeRecord {
    /// The prompt that was asked with, such as `risk/decision`.
    pub prompt: String,
    /// How it ended, its effects under the run's numbers.
    pub outcome: Outcome,
    /// Whether it ended with an answer that met its contract and was refused all the same, such as a choice that was not
    /// offered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

/// A model's synthesis of the evidence. Every text is from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Synthesis {
    /// The level that it gives.
    pub risk_level: Level,
    /// How sure it says it is.
    pub model_confidence: f64,
    /// Its citations, each with the number of a piece of evidence that it was given.
    pub key_evidence: Vec<String>,
    /// Its recommendations, at most three.
    pub recommendations: Vec<String>,
    /// How it put the evidence together.
    pub reasoning: String,
}

impl InvestigationEnd {
    /// The usage of all exchanges. `None` if nothing was asked or a usage is missing.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let mut usages = self.exchanges.iter().map(|exchange| exchange.outcome.usage());
        let first = usages.next()??;
        usages.try_fold(first, |sum, usage| Some(sum.and(&usage?)))
    }

    /// All exchanges as one outcome, for the record: it ends as the last of them, which is the synthesis unless the
    /// investigation ended before. `None` if nothing was asked.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        let last = self.exchanges.last()?.outcome.ended.clone();
        let attempts = self.exchanges.iter().flat_map(|exchange| exchange.outcome.attempts.iter().cloned());
        Some(Outcome { ended: last, attempts: attempts.collect() })
    }
}

/// Whether another call would fail in the same way, or nobody wants one.
pub(super) const fn is_final(because: FallbackReason) -> bool {
    match because {
        FallbackReason::Cancelled(_) | FallbackReason::Program => true,
        FallbackReason::Failed(kind) => !matches!(
            kind,
            FailureKind::RateLimited
                | FailureKind::Server
                | FailureKind::TimedOut
                | FailureKind::TooLarge
                | FailureKind::Malformed
                | FailureKind::Cut
                | FailureKind::Empty
                | FailureKind::UnknownTool
        ),
        FallbackReason::Refusal | FallbackReason::CutOff | FallbackReason::Invalid => false,
    }
}
