//! The credentials of an agent's tools: the second place, beside the sweep, that reads any.
//!
//! Invariants: only names that a trusted agent's tools declare are read, and a name that the user's configuration lacks
//! is left out, so that its tool is refused by name.

use std::collections::{BTreeMap, BTreeSet};

use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::effects::credentials::{CredentialAccess, CredentialPlace, load};

use crate::config::effects::CredentialFile;
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
        let Some(place) = project.config.effects.credentials.get(&name) else { continue };
        let place = match place {
            CredentialFile::Variable(variable) => CredentialPlace::Variable(variable.clone()),
            CredentialFile::File(path) => CredentialPlace::File(project.places.config.join(path)),
        };
        let secret = load(&name, &place, CredentialAccess::Own(environment))
            .map_err(|refusal| Error::invalid(refusal.to_string()))?;
        secrets::keep_from_print(&secret);
        loaded.insert(name, secret);
    }
    Ok(loaded)
}
