//! Lists a project's trusted files.

use std::collections::BTreeMap;

use super::RepositoryTrust;
use super::candidates::Candidates;

/// Whether a file is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustState {
    /// As it is.
    Trusted,
    /// Any contents, until then.
    Editing(i64),
    /// An earlier version was.
    Changed,
    /// It never was.
    Untrusted,
    /// It was, and is not in this folder, as on a branch without it.
    Gone,
    /// It can't be, for this reason.
    Refused(String),
}

/// The trust in one file.
#[derive(Debug)]
pub struct TrustEntry {
    /// Whether it is trusted.
    pub state: TrustState,
    /// SHA-256 of its text, hexadecimal. `None` where it was not read.
    pub hash: Option<String>,
}

/// All files that are trusted or could be, by path.
#[must_use]
pub fn trust_entries(candidates: &Candidates, trust: &RepositoryTrust) -> BTreeMap<String, TrustEntry> {
    let mut entries = BTreeMap::new();
    for (path, _) in trust.hashes() {
        entries.insert(path.to_owned(), TrustEntry { state: TrustState::Gone, hash: None });
    }
    for editing in trust.editing() {
        entries.insert(editing.path.clone(), TrustEntry { state: TrustState::Editing(editing.until), hash: None });
    }
    for candidate in &candidates.files {
        let state = match trust.ends(&candidate.path) {
            _ if trust.is_trusted_by_hash(&candidate.path, &candidate.hash) => TrustState::Trusted,
            Some(until) if !candidate.takes_a_person() => TrustState::Editing(until),
            _ if trust.knows(&candidate.path) => TrustState::Changed,
            _ => TrustState::Untrusted,
        };
        entries.insert(candidate.path.clone(), TrustEntry { state, hash: Some(candidate.hash.clone()) });
    }
    for refused in &candidates.refused {
        let state = TrustState::Refused(refused.why.clone());
        entries.insert(refused.path.clone(), TrustEntry { state, hash: None });
    }
    entries
}
