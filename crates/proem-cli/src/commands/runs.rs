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
use proem_store::query::{RunDetail, RunsWanted};
use proem_store::record::RunId;
use serde::Deserialize as _;

use crate::args::records::{RecordsPlace, RunsCommand};
use crate::failure::Failure;
use crate::places::Places;
use crate::project::{Project, Reading};
use crate::records;

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
    let places = Places::find()?;
    let mut project = Project::open(&place.root, &places, Reading::Trusted)?;
    match command {
        RunsCommand::List { since, prompt, outcome, limit, place } => {
            let wanted =
                list::Wanted { since: since.as_deref(), prompt: prompt.as_deref(), outcome: *outcome, limit: *limit };
            records::blocking(list::run(&places, &project, &wanted, place))
        }
        RunsCommand::Show { run, body, call, full, place } => {
            let wanted = show::Wanted { run, body: *body, call: *call, full: *full };
            records::blocking(show::run(&places, &project, &wanted, place))
        }
        RunsCommand::Diff { first, second, place } => {
            records::blocking(diff::run(&places, &project, (first, second.as_deref()), place))
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

/// The versions that a run's requests were made with; `None` where that is not kept, or in a form that is not known.
fn versions(run: &RunDetail) -> Option<Versions> {
    let settings = run.settings.as_object()?;
    match settings.get("versions") {
        None => Some(Versions::default()),
        Some(written) => Versions::deserialize(written).ok(),
    }
}

/// The run whose id begins like that. `last` is the newest of this project, or of all that are meant.
async fn found(store: &Store, project: &Project, (id, place): (&str, &RecordsPlace)) -> Result<RunId, Failure> {
    match back(id).filter(|_| place.all) {
        Some(back) => newest(store, id, back).await,
        None => Ok(store.find(&records::owner(project), id).await?),
    }
}

/// How far back `last` or `last~N` goes.
fn back(id: &str) -> Option<u32> {
    match id.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// The newest run of all projects, or the one so many before it.
async fn newest(store: &Store, id: &str, back: u32) -> Result<RunId, Failure> {
    let wanted = RunsWanted { limit: Some(back.saturating_add(1)), ..RunsWanted::default() };
    let place = usize::try_from(back).unwrap_or(usize::MAX);
    let row = store.runs(&wanted).await?.into_iter().nth(place);
    row.map(|row| row.id).ok_or_else(|| {
        Failure::usage(match back {
            0 => "no run is recorded".to_owned(),
            _ => format!("there is no `{id}`: fewer runs are recorded; `proem runs list --all` names them"),
        })
    })
}
