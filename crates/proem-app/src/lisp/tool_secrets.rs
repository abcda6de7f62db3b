//! The credentials of an agent's tools: the second place, beside the sweep, that reads any.
//!
//! Invariants: only names that a trusted agent's tools declare are read, and a name that the user's configuration lacks
//! is left out, so that its tool is refused by name.

use std::collections::{BTreeMap, BTreeSet};

use proem_llm::secret::Secret;
use proem_runtime::Environment;

use crate::error::Error;
use crate::project::OpenProject;
use crate::secrets;

/// Loads the credentials of these names from the places that the user's configuration gives.
pub(super) fn load_tool_secrets(
    project: &OpenProject,
    environment: &Environment,
    names: BTreeSet<String>,
) -> Result<BTreeMap<String, Secret>, Error> {
    let mut loaded = BTreeMap::new();
    for name in names {
        if let Some(secret) = secrets::load_configured(project, environment, &name)? {
            loaded.insert(name, secret);
        }
    }
    Ok(loaded)
}
