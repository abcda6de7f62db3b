//! Runs that do not end by themselves.

use proem_engine::run::Time;
use proem_store::Store;
use proem_store::query::{RunRow, RunScope, RunState, RunsWanted};
use proem_store::record::RunCaller;

use crate::error::Error;
use crate::project::OpenProject;
use crate::records::Whose;

/// The runs that wait for a person, the newest first: those that have a question, those whose process is gone, and
/// those that have been running since before `slow`. A run that another one called is left out, because it ends with
/// its caller.
///
/// # Errors
///
/// If the records can't be read.
pub async fn stuck_runs(store: &Store, project: &OpenProject, whose: Whose, slow: Time) -> Result<Vec<RunRow>, Error> {
    let wanted = RunsWanted { project: whose.owner(project), listed: RunScope::Unfinished, ..RunsWanted::default() };
    let mut rows = store.runs(&wanted).await?;
    rows.retain(|row| is_stuck(row, slow));
    Ok(rows)
}

fn is_stuck(row: &RunRow, slow: Time) -> bool {
    let is_called = row.caller.as_ref().is_some_and(|caller| caller.effect != RunCaller::CHAINED);
    let is_waiting = match row.state {
        RunState::Asking | RunState::Interrupted => true,
        RunState::Running => row.started < slow,
        RunState::Ended(_) => false,
    };
    is_waiting && !is_called
}
