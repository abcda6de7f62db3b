//! `proem queue show`.

use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::output::QueuedActionOutput;
use proem_app::effects::queue::QueuedAction;
use proem_app::triage::charter;
use proem_guard::show::TreeCap;
use proem_text::json;
use serde_json::json;

use super::opening::at_desk;
use super::page;
use crate::failure::CommandFailure;
use crate::ui;

/// How an action is shown.
#[derive(Debug, Clone, Copy)]
pub(super) enum ShowForm {
    /// For a person.
    Page,
    /// Everything that is known of it.
    Json,
    /// The exact bytes that leave.
    Raw,
}

pub(super) fn run_queue_show(id: &str, root: &Path, form: ShowForm) -> Result<ExitCode, CommandFailure> {
    at_desk(root, async |desk| {
        let item = desk.item(&desk.find(id).await?).await?;
        match form {
            ShowForm::Json => ui::print_json_document(&json::pretty(&json!(QueuedActionOutput::new(&item))))?,
            ShowForm::Raw => print_action_bytes(&item)?,
            ShowForm::Page => {
                let zone = charter::project_zone(desk.project)?;
                ui::print_listing(&page::action_page(&item, &desk.policy, &zone, TreeCap::WHOLE))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints what leaves, or has left: for an action that was not taken up yet, as it would be made now.
fn print_action_bytes(item: &QueuedAction) -> Result<(), CommandFailure> {
    if let Some(recorded) = &item.detail.bytes {
        return ui::print_raw_bytes(recorded);
    }
    match &item.draft {
        None => Err(CommandFailure::finding("its texts are gone, and no bytes were kept")),
        Some(Err(problem)) => Err(CommandFailure::finding(format!("it has no bytes: {problem}"))),
        Some(Ok(draft)) => {
            ui::print_note(
                "it has not left yet; these are its bytes as of now, and a mail's date will be that of its sending",
            );
            ui::print_raw_bytes(&draft.bytes)
        }
    }
}
