//! `proem runs export`: a line for each call to a model, for other programs.

use std::process::ExitCode;

use proem_app::runs::export::{ExportForm, export_calls};
use proem_app::{records, when};
use proem_store::query::{RunScope, RunsWanted};

use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui;

/// The runs to export.
pub(super) struct ExportedRuns<'w> {
    pub(super) since: Option<&'w str>,
    pub(super) prompt: Option<&'w str>,
    pub(super) place: &'w RecordsPlace,
}

impl ExportedRuns<'_> {
    /// Whether the runs are chosen, and not just those of the project.
    pub(super) const fn are_chosen(&self) -> bool {
        self.since.is_some() || self.prompt.is_some() || self.place.all
    }

    pub(super) fn wanted(&self, project: &OpenProject) -> Result<RunsWanted, CommandFailure> {
        let zone = records::booking_zone(&project.config.budget)?;
        Ok(RunsWanted {
            project: self.place.whose().owner(project),
            since: self.since.map(|since| when::since(since, when::time_now(), &zone)).transpose()?,
            prompt: self.prompt.map(str::to_owned),
            listed: RunScope::Acted,
            ..RunsWanted::default()
        })
    }
}

pub(super) async fn run_runs_export(
    project: &OpenProject,
    form: ExportForm,
    runs: &ExportedRuns<'_>,
) -> Result<ExitCode, CommandFailure> {
    let wanted = runs.wanted(project)?;
    let store = ui::print_notes_of(records::look_at_records(project).await?);
    let calls = export_calls(&store, &wanted, form, |lines| match form {
        ExportForm::JsonLines => ui::print_json_document(lines.trim_end()),
        ExportForm::Csv => ui::print_csv(lines),
    })
    .await?;
    store.close().await;
    if calls == 0 {
        let elsewhere = if runs.place.all { "" } else { "; `--all` exports those of all projects" };
        ui::aside(&format!("no recorded call matches{elsewhere}\n"));
    }
    Ok(ExitCode::SUCCESS)
}
