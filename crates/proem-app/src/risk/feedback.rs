//! Persons' opinions of assessments, counted, and thresholds that follow from them, taken over and taken back.
//!
//! Only this changes thresholds, and it reads none of the assessed repository's files: a change can't configure
//! its own review.

pub mod question;
mod threshold_change;
mod thresholds;
mod versions;

pub use self::threshold_change::ThresholdChange;
pub use self::versions::PromptVersionTally;

use std::collections::BTreeMap;

use proem_agents::risk::feedback::{
    AssessmentOpinion, FeedbackTally, FeedbackVerdict, KIND, LevelTally, Meter, Suggestion, ThresholdEvidence,
    apply_suggestions, metric_reason_note, read_level, read_note, read_signals, suggest, tally_levels, tally_verdicts,
    weigh_thresholds,
};
use proem_agents::risk::report::Rate;
use proem_engine::run::Time;
use proem_guard::show;
use proem_risk::level::Thresholds;
use proem_runtime::Environment;
use proem_store::query::{JudgedRow, RunScope, RunsWanted};
use proem_store::record::{NewFeedback, RunId};
use proem_store::{Store, StoreAccess};

use self::thresholds::ThresholdsFile;
use crate::error::Error;
use crate::message::{Hint, WithNotes};
use crate::project::OpenProject;
use crate::{records, when};

/// The most runs that `last~N` looks back.
const MOST_RUNS: u32 = 1_000;

/// The opinions of a period, and the consequences.
#[derive(Debug)]
pub struct FeedbackSummary {
    /// The first day of the period.
    pub since: String,
    /// The opinions, counted.
    pub tally: FeedbackTally,
    /// The same by the level of an assessment.
    pub levels: Vec<LevelTally>,
    /// Thresholds that follow from it.
    pub suggestions: Vec<Suggestion>,
    /// The thresholds in force.
    pub thresholds: Thresholds,
    /// How each version of the prompt did, with each model.
    pub versions: Vec<PromptVersionTally>,
}

/// A person's opinion of an assessment.
#[derive(Debug, Clone, Copy)]
pub struct Opinion<'o> {
    /// Whether it was right.
    pub said: AssessmentOpinion,
    /// The metrics that are meant; without any, all that were HIGH.
    pub about: &'o [Meter],
    /// Why it was not. Empty where it was.
    pub reason: &'o str,
}

/// Thresholds before and after some were taken back.
#[derive(Debug)]
pub struct TakenBack {
    /// Those that counted.
    pub before: Thresholds,
    /// Those that count.
    pub after: Thresholds,
}

/// This project's thresholds: those that its user took over, or the shipped ones.
///
/// # Errors
///
/// If they are there and can't be used: other thresholds would give another level.
pub(super) fn thresholds(project: &OpenProject) -> Result<Thresholds, Error> {
    ThresholdsFile::load(project)?.in_force()
}

/// How often a HIGH was said to be a false alarm since a time, of all that anybody judged.
///
/// # Errors
///
/// The rates in the store.
pub(super) async fn rates(store: &Store, project: &OpenProject, since: Time) -> Result<BTreeMap<Meter, Rate>, Error> {
    let tally = tally_verdicts(&verdicts(&store.judged(&records::records_owner(project), KIND, since).await?));
    let judged = tally.metrics.iter().filter(|metric| metric.n > 0);
    Ok(judged.map(|metric| (metric.metric, Rate { count: metric.false_positives, n: metric.n })).collect())
}

fn verdicts(rows: &[JudgedRow]) -> Vec<FeedbackVerdict> {
    let verdict = |row: &JudgedRow| {
        let (meters, reason) = read_note(&row.feedback.note);
        Some(FeedbackVerdict {
            run: row.run.0.clone(),
            at: row.feedback.at.0,
            said: AssessmentOpinion::parse(&row.feedback.verdict)?,
            meters,
            reason: reason.to_owned(),
            level: row.settings.get("risk").and_then(read_level),
            signals: row.settings.get("risk").map(read_signals).unwrap_or_default(),
        })
    };
    rows.iter().filter_map(verdict).collect()
}

