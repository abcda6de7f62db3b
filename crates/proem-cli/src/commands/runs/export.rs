//! `proem runs export`: a line for each call to a model, for other programs.

use std::process::ExitCode;

use proem_app::runs::export::{ExportForm, export_calls};
use proem_app::{records, when};
use proem_store::query::{RunScope, RunsWanted};

use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui;

/// The calls to export.
pub(super) struct ExportRequest<'w> {
    pub(super) form: ExportForm,
    pub(super) since: Option<&'w str>,
    pub(super) prompt: Option<&'w str>,
}

pub(super) async fn run_runs_export(
    project: &OpenProject,
    request: &ExportRequest<'_>,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let zone = records::booking_zone(&project.config.budget)?;
    let wanted = RunsWanted {
        project: place.whose().owner(project),
        since: request.since.map(|since| when::since(since, when::time_now(), &zone)).transpose()?,
        prompt: request.prompt.map(str::to_owned),
        listed: RunScope::Acted,
        ..RunsWanted::default()
    };
    let store = ui::print_notes_of(records::look_at_records(project).await?);
    let calls = export_calls(&store, &wanted, request.form, |lines| match request.form {
        ExportForm::JsonLines => ui::print_json_document(lines.trim_end()),
        ExportForm::Csv => ui::print_csv(lines),
    })
    .await?;
    store.close().await;
    if calls == 0 {
        let elsewhere = if place.all { "" } else { "; `--all` exports those of all projects" };
        ui::aside(&format!("no recorded call matches{elsewhere}\n"));
    }
    Ok(ExitCode::SUCCESS)
}
