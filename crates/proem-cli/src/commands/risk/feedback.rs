//! `proem risk feedback`: what persons say of assessments, counted; thresholds that follow from it, taken
//! over and taken back.
//!
//! Only this command changes thresholds, and it reads none of the assessed repository's files: a change
//! can't configure its own review.

mod asking;
mod report;
mod thresholds;

use std::collections::BTreeMap;
use std::process::ExitCode;

use proem_agents::risk::feedback::{
    KIND, Meter, Said, Suggestion, Tally, Verdict, applied, note, read_note, read_signals, suggest, tally,
};
use proem_agents::risk::report::Rate;
use proem_engine::run::Time;
use proem_guard::show;
use proem_risk::level::Thresholds;
use proem_store::query::{JudgedRow, Listed, RunsWanted};
use proem_store::record::{NewFeedback, RunId};
use proem_store::{Access, Store};
use proem_text::json;

use self::thresholds::Kept;
use crate::args::risk::Feedback;
use crate::failure::Failure;
use crate::ui::{self, counted};
use proem_app::places::Places;
use proem_app::project::{Project, Reading};
use proem_app::{records, when};

/// The most runs that `last~N` looks back.
const MOST_RUNS: u32 = 1_000;

/// What was said over a period, and what follows.
struct Period {
    since: String,
    tally: Tally,
    suggestions: Vec<Suggestion>,
}

