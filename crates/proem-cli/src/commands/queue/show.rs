//! `proem queue show`.

use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::queue::QueuedAction;
use proem_app::{records, when};
use proem_guard::show;
use proem_text::json;
use serde_json::{Value as Json, json};

use super::{at_desk, page};
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run(id: &str, root: &Path, as_json: bool) -> Result<ExitCode, CommandFailure> {
    at_desk(root, async |desk| {
        let item = desk.item(&desk.find(id).await?).await?;
        if as_json {
            ui::document(&json::pretty(&as_value(&item)))?;
        } else {
            let zone = records::zone(&desk.project.config.budget)?;
            ui::listing(&page::item(&item, &desk.policy, &zone))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn as_value(item: &QueuedAction) -> Json {
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
            "content": proem_text::hex::encode(given.content.0),
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
        "content": proem_text::hex::encode(row.content.0),
        "says": item.action.as_ref().map(|action| show::tree_json(action.tree())),
        "decision": item.decision.as_ref().map(|decision| decision.to_json()),
        "bytes": item.detail.bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        "problem": item.draft.as_ref().and_then(|draft| draft.as_ref().err()).map(ToString::to_string),
        "transitions": transitions.collect::<Vec<_>>(),
        "approvals": approvals.collect::<Vec<_>>(),
    })
}
