//! The settings of a prompt's run, written down and read back.

use std::num::NonZeroU32;

use proem_agents::prompt_call::InputAuthor;
use proem_engine::call::{Arrival, CacheInquiry, NanoDollars};
use proem_engine::contract::CallChoice;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::run::ExchangeLimits;
use proem_engine::versions::Versions;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::agents::access::ModelAccess;
use crate::agents::basis::{RecordedPrompt, RecordedTexts, RunBasis};
use crate::agents::record::RunRecord;
use crate::error::Error;
use crate::message::Message;

/// The kind of a prompt's runs.
pub(crate) const KIND: &str = "prompt";

/// The settings of a run, beside its files and inputs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunSettings {
    /// The version of Proem that made it.
    proem: String,
    /// The versions of what makes its requests. Those of the first records are not written.
    #[serde(default)]
    versions: Versions,
    /// The basis of its requests.
    #[serde(flatten)]
    basis: RunBasis,
    /// The author of the inputs.
    given: GivenBy,
    /// The required form of the answer, in one line, if it is not the prompt's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    /// Whether it calls a tool, if not what the prompt says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_choice: Option<CallChoice>,
    /// How often the model is asked at most.
    attempts: NonZeroU32,
    /// The most tokens of all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// The most input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_tokens: Option<usize>,
    /// The most tokens of each answer by its caller's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_tokens: Option<usize>,
    /// The most that it may cost by its caller's word, in nano-dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_nano_dollars: Option<u64>,
    /// The longest that it may take, in seconds.
    seconds: u64,
    /// How the answer arrives.
    arrival: Arrival,
    /// The question to the provider about its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inquiry: Option<CacheInquiry>,
}

/// The key of the inquiry in a run's settings.
pub(super) const INQUIRY: &str = "inquiry";

/// The keys of what was learned of the server, which belongs to the basis.
pub(super) const WINDOW: &str = "window";
pub(super) const WAY: &str = "way";

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GivenBy {
    Caller,
    Outside,
}

/// The part of a command that goes into the record of each of its runs.
#[derive(Debug)]
pub(super) struct RunRecipe {
    pub(super) basis: RunBasis,
    pub(super) given: InputAuthor,
    pub(super) schema: Option<String>,
    pub(super) tool_choice: Option<CallChoice>,
    pub(super) limits: ExchangeLimits,
    pub(super) input_tokens: Option<usize>,
    pub(super) output_tokens: Option<usize>,
    pub(super) most: Option<NanoDollars>,
    pub(super) seconds: u64,
    pub(super) arrival: Arrival,
}

impl RunRecipe {
    /// The settings of each run.
    ///
    /// # Errors
    ///
    /// If they can't be serialised, which is a bug.
    pub(super) fn settings(self) -> Result<Json, Error> {
        let settings = RunSettings {
            proem: env!("CARGO_PKG_VERSION").to_owned(),
            versions: Versions::TODAY,
            basis: self.basis,
            given: match self.given {
                InputAuthor::ByCaller => GivenBy::Caller,
                InputAuthor::FromOutside => GivenBy::Outside,
            },
            schema: self.schema,
            tool_choice: self.tool_choice,
            attempts: self.limits.attempts,
            tokens: self.limits.tokens,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            most_nano_dollars: self.most.map(|most| most.0),
            seconds: self.seconds,
            arrival: self.arrival,
            inquiry: None,
        };
        serde_json::to_value(settings).map_err(|error| Error::bug("the settings can't be serialised", error))
    }
}

/// A run's beginnings, read back from its record.
#[derive(Debug)]
pub struct RunStart {
    /// The prompt from the recorded files.
    pub prompt: Prompt,
    /// Why this is not what it was made from, if it isn't.
    pub changed: Option<String>,
    /// The model as it was known then.
    pub access: ModelAccess,
    /// Its inputs.
    pub inputs: OrderedJson,
    /// Their author.
    pub given: InputAuthor,
    /// The required form of the answer, in one line, if it is not the prompt's.
    pub schema: Option<String>,
    /// Whether it calls a tool, if not what the prompt says.
    pub tool_choice: Option<CallChoice>,
    /// How much may be asked.
    pub limits: ExchangeLimits,
    /// The most input tokens.
    pub input_tokens: Option<usize>,
    /// The most tokens of each answer by its caller's word.
    pub output_tokens: Option<usize>,
    /// The most that it may cost by its caller's word.
    pub most: Option<NanoDollars>,
    /// The longest that it may take, in seconds.
    pub seconds: u64,
    /// The question to the provider about its cache.
    pub inquiry: Option<CacheInquiry>,
}

impl RunStart {
    /// Reads back what a run was made from.
    ///
    /// # Errors
    ///
    /// In words, if something isn't kept or is not what it was.
    pub async fn read(record: &RunRecord<'_>) -> Result<Self, Message> {
        let detail = record.detail;
        let settings = RunSettings::deserialize(&detail.settings)
            .map_err(|error| format!("its settings were written by another version of Proem: {error}"))?;
        settings.basis.under(&record.key()?)?;
        let texts = RecordedTexts::read(record.store, detail).await?;
        let RecordedPrompt { prompt, changed } = settings.basis.prompt(&detail.row.prompt, &texts)?;
        let model = settings.basis.model(&detail.row, &texts)?;
        Ok(Self {
            prompt,
            changed: texts.changed.clone().or(changed),
            access: ModelAccess::recorded(model, settings.basis, &texts, settings.arrival, record)?,
            inputs: texts.inputs,
            given: match settings.given {
                GivenBy::Caller => InputAuthor::ByCaller,
                GivenBy::Outside => InputAuthor::FromOutside,
            },
            schema: settings.schema,
            tool_choice: settings.tool_choice,
            limits: ExchangeLimits { attempts: settings.attempts, tokens: settings.tokens },
            input_tokens: settings.input_tokens,
            output_tokens: settings.output_tokens,
            most: settings.most_nano_dollars.map(NanoDollars),
            seconds: settings.seconds,
            inquiry: settings.inquiry,
        })
    }
}