/// The opinions since a day such as `2026-11-01`, or since `90d` ago, and the consequences.
///
/// # Errors
///
/// If `since` is no time, or the records or the project's thresholds are unreadable.
pub async fn count_feedback(project: &OpenProject, since: &str) -> Result<WithNotes<FeedbackSummary>, Error> {
    let zone = records::booking_zone(&project.config.budget)?;
    let since = when::since(since, when::time_now(), &zone)?;
    let WithNotes { value: store, notes } = records::look_at_records(project).await?;
    let rows = store.judged(&records::records_owner(project), KIND, since).await?;
    let verdicts = verdicts(&rows);
    let tally = tally_verdicts(&verdicts);
    let levels = tally_levels(&verdicts);
    let thresholds = thresholds(project)?;
    let suggestions = suggest(&tally, &thresholds);
    let versions = versions::count_prompt_versions(&store, project, since, &verdicts).await?;
    let since = when::iso_date(since, &zone);
    Ok(WithNotes { value: FeedbackSummary { since, tally, levels, suggestions, thresholds, versions }, notes })
}

/// Judges a project's thresholds by the verdicts on its assessments, with a chance of `error` at most that anything
/// shown is wrong. Verdicts on a meter count after the time that `since` gives.
///
/// # Errors
///
/// If the records or the project's thresholds are unreadable.
pub async fn weigh_feedback(
    store: &Store,
    project: &OpenProject,
    error: f64,
    since: impl Fn(Meter) -> Time,
) -> Result<Vec<ThresholdEvidence>, Error> {
    let rows = store.judged(&records::records_owner(project), KIND, Time(i64::MIN)).await?;
    Ok(weigh_thresholds(&verdicts(&rows), &thresholds(project)?, error, |meter| since(meter).0))
}

/// Records what a person says of an assessment, which `run` names: the beginning of its id, `last` or `last~1`.
///
/// # Errors
///
/// If the records can't be written, or there is no such assessment.
pub async fn record_opinion(project: &OpenProject, run: &str, opinion: Opinion<'_>) -> Result<RunId, Error> {
    let store = records::open_records(project, StoreAccess::Write).await?.store;
    let written = write_opinion(&store, project, run, opinion).await;
    store.close().await;
    written
}

async fn write_opinion(store: &Store, project: &OpenProject, run: &str, opinion: Opinion<'_>) -> Result<RunId, Error> {
    let run = find_assessment(store, project, run).await?;
    let Opinion { said, about, reason } = opinion;
    let feedback = NewFeedback {
        evaluation: None,
        run: run.clone(),
        actor: records::actor(&Environment::inherited(), project.places.channel),
        at: when::time_now(),
        verdict: said.as_str().to_owned(),
        note: metric_reason_note(about, reason),
    };
    store.feedback(feedback).await?;
    Ok(run)
}

/// The assessment whose id begins like that. `last` counts assessments only.
async fn find_assessment(store: &Store, project: &OpenProject, id: &str) -> Result<RunId, Error> {
    let wanted =
        RunsWanted { project: Some(records::records_owner(project)), limit: Some(MOST_RUNS), ..RunsWanted::default() };
    let back = match id.strip_prefix("last") {
        Some("") => Some(0),
        Some(rest) => rest.strip_prefix('~').and_then(|rest| rest.parse::<usize>().ok()),
        None => None,
    };
    if let Some(back) = back {
        let mut assessments = store.runs(&wanted).await?.into_iter().filter(|run| run.kind == KIND);
        let missing = || Error::negative("there is no such assessment in the records").hinting(Hint::RecordAssessment);
        return Ok(assessments.nth(back).ok_or_else(missing)?.id);
    }
    let run = store.find(Some(&records::records_owner(project)), RunScope::Any, id).await?;
    let row = store.run(&run).await?.row;
    if row.kind != KIND {
        let shown = show::terminal_str(id);
        return Err(Error::invalid(format!("run `{shown}` is not an assessment")).hinting(Hint::ReadAssessmentId));
    }
    Ok(run)
}

/// Takes suggested thresholds over.
///
/// # Errors
///
/// If what was taken over before is unusable, or the file can't be written.
pub fn apply_thresholds(project: &OpenProject, suggestions: &[Suggestion]) -> Result<(), Error> {
    let mut kept = ThresholdsFile::load(project)?;
    let new = apply_suggestions(&kept.in_force()?, suggestions);
    new.check().map_err(|error| Error::bug("suggested thresholds", error))?;
    kept.take(new);
    kept.store(project)
}

/// Takes back what was taken over last.
///
/// # Errors
///
/// If nothing was taken over, what was is unusable, or the file can't be written.
pub fn undo_thresholds(project: &OpenProject) -> Result<TakenBack, Error> {
    let mut kept = ThresholdsFile::load(project)?;
    let before = kept.in_force()?;
    if !kept.undo() {
        return Err(Error::negative("no threshold was applied, so there is nothing to undo"));
    }
    kept.store(project)?;
    Ok(TakenBack { before, after: kept.in_force()? })
}
