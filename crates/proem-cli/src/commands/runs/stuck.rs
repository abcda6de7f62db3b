//! `proem runs stuck`: the runs that do not end by themselves, and the command that continues each.

use std::process::ExitCode;

use jiff::tz::TimeZone;
use proem_app::runs::output::RunSummary;
use proem_app::runs::stuck::stuck_runs;
use proem_app::{records, when};
use proem_guard::show;
use proem_store::query::{RunRow, RunState};
use proem_text::json;
use serde_json::json;

use super::list::run_state_word;
use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui::{self, BOLD, DIM, style_text, table_cell};

pub(super) async fn run_runs_stuck(
    project: &OpenProject,
    running: &str,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let zone = records::booking_zone(&project.config.budget)?;
    let slow = when::since(running, when::time_now(), &zone)?;
    let store = ui::print_notes_of(records::look_at_records(project).await?);
    let rows = stuck_runs(&store, project, place.whose(), slow).await?;
    if place.json {
        let rows: Vec<RunSummary> = rows.iter().map(RunSummary::new).collect();
        ui::print_json_document(&json::pretty(&json!(rows)))?;
    } else if rows.is_empty() {
        ui::aside("no run is stuck\n");
    } else {
        let lines: String = rows.iter().map(|row| stuck_run_line(row, &zone, place.all)).collect();
        ui::print_listing(&lines)?;
    }
    Ok(if rows.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn stuck_run_line(row: &RunRow, zone: &TimeZone, all: bool) -> String {
    let id = row.id.short();
    let (word, style) = run_state_word(row.state);
    let remedy = match row.state {
        RunState::Asking => format!("it has a question; `proem runs resume {id}` asks it again"),
        RunState::Interrupted => format!("its process is gone; `proem runs resume {id}` continues it"),
        RunState::Running | RunState::Ended(_) => {
            format!("its process is alive; `proem runs show {id}` shows what it waits for")
        }
    };
    let prompt = show::terminal_str(&format!("{}/{}", row.prompt.agent, row.prompt.name)).into_string();
    let owner = if all {
        format!("  {}", show::terminal_str(records::records_folder_name(&row.project)))
    } else {
        String::new()
    };
    format!(
        "{} {}  {}{}  {prompt}{owner}\n         {}\n",
        style_text(BOLD, &table_cell(id, 8)),
        when::brief_time(row.started, zone),
        style_text(style, word),
        " ".repeat(11_usize.saturating_sub(word.len())),
        style_text(DIM, &remedy),
    )
}
