//! The credentials that this process has loaded, so that whoever prints can leave them out.
//!
//! They are kept for the whole process and not beside what uses them: a text that echoes one may come from
//! anywhere, also from an error on the way to whoever would hand it over.

use std::sync::{Mutex, PoisonError};

use proem_llm::secret::Secret;

static LOADED: Mutex<Vec<Secret>> = Mutex::new(Vec::new());

/// Keeps a credential that must be printed nowhere from now on.
pub(crate) fn keep_from_print(secret: &Secret) {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if !loaded.contains(secret) {
        loaded.push(secret.clone());
    }
}

/// All that were loaded.
#[must_use]
pub fn loaded_secrets() -> Vec<Secret> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
