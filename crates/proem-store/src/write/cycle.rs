//! The end of a cycle, and versions of artefacts: compare, then set.

use std::collections::BTreeMap;

use proem_text::json::compact;
use serde_json::json;

use super::amount::{stored_count, stored_number};
use super::content::write_contents;
use super::person;
use super::work;
use crate::error::Error;
use crate::failpoint;
use crate::record::{Actor, ArtefactEdit, CycleFinish, NewArtefactVersion, Project};
use crate::sql::{Tables, Transaction, Write};
use crate::store::Store;
use proem_engine::run::Time;

/// The outcome of a cycle's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CycleAnswer {
    /// Everything is written, as the cycle of this number.
    Written {
        /// The number, from 1.
        cycle: u64,
    },
    /// Somebody wrote a version of an artefact, or handled a signal, after the cycle had read it: nothing is written,
    /// and the cycle has to begin again.
    Overtaken,
}

/// The outcome of writing a version of an artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtefactAnswer {
    /// It is the newest.
    Written,
    /// Another one came first, and nothing is written.
    Moved {
        /// The version of the newest.
        newest: u64,
    },
}

impl Store {
    /// Writes everything that a cycle changes, or nothing: the artefacts' versions, what became of the signals, and
    /// the cycle's line.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn finish_cycle(&self, finish: CycleFinish) -> Result<CycleAnswer, Error> {
        failpoint::beside("before", "cycle");
        let answer = self.write(finish).await?;
        failpoint::beside("after", "cycle");
        Ok(answer)
    }

    /// Writes a version of an artefact that a person made, if it follows the newest.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] unless a person made it, [`Error::Unusable`].
    pub async fn edit_artefact(&self, edit: ArtefactEdit) -> Result<ArtefactAnswer, Error> {
        failpoint::beside("before", "edit-artefact");
        let answer = self.write(edit).await?;
        failpoint::beside("after", "edit-artefact");
        Ok(answer)
    }
}

impl Write for CycleFinish {
    type Answer = CycleAnswer;
    const NAME: &'static str = "finish-cycle";

    fn write(&self, to: &mut Transaction<'_>) -> Result<CycleAnswer, Error> {
        // Everything is compared before anything is set: what is written in the same transaction goes on.
        if !is_chain(to.tables, &self.project, &self.artefacts)? {
            return Ok(CycleAnswer::Overtaken);
        }
        for signal in &self.handled {
            let open = "SELECT 1 FROM signals WHERE (project, id, revision) = (?, ?, ?) AND standing = 'open'";
            let id = (&self.project.0, &signal.id.id, &signal.id.revision);
            if to.tables.row(open, id, |_| Ok(()))?.is_none() {
                return Ok(CycleAnswer::Overtaken);
            }
        }
        let at = to.at(self.at);
        let last = "SELECT max(cycle) FROM triage_cycles WHERE project = ?";
        let last = to.tables.row(last, [&self.project.0], |row| row.get::<_, Option<i64>>(0))?.flatten();
        let cycle = last.map_or(0, stored_count).saturating_add(1);
        for version in &self.artefacts {
            add_version(to.tables, version, &Maker { project: &self.project, actor: &self.actor, at })?;
        }
        for signal in &self.handled {
            to.tables.execute(
                "UPDATE signals SET standing = 'handled', outcome = ?, cycle = ? \
                 WHERE (project, id, revision) = (?, ?, ?)",
                (compact(&signal.outcome), stored_number(cycle), &self.project.0, &signal.id.id, &signal.id.revision),
            )?;
        }
        to.tables.execute(
            "INSERT INTO triage_cycles (project, cycle, actor, began, at, counts) VALUES (?, ?, ?, ?, ?, ?)",
            (&self.project.0, stored_number(cycle), self.actor.to_string(), self.began.0, at.0, compact(&self.counts)),
        )?;
        work::fulfil_triage(to.tables, &self.project)?;
        Ok(CycleAnswer::Written { cycle })
    }
}

impl Write for ArtefactEdit {
    type Answer = ArtefactAnswer;
    const NAME: &'static str = "edit-artefact";

    fn write(&self, to: &mut Transaction<'_>) -> Result<ArtefactAnswer, Error> {
        person::must_be(&self.actor, "edits an artefact by hand")?;
        if let Some(newest) = self.moved(to.tables)? {
            return Ok(ArtefactAnswer::Moved { newest });
        }
        let at = to.at(self.at);
        add_version(to.tables, &self.version, &Maker { project: &self.project, actor: &self.actor, at })?;
        Ok(ArtefactAnswer::Written)
    }
}

impl ArtefactEdit {
    /// The version of the newest, if this one does not follow it.
    fn moved(&self, tables: &Tables) -> Result<Option<u64>, Error> {
        let newest = newest_version(tables, &self.project, &self.version.kind)?;
        Ok((newest.saturating_add(1) != self.version.version).then_some(newest))
    }
}

/// Whether each version follows the newest of its artefact, or the one before it in this list.
pub(super) fn is_chain<'v>(
    tables: &Tables,
    project: &Project,
    versions: impl IntoIterator<Item = &'v NewArtefactVersion>,
) -> Result<bool, Error> {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for version in versions {
        let before = match last.get(version.kind.as_str()) {
            Some(before) => *before,
            None => newest_version(tables, project, &version.kind)?,
        };
        if before.saturating_add(1) != version.version {
            return Ok(false);
        }
        last.insert(&version.kind, version.version);
    }
    Ok(true)
}

/// The maker of a version, and the time.
struct Maker<'m> {
    project: &'m Project,
    actor: &'m Actor,
    at: Time,
}

/// The version of the newest; 0 before the first.
fn newest_version(tables: &Tables, project: &Project, kind: &str) -> Result<u64, Error> {
    let newest = "SELECT max(version) FROM artefact_versions WHERE (project, kind) = (?, ?)";
    let newest = tables.row(newest, (&project.0, kind), |row| row.get::<_, Option<i64>>(0))?;
    Ok(newest.flatten().map_or(0, stored_count))
}

fn add_version(tables: &Tables, version: &NewArtefactVersion, maker: &Maker<'_>) -> Result<(), Error> {
    write_contents(tables, [&version.content, &version.entry])?;
    let causes: Vec<[&str; 2]> = version.causes.iter().map(|cause| [&*cause.id, &*cause.revision]).collect();
    tables.execute(
        "INSERT INTO artefact_versions (project, kind, version, actor, at, content, entry, causes) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            &maker.project.0,
            &version.kind,
            stored_number(version.version),
            maker.actor.to_string(),
            maker.at.0,
            &version.content.hash,
            &version.entry.hash,
            compact(&json!(causes)),
        ),
    )?;
    Ok(())
}
