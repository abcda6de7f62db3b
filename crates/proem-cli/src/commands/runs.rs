//! `proem runs`: what is kept of runs.

mod diff;
mod feedback;
mod list;
mod purge;
mod replay;
mod resume;
mod show;

use std::process::ExitCode;

use proem_engine::versions::Versions;
use proem_store::Store;
use proem_store::query::{Listed, RunDetail};
use proem_store::record::RunId;
use serde::Deserialize as _;

use crate::args::records::{OutcomeArg, RecordsPlace, RunsCommand};
use crate::failure::Failure;
use proem_app::places::Places;
use proem_app::project::{Project, Reading};
use proem_app::records;

pub(super) fn run(command: &RunsCommand) -> Result<ExitCode, Failure> {
    let place = match command {
        RunsCommand::List { place, .. }
        | RunsCommand::Show { place, .. }
        | RunsCommand::Diff { place, .. }
        | RunsCommand::Replay { place, .. }
        | RunsCommand::Resume { place, .. }
        | RunsCommand::Feedback { place, .. }
        | RunsCommand::Purge { place, .. } => place,
    };
    let places = crate::places()?;
    let mut project = Project::open(&place.root, &places, Reading::Trusted)?;
    match command {
        RunsCommand::List { since, prompt, outcome, any, limit, place } => {
            let any = *any || *outcome == Some(OutcomeArg::Assembled);
            let wanted = list::Wanted {
                since: since.as_deref(),
                prompt: prompt.as_deref(),
                outcome: *outcome,
                listed: listed(any),
                limit: *limit,
            };
            records::blocking(list::run(&places, &project, &wanted, place))
        }
        RunsCommand::Show { run, body, call, full, any, place } => {
            let wanted = show::Wanted { run, body: *body, call: *call, full: *full, listed: listed(*any) };
            records::blocking(show::run(&places, &project, &wanted, place))
        }
        RunsCommand::Diff { first, second, any, place } => {
            let wanted = diff::Wanted { first, second: second.as_deref(), listed: listed(*any) };
            records::blocking(diff::run(&places, &project, &wanted, place))
        }
        RunsCommand::Replay { run, place } => replay::run(&places, &mut project, run, place),
        RunsCommand::Resume { run, fork, place } => resume::run(&places, &mut project, (run, *fork), place),
        RunsCommand::Feedback { run, verdict, note, place } => {
            records::blocking(feedback::run(&places, &project, (run, *verdict, note), place))
        }
        RunsCommand::Purge { runs, before, everything: _, place } => {
            records::blocking(purge::run(&places, &project, (runs, before.as_deref()), place))
        }
    }
}

/// Which runs count where it is said whether any does.
const fn listed(any: bool) -> Listed {
    if any { Listed::Any } else { Listed::Acted }
}

/// The versions that a run's requests were made with; `None` where that is not kept, or in a form that is not known.
fn versions(run: &RunDetail) -> Option<Versions> {
    let settings = run.settings.as_object()?;
    match settings.get("versions") {
        None => Some(Versions::default()),
        Some(written) => Versions::deserialize(written).ok(),
    }
}

/// The run whose id begins like that. `last` is the newest of this project, or of all that are meant, among those
/// that are `listed`.
async fn found(
    store: &Store,
    project: &Project,
    (id, place): (&str, &RecordsPlace),
    listed: Listed,
) -> Result<RunId, Failure> {
    let owner = records::owner(project);
    Ok(store.find((!place.all).then_some(&owner), listed, id).await?)
}
