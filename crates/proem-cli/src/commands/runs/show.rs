//! `proem runs show`: what was sent, section by section, what came back, and what it cost.

mod account;
pub(in crate::commands) mod output;
mod picture;
mod profile;
mod tools;
mod turns;

use std::path::Path;
use std::process::ExitCode;

use proem_agents::lisp::turns::record::TurnRecord;
use proem_app::agents::record::RunRecord;
use proem_app::lisp::mission;
use proem_app::message::{Note, NoteKind};
use proem_engine::report::{MediaReport, SectionState};
use proem_engine::run::EffectId;
use proem_store::Store;
use proem_store::query::{CallRow, RunDetail};
use proem_text::json;
use serde_json::{Value as Json, json};

use super::{CommandFailure, OpenProject, RecordsPlace, RunScope};
use crate::ui;
use proem_app::records;
use proem_app::runs::diff::{CacheFinding, compare_cache_findings};
use proem_app::runs::{TextsByHash, body, find_run};

/// The request for a run's parts.
pub(super) struct ShowRequest<'w> {
    pub(super) run: &'w str,
    pub(super) body: bool,
    pub(super) call: u32,
    pub(super) full: bool,
    /// The file for a picture.
    pub(super) svg: Option<&'w Path>,
    /// The runs that `last` counts.
    pub(super) listed: RunScope,
}

/// A run with its texts.
struct RunView<'s> {
    run: &'s RunDetail,
    texts: &'s TextsByHash,
    /// For each call what is found here beside what its provider says of its cache.
    beside: Vec<Option<CacheFinding>>,
    /// The turns of a mission.
    turns: Vec<TurnRecord>,
}

impl RunView<'_> {
    /// The result of a call, as JSON, if it is kept: a response or a failure. For one that was never sent, it is the
    /// answer that its run got.
    fn result(&self, call: &CallRow) -> Option<Json> {
        match call.result.as_deref() {
            Some(hash) => self.texts.json(hash),
            None => self.run.steps.iter().rev().find_map(|(_, _, event)| self.told(event, call.effect)),
        }
    }

    /// The parts that limits kept out of a call's request, as its report is recorded.
    fn cuts(&self, call: &CallRow) -> Vec<String> {
        let report = self.texts.json(&call.report);
        let sections = report.as_ref().and_then(|report| report.get("sections")?.as_array());
        let cut = |section: &Json| {
            let state = serde_json::from_value::<SectionState>(section.get("state")?.clone()).ok()?;
            state.cut_in_words(section.get("name")?.as_str()?, section.get("reason").and_then(Json::as_str))
        };
        sections.into_iter().flatten().filter_map(cut).collect()
    }

    /// The report on a section of a call's request, if it is a picture or file.
    fn media(&self, call: &CallRow, section: &str) -> Option<MediaReport> {
        let report = self.texts.json(&call.report)?;
        let numbered = section.rsplit_once('/').and_then(|(name, number)| Some((name, number.parse::<usize>().ok()?)));
        let (name, number) = numbered.unwrap_or((section, 1));
        let sections = report.get("sections")?.as_array()?;
        let reported = sections.iter().find(|reported| reported.get("name").and_then(Json::as_str) == Some(name))?;
        let media = reported.get("media")?.get(number.checked_sub(1)?)?;
        serde_json::from_value(media.clone()).ok()
    }

    /// How an effect failed, by an event.
    fn told(&self, event: &str, effect: EffectId) -> Option<Json> {
        let event = self.texts.json(event)?;
        let results = event.pointer("/what/results")?.as_array()?;
        let of_it = |result: &&Json| result.get(0).and_then(Json::as_u64) == Some(effect.0.into());
        results.iter().find(of_it)?.pointer("/1/failure").cloned()
    }
}

pub(super) async fn run_runs_show(
    project: &OpenProject,
    wanted: &ShowRequest<'_>,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let zone = records::booking_zone(&project.config.budget)?;
    let store = crate::ui::print_notes_of(records::look_at_records(project).await?);
    let id = find_run(&store, project, wanted.run, place.whose(), wanted.listed).await?;
    let run = store.run(&id).await?;
    if wanted.body {
        ui::data(&body::exact_body(&store, &run, wanted.call).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = wanted.svg {
        let Some(picture) = picture::run_picture(&run) else {
            return Err(CommandFailure::finding(format!(
                "run `{}` asked no model, so there is nothing to draw",
                run.row.id.short()
            )));
        };
        ui::write_text_file(file, &picture)?;
    }
    let texts = TextsByHash::load(&store, shown_hashes(&run)).await?;
    let mut notes = Vec::new();
    let beside = compare_cache_findings(&store, &run, &mut notes).await?;
    let turns = mission_turns(project, &store, &run, &mut notes).await;
    let shown = RunView { run: &run, texts: &texts, beside, turns };
    ui::print_notes(&notes);
    if place.json {
        ui::print_json_document(&json::pretty(&json!(output::ShownRunOutput::new(&shown))))?;
    } else {
        ui::print_listing(&account::run_account(&shown, &zone, wanted.full))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The turns of a mission's run. None of another, or where they can't be read, which is noted.
async fn mission_turns(
    project: &OpenProject,
    store: &Store,
    run: &RunDetail,
    notes: &mut Vec<Note>,
) -> Vec<TurnRecord> {
    if run.row.kind != mission::KIND {
        return Vec::new();
    }
    let record = RunRecord { store, detail: run, places: &project.places };
    match mission::recorded_turns(&record).await {
        Ok(turns) => turns,
        Err(why) => {
            notes.push(Note::new(NoteKind::Records, format!("its turns can't be shown: {}", why.text)));
            Vec::new()
        }
    }
}

/// The texts that are shown.
fn shown_hashes(run: &RunDetail) -> Vec<String> {
    let sections = run.calls.iter().flat_map(|call| call.sections.iter().map(|section| section.text.clone()));
    let results = run.calls.iter().filter_map(|call| call.result.clone());
    let events = run.calls.iter().any(|call| call.result.is_none()).then_some(&run.steps);
    let events = events.into_iter().flatten().map(|(_, _, event)| event.clone());
    let reports = run.calls.iter().map(|call| call.report.clone());
    let tools = run.tools.iter().flat_map(|call| [Some(call.arguments.clone()), call.result.clone()]).flatten();
    sections.chain(reports).chain(results).chain(tools).chain(run.value.clone()).chain(events).collect()
}
