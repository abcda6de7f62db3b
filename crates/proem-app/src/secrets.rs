//! The credentials that this process has loaded, so that whoever prints can leave them out.
//!
//! They are kept for the whole process and not beside what uses them: a text that echoes one may come from
//! anywhere, also from an error on the way to whoever would hand it over.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::effects::credentials::{CredentialAccess, CredentialPlace, load};

use crate::config::effects::CredentialFile;
use crate::error::Error;
use crate::places::Places;
use crate::project::OpenProject;

static LOADED: Mutex<Vec<Secret>> = Mutex::new(Vec::new());

/// Keeps a credential that must be printed nowhere from now on.
pub(crate) fn keep_from_print(secret: &Secret) {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if !loaded.contains(secret) {
        loaded.push(secret.clone());
    }
}

/// Loads the credential of this name from the place that the user's configuration gives, and keeps it from print.
///
/// # Errors
///
/// If the configuration has no such name, or the place holds no credential.
pub fn load_credential(project: &OpenProject, name: &str) -> Result<Secret, Error> {
    load_configured(project, &Environment::inherited(), name)?.ok_or_else(|| no_credential(name))
}

fn no_credential(name: &str) -> Error {
    let name = proem_guard::show::terminal_str(name);
    Error::invalid(format!("no credential `{name}`; name its place under `effects.credentials` of your configuration"))
}

/// The places that the user's configuration gives for credentials, for work that outlives the open project.
#[derive(Debug)]
pub(crate) struct ConfiguredCredentials {
    places: Places,
    configured: BTreeMap<String, CredentialFile>,
}

impl ConfiguredCredentials {
    pub(crate) fn of(project: &OpenProject) -> Self {
        Self { places: project.places.clone(), configured: project.config.effects.credentials.clone() }
    }

    /// The same as [`load_credential`].
    pub(crate) fn load(&self, name: &str) -> Result<Secret, Error> {
        let place = self.configured.get(name).ok_or_else(|| no_credential(name))?;
        load_from_place(&self.places, &Environment::inherited(), name, place)
    }
}

/// The same. `None` if the configuration has no such name.
pub(crate) fn load_configured(
    project: &OpenProject,
    environment: &Environment,
    name: &str,
) -> Result<Option<Secret>, Error> {
    let Some(place) = project.config.effects.credentials.get(name) else { return Ok(None) };
    load_from_place(&project.places, environment, name, place).map(Some)
}

/// Loads the credential that `name` calls from a place, and keeps it from print.
pub(crate) fn load_from_place(
    places: &Places,
    environment: &Environment,
    name: &str,
    place: &CredentialFile,
) -> Result<Secret, Error> {
    let place = credential_place(&places.config, place);
    let secret = load(name, &place, CredentialAccess::Own(environment))
        .map_err(|refusal| Error::invalid(refusal.to_string()))?;
    keep_from_print(&secret);
    Ok(secret)
}

/// The place of a credential, whose file is relative to the folder of the configuration.
pub(crate) fn credential_place(folder: &Path, file: &CredentialFile) -> CredentialPlace {
    match file {
        CredentialFile::Variable(variable) => CredentialPlace::Variable(variable.clone()),
        CredentialFile::File(path) => CredentialPlace::File(folder.join(path)),
    }
}

/// All that were loaded.
#[must_use]
pub fn loaded_secrets() -> Vec<Secret> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
