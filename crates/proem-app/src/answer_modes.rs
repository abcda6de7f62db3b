//! How models are held to a schema, where that was found out here by trying.
//!
//! A server that nobody configured is asked to write by the schema. If it refuses that, the next way is tried: a tool
//! that must be called, one JSON object, a text. The way that was not refused is remembered for that model of that
//! provider; `answers` in the configuration comes first.

use std::collections::BTreeMap;

use proem_engine::providers::{Provider, SchemaEnforcement};
use serde::{Deserialize, Serialize};

use crate::calling::ModelEndpoint;
use crate::config::ProviderFile;
use crate::error::{Error, ErrorKind};
use crate::places::Places;
use crate::state_file::StateFile;

/// The file that keeps them.
const FILE: StateFile = StateFile { name: "answer-modes.json", version: 1 };

/// The modes of all models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerModes {
    version: u32,
    /// By provider and the model's name there.
    modes: BTreeMap<String, BTreeMap<String, SchemaEnforcement>>,
}

impl Default for AnswerModes {
    fn default() -> Self {
        Self { version: FILE.version, modes: BTreeMap::new() }
    }
}

impl AnswerModes {
    /// Reads the file; no modes if it isn't there or can't be used: they are found again by trying.
    ///
    /// # Errors
    ///
    /// If the file is there and can't be read.
    pub fn load(places: &Places) -> Result<Self, Error> {
        match FILE.load(places) {
            Err(error) if error.kind() != ErrorKind::Invalid => Err(error),
            found => Ok(found.ok().flatten().unwrap_or_default()),
        }
    }

    /// Has a model held to schemas in the way that was found for it, unless `file` says another; the way, if there is
    /// one. What is kept of a run says it, too.
    pub fn apply(&self, asked: &mut ModelEndpoint, file: &mut ProviderFile) -> Option<SchemaEnforcement> {
        let mode = *self.modes.get(&asked.endpoint.name)?.get(&asked.model.name)?;
        if !is_found_by_trying(asked, file) {
            return None;
        }
        asked.model.answers = mode;
        file.models.entry(asked.model.name.clone()).or_default().answers = Some(mode);
        Some(mode)
    }

    /// Remembers that a model's server refused its way; the next one to try, if there is one.
    ///
    /// # Errors
    ///
    /// If the file can't be written.
    pub fn after_refusal(
        places: &Places,
        asked: &ModelEndpoint,
        file: &ProviderFile,
    ) -> Result<Option<SchemaEnforcement>, Error> {
        let Some(next) = next_enforcement(asked.model.answers).filter(|_| is_found_by_trying(asked, file)) else {
            return Ok(None);
        };
        let mut modes = Self::load(places)?;
        modes.modes.entry(asked.endpoint.name.clone()).or_default().insert(asked.model.name.clone(), next);
        FILE.store(places, &modes)?;
        Ok(Some(next))
    }
}

/// Whether nobody says how the model is held to a schema: neither configuration nor the list of known models.
fn is_found_by_trying(asked: &ModelEndpoint, file: &ProviderFile) -> bool {
    let own = file.models.get(&asked.model.name).and_then(|own| own.answers);
    own.or(file.answers).is_none() && asked.model.sources.is_empty() && asked.model.provider() == Provider::OpenAi
}

/// The way that is tried after one.
const fn next_enforcement(mode: SchemaEnforcement) -> Option<SchemaEnforcement> {
    match mode {
        SchemaEnforcement::Schema => Some(SchemaEnforcement::Tool),
        SchemaEnforcement::Tool => Some(SchemaEnforcement::Object),
        SchemaEnforcement::Object => Some(SchemaEnforcement::Text),
        SchemaEnforcement::Text => None,
    }
}

/// The word of the configuration for a way.
#[must_use]
pub const fn mode_word(mode: SchemaEnforcement) -> &'static str {
    match mode {
        SchemaEnforcement::Schema => "schema",
        SchemaEnforcement::Tool => "tool",
        SchemaEnforcement::Object => "object",
        SchemaEnforcement::Text => "text",
    }
}
