//! `proem runs diff`: what changed between two requests, and why the cache missed.

mod draw;
pub(in crate::commands) mod output;

use std::process::ExitCode;

use proem_app::runs::diff::{DiffOptions, Runs};
use proem_text::json;
use serde_json::json;

use self::output::RunsDiffOutput;
use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui;
use proem_app::records;

pub(super) async fn run_runs_diff(
    project: &OpenProject,
    options: &DiffOptions<'_>,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let mut notes = Vec::new();
    let runs = Runs::look(project, options, &mut notes).await;
    ui::print_notes(&notes);
    let runs = runs?;
    let mut notes = Vec::new();
    let pairs = runs.pairs(&mut notes).await;
    ui::print_notes(&notes);
    let pairs = pairs?;
    if place.json {
        let output = if runs.are_one() {
            RunsDiffOutput::of_run(&runs.former, &pairs)
        } else {
            RunsDiffOutput::of_pair(&pairs)?
        };
        ui::print_json_document(&json::pretty(&json!(output)))?;
    } else {
        let zone = records::booking_zone(&project.config.budget)?;
        let pages: Vec<String> = pairs.iter().map(|pair| draw::run_diff_page(pair, &zone)).collect();
        ui::print_listing(&pages.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
