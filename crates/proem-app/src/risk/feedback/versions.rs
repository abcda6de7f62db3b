//! How each version of the summarising prompt did with each model, from the records of runs.
//!
//! These figures are for people: no prompt shows them, since names of versions and models may come from a project's
//! files.

use std::collections::BTreeMap;

use proem_agents::risk::feedback::{AssessmentOpinion, FeedbackVerdict, KIND, last_verdicts};
use proem_agents::risk::report::Rate;
use proem_engine::run::Time;
use proem_store::Store;
use proem_store::query::{RunRow, RunsWanted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::project::OpenProject;
use crate::records;

/// A version of the prompt `risk/synthesis` with one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptVersionTally {
    /// The version. From outside.
    pub version: String,
    /// The model. From outside.
    pub model: String,
    /// How many assessments it investigated.
    pub runs: u64,
    /// Those of them that ended without a usable summary.
    pub degraded: u64,
    /// Tokens of prompts of one assessment, on average. Null where no run says how many it used.
    pub input_tokens: Option<u64>,
    /// Tokens of answers of one assessment, on average.
    pub output_tokens: Option<u64>,
    /// How many of the judged assessments were said to be false alarms.
    pub false_positives: Rate,
}

/// Counts the assessments since a time that asked a model.
///
/// # Errors
///
/// If the records are unreadable.
pub(super) async fn count_prompt_versions(
    store: &Store,
    project: &OpenProject,
    since: Time,
    verdicts: &[FeedbackVerdict],
) -> Result<Vec<PromptVersionTally>, Error> {
    let wanted = RunsWanted {
        project: Some(records::records_owner(project)),
        since: Some(since),
        limit: Some(super::MOST_RUNS),
        ..RunsWanted::default()
    };
    let runs = store.runs(&wanted).await?;
    let asked = runs.iter().filter(|run| run.kind == KIND && !run.model.is_empty());
    Ok(tally_versions(asked, verdicts))
}

fn tally_versions<'r>(runs: impl Iterator<Item = &'r RunRow>, verdicts: &[FeedbackVerdict]) -> Vec<PromptVersionTally> {
    let said = last_verdicts(verdicts);
    let mut groups: BTreeMap<(&str, &str), Vec<&RunRow>> = BTreeMap::new();
    for run in runs {
        groups.entry((&run.prompt.version, &run.model)).or_default().push(run);
    }
    let tally = |((version, model), runs): ((&str, &str), Vec<&RunRow>)| {
        let judged: Vec<&FeedbackVerdict> =
            runs.iter().filter_map(|run| said.get(run.id.0.as_str()).copied()).collect();
        let is_false = |verdict: &&&FeedbackVerdict| verdict.said == AssessmentOpinion::FalsePositive;
        PromptVersionTally {
            version: version.to_owned(),
            model: model.to_owned(),
            runs: runs.len() as u64,
            degraded: runs.iter().filter(|run| run.numbers.degraded).count() as u64,
            input_tokens: mean_of_known(runs.iter().filter_map(|run| run.input_tokens)),
            output_tokens: mean_of_known(runs.iter().filter_map(|run| run.output_tokens)),
            false_positives: Rate { count: judged.iter().filter(is_false).count() as u64, n: judged.len() as u64 },
        }
    };
    groups.into_iter().map(tally).collect()
}

/// The mean of known numbers, rounded down. `None` of nothing.
fn mean_of_known(numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let (sum, count) =
        numbers.fold((0_u64, 0_u64), |(sum, count), one| (sum.saturating_add(one), count.saturating_add(1)));
    sum.checked_div(count)
}
