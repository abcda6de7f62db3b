//! The figures of each version of a prompt, from its recorded runs. They are for people: no prompt shows them.

use proem_engine::prompt::book::experiment::ExperimentOutcome;
use proem_score::interval::{Z95, wilson};
use proem_store::Store;
use proem_store::query::{CountedFigure, StatisticsWanted, VersionWanted};
use proem_store::record::Project;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::project::OpenProject;

/// The most runs of a version that are read, the latest ones.
const MOST: u32 = 10_000;

/// One version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionFigures {
    /// `agent/name`.
    pub prompt: String,
    /// The version. One that was not locked has a hash behind a plus.
    pub version: String,
    /// Its figures, each with its number of values.
    pub figures: Vec<VersionFigure>,
}

/// A unit in which the values of a figure are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureUnit {
    /// A share of the runs, from 0 to 1.
    Share,
    /// Tokens of a run.
    Tokens,
    /// US dollars of a run.
    Dollars,
    /// Milliseconds of a run.
    Milliseconds,
    /// A number of calls, of the `n` that there were.
    Calls,
}

/// A figure with its interval of 95 %.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VersionFigure {
    /// Its title, such as `tokens`.
    pub name: String,
    /// The unit in which the values are counted.
    pub unit: FigureUnit,
    /// How many values it was made from.
    pub n: u64,
    /// Their mean, or the share.
    pub mean: Option<f64>,
    /// The lower end of the interval of the mean.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The value that 95 of 100 stay at or below. `None` for a share.
    pub p95: Option<f64>,
}

/// The figures of every version of a prompt, or of all prompts, that has runs in a project.
///
/// # Errors
///
/// If the records can't be read.
pub async fn version_figures(
    store: &Store,
    project: &OpenProject,
    prompt: Option<&str>,
) -> Result<Vec<VersionFigures>, Error> {
    let owner = Project(project.key.clone());
    let wanted = StatisticsWanted { project: Some(owner.clone()), since: None, agent: None };
    let mut all = Vec::new();
    for group in store.statistics(&wanted).await?.prompts {
        let Some((name, version)) = group.name.split_once('@') else { continue };
        if prompt.is_some_and(|prompt| prompt != name) {
            continue;
        }
        let mut figures = Vec::new();
        for (title, outcome, unit) in [
            ("contract at the first attempt", ExperimentOutcome::FirstAttempt, FigureUnit::Share),
            ("good feedback", ExperimentOutcome::Feedback, FigureUnit::Share),
            ("tokens", ExperimentOutcome::Tokens, FigureUnit::Tokens),
            ("cost", ExperimentOutcome::Cost, FigureUnit::Dollars),
            ("latency", ExperimentOutcome::Latency, FigureUnit::Milliseconds),
        ] {
            let wanted = VersionWanted {
                project: owner.clone(),
                prompt: name.to_owned(),
                version: version.to_owned(),
                outcome: outcome.clone(),
                most: MOST,
            };
            figures.push(figure_of_values((title, unit), store.version_values(wanted).await?));
        }
        figures.extend([
            counted_figure(("contract failures", FigureUnit::Calls), group.schema_failures),
            counted_figure(("repairs", FigureUnit::Calls), group.repairs),
            counted_figure(("cache hits", FigureUnit::Share), group.cache_hit_rate),
        ]);
        all.push(VersionFigures { prompt: name.to_owned(), version: version.to_owned(), figures });
    }
    Ok(all)
}

/// A figure that the records add up, without an interval: its values are not independent.
fn counted_figure((name, unit): (&str, FigureUnit), counted: CountedFigure) -> VersionFigure {
    VersionFigure { name: name.to_owned(), unit, n: counted.n, mean: counted.value, low: None, high: None, p95: None }
}

fn figure_of_values((name, unit): (&str, FigureUnit), mut values: Vec<f64>) -> VersionFigure {
    values.sort_by(f64::total_cmp);
    let n = values.len() as u64;
    let none = VersionFigure { name: name.to_owned(), unit, n, mean: None, low: None, high: None, p95: None };
    if values.is_empty() {
        return none;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most ten thousand values")]
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if unit == FigureUnit::Share {
        let successes = values.iter().filter(|value| **value > 0.5).count() as u64;
        let interval = wilson(successes, n, Z95);
        let (low, high) = (interval.map(|interval| interval.low), interval.map(|interval| interval.high));
        return VersionFigure { mean: Some(mean), low, high, ..none };
    }
    let spread: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let half = (count > 1.0).then(|| Z95 * (spread / (count - 1.0) / count).sqrt());
    let p95 = values.get((values.len() * 95).div_ceil(100).saturating_sub(1)).copied();
    VersionFigure {
        mean: Some(mean),
        low: half.map(|half| mean - half),
        high: half.map(|half| mean + half),
        p95,
        ..none
    }
}
