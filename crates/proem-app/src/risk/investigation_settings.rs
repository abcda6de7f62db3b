//! The basis of an investigation, so that its record alone makes its requests anew.

use proem_agents::risk::investigation::{InvestigationLimits, Subject};
use proem_engine::assembly::PromptId;
use proem_engine::call::Arrival;
use proem_engine::ordered_json::OrderedJson;
use proem_store::query::RunState;
use proem_store::record::RunOutcome;
use proem_text::json;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::grounds::AssessmentRecord;
use super::prompts::{InvestigationPrompts, WHOSE};
use crate::agents::access::{ContractedPrompt, ModelAccess};
use crate::agents::basis::{RecordedPrompt, RecordedTexts, RunBasis};
use crate::agents::record::RunRecord;
use crate::error::Error;
use crate::message::{Hint, Message};

use crate::trust::sha256_hex;

/// Under which key of a run's settings this is.
pub(super) const SETTINGS: &str = "investigation";

/// The message about a run that asked nobody.
const NOBODY_ASKED: &str = "the record doesn't say which repository was assessed";
/// The message about a record that lacks the basis of an investigation.
const NOT_WRITTEN: &str = "it was recorded by an older version of Proem, without the inputs of the investigation";

/// The settings of an investigation, beside its files and inputs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InvestigationSettings {
    /// The basis of its requests.
    #[serde(flatten)]
    pub(super) basis: RunBasis,
    /// The prompt that decides the next step; that of the run puts everything together.
    pub(super) decision: PromptId,
    /// How often, how long and for how much it asks.
    pub(super) limits: InvestigationLimits,
    /// The assessment, and its basis.
    pub(super) assessed: AssessmentRecord,
}

impl InvestigationSettings {
    /// These settings as they are recorded.
    ///
    /// # Errors
    ///
    /// If they can't be written down, which is a bug.
    pub(super) fn written(&self) -> Result<Json, Error> {
        serde_json::to_value(self).map_err(|error| Error::bug("the settings can't be serialised", error))
    }
}

/// The hash of what an investigation is held to: the rules of the guard, by their hash, and its settings. Its
/// state is sealed for nothing else.
pub(super) fn investigation_policy_hash(rules: &str, settings: &Json) -> String {
    let settings = settings.get(SETTINGS).map(json::compact).unwrap_or_default();
    sha256_hex(format!("rules {rules}\nsettings {}\n", sha256_hex(settings.as_bytes())).as_bytes())
}

/// An investigation's beginnings, read back from its record.
#[derive(Debug)]
pub(super) struct InvestigationStart {
    pub(super) prompts: InvestigationPrompts,
    /// Why this is not what it was made from, if it isn't.
    pub(super) changed: Option<String>,
    pub(super) access: ModelAccess,
    pub(super) subject: Subject,
    pub(super) limits: InvestigationLimits,
    pub(super) assessed: AssessmentRecord,
    /// Inputs as they are recorded.
    pub(super) inputs: OrderedJson,
}

impl InvestigationStart {
    /// Reads back what an investigation was made from.
    ///
    /// # Errors
    ///
    /// In words, if nobody was asked, or something isn't kept or is not what it was.
    pub(super) async fn read(record: &RunRecord<'_>) -> Result<Self, Message> {
        let detail = record.detail;
        let anew = |why: &str| Message { text: why.to_owned(), hint: Some(Hint::AssessAnew) };
        if detail.row.state == RunState::Ended(RunOutcome::Assembled) {
            return Err(anew(NOBODY_ASKED));
        }
        let written = detail.settings.get(SETTINGS).ok_or_else(|| anew(NOT_WRITTEN))?;
        let kept = InvestigationSettings::deserialize(written)
            .map_err(|error| format!("its settings were written by another version of Proem: {error}"))?;
        kept.basis.under(&record.key()?)?;
        let texts = RecordedTexts::read(record.store, detail).await?;
        let decision = kept.basis.prompt(&kept.decision, &texts)?;
        let RecordedPrompt { prompt: synthesis, changed } = kept.basis.prompt(&detail.row.prompt, &texts)?;
        let model = kept.basis.model(&detail.row, &texts)?;
        let subject = Subject::deserialize(texts.inputs.to_json())
            .map_err(|error| format!("its inputs have another format: {error}"))?;
        Ok(Self {
            changed: texts.changed.clone().or(decision.changed).or(changed),
            prompts: InvestigationPrompts {
                decision: ContractedPrompt::recorded(decision.prompt, WHOSE, detail)?.with_value(WHOSE)?,
                synthesis: ContractedPrompt::recorded(synthesis, WHOSE, detail)?.with_value(WHOSE)?,
            },
            access: ModelAccess::recorded(model, kept.basis, &texts, Arrival::Whole, record)?,
            subject,
            limits: kept.limits,
            assessed: kept.assessed,
            inputs: texts.inputs,
        })
    }
}
