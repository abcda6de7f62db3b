//! The records of triage: signals, artefacts, cycles.

use std::collections::BTreeMap;

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use serde_json::Value as Json;

use super::actions::{limit, read_optional_time};
use super::values::{
    ReadFault, all_rows, column_count, column_json, column_value, column_word, count_or_null, first_row,
};
use crate::Store;
use crate::error::Error;
use crate::record::{Project, SignalStanding, WHOLE_BACKLOG};
use crate::sql::Row;

/// A signal that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalRow {
    /// Its place in the order in which signals came.
    pub seq: u64,
    /// Its id, and which content it has.
    pub id: SignalRevision,
    /// When it came.
    pub at: Time,
    /// The system that it came from.
    pub source: String,
    /// The kind of its subject.
    pub kind: String,
    /// When it says that it happened, if that is known.
    pub time: Option<Time>,
    /// Its written form. `None` once it is gone, or where only hashes are kept.
    pub text: Option<String>,
    /// Open, handled, set aside or malformed.
    pub standing: SignalStanding,
    /// Its outcome. Null before a cycle handled it, and once the outcome is gone.
    pub outcome: Json,
    /// The cycle that handled it.
    pub cycle: Option<u64>,
}

/// One version of an artefact as the store knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtefactVersionRow {
    /// The artefact's kind, in the project's words.
    pub kind: String,
    /// The version, from 1.
    pub version: u64,
    /// When it was made.
    pub at: Time,
    /// The actor that made it, as stored.
    pub actor: String,
    /// The written form of the artefact. `None` once it is gone, or where only hashes are kept.
    pub content: Option<String>,
    /// The written form of what changed. `None` likewise.
    pub entry: Option<String>,
    /// The signals that it came from. None once its texts are gone.
    pub causes: Vec<SignalRevision>,
}

/// The line of a cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct CycleRow {
    /// Its number, from 1.
    pub cycle: u64,
    /// When it began.
    pub began: Time,
    /// When it ended.
    pub at: Time,
    /// The numbers of signals, changes and questions, as an object.
    pub counts: Json,
}

pub(super) const SIGNALS: &str = "SELECT s.seq, s.id, s.revision, s.at, s.source, s.kind, s.time, CAST(c.bytes AS TEXT) AS text, \
    s.standing, s.outcome, s.cycle FROM signals s LEFT JOIN contents c ON c.hash = s.text";

const VERSIONS: &str = "SELECT v.kind, v.version, v.at, v.actor, CAST(c.bytes AS TEXT) AS content, \
    CAST(e.bytes AS TEXT) AS entry, v.causes FROM artefact_versions v LEFT JOIN contents c ON c.hash = v.content \
    LEFT JOIN contents e ON e.hash = v.entry";

