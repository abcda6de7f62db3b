//! What an investigation is made from, so that its record alone makes its requests anew.

use std::collections::BTreeMap;

use proem_agents::risk::investigation::{InvestigationLimits, Subject};
use proem_engine::assembly::PromptId;
use proem_engine::ordered::OrderedJson;
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::{Model, Provider};
use proem_store::Store;
use proem_store::query::{RunDetail, RunState};
use proem_store::record::RunOutcome;
use proem_text::json;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::grounds::AssessmentRecord;
use crate::error::Error as Failure;
use crate::guarding::GuardFiles;
use crate::message::{Hint, Message};
use crate::run::made::{RecordedPrompt, RecordedTexts, RunBasis};
use crate::trust::hash;

/// Under which key of a run's settings this stands.
pub(super) const SETTINGS: &str = "investigation";

/// What is said of a run that asked nobody.
const NOBODY_ASKED: &str = "the record doesn't say which repository was assessed";
/// What is said of a record that lacks what an investigation is made from.
const NOT_WRITTEN: &str = "it was recorded by an older version of Proem, without the inputs of the investigation";

/// What an investigation was started with, beside its files and inputs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InvestigationSettings {
    /// What its requests are made from.
    #[serde(flatten)]
    pub(super) basis: RunBasis,
    /// The prompt that decides the next step; that of the run puts everything together.
    pub(super) decision: PromptId,
    /// How often, how long and for how much it asks.
    pub(super) limits: InvestigationLimits,
    /// What was assessed, and from what.
    pub(super) assessed: AssessmentRecord,
}

impl InvestigationSettings {
    /// These settings as they are recorded.
    ///
    /// # Errors
    ///
    /// If they can't be written down, which is a bug.
    pub(super) fn written(&self) -> Result<Json, Failure> {
        serde_json::to_value(self).map_err(|error| Failure::bug("the settings can't be serialised", error))
    }
}

/// The hash of what an investigation is held to: the rules of the guard, by their hash, and its settings. Its
/// state is sealed for nothing else.
pub(super) fn policy(rules: &str, settings: &Json) -> String {
    let settings = settings.get(SETTINGS).map(json::compact).unwrap_or_default();
    hash(format!("rules {rules}\nsettings {}\n", hash(settings.as_bytes())).as_bytes())
}

/// An investigation's beginnings, read back from its record.
#[derive(Debug)]
pub struct InvestigationStart {
    pub(super) decision: Prompt,
    pub(super) synthesis: Prompt,
    /// Why this is not what it was made from, if it isn't.
    pub changed: Option<String>,
    pub(super) model: Model,
    pub(super) guard: GuardFiles,
    pub(super) subject: Subject,
    pub(super) kept: InvestigationSettings,
    /// Files, inputs and settings as they are recorded.
    pub(super) files: BTreeMap<String, String>,
    pub(super) inputs: OrderedJson,
    pub(super) settings: Json,
}

impl InvestigationStart {
    /// The protocol of the model that was asked.
    #[must_use]
    pub const fn provider(&self) -> Provider {
        self.model.provider()
    }

    /// Reads back what an investigation was made from; `key` is the id of the installation's key today.
    ///
    /// # Errors
    ///
    /// In words, if nobody was asked, or something isn't kept or is not what it was.
    pub async fn read(store: &Store, detail: &RunDetail, key: &str) -> Result<Self, Message> {
        let anew = |why: &str| Message { text: why.to_owned(), hint: Some(Hint::AssessAnew) };
        if detail.row.state == RunState::Ended(RunOutcome::Assembled) {
            return Err(anew(NOBODY_ASKED));
        }
        let written = detail.settings.get(SETTINGS).ok_or_else(|| anew(NOT_WRITTEN))?;
        let kept = InvestigationSettings::deserialize(written)
            .map_err(|error| format!("its settings were written by another version of Proem: {error}"))?;
        kept.basis.under(key)?;
        let texts = RecordedTexts::read(store, detail).await?;
        let decision = kept.basis.prompt(&kept.decision, &texts)?;
        let RecordedPrompt { prompt: synthesis, changed } = kept.basis.prompt(&detail.row.prompt, &texts)?;
        Ok(Self {
            changed: texts.changed.clone().or(decision.changed).or(changed),
            decision: decision.prompt,
            synthesis,
            model: kept.basis.model(&detail.row, &texts)?,
            guard: texts.guard(),
            subject: Subject::deserialize(texts.inputs.to_json())
                .map_err(|error| format!("its inputs have another format: {error}"))?,
            kept,
            files: texts.files,
            inputs: texts.inputs,
            settings: detail.settings.clone(),
        })
    }
}
