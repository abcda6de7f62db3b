//! The figures of each version of a prompt, from its recorded runs. They are for people: no prompt shows them.

use proem_engine::prompt::book::experiment::ExperimentOutcome;
use proem_score::interval::{Z95, wilson};
use proem_store::Store;
use proem_store::query::{RunMeasure, StatisticsWanted, VersionWanted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::project::OpenProject;
use crate::records::records_owner;

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
    /// A share of the tokens that a run sent, from 0 to 1.
    TokenShare,
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
    /// The value that 95 of 100 stay at or below. `None` for a share of the runs.
    pub p95: Option<f64>,
}

/// The figures in their order, each with its unit and its measure.
const FIGURES: [(&str, FigureUnit, RunMeasure); 10] = [
    ("contract at the first attempt", FigureUnit::Share, RunMeasure::Outcome(ExperimentOutcome::FirstAttempt)),
    ("contract failures", FigureUnit::Share, RunMeasure::BrokenContract),
    ("repairs", FigureUnit::Share, RunMeasure::Repaired),
    ("success", FigureUnit::Share, RunMeasure::Success),
    ("good feedback", FigureUnit::Share, RunMeasure::Outcome(ExperimentOutcome::Feedback)),
    ("false positives", FigureUnit::Share, RunMeasure::FalseAlarm),
    ("tokens", FigureUnit::Tokens, RunMeasure::Outcome(ExperimentOutcome::Tokens)),
    ("cost", FigureUnit::Dollars, RunMeasure::Outcome(ExperimentOutcome::Cost)),
    ("latency", FigureUnit::Milliseconds, RunMeasure::Outcome(ExperimentOutcome::Latency)),
    ("cache hits", FigureUnit::TokenShare, RunMeasure::CacheHits),
];

/// The figures of every version of a prompt, or of all prompts, that has runs in a project. A run counts once in each.
///
/// # Errors
///
/// If the records can't be read.
pub async fn version_figures(
    store: &Store,
    project: &OpenProject,
    prompt: Option<&str>,
) -> Result<Vec<VersionFigures>, Error> {
    let owner = records_owner(project);
    let wanted = StatisticsWanted { project: Some(owner.clone()), since: None, agent: None };
    let mut all = Vec::new();
    for group in store.statistics(&wanted).await?.prompts {
        let Some((name, version)) = group.name.split_once('@') else { continue };
        if prompt.is_some_and(|prompt| prompt != name) {
            continue;
        }
        let wanted = VersionWanted {
            project: owner.clone(),
            prompt: name.to_owned(),
            version: version.to_owned(),
            measures: FIGURES.into_iter().map(|(_, _, measure)| measure).collect(),
            most: MOST,
        };
        let values = store.version_values(wanted).await?;
        let figures = FIGURES.into_iter().zip(values);
        let figures = figures.map(|((title, unit, _), values)| figure_of_values((title, unit), values)).collect();
        all.push(VersionFigures { prompt: name.to_owned(), version: version.to_owned(), figures });
    }
    Ok(all)
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
    // No amount is negative, and a share is at most 1.
    let most = if unit == FigureUnit::TokenShare { 1.0 } else { f64::INFINITY };
    VersionFigure {
        mean: Some(mean),
        low: half.map(|half| (mean - half).max(0.0)),
        high: half.map(|half| (mean + half).min(most)),
        p95,
        ..none
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unit: FigureUnit, values: &[f64], expected: [Option<f64>; 4]) {
        let figure = figure_of_values(("it", unit), values.to_vec());
        let rounded =
            [figure.mean, figure.low, figure.high, figure.p95].map(|of| of.map(|of| (of * 1e3).round() / 1e3));
        assert_eq!((figure.n, rounded), (values.len() as u64, expected), "{values:?}");
    }

    #[test]
    fn figures_have_their_interval_and_the_unknown_stays_unknown() {
        check(FigureUnit::Share, &[], [None; 4]);
        check(FigureUnit::Dollars, &[], [None; 4]);
        // Wilson's interval of 9 in 10.
        let nine = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        check(FigureUnit::Share, &nine, [Some(0.9), Some(0.596), Some(0.982), None]);
        check(FigureUnit::Tokens, &[7.0], [Some(7.0), None, None, Some(7.0)]);
        check(FigureUnit::Tokens, &[0.0, 100.0], [Some(50.0), Some(0.0), Some(147.998), Some(100.0)]);
        check(FigureUnit::TokenShare, &[0.9, 1.0, 1.0], [Some(0.967), Some(0.901), Some(1.0), Some(1.0)]);
    }
}
