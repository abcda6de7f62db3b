//! `proem runs purge`: deletes runs with all that belongs to them.
//!
//! Naming runs is choosing them. Runs that are found by a condition are counted and asked about, and only at a
//! terminal: a program names them, as `proem runs list --limit N --json` lists them.

use std::process::ExitCode;

use jiff::tz::TimeZone;
use proem_app::operator::Consent;
use proem_app::runs::purge::{Before, Purging};
use proem_app::{records, when};
use proem_store::PurgeCounts;
use proem_store::query::{RunRow, RunState};
use proem_text::json;
use serde_json::json;

use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui;

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) async fn run_runs_purge(
    project: &OpenProject,
    runs: &[String],
    before: Option<&str>,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let zone = records::booking_zone(&project.config.budget)?;
    let purging = Purging::begin(project, place.whose(), before).await?;
    let purged = if runs.is_empty() {
        purge_after_approval(&purging, place, &zone).await
    } else {
        purging.named(runs).await.map(Some).map_err(CommandFailure::from)
    };
    purging.end().await;
    let Some((purged, wanted)) = purged? else { return Ok(ExitCode::from(NO)) };
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    let stay = wanted.saturating_sub(purged.runs);
    if place.json {
        ui::print_json_document(&json::pretty(&json!(purged)))?;
    } else if wanted == 0 {
        ui::aside("there is no such run; nothing was deleted\n");
    } else {
        let (runs, texts) = (ui::count_with_noun(purged.runs, "run"), ui::count_with_noun(purged.contents, "text"));
        ui::aside(&format!("deleted {runs} with {texts}; their costs stay in `proem cost`\n"));
    }
    if purged.held {
        ui::print_note(HELD);
    }
    if stay > 0 {
        ui::print_note(&format!("{} still running, so not deleted", ui::count_with_noun(stay, "run")));
        return Ok(ExitCode::from(NO));
    }
    Ok(ExitCode::SUCCESS)
}

/// The message about a purge that left something behind.
const HELD: &str =
    "another process has the records open, so deleted data remain in the files until the last such process ends";

/// The numbers of deleted runs that started before a time, and of those to delete. `None` if the answer was no.
async fn purge_after_approval(
    purging: &Purging<'_>,
    place: &RecordsPlace,
    zone: &TimeZone,
) -> Result<Option<(PurgeCounts, usize)>, CommandFailure> {
    let Before { runs, all } = purging.found().await?;
    let Some(summary) = purge_plan(&runs, zone) else { return Ok(Some((PurgeCounts::default(), 0))) };
    // A list is short unless it is said how long it may be.
    let all_projects = if place.all { " --all" } else { "" };
    let names = format!("name the runs, as `proem runs list{all_projects} --limit {all} --json` lists them");
    let mut operator = ui::operator(&summary, &names)?;
    ui::aside(&format!("{summary}\n"));
    if ui::confirm(&mut operator, "Delete them with everything that was kept of them?")? == Consent::No {
        return Ok(None);
    }
    Ok(Some((purging.started_before(&operator).await?, runs.len())))
}

/// The runs to delete, in words. `None` if there are none.
fn purge_plan(runs: &[RunRow], zone: &TimeZone) -> Option<String> {
    let (newest, oldest) = (runs.first()?, runs.last()?);
    let count = u64::try_from(runs.len()).unwrap_or(u64::MAX);
    let open = runs.iter().filter(|run| !matches!(run.state, RunState::Ended(_))).count();
    let open = if open == 0 { String::new() } else { format!(", {} of them unfinished", ui::group_thousands(open)) };
    Some(format!(
        "{} from {} to {}{open}",
        ui::count_with_noun(count, "run"),
        when::date_and_clock(oldest.started, zone),
        when::date_and_clock(newest.started, zone)
    ))
}
