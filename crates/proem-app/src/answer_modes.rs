//! How models are held to a schema, where that was found out here by trying.
//!
//! A server that nobody configured is asked to write by the schema. If it refuses that, or doesn't hold to it, the next
//! way is tried within the same run: a tool that must be called, one JSON object, a text. The way that was taken last
//! is remembered for that model at that address. `answers` in the configuration comes first.

use std::collections::BTreeMap;

use proem_engine::providers::{Model, SchemaEnforcement};
use proem_llm::endpoint::Endpoint;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::places::Places;
use crate::state_file::StateFile;

/// The file that keeps them.
const FILE: StateFile = StateFile { name: "answer-modes.json", version: 2 };

/// The modes of all models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerModes {
    version: u32,
    /// By the server's address and the model's name there: another address is another server.
    modes: BTreeMap<String, BTreeMap<String, SchemaEnforcement>>,
}

impl Default for AnswerModes {
    fn default() -> Self {
        Self { version: FILE.version, modes: BTreeMap::new() }
    }
}

impl AnswerModes {
    /// Reads the file. No modes if it isn't there or can't be used: they are found again by trying.
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

    /// Has a model held to schemas in the way that was found for it, unless configuration or the list of known models
    /// says another. The way, if it holds.
    pub fn apply(&self, endpoint: &Endpoint, model: &mut Model) -> Option<SchemaEnforcement> {
        let mode = *self.modes.get(&endpoint.base_url)?.get(&model.name)?;
        if !model.is_way_tried() {
            return None;
        }
        model.hold_as_found(mode);
        Some(mode)
    }

    /// Remembers the way that a model's server took last.
    ///
    /// # Errors
    ///
    /// If the file can't be read or written.
    pub fn remember(places: &Places, endpoint: &Endpoint, model: &str, mode: SchemaEnforcement) -> Result<(), Error> {
        let mut modes = Self::load(places)?;
        if modes.modes.entry(endpoint.base_url.clone()).or_default().insert(model.to_owned(), mode) == Some(mode) {
            return Ok(());
        }
        FILE.store(places, &modes)
    }
}
