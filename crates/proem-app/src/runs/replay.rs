//! A run's requests made anew from its record, and compared byte by byte.

use proem_engine::versions::{VersionChange, version_change_words};
use proem_runtime::records::{ReplayMeans, ReplayReport, replay};
use proem_store::query::{RunDetail, RunScope};
use proem_store::record::Replayable;

use super::{find_run, versions};
use crate::agents::Agents;
use crate::agents::record::RunRecord;
use crate::error::Error;
use crate::lisp::running;
use crate::message::{Message, Note};
use crate::project::OpenProject;
use crate::records::{self, Whose};

/// A run that was replayed.
#[derive(Debug)]
pub struct ReplayedRun {
    /// Its record.
    pub detail: RunDetail,
    /// The result, this time.
    pub report: ReplayReport,
    /// The versions of what made its requests that are others today.
    pub versions: Vec<VersionChange>,
}

/// Makes the requests of a run anew, by its own agent, and compares them with its record. Nothing is sent. Messages go
/// to `notes`, also on failure.
///
/// # Errors
///
/// If there is no such run, or something of its record is missing, damaged or changed.
pub async fn replay_run(
    agents: &Agents,
    project: &OpenProject,
    run: &str,
    whose: Whose,
    notes: &mut Vec<Note>,
) -> Result<ReplayedRun, Error> {
    let store = records::look_at_records(project).await?.collect(notes);
    let id = find_run(&store, project, run, whose, RunScope::Acted).await?;
    let detail = store.run(&id).await?;
    if detail.row.kind == running::KIND {
        if let Replayable::No(why) = &detail.replayable {
            return Err(replay_refusal(&detail, why.as_str()));
        }
        let report = running::replay_program(&store, project, &detail).await;
        store.close().await;
        let versions = versions(&detail).map(|versions| versions.changed()).unwrap_or_default();
        return Ok(ReplayedRun { report: report?.between(&versions), detail, versions });
    }
    let record = RunRecord { store: &store, detail: &detail, places: &project.places };
    let read = agents.read_back(&record).await;
    if let Replayable::No(why) = &detail.replayable {
        return Err(replay_refusal(&detail, why.as_str()));
    }
    let unknown = || replay_refusal(&detail, "the versions that made it are unknown");
    let versions = versions(&detail).ok_or_else(unknown)?.changed();
    let read = read.map_err(|why| replay_refusal(&detail, blame_versions(&versions, why)))?;
    let mut machine = read.run.machine();
    let models = read.run.access().models();
    let means = ReplayMeans { models: &models, questions: read.run.recorded_questions() };
    let report = replay(&store, &detail, means, &mut machine, |end| end.outcome.clone()).await?.between(&versions);
    drop(machine);
    store.close().await;
    match read.changed {
        // A change that shows in no request is still a change.
        Some(why) if report.difference.is_none() => Err(replay_refusal(&detail, why)),
        _ => Ok(ReplayedRun { detail, report, versions }),
    }
}

/// Says why a run can't be replayed.
fn replay_refusal(detail: &RunDetail, why: impl Into<Message>) -> Error {
    let Message { text, hint } = why.into();
    let refused = Error::negative(format!("run {} can't be replayed: {text}", detail.row.id.short()));
    hint.into_iter().fold(refused, Error::hinting)
}

/// Why a record made with other versions can't be read or rebuilt.
fn blame_versions(versions: &[VersionChange], why: Message) -> Message {
    if versions.is_empty() {
        return why;
    }
    let (recorded, today) = version_change_words(versions);
    Message { text: format!("it was made with {recorded}, but this Proem has {today}: {}", why.text), ..why }
}
