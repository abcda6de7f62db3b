//! The subject and the terms of an investigation.

use proem_engine::contract::AnswerContract;
use proem_engine::profile::Profile;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::Model;
use proem_engine::tokens::TokenCounter;
use proem_guard::InstallationKey;
use proem_risk::assess::Assessment;
use serde::{Deserialize, Serialize};

use crate::risk::evidence::{DiffExcerpt, Yardsticks};
use crate::screen::Screening;

/// The name of the effect that measures a Tier 2 metric: `of` is `{"metric": name, "file": index}`, and
/// what comes back is a [`proem_risk::metric::Metric`] as JSON.
pub const MEASURE: &str = "risk/metric";

/// The name of the effect that looks at the neighbours of a file: `of` is `{"file": index}`, and what
/// comes back is [`NeighbourFiles`](super::NeighbourFiles) as JSON.
pub const EXPAND: &str = "risk/neighbours";

/// A prompt with what its answer must be.
#[derive(Debug, Clone, Copy)]
pub struct InvestigationPrompt<'t> {
    /// The prompt that asks.
    pub prompt: &'t Prompt,
    /// The required form of its answer.
    pub contract: &'t AnswerContract,
    /// The lessons and wishes.
    pub profile: Option<&'t Profile>,
}

/// The terms of an investigation. Rebuilt from the same files when a run is resumed.
#[derive(Clone, Copy)]
pub struct InvestigationTerms<'t> {
    /// Decides the next step.
    pub decision: InvestigationPrompt<'t>,
    /// Puts everything together.
    pub synthesis: InvestigationPrompt<'t>,
    /// The model that is asked.
    pub model: &'t Model,
    /// The installation's key.
    pub key: &'t InstallationKey,
    /// The guard for text from outside.
    pub screening: Screening<'t>,
    /// The counter of requests' tokens.
    pub counter: &'t dyn TokenCounter,
    /// How often, how long and for how much.
    pub limits: InvestigationLimits,
}

impl core::fmt::Debug for InvestigationTerms<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Terms").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// How often and how long an investigation asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvestigationLimits {
    /// Hops, at most three.
    pub hops: u8,
    /// The most milliseconds for everything, the synthesis included (30,000). A hop that would begin when
    /// less than a hop's time is left is not begun: the synthesis follows. Of an interruption, after which
    /// another process goes on with the run, no more than a hop's time counts.
    pub total_ms: u32,
    /// The most milliseconds for a hop (10,000); who performs calls sees to it.
    pub hop_ms: u32,
    /// The most tokens of one call, prompt and answer (4,000).
    pub call_tokens: u32,
}

/// Three hops, ten seconds each, thirty in all, 4,000 tokens a call.
impl Default for InvestigationLimits {
    fn default() -> Self {
        Self { hops: 3, total_ms: 30_000, hop_ms: 10_000, call_tokens: 4_000 }
    }
}

/// The known facts about a change before it is investigated. A part of the run's inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The assessment by code, Tier 1 only.
    pub assessment: Assessment,
    /// The first line of the commit's message. From outside.
    pub subject: String,
    /// The files of the change, by place. From outside.
    pub paths: Vec<String>,
    /// The measures to read its signals by. `None` in records of before, whose requests have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yardsticks: Option<Yardsticks>,
    /// Parts of the diff. `None` unless the user wants the model to see them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffExcerpt>,
}
