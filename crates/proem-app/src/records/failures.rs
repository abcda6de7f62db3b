//! The failures that prompts learn from.

use proem_runtime::Environment;
use proem_store::query::FailureRow;
use proem_store::{Clearing, ClearingWay, StoreAccess, StoreCreator};

use super::{actor, look_at_records, open_records, records_owner};
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind};
use crate::project::OpenProject;
use crate::when;

/// The failures of an agent, or of all. Messages go to `notes`, also on failure.
///
/// # Errors
///
/// If the records can't be read.
pub async fn list_failures(
    project: &OpenProject,
    agent: Option<&str>,
    notes: &mut Vec<Note>,
) -> Result<Vec<FailureRow>, Error> {
    let store = look_at_records(project).await?.collect(notes);
    Ok(store.failures(&records_owner(project), agent).await?)
}

/// Clears the failures of an agent, or of all, or undoes that. Returns their number. Messages go to `notes`, also on
/// failure.
///
/// # Errors
///
/// If the records can't be written.
pub async fn clear(
    project: &OpenProject,
    agent: Option<&str>,
    way: ClearingWay,
    notes: &mut Vec<Note>,
) -> Result<u64, Error> {
    let opened = open_records(project, StoreAccess::Write).await?;
    notes.extend(opened.notes.into_iter().map(|words| Note::new(NoteKind::Records, words)));
    if opened.origin == StoreCreator::Foreign {
        let foreign = "these records were made by another installation, so they are read-only";
        return Err(Error::invalid(foreign).hinting(Hint::AdoptRecords));
    }
    let clearing = Clearing {
        project: records_owner(project),
        agent: agent.map(str::to_owned),
        way,
        actor: actor(&Environment::inherited(), project.places.channel),
        at: when::time_now(),
    };
    let count = opened.store.clear_failures(clearing).await;
    opened.store.close().await;
    Ok(count?)
}
