//! `proem effects log`: what happened to actions.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;
use proem_app::effects::ActionDesk;
use proem_app::effects::output::LoggedTransitionOutput;
use proem_app::project::OpenProject;
use proem_app::triage::charter;
use proem_app::{records, when};
use proem_store::StoreAccess;
use proem_store::query::TransitionRow;
use proem_text::json;
use serde_json::json;

use crate::commands::queue::short_effect_key;
use crate::failure::CommandFailure;
use crate::ui::{self, cut_to_width, table_cell};

#[derive(Debug, Parser)]
pub(crate) struct Log {
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

pub(super) fn run_effects_log(args: &Log) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    let zone = charter::project_zone(&project)?;
    let rows = records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let rows = desk.log(args.limit).await;
        desk.close().await;
        rows.map_err(CommandFailure::from)
    })?;
    if args.json {
        let rows: Vec<LoggedTransitionOutput> = rows.iter().map(LoggedTransitionOutput::new).collect();
        ui::print_json_document(&json::pretty(&json!(rows)))?;
    } else if rows.is_empty() {
        ui::print_note("nothing has happened to an action of this project");
    } else {
        ui::print_listing(&rows.iter().map(|row| transition_line(row, &zone)).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn transition_line(row: &TransitionRow, zone: &TimeZone) -> String {
    let arrow = format!("{} → {}", row.from.as_str(), row.to.as_str());
    format!(
        "{}  {}  {}  {}  {}\n",
        when::date_and_clock(row.at, zone),
        short_effect_key(&row.action),
        table_cell(row.event.as_str(), 16),
        table_cell(&arrow, 22),
        cut_to_width(&row.actor, 40)
    )
}
