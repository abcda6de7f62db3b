//! `proem queue list`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use jiff::tz::TimeZone;
use proem_app::effects::ActionDesk;
use proem_app::effects::output::QueueLineOutput;
use proem_app::triage::charter;
use proem_app::when;
use proem_engine::effect::ActionState;
use proem_guard::show;
use proem_store::query::{LineDepth, QueueLine};
use proem_text::json;
use serde_json::json;

use super::opening::{at_desk, short_effect_key};
use crate::failure::CommandFailure;
use crate::ui::{self, YELLOW, style_text, table_cell};

pub(super) const LIST_EXAMPLES: &str = "\
Examples:
  proem queue list
  proem queue list --state unknown --json";

/// The most characters of what an action is aimed at: as many as an address can have, since its end tells where it leads
/// (RFC 5321, 4.5.3.1.3, less the angle brackets).
const MAX_TARGET: usize = 254;
/// The widest column that others are filled up to.
const TARGET_COLUMN: usize = 40;

#[derive(Debug, Parser)]
pub(crate) struct List {
    /// Only actions in this state; without it, all that are unfinished
    #[arg(long, value_name = "STATE", value_parser = state_words())]
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

fn state_words() -> PossibleValuesParser {
    PossibleValuesParser::new(ActionState::ALL.map(ActionState::as_str))
}

pub(super) fn run_queue_list(args: &List) -> Result<ExitCode, CommandFailure> {
    let is_wanted = |state: &ActionState| args.state.iter().any(|wanted| wanted == state.as_str());
    let wanted: Vec<ActionState> = ActionState::ALL.into_iter().filter(is_wanted).collect();
    at_desk(&args.root, async |desk| {
        // One more than is shown tells whether there are more.
        let depth = if args.json { LineDepth::Decision } else { LineDepth::Target };
        let mut rows = desk.queue(&wanted, Some(args.limit.saturating_add(1)), depth).await?;
        let most = usize::try_from(args.limit).unwrap_or(usize::MAX);
        let more = rows.len() > most;
        rows.truncate(most);
        if args.json {
            let rows: Vec<_> = rows.iter().map(|row| QueueLineOutput::new(desk, row)).collect();
            ui::print_json_document(&json::pretty(&json!(rows)))?;
        } else if rows.is_empty() {
            ui::print_note("nothing waits in this project");
        } else {
            let zone = charter::project_zone(desk.project)?;
            let targets: Vec<String> = rows.iter().map(|row| action_target(desk, row)).collect();
            let widths = targets.iter().map(|target| target.chars().count());
            let width = widths.filter(|width| *width <= TARGET_COLUMN).max().unwrap_or_default();
            let lines =
                rows.iter().zip(&targets).map(|(row, target)| queue_line(row, &format!("{target:width$}"), &zone));
            ui::print_listing(&lines.collect::<String>())?;
        }
        if more {
            ui::print_note(&format!("there are more than {}; --limit shows more", args.limit));
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// An action's target. Nothing once its texts are gone.
fn action_target(desk: &ActionDesk<'_>, row: &QueueLine) -> String {
    let target = desk.target(row).map(|target| show::terminal_capped(&target, MAX_TARGET).into_string());
    target.unwrap_or_default()
}

fn queue_line(row: &QueueLine, target: &str, zone: &TimeZone) -> String {
    let state = table_cell(row.state.as_str(), 10);
    let state = match row.state {
        ActionState::Unknown | ActionState::Waiting => style_text(YELLOW, &state),
        _ => state,
    };
    format!(
        "{}  {state}  {}  {target}  {}\n",
        short_effect_key(&row.key),
        table_cell(&row.name, 20),
        next_action_step(row, zone)
    )
}

/// Its next transition, and the time.
pub(super) fn next_action_step(row: &QueueLine, zone: &TimeZone) -> String {
    let by = |time| when::date_and_clock(time, zone);
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
