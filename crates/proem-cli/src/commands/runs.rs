//! `proem runs`: what is kept of runs.

pub(crate) mod args;
mod diff;
mod feedback;
mod list;
mod purge;
mod replay;
mod resume;
mod show;

use std::process::ExitCode;

use proem_app::runs::diff::DiffOptions;
use proem_store::query::RunScope;

use self::args::{OutcomeArg, RunsCommand};
use crate::args::place::RecordsPlace;
use crate::failure::CommandFailure;
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;

pub(super) fn run(command: &RunsCommand) -> Result<ExitCode, CommandFailure> {
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
    let mut project = OpenProject::open(&place.root, &places, BookReading::Trusted)?;
    match command {
        RunsCommand::List { since, prompt, outcome, any, limit, place } => {
            let any = *any || *outcome == Some(OutcomeArg::Assembled);
            let wanted = list::RunFilter {
                since: since.as_deref(),
                prompt: prompt.as_deref(),
                outcome: *outcome,
                listed: listed(any),
                limit: *limit,
            };
            records::blocking(list::run(&project, &wanted, place))
        }
        RunsCommand::Show { run, body, call, full, any, place } => {
            let wanted = show::ShowRequest { run, body: *body, call: *call, full: *full, listed: listed(*any) };
            records::blocking(show::run(&project, &wanted, place))
        }
        RunsCommand::Diff { first, second, any, place } => {
            let (second, whose) = (second.as_deref(), place.whose());
            let options = DiffOptions { first, second, whose, listed: listed(*any) };
            records::blocking(diff::run(&project, &options, place))
        }
        RunsCommand::Replay { run, place } => replay::run(&mut project, run, place),
        RunsCommand::Resume { run, fork, place } => resume::run(&mut project, run, *fork, place),
        RunsCommand::Feedback { run, verdict, note, place } => {
            records::blocking(feedback::run(&project, run, (*verdict).into(), note, place))
        }
        RunsCommand::Purge { runs, before, everything: _, place } => {
            records::blocking(purge::run(&project, runs, before.as_deref(), place))
        }
    }
}

/// Which runs count where it is said whether any does.
const fn listed(any: bool) -> RunScope {
    if any { RunScope::Any } else { RunScope::Acted }
}
