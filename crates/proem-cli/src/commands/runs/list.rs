//! `proem runs list`: one line for each run, the newest first.

use std::process::ExitCode;

use anstyle::Style;
use jiff::tz::TimeZone;
use proem_store::Store;
use proem_store::query::{RunRow, RunScope, RunState, RunsWanted};
use proem_store::record::RunOutcome;
use proem_text::json;
use serde_json::json;

use super::args::OutcomeArg;
use super::{CommandFailure, OpenProject, RecordsPlace};
use crate::ui::{self, BOLD, CYAN, DIM, GREEN, RED, YELLOW, style_text, table_cell};
use proem_app::runs::output::RunSummary;
use proem_app::{records, when};

/// The conditions that a run has to meet.
pub(super) struct RunFilter<'w> {
    pub(super) since: Option<&'w str>,
    pub(super) prompt: Option<&'w str>,
    pub(super) outcome: Option<OutcomeArg>,
    pub(super) listed: RunScope,
    pub(super) limit: u32,
}

pub(super) async fn run_runs_list(
    project: &OpenProject,
    wanted: &RunFilter<'_>,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let zone = records::booking_zone(&project.config.budget)?;
    let wanted = RunsWanted {
        project: place.whose().owner(project),
        since: wanted.since.map(|since| when::since(since, when::time_now(), &zone)).transpose()?,
        prompt: wanted.prompt.map(str::to_owned),
        outcome: wanted.outcome.map(wanted_outcome),
        listed: wanted.listed,
        limit: Some(wanted.limit),
    };
    let store = crate::ui::print_notes_of(records::look_at_records(project).await?);
    let rows = store.runs(&wanted).await?;
    if place.json {
        let rows: Vec<RunSummary> = rows.iter().map(RunSummary::new).collect();
        ui::print_json_document(&json::pretty(&json!(rows)))?;
    } else if rows.is_empty() {
        ui::aside(&no_runs_sentence(&wanted));
        if let Some(elsewhere) = elsewhere(&store, wanted).await? {
            ui::print_note(elsewhere);
        }
    } else {
        ui::print_listing(&run_table(&rows, &zone, place.all))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs that a list without a line leaves out.
async fn elsewhere(store: &Store, wanted: RunsWanted) -> Result<Option<&'static str>, CommandFailure> {
    let one = RunsWanted { limit: Some(1), ..wanted };
    let any = RunsWanted { listed: RunScope::Any, ..one.clone() };
    if one.listed == RunScope::Acted && !store.runs(&any).await?.is_empty() {
        return Ok(Some("there are matching runs that asked no model, such as assembled prompts; `--any` lists them"));
    }
    let all = RunsWanted { project: None, ..one.clone() };
    if one.project.is_some() && !store.runs(&all).await?.is_empty() {
        return Ok(Some(
            "there are matching runs of other projects; `--all` lists them (a project that was moved counts as another \
             one)",
        ));
    }
    Ok(None)
}

const fn wanted_outcome(outcome: OutcomeArg) -> RunOutcome {
    match outcome {
        OutcomeArg::Answered => RunOutcome::Answered,
        OutcomeArg::FellBack => RunOutcome::FellBack,
        OutcomeArg::Failed => RunOutcome::Failed,
        OutcomeArg::Refused => RunOutcome::Refused,
        OutcomeArg::Assembled => RunOutcome::Assembled,
    }
}

fn no_runs_sentence(wanted: &RunsWanted) -> String {
    if wanted.since.is_some() || wanted.prompt.is_some() || wanted.outcome.is_some() {
        return "no recorded run matches; `proem runs list` lists all runs of this project\n".to_owned();
    }
    let whose = if wanted.project.is_some() { " of this project" } else { "" };
    match wanted.listed {
        RunScope::Acted => format!("no run{whose} asked a model; `proem run` records what it does\n"),
        RunScope::Any | RunScope::Own | RunScope::Unfinished => {
            format!("no run{whose} is recorded; `proem run` and `proem assemble` record what they do\n")
        }
    }
}

fn run_table(rows: &[RunRow], zone: &TimeZone, all: bool) -> String {
    let shape = RunColumns::of(ui::output_width(), all);
    let mut head = vec![format!("{:8} {:11} {:prompt$}", "run", "started", "prompt", prompt = shape.prompt)];
    head.extend(shape.second.map(|cells| format!("{:cells$}", if all { "project" } else { "model" })));
    head.push(format!("{:12}", "outcome"));
    head.extend(shape.input.then(|| format!("{:>6} {:>4}", "in", "hits")));
    head.push(format!("{:>6} {:>8}", "out", "cost"));
    let mut out = format!("{}\n", style_text(DIM, head.join(" ").trim_end()));
    for row in rows {
        out.push_str(&run_row_line(row, zone, all, &shape));
    }
    out
}

/// The columns that there is room for.
struct RunColumns {
    /// The cells of the prompt.
    prompt: usize,
    /// The cells of the model, or of the project.
    second: Option<usize>,
    /// Whether the tokens of prompts are shown, with the share from the cache.
    input: bool,
}

impl RunColumns {
    /// The columns for a line of so many cells, of one project's runs or of all.
    const fn of(width: usize, all: bool) -> Self {
        match (width, all) {
            (100.., _) => Self { prompt: 20, second: Some(16), input: true },
            // Eighty cells.
            (_, false) => Self { prompt: 18, second: None, input: true },
            (_, true) => Self { prompt: 18, second: Some(11), input: false },
        }
    }
}

fn run_row_line(row: &RunRow, zone: &TimeZone, all: bool, shape: &RunColumns) -> String {
    // The end of a version says which bytes an unlocked prompt had. There is no room for it here.
    let version = row.prompt.version.split_once('+').map_or(row.prompt.version.as_str(), |(version, _)| version);
    let name = format!("{}/{}", row.prompt.agent, row.prompt.name);
    let prompt = format!("{name}@{version}");
    // Half of a version says nothing.
    let prompt = if prompt.chars().count() > shape.prompt { name } else { prompt };
    let second = if all { records::records_folder_name(&row.project) } else { &row.model };
    let (words, style) = run_state_word(row.state);
    let again = match row.numbers.schema_failures {
        0 => String::new(),
        count => format!("+{count}"),
    };
    // How often it was asked again is behind how it ended.
    let gap = " ".repeat(12_usize.saturating_sub(words.len().saturating_add(again.len())).max(1));
    let outcome = format!("{}{gap}{}", style_text(style, words), style_text(YELLOW, &again));
    // If nobody was asked, there is nothing to count.
    let asked = row.state != RunState::Ended(RunOutcome::Assembled);
    let mut columns = vec![
        style_text(BOLD, &table_cell(row.id.short(), 8)),
        format!("{:11}", when::brief_time(row.started, zone)),
        table_cell(&prompt, shape.prompt),
    ];
    columns.extend(shape.second.map(|cells| table_cell(second, cells)));
    columns.push(outcome);
    if shape.input {
        columns.push(format!("{:>6}", ui::short_or_unknown(row.input_tokens.filter(|_| asked))));
        columns.push(format!("{:>4}", cached_share(row)));
    }
    columns.push(format!("{:>6}", ui::short_or_unknown(row.output_tokens.filter(|_| asked))));
    let cost = row.cost.filter(|_| asked).map_or_else(|| ui::UNKNOWN.to_owned(), ui::short_price);
    format!("{} {cost:>8}\n", columns.join(" "))
}

/// The share of the prompts that came from the cache.
pub(super) fn cached_share(row: &RunRow) -> String {
    match (row.cache_read_tokens, row.input_tokens) {
        (Some(read), Some(input)) if input > 0 => format!("{}%", read.saturating_mul(100) / input),
        _ => ui::UNKNOWN.to_owned(),
    }
}

/// How far a run is, in words and a colour.
pub(super) const fn run_state_word(state: RunState) -> (&'static str, Style) {
    match state {
        RunState::Running => ("running", CYAN),
        RunState::Asking => ("asking", CYAN),
        RunState::Interrupted => ("interrupted", RED),
        RunState::Ended(RunOutcome::Answered) => ("answered", GREEN),
        RunState::Ended(RunOutcome::FellBack) => ("fell back", YELLOW),
        RunState::Ended(RunOutcome::Failed) => ("failed", RED),
        RunState::Ended(RunOutcome::Refused) => ("refused", RED),
        RunState::Ended(RunOutcome::Assembled) => ("assembled", DIM),
    }
}
