//! Approving definitions: which are meant, what was approved of them before, and keeping the answer.

use proem_guard::show;
use proem_select::catalogue::{Capability, Catalogue, EntryConcern, findings};

use super::{approval_store, approved_in_project, exact_text};
use crate::error::Error;
use crate::guarding::shipped_guard;
use crate::message::Hint;
use crate::operator::Operator;
use crate::project::OpenProject;
use crate::trust::{Before, RepositoryTrust, TrustStore};

/// This user's approvals of a project's catalogue, and the store that keeps them.
#[derive(Debug)]
pub struct Approving {
    store: TrustStore,
    trust: RepositoryTrust,
    key: String,
}

impl Approving {
    /// Opens the approvals.
    ///
    /// # Errors
    ///
    /// If it can't be read.
    pub fn open(project: &OpenProject) -> Result<Self, Error> {
        let trust = approved_in_project(project)?;
        Ok(Self { store: approval_store(&project.places)?, trust, key: project.key.clone() })
    }

    /// The approval of an entry.
    #[must_use]
    pub fn before(&self, entry: &Capability) -> Before {
        let name = entry.name().as_str();
        match self.store.last(&self.trust, name).and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) => Before::Trusted(text),
            None if self.trust.knows(name) => Before::Lost,
            None => Before::New,
        }
    }

    /// Approves definitions as they were read, and a person was shown them.
    ///
    /// # Errors
    ///
    /// If that can't be kept.
    pub fn approve(&self, _: &Operator, entries: &[&Capability]) -> Result<(), Error> {
        let shown: Vec<(String, Vec<u8>)> = entries
            .iter()
            .map(|entry| (entry.name().as_str().to_owned(), exact_text(entry.written()).into_bytes()))
            .collect();
        self.store.trust(&self.key, &shown)
    }
}

/// The entries that were named, by name or by server.
///
/// # Errors
///
/// If there is none of a name.
pub fn wanted_entries<'c>(names: &[String], catalogue: &'c Catalogue) -> Result<Vec<&'c Capability>, Error> {
    let matches = |entry: &Capability, name: &str| {
        entry.name().as_str() == name || entry.server().is_some_and(|server| server.as_str() == name)
    };
    for name in names {
        if !catalogue.entries().iter().any(|entry| matches(entry, name)) {
            let shown = show::terminal_str(name);
            let problem = format!("there is no server with a manifest and no entry called `{shown}`");
            return Err(Error::invalid(problem).hinting(Hint::ListCatalogue));
        }
    }
    Ok(catalogue.entries().iter().filter(|entry| names.iter().any(|name| matches(entry, name))).collect())
}

/// The entries' content that a person should know about, quoted.
///
/// # Errors
///
/// Never, but for a bug.
pub fn found_in(catalogue: &Catalogue) -> Result<Vec<EntryConcern>, Error> {
    let guard = shipped_guard(&[])?;
    Ok(findings(catalogue, Some(&guard)))
}
