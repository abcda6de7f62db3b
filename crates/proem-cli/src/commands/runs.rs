//! `proem runs`: what is kept of runs.

pub(crate) mod args;
pub(super) mod diff;
mod export;
pub(super) mod feedback;
mod list;
mod purge;
pub(super) mod replay;
mod resume;
pub(super) mod show;
mod spans;
mod stuck;

use std::process::ExitCode;

use proem_app::runs::diff::DiffOptions;
use proem_app::runs::export::ExportForm;
use proem_store::query::RunScope;

use self::args::{OutcomeArg, RunsCommand};
use crate::args::place::RecordsPlace;
use crate::failure::CommandFailure;
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;

pub(super) fn run_runs(command: &RunsCommand) -> Result<ExitCode, CommandFailure> {
    let place = match command {
        RunsCommand::List { place, .. }
        | RunsCommand::Show { place, .. }
        | RunsCommand::Stuck { place, .. }
        | RunsCommand::Diff { place, .. }
        | RunsCommand::Export { place, .. }
        | RunsCommand::Replay { place, .. }
        | RunsCommand::Resume { place, .. }
        | RunsCommand::Feedback { place, .. }
        | RunsCommand::Purge { place, .. } => place,
    };
    let places = crate::user_places()?;
    let mut project = OpenProject::open(&place.root, &places, BookReading::Trusted)?;
    match command {
        RunsCommand::List { since, prompt, outcome, any, limit, place } => {
            let any = *any || *outcome == Some(OutcomeArg::Assembled);
            let wanted = list::RunFilter {
                since: since.as_deref(),
                prompt: prompt.as_deref(),
                outcome: *outcome,
                listed: run_scope(any),
                limit: *limit,
            };
            records::blocking(list::run_runs_list(&project, &wanted, place))
        }
        RunsCommand::Show { run, body, call, svg, full, any, place } => {
            let (svg, listed) = (svg.as_deref(), run_scope(*any));
            let wanted = show::ShowRequest { run, body: *body, call: *call, full: *full, svg, listed };
            records::blocking(show::run_runs_show(&project, &wanted, place))
        }
        RunsCommand::Stuck { running, place } => records::blocking(stuck::run_runs_stuck(&project, running, place)),
        RunsCommand::Diff { first, second, any, place } => {
            let (second, whose) = (second.as_deref(), place.whose());
            let options = DiffOptions { first, second, whose, listed: run_scope(*any) };
            records::blocking(diff::run_runs_diff(&project, &options, place))
        }
        RunsCommand::Export { csv, jsonl: _, spans, since, prompt, place } => {
            let runs = export::ExportedRuns { since: since.as_deref(), prompt: prompt.as_deref(), place };
            if let Some(url) = &spans.otlp {
                return records::blocking(spans::run_span_export(&project, url.as_deref(), spans, &runs));
            }
            let form = if *csv { ExportForm::Csv } else { ExportForm::JsonLines };
            records::blocking(export::run_runs_export(&project, form, &runs))
        }
        RunsCommand::Replay { run, place } => replay::run_runs_replay(&mut project, run, place),
        RunsCommand::Resume { run, fork, place } => resume::run_runs_resume(&mut project, run, *fork, place),
        RunsCommand::Feedback { run, verdict, note, place } => {
            records::blocking(feedback::run_runs_feedback(&project, run, (*verdict).into(), note, place))
        }
        RunsCommand::Purge { runs, before, everything: _, place } => {
            records::blocking(purge::run_runs_purge(&project, runs, before.as_deref(), place))
        }
    }
}

/// The runs that count towards whether there is any.
const fn run_scope(any: bool) -> RunScope {
    if any { RunScope::Any } else { RunScope::Acted }
}
