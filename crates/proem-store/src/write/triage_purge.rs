//! Deleting what triage keeps.
//!
//! Invariants: an open signal stays, as does one that something open is on. The newest version of each artefact stays.
//! Ids and versions stay for good, so that nothing is taken up twice and no version is given twice.

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::json;

use super::amount::length_as_u64;
use super::disposal;
use super::event::StoreEvent;
use crate::error::Error;
use crate::record::{Actor, Project};
use crate::sql::{Company, Tables, Transaction, Write};
use crate::store::Store;

/// The part of a project's triage to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriagePurge {
    /// Of which project.
    pub project: Project,
    /// Everything that came, was made or ran before this time.
    pub before: Time,
    /// Signals that something open is on, as whoever reads artefacts and actions knows.
    pub keep: Vec<SignalRevision>,
    /// The actor that asks for it.
    pub actor: Actor,
    /// When it was said.
    pub at: Time,
}

/// The numbers of deleted lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TriagePurgeCounts {
    /// How many signals lost their texts.
    pub signals: u64,
    /// How many versions of artefacts lost theirs.
    pub versions: u64,
    /// How many lines of cycles are gone.
    pub cycles: u64,
    /// How many contents that nothing refers to any more.
    pub contents: u64,
    /// How many bytes the file became smaller.
    pub bytes: u64,
    /// Whether some of it is still in the store's files, for somebody read them meanwhile.
    pub held: bool,
}

impl TriagePurgeCounts {
    /// Whether nothing was there to delete.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.signals == 0 && self.versions == 0 && self.cycles == 0
    }
}

impl Store {
    /// Deletes the texts of signals, of versions of artefacts and of cycles from before a time. The last cycle and each
    /// artefact's newest version stay whatever their time.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn purge_triage(&self, purge: TriagePurge) -> Result<TriagePurgeCounts, Error> {
        self.write(purge).await
    }
}

impl Write for TriagePurge {
    type Answer = TriagePurgeCounts;
    const NAME: &'static str = "purge-triage";
    const COMPANY: Company = Company::None;

    fn write(&self, to: &mut Transaction<'_>) -> Result<TriagePurgeCounts, Error> {
        let tables = to.tables;
        let at = to.at(self.at);
        let mut purged = TriagePurgeCounts::default();
        disposal::deleting(tables, || {
            purged.signals = purge_signals(tables, self)?;
            tables.execute(
                "UPDATE signal_judgements SET note = NULL WHERE project = ?1 AND at < ?2",
                (&self.project.0, self.before.0),
            )?;
            purged.versions = length_as_u64(tables.execute(
                "UPDATE artefact_versions SET content = NULL, entry = NULL, causes = '[]' \
                 WHERE project = ?1 AND at < ?2 AND content IS NOT NULL AND version < (SELECT max(n.version) \
                 FROM artefact_versions n WHERE (n.project, n.kind) = (?1, artefact_versions.kind))",
                (&self.project.0, self.before.0),
            )?);
            purged.cycles = length_as_u64(tables.execute(
                "DELETE FROM triage_cycles WHERE project = ?1 AND at < ?2 \
                 AND cycle < (SELECT max(cycle) FROM triage_cycles WHERE project = ?1)",
                (&self.project.0, self.before.0),
            )?);
            Ok(())
        })?;
        if !purged.is_nothing() {
            purged.contents = disposal::delete_unreferenced(tables)?;
            let TriagePurgeCounts { signals, versions, cycles, contents, .. } = purged;
            let details = json!({
                "before": self.before, "signals": signals, "versions": versions, "cycles": cycles, "contents": contents,
            });
            StoreEvent { project: &self.project, actor: &self.actor, at, what: "triage-purged", details }
                .write(tables)?;
        }
        Ok(purged)
    }

    fn afterwards(purged: &mut TriagePurgeCounts, tables: &Tables) {
        if purged.is_nothing() {
            disposal::spare(tables);
        } else {
            let shrinkage = disposal::shrink_file(tables);
            purged.held = shrinkage.held;
            purged.bytes = shrinkage.bytes;
        }
    }
}

/// Takes the texts of signals that nothing open is on. How many.
fn purge_signals(tables: &Tables, purge: &TriagePurge) -> Result<u64, Error> {
    let keep: Vec<[&str; 2]> = purge.keep.iter().map(|kept| [&*kept.id, &*kept.revision]).collect();
    let chosen = tables.execute(
        "UPDATE signals SET text = NULL, outcome = NULL WHERE project = ?1 AND at < ?2 AND text IS NOT NULL \
         AND standing <> 'open' \
         AND NOT EXISTS (SELECT 1 FROM quarantined q WHERE (q.project, q.signal, q.revision) = \
         (?1, signals.id, signals.revision) AND q.state = 'quarantined') \
         AND (id, revision) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?3))",
        (&purge.project.0, purge.before.0, compact(&json!(keep))),
    )?;
    Ok(length_as_u64(chosen))
}