pub(super) fn run(args: &Feedback) -> Result<ExitCode, Failure> {
    let places = crate::places()?;
    let mut project = Project::open(&args.root, &places, Reading::Trusted)?;
    if args.undo {
        return undo(&places, &project);
    }
    if let Some(run) = args.run.as_deref() {
        return records::blocking(say(&places, &project, run, args));
    }
    let period = records::blocking(period(&places, &project, &args.since))?;
    if args.apply {
        return apply(&places, &project, &period.suggestions);
    }
    let heard = asking::ask(args, &places, &mut project, &period)?;
    if args.json {
        ui::document(&json::pretty(&report::as_json(&period, heard.as_ref())?))?;
    } else {
        ui::listing(&report::page(&period, heard.as_ref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// This project's thresholds: those that its user took over, or the shipped ones.
///
/// # Errors
///
/// If they are there and can't be used: other thresholds would give another level.
pub(super) fn thresholds(places: &Places, project: &Project) -> Result<Thresholds, Failure> {
    Kept::load(places, project)?.in_force()
}

/// How often a HIGH was said to be a false alarm since a time, of all that anybody judged.
///
/// # Errors
///
/// What the store says.
pub(super) async fn rates(store: &Store, project: &Project, since: Time) -> Result<BTreeMap<Meter, Rate>, Failure> {
    let tally = tally(&verdicts(&store.judged(&records::owner(project), KIND, since).await?));
    let judged = tally.metrics.iter().filter(|metric| metric.n > 0);
    Ok(judged.map(|metric| (metric.metric, Rate { count: metric.false_positives, n: metric.n })).collect())
}

fn verdicts(rows: &[JudgedRow]) -> Vec<Verdict> {
    let verdict = |row: &JudgedRow| {
        let (meters, reason) = read_note(&row.feedback.note);
        Some(Verdict {
            run: row.run.0.clone(),
            at: row.feedback.at.0,
            said: Said::parse(&row.feedback.verdict)?,
            meters,
            reason: reason.to_owned(),
            signals: row.settings.get("risk").map(read_signals).unwrap_or_default(),
        })
    };
    rows.iter().filter_map(verdict).collect()
}

async fn period(places: &Places, project: &Project, since: &str) -> Result<Period, Failure> {
    let zone = records::zone(&project.config.budget)?;
    let since = when::since(since, when::now(), &zone)?;
    let store = crate::ui::tell(records::look(places, project).await?);
    let rows = store.judged(&records::owner(project), KIND, since).await?;
    let tally = tally(&verdicts(&rows));
    let suggestions = suggest(&tally, &thresholds(places, project)?);
    Ok(Period { since: when::date(since, &zone), tally, suggestions })
}

/// Records what a person says of an assessment.
async fn say(places: &Places, project: &Project, run: &str, args: &Feedback) -> Result<ExitCode, Failure> {
    let store = records::open(places, project, Access::Write).await?.store;
    let written = write(&store, project, run, args).await;
    store.close().await;
    written
}

async fn write(store: &Store, project: &Project, run: &str, args: &Feedback) -> Result<ExitCode, Failure> {
    let run = found(store, project, run).await?;
    let (said, reason) = match &args.false_positive {
        Some(reason) if reason.trim().is_empty() => {
            return Err(Failure::usage("`--false-positive` needs a reason, such as \"coupled by the framework\""));
        }
        Some(reason) => (Said::FalsePositive, reason.as_str()),
        None => (Said::Caught, ""),
    };
    let feedback = NewFeedback {
        evaluation: None,
        run: run.clone(),
        actor: crate::actor(),
        at: when::now(),
        verdict: said.as_str().to_owned(),
        note: note(&args.metric, reason),
    };
    store.feedback(feedback).await?;
    let about: Vec<&str> = args.metric.iter().map(|meter| meter.as_str()).collect();
    let about = if about.is_empty() { String::new() } else { format!(", about {}", about.join(", ")) };
    ui::aside(&format!("assessment {}: {}{about}\n", run.short(), said.as_str()));
    Ok(ExitCode::SUCCESS)
}

/// The assessment whose id begins like that; `last` counts assessments only.
async fn found(store: &Store, project: &Project, id: &str) -> Result<RunId, Failure> {
    let wanted = RunsWanted { project: Some(records::owner(project)), limit: Some(MOST_RUNS), ..RunsWanted::default() };
    let back = match id.strip_prefix("last") {
        Some("") => Some(0),
        Some(rest) => rest.strip_prefix('~').and_then(|rest| rest.parse::<usize>().ok()),
        None => None,
    };
    if let Some(back) = back {
        let mut assessments = store.runs(&wanted).await?.into_iter().filter(|run| run.kind == KIND);
        let missing = || Failure::finding("there is no such assessment in the records; run `proem risk` first");
        return Ok(assessments.nth(back).ok_or_else(missing)?.id);
    }
    let run = store.find(Some(&records::owner(project)), Listed::Any, id).await?;
    let row = store.run(&run).await?.row;
    if row.kind != KIND {
        let shown = show::terminal_str(id);
        return Err(Failure::usage(format!(
            "run `{shown}` is not an assessment; `proem risk --json` prints the id of one"
        )));
    }
    Ok(run)
}

/// Takes suggested thresholds over.
fn apply(places: &Places, project: &Project, suggestions: &[Suggestion]) -> Result<ExitCode, Failure> {
    if suggestions.is_empty() {
        ui::aside("nothing to change: no threshold is suggested; `proem risk feedback --report` says why\n");
        return Ok(ExitCode::SUCCESS);
    }
    let mut kept = Kept::load(places, project)?;
    let new = applied(&kept.in_force()?, suggestions);
    new.check().map_err(|error| Failure::bug("suggested thresholds", error))?;
    kept.take(new);
    kept.store(places, project)?;
    ui::listing(&report::changes(suggestions))?;
    let number = u64::try_from(suggestions.len()).unwrap_or(u64::MAX);
    ui::aside(&format!("applied {}; `proem risk feedback --undo` undoes it\n", counted(number, "suggestion")));
    Ok(ExitCode::SUCCESS)
}

/// Takes back what was taken over last.
fn undo(places: &Places, project: &Project) -> Result<ExitCode, Failure> {
    let mut kept = Kept::load(places, project)?;
    let before = kept.in_force()?;
    if !kept.undo() {
        return Err(Failure::finding("no threshold was applied, so there is nothing to undo"));
    }
    kept.store(places, project)?;
    ui::listing(&report::difference(&before, &kept.in_force()?))?;
    ui::aside("the previous thresholds apply again\n");
    Ok(ExitCode::SUCCESS)
}
