//! Recorded runs: looked up, made anew, resumed, compared, exported, judged and deleted.

pub mod body;
pub mod diff;
pub mod export;
pub mod feedback;
pub mod output;
pub mod purge;
pub mod replay;
pub mod resume;
pub mod stuck;

use std::collections::BTreeMap;

use proem_engine::versions::Versions;
use proem_store::Store;
use proem_store::query::{RunDetail, RunScope};
use proem_store::record::RunId;
use serde::Deserialize as _;
use serde_json::Value as Json;

use crate::error::Error;
use crate::project::OpenProject;
use crate::records::Whose;

/// The versions that a run's requests were made with. `None` where that is not kept, or in a form that is unknown.
#[must_use]
pub fn versions(run: &RunDetail) -> Option<Versions> {
    let settings = run.settings.as_object()?;
    match settings.get("versions") {
        None => Some(Versions::default()),
        Some(written) => Versions::deserialize(written).ok(),
    }
}

/// The run whose id begins like that. `last` is the newest of those that are meant, among those that are `listed`.
///
/// # Errors
///
/// If there is none, or more than one.
pub async fn find_run(
    store: &Store,
    project: &OpenProject,
    id: &str,
    whose: Whose,
    listed: RunScope,
) -> Result<RunId, Error> {
    Ok(store.find(whose.owner(project).as_ref(), listed, id).await?)
}

/// Texts by their hashes, as far as they are kept.
#[derive(Debug)]
pub struct TextsByHash(BTreeMap<String, Vec<u8>>);

impl TextsByHash {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn load(store: &Store, hashes: Vec<String>) -> Result<Self, Error> {
        Ok(Self(store.contents(&hashes).await?))
    }

    /// A text.
    #[must_use]
    pub fn get(&self, hash: &str) -> Option<&str> {
        std::str::from_utf8(self.0.get(hash)?).ok()
    }

    /// A text that is JSON.
    #[must_use]
    pub fn json(&self, hash: &str) -> Option<Json> {
        serde_json::from_str(self.get(hash)?).ok()
    }
}

/// A text in recorded JSON: by itself, or with the label of one from outside.
#[must_use]
pub fn stored_text<'j>(value: &'j Json, name: &str) -> Option<&'j str> {
    let text = value.get(name)?;
    text.as_str().or_else(|| text.get("value")?.as_str())
}
