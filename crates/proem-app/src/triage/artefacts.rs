//! Artefacts as people read them: as they are, what changed, and what differs between two versions.

use std::collections::BTreeSet;

use proem_engine::effect::key::SignalRevision;
use proem_store::query::SignalRow;
use proem_triage::ProjectSignal;
use proem_triage::artefact::{
    Artefact, ArtefactKind, ArtefactLogEntry, ProjectFigures, ProjectHealth, ReportSource, ReportSources, ReportTerms,
    artefacts_markdown,
};

use super::desk::TriageDesk;
use crate::error::Error;
use crate::when;

/// The most versions whose changes are shown at once.
pub const MAX_VERSIONS: u64 = 1_000;

/// A version with what changed in it.
#[derive(Debug, Clone)]
pub struct VersionEntry {
    /// Which artefact.
    pub kind: ArtefactKind,
    /// Versions count from 1 and never go back.
    pub version: u64,
    /// The change. `None` once its texts are gone.
    pub entry: Option<ArtefactLogEntry>,
}

/// Artefacts as they are, with all that a report says beside them.
#[derive(Debug)]
pub struct ArtefactReport {
    /// The artefacts that are shown.
    pub artefacts: Vec<Artefact>,
    /// The figures of the project.
    pub figures: ProjectFigures,
    /// The colour that all artefacts of the project give, also those that are not shown.
    pub health: ProjectHealth,
    title: String,
    sources: ReportSources,
    ahead_of_utc: i64,
}

impl ArtefactReport {
    /// The artefacts as Markdown that a person reads.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let terms = ReportTerms {
            title: &self.title,
            figures: Some(&self.figures),
            health: Some(&self.health),
            sources: &self.sources,
            ahead_of_utc: self.ahead_of_utc,
        };
        artefacts_markdown(&self.artefacts.iter().collect::<Vec<_>>(), terms)
    }
}

impl TriageDesk<'_> {
    /// Artefacts of these kinds as they are.
    ///
    /// # Errors
    ///
    /// If the text of one is gone, or the records can't be read.
    pub async fn artefact_report(&self, kinds: &[ArtefactKind]) -> Result<ArtefactReport, Error> {
        let mut artefacts = Vec::new();
        for kind in kinds {
            artefacts.push(self.version(*kind, None).await?);
        }
        let all = self.artefacts().await?;
        Ok(ArtefactReport {
            figures: self.figures(&all).await?,
            health: ProjectHealth::of(all.iter(), self.charter.wall_clock(when::time_now())),
            title: self.charter.name.clone(),
            sources: self.report_sources(&artefacts).await?,
            ahead_of_utc: self.charter.ahead_of_utc,
            artefacts,
        })
    }

    /// The signals that statements came from, as people know them. Those whose text is gone are missing.
    async fn report_sources(&self, artefacts: &[Artefact]) -> Result<ReportSources, Error> {
        let statements = artefacts.iter().flat_map(Artefact::items).flat_map(|(_, item)| item.statements());
        let origins = statements.flat_map(|(_, statement)| statement.origins());
        let named: BTreeSet<SignalRevision> = origins.filter_map(|origin| origin.signal().cloned()).collect();
        let rows = self.desk.store.signals_named(&self.desk.owner, &named.into_iter().collect::<Vec<_>>()).await?;
        let screening = self.desk.guarding.screening()?;
        let source = |row: SignalRow| {
            let signal = ProjectSignal::read(&row.text?).ok()?;
            Some((row.id, ReportSource::of(&signal, row.at, &self.charter, screening)))
        };
        Ok(rows.into_iter().filter_map(source).collect())
    }

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

    /// The changes of some artefacts, newest first.
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