impl Store {
    /// Signals that no cycle has handled, in the order in which they came.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn open_signals(&self, project: &Project, most: u64) -> Result<Vec<SignalRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql = format!("{SIGNALS} WHERE s.project = ? AND s.standing = 'open' ORDER BY s.seq LIMIT ?");
            all_rows(reader, &sql, (&project.0, limit(Some(most))), read_signal_row)
        })
        .await
    }

    /// Signals of a project in the order in which they came, whatever they are at: those after a place, 0 for all.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn signals(&self, project: &Project, after: u64, most: u64) -> Result<Vec<SignalRow>, Error> {
        let project = project.clone();
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.read(move |reader, _site| {
            let sql = format!("{SIGNALS} WHERE s.project = ? AND s.seq > ? ORDER BY s.seq LIMIT ?");
            all_rows(reader, &sql, (&project.0, after, limit(Some(most))), read_signal_row)
        })
        .await
    }

    /// A signal in one of its revisions. `None` if it was never taken in.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn signal(&self, project: &Project, id: &SignalRevision) -> Result<Option<SignalRow>, Error> {
        let (project, id) = (project.clone(), id.clone());
        self.read(move |reader, _site| {
            let sql = format!("{SIGNALS} WHERE (s.project, s.id, s.revision) = (?, ?, ?)");
            first_row(reader, &sql, (&project.0, &id.id, &id.revision), read_signal_row)
        })
        .await
    }

    /// How many signals a project has, by what they are at. Lines of [`WHOLE_BACKLOG`] are none.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn signal_counts(&self, project: &Project) -> Result<BTreeMap<SignalStanding, u64>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let counted = "SELECT standing, count(*) AS signals FROM signals WHERE project = ? AND kind <> ? \
                           GROUP BY standing";
            let counted = all_rows(reader, counted, [project.0.as_str(), WHOLE_BACKLOG], |row| {
                Ok((column_word(row, "standing")?, column_count(row, "signals")?))
            })?;
            Ok(counted.into_iter().collect())
        })
        .await
    }

    /// The lines of cycles that ended at or after a time, oldest first. Of all projects without one.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn cycles_since(&self, project: Option<&Project>, since: Time) -> Result<Vec<CycleRow>, Error> {
        let project = project.map(|project| project.0.clone());
        self.read(move |reader, _site| {
            let sql = "SELECT cycle, began, at, counts FROM triage_cycles \
                       WHERE (?1 IS NULL OR project = ?1) AND at >= ?2 ORDER BY at, project, cycle";
            all_rows(reader, sql, (project, since.0), read_cycle_row)
        })
        .await
    }

    /// A version of an artefact, the newest without a number. `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn artefact(
        &self,
        project: &Project,
        kind: &str,
        version: Option<u64>,
    ) -> Result<Option<ArtefactVersionRow>, Error> {
        let (project, kind) = (project.clone(), kind.to_owned());
        let version = version.map(|version| i64::try_from(version).unwrap_or(i64::MAX));
        self.read(move |reader, _site| {
            let sql = format!(
                "{VERSIONS} WHERE v.project = ? AND v.kind = ? AND v.version = coalesce(?, v.version) \
                 ORDER BY v.version DESC LIMIT 1"
            );
            first_row(reader, &sql, (&project.0, &kind, version), artefact)
        })
        .await
    }

    /// All versions of an artefact, the newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn artefact_versions(
        &self,
        project: &Project,
        kind: &str,
        most: u64,
    ) -> Result<Vec<ArtefactVersionRow>, Error> {
        let (project, kind) = (project.clone(), kind.to_owned());
        self.read(move |reader, _site| {
            let sql = format!("{VERSIONS} WHERE v.project = ? AND v.kind = ? ORDER BY v.version DESC LIMIT ?");
            all_rows(reader, &sql, (&project.0, &kind, limit(Some(most))), artefact)
        })
        .await
    }

    /// The last cycles of a project, the newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn cycles(&self, project: &Project, most: u64) -> Result<Vec<CycleRow>, Error> {
        let project = project.clone();
        self.read(move |reader, _site| {
            let sql =
                "SELECT cycle, began, at, counts FROM triage_cycles WHERE project = ? ORDER BY cycle DESC LIMIT ?";
            all_rows(reader, sql, (&project.0, limit(Some(most))), read_cycle_row)
        })
        .await
    }
}

fn read_cycle_row(row: &Row<'_>) -> Result<CycleRow, ReadFault> {
    Ok(CycleRow {
        cycle: column_count(row, "cycle")?,
        began: Time(column_value(row, "began")?),
        at: Time(column_value(row, "at")?),
        counts: column_json(row, "counts")?,
    })
}

pub(super) fn read_signal_row(row: &Row<'_>) -> Result<SignalRow, ReadFault> {
    let outcome = match column_value::<Option<String>>(row, "outcome")? {
        Some(_) => column_json(row, "outcome")?,
        None => Json::Null,
    };
    Ok(SignalRow {
        seq: column_count(row, "seq")?,
        id: SignalRevision { id: column_value(row, "id")?, revision: column_value(row, "revision")? },
        at: Time(column_value(row, "at")?),
        source: column_value(row, "source")?,
        kind: column_value(row, "kind")?,
        time: read_optional_time(row, "time")?,
        text: column_value(row, "text")?,
        standing: column_word(row, "standing")?,
        outcome,
        cycle: count_or_null(row, "cycle")?,
    })
}

fn artefact(row: &Row<'_>) -> Result<ArtefactVersionRow, ReadFault> {
    let causes: Vec<(String, String)> = serde_json::from_value(column_json(row, "causes")?)
        .map_err(|error| ReadFault::Odd(format!("`causes` is no list of signals: {error}")))?;
    Ok(ArtefactVersionRow {
        kind: column_value(row, "kind")?,
        version: column_count(row, "version")?,
        at: Time(column_value(row, "at")?),
        actor: column_value(row, "actor")?,
        content: column_value(row, "content")?,
        entry: column_value(row, "entry")?,
        causes: causes.into_iter().map(|(id, revision)| SignalRevision { id, revision }).collect(),
    })
}
