//! `proem queue list`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use jiff::tz::TimeZone;
use proem_app::{records, when};
use proem_engine::effect::ActionState;
use proem_store::query::ActionRow;
use proem_text::json;
use serde_json::{Value as Json, json};

use super::{at_desk, short};
use crate::failure::CommandFailure;
use crate::ui::{self, YELLOW, cell, styled};

#[derive(Debug, Parser)]
pub(crate) struct List {
    /// Only actions in this state; without it, all that have not ended
    #[arg(long, value_name = "STATE", value_parser = states())]
    state: Vec<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn states() -> PossibleValuesParser {
    PossibleValuesParser::new(ActionState::ALL.map(ActionState::as_str))
}

pub(super) fn run(args: &List) -> Result<ExitCode, CommandFailure> {
    let is_wanted = |state: &ActionState| args.state.iter().any(|wanted| wanted == state.as_str());
    let wanted: Vec<ActionState> = ActionState::ALL.into_iter().filter(is_wanted).collect();
    at_desk(&args.root, async |desk| {
        // One more than is shown tells whether there are more.
        let mut rows = desk.queue(&wanted, Some(args.limit.saturating_add(1))).await?;
        let most = usize::try_from(args.limit).unwrap_or(usize::MAX);
        let more = rows.len() > most;
        rows.truncate(most);
        if args.json {
            let rows: Vec<Json> = rows.iter().map(as_value).collect();
            ui::document(&json::pretty(&json!(rows)))?;
        } else if rows.is_empty() {
            ui::note("nothing waits in this project");
        } else {
            let zone = records::zone(&desk.project.config.budget)?;
            ui::listing(&rows.iter().map(|row| line(row, &zone)).collect::<String>())?;
        }
        if more {
            ui::note(&format!("there are more than {}; --limit shows more", args.limit));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn as_value(row: &ActionRow) -> Json {
    json!({
        "id": row.key.to_string(),
        "action": row.scope.name,
        "state": row.state.as_str(),
        "version": row.version.0,
        "created": when::rfc3339(row.created),
        "due": row.due.map(when::rfc3339),
        "deadline": when::rfc3339(row.deadline),
        "ended": row.ended.map(when::rfc3339),
        "decision": row.decision,
    })
}

fn line(row: &ActionRow, zone: &TimeZone) -> String {
    let state = cell(row.state.as_str(), 10);
    let state = match row.state {
        ActionState::Unknown | ActionState::Waiting => styled(YELLOW, &state),
        _ => state,
    };
    format!("{}  {state}  {}  {}\n", short(&row.key), cell(&row.scope.name, 24), next(row, zone))
}

/// What happens to it next, and when.
pub(super) fn next(row: &ActionRow, zone: &TimeZone) -> String {
    let by = |time| when::clock(time, zone);
    match row.state {
        ActionState::Held => row.due.map_or_else(String::new, |due| format!("goes by itself at {}", by(due))),
        ActionState::Waiting => format!("needs your yes before {}", by(row.deadline)),
        ActionState::Proposed => format!("waits until effects are on, ends {}", by(row.deadline)),
        ActionState::Approved => "goes with the next sweep".to_owned(),
        ActionState::Resend => "goes once more with the next sweep".to_owned(),
        ActionState::Executing | ActionState::Resending => "is on its way".to_owned(),
        ActionState::Unknown => "may have happened; look, then resolve it".to_owned(),
        _ => row.ended.map_or_else(String::new, |ended| format!("ended {}", by(ended))),
    }
}
