//! `proem runs purge`: deletes runs with all that belongs to them.
//!
//! Whoever names runs has chosen them. Runs that are found by a condition are counted and asked about,
//! and only at a terminal: a program names them, as `proem runs list --limit N --json` lists them.

use std::process::ExitCode;

use jiff::tz::TimeZone;
use proem_engine::run::Time;
use proem_store::query::{RunRow, RunState, RunsWanted};
use proem_store::record::RunId;
use proem_store::{Access, Purge, Store};

use super::{Failure, Listed, Places, Project, RecordsPlace, found};
use crate::commands::trust::{ask, on_terminal};
use crate::ui;
use proem_app::{records, when};

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) async fn run(
    places: &Places,
    project: &Project,
    (runs, before): (&[String], Option<&str>),
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    let zone = records::zone(&project.config.budget)?;
    let now = when::now();
    // What starts while the question is open was not asked about.
    let before = before.map_or(Ok(now), |before| when::since(before, now, &zone))?;
    let store = records::open(places, project, Access::Write).await?.store;
    let wanted = Wanted { runs, before, place, now };
    let purged = wanted.purge(&store, project, &zone).await;
    store.close().await;
    let Some((purged, wanted)) = purged? else { return Ok(ExitCode::from(NO)) };
    let stay = wanted.saturating_sub(purged.runs);
    if place.json {
        let purged = serde_json::json!({ "runs": purged.runs, "contents": purged.contents, "bytes": purged.bytes, "held": purged.held });
        ui::document(&proem_text::json::pretty(&purged))?;
    } else if wanted == 0 {
        ui::aside("there is no such run; nothing was deleted\n");
    } else {
        let (runs, texts) = (ui::counted(purged.runs, "run"), ui::counted(purged.contents, "text"));
        ui::aside(&format!("deleted {runs} with {texts}; what was spent stays in the sums\n"));
    }
    if purged.held {
        ui::note(HELD);
    }
    if stay > 0 {
        ui::note(&format!("{} still under way: what runs is not deleted", ui::counted(stay, "run")));
        return Ok(ExitCode::from(NO));
    }
    Ok(ExitCode::SUCCESS)
}

/// What is said of a purge that left something behind.
const HELD: &str = "another process reads the records, so bytes of what was deleted are still in their files; they go when \
     the last process that has them open ends";

/// What is to be deleted.
struct Wanted<'w> {
    runs: &'w [String],
    before: Time,
    place: &'w RecordsPlace,
    now: Time,
}

impl Wanted<'_> {
    /// What was deleted, and how many runs were to be; `None` if the answer was no.
    async fn purge(
        &self,
        store: &Store,
        project: &Project,
        zone: &TimeZone,
    ) -> Result<Option<(proem_store::Purged, u64)>, Failure> {
        let owner = (!self.place.all).then(|| records::owner(project));
        let actor = crate::actor();
        let mut purge = Purge { project: owner.clone(), before: None, runs: Vec::new(), actor, at: self.now };
        let wanted = if self.runs.is_empty() {
            let all = store.runs(&RunsWanted { project: owner, ..RunsWanted::default() }).await?;
            let chosen: Vec<&RunRow> = all.iter().filter(|run| run.started < self.before).collect();
            let Some(summary) = summary(&chosen, zone) else {
                return Ok(Some((proem_store::Purged::default(), 0)));
            };
            // A list is short unless it is said how long it may be.
            let all_projects = if self.place.all { " --all" } else { "" };
            let names =
                format!("name the runs, as `proem runs list{all_projects} --limit {} --json` lists them", all.len());
            on_terminal(&summary, &names)?;
            ui::aside(&format!("{summary}\n"));
            if !ask("Delete them with everything that was kept of them?")? {
                return Ok(None);
            }
            purge.before = Some(self.before);
            chosen.len()
        } else {
            // A run that is named may be another project's.
            purge.project = None;
            for run in self.runs {
                let id: RunId = found(store, project, (run, self.place), Listed::Acted).await?;
                if !purge.runs.contains(&id) {
                    purge.runs.push(id);
                }
            }
            purge.runs.len()
        };
        Ok(Some((store.purge(purge).await?, u64::try_from(wanted).unwrap_or(u64::MAX))))
    }
}

/// What would be deleted, in words; `None` if nothing.
fn summary(runs: &[&RunRow], zone: &TimeZone) -> Option<String> {
    let (newest, oldest) = (runs.first()?, runs.last()?);
    let count = u64::try_from(runs.len()).unwrap_or(u64::MAX);
    let open = runs.iter().filter(|run| !matches!(run.state, RunState::Ended(_))).count();
    let open = if open == 0 { String::new() } else { format!(", {} of them without an end", ui::grouped(open)) };
    Some(format!(
        "{} from {} to {}{open}",
        ui::counted(count, "run"),
        when::clock(oldest.started, zone),
        when::clock(newest.started, zone)
    ))
}
