//! Artefacts as people read them: as they stand, what changed, and what differs between two versions.

use proem_agents::triage::artefact::{Artefact, ArtefactKind, ArtefactLogEntry};

use super::desk::TriageDesk;
use crate::error::Error;

/// The most versions whose changes are shown at once.
pub const MAX_VERSIONS: u64 = 1_000;

/// A version with what changed in it.
#[derive(Debug, Clone)]
pub struct VersionEntry {
    /// Which artefact.
    pub kind: ArtefactKind,
    /// The version.
    pub version: u64,
    /// What changed; `None` once its texts are gone.
    pub entry: Option<ArtefactLogEntry>,
}

impl TriageDesk<'_> {
    /// A version of an artefact, the newest without a number.
    ///
    /// # Errors
    ///
    /// If there is no such version, its text is gone, or the records can't be read.
    pub async fn version(&self, kind: ArtefactKind, version: Option<u64>) -> Result<Artefact, Error> {
        let name = kind.as_str();
        let row = self.desk.store.artefact(&self.desk.owner, kind.as_str(), version).await?;
        let Some(row) = row else {
            return match version {
                None => Ok(Artefact::new(kind, &self.charter.id)),
                Some(version) => Err(Error::invalid(format!("the {name} has no version {version}; look at its log"))),
            };
        };
        let Some(content) = row.content else {
            let version = row.version;
            return Err(Error::negative(format!(
                "the text of version {version} of the {name} is gone; a purge took it"
            )));
        };
        Artefact::read(&content)
            .map_err(|error| Error::outside(format!("the {name} of the records can't be read: {error}")))
    }

    /// What changed of some artefacts, the newest first.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn changes(&self, kinds: &[ArtefactKind], most: u64) -> Result<Vec<VersionEntry>, Error> {
        let mut all = Vec::new();
        for kind in kinds {
            let rows =
                self.desk.store.artefact_versions(&self.desk.owner, kind.as_str(), most.min(MAX_VERSIONS)).await?;
            for row in rows {
                // An entry that can't be read is listed as gone, so that the others are.
                let entry = row.entry.as_deref().and_then(|entry| ArtefactLogEntry::read(entry).ok());
                all.push((row.at, VersionEntry { kind: *kind, version: row.version, entry }));
            }
        }
        all.sort_by_key(|(at, entry)| (std::cmp::Reverse(*at), entry.kind, std::cmp::Reverse(entry.version)));
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(all.into_iter().take(most).map(|(_, entry)| entry).collect())
    }
}
