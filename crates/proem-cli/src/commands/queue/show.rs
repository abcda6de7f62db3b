//! `proem queue show`.

use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::queue::QueuedAction;
use proem_app::triage::charter;
use proem_app::when;
use proem_guard::show::{self, TreeCap};
use proem_text::json;
use serde_json::{Value as Json, json};

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
            ShowForm::Json => ui::print_json_document(&json::pretty(&queued_action_json(&item)))?,
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

fn queued_action_json(item: &QueuedAction) -> Json {
    let row = &item.detail.row;
    let transitions = item.detail.transitions.iter().map(|made| {
        json!({
            "version": made.version.0,
            "at": when::rfc3339(made.at),
            "actor": made.actor,
            "event": made.event.as_str(),
            "from": made.from.as_str(),
            "to": made.to.as_str(),
            "details": made.details,
        })
    });
    let approvals = item.detail.approvals.iter().map(|given| {
        json!({
            "at": when::rfc3339(given.at),
            "actor": given.actor,
            "kind": given.kind.as_str(),
            "content": proem_text::hex::encode_hex(given.content.0),
            "expires": when::rfc3339(given.expires),
            "used": given.used.map(when::rfc3339),
            "void": given.void.map(when::rfc3339),
        })
    });
    json!({
        "id": row.key.to_string(),
        "action": row.scope.name,
        "state": row.state.as_str(),
        "version": row.version.0,
        "created": when::rfc3339(row.created),
        "due": row.due.map(when::rfc3339),
        "deadline": when::rfc3339(row.deadline),
        "content": proem_text::hex::encode_hex(row.content.0),
        "says": item.action.as_ref().map(|action| show::tree_json(action.tree())),
        "decision": item.decision.as_ref().map(|decision| decision.to_json()),
        "bytes": item.detail.bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        "problem": item.draft.as_ref().and_then(|draft| draft.as_ref().err()).map(ToString::to_string),
        "transitions": transitions.collect::<Vec<_>>(),
        "approvals": approvals.collect::<Vec<_>>(),
    })
}
