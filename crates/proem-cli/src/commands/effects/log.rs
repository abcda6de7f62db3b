//! `proem effects log`: what happened to actions.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;
use proem_app::effects::ActionDesk;
use proem_app::project::OpenProject;
use proem_app::triage::charter;
use proem_app::{records, when};
use proem_store::StoreAccess;
use proem_store::query::TransitionRow;
use proem_text::json;
use serde_json::{Value as Json, json};

use crate::commands::queue::short;
use crate::failure::CommandFailure;
use crate::ui::{self, cell, cut_to_width};

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

pub(super) fn run(args: &Log) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::places()?)?;
    let zone = charter::project_zone(&project)?;
    let rows = records::blocking(async {
        let desk = ui::tell(ActionDesk::open(&project, StoreAccess::Write).await?);
        let rows = desk.log(args.limit).await;
        desk.close().await;
        rows.map_err(CommandFailure::from)
    })?;
    if args.json {
        let rows: Vec<Json> = rows.iter().map(as_value).collect();
        ui::document(&json::pretty(&json!(rows)))?;
    } else if rows.is_empty() {
        ui::note("nothing has happened to an action of this project");
    } else {
        ui::listing(&rows.iter().map(|row| line(row, &zone)).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_value(row: &TransitionRow) -> Json {
    json!({
        "id": row.action.to_string(),
        "version": row.version.0,
        "at": when::rfc3339(row.at),
        "actor": row.actor,
        "event": row.event.as_str(),
        "from": row.from.as_str(),
        "to": row.to.as_str(),
        "epoch": row.epoch.map(|epoch| epoch.0),
        "details": row.details,
    })
}

fn line(row: &TransitionRow, zone: &TimeZone) -> String {
    let arrow = format!("{} → {}", row.from.as_str(), row.to.as_str());
    format!(
        "{}  {}  {}  {}  {}\n",
        when::date_and_clock(row.at, zone),
        short(&row.action),
        cell(row.event.as_str(), 16),
        cell(&arrow, 22),
        cut_to_width(&row.actor, 40)
    )
}
