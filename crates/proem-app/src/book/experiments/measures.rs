//! The outcomes of an experiment, one value for each subject.

use std::collections::BTreeMap;

use proem_engine::prompt::book::experiment::{BetterDirection, Experiment, ExperimentOutcome};
use proem_score::sequential::ArmTally;
use proem_store::Store;
use proem_store::query::{ExperimentRow, ExperimentWanted, RunMeasure, VersionWanted};
use serde::{Deserialize, Serialize};

use super::starts::ExperimentStart;
use crate::error::Error;
use crate::project::OpenProject;
use crate::records::records_owner;

/// The fewest earlier runs that give an amount its scale.
const FEWEST: usize = 20;
/// The most earlier runs that are read for it.
const MOST: u32 = 1_000;
/// How many times the 95th percentile of earlier runs bounds an amount. A larger amount counts as the bound.
const BOUND: f64 = 3.0;

/// The scale of an amount, fixed before the experiment starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AmountScale {
    /// The largest amount that counts as such.
    pub bound: f64,
    /// The amount of which limits are fractions.
    pub usual: f64,
}

impl AmountScale {
    /// Shares are measured from 0 to 1, and their limits are differences.
    pub const OF_SHARES: Self = Self { bound: 1.0, usual: 1.0 };

    /// A limit as a difference on the scale of 0 to 1.
    #[must_use]
    pub fn limit(&self, fraction: f64) -> f64 {
        fraction * self.usual / self.bound
    }

    /// A value from 0 to 1, where more is better.
    fn unit_value(&self, value: f64, better: BetterDirection) -> f64 {
        let part = (value / self.bound).clamp(0.0, 1.0);
        match better {
            BetterDirection::Higher => part,
            BetterDirection::Lower => 1.0 - part,
        }
    }
}

/// The runs of an experiment, with the places of its measures.
#[derive(Debug, Clone)]
pub struct ExperimentMeasures {
    rows: Vec<ExperimentRow>,
    outcomes: Vec<ExperimentOutcome>,
}

/// The outcomes of one version.
#[derive(Debug, Clone, Default)]
pub struct VersionOutcomes {
    /// The mean of each subject that has an outcome, in the order of their first runs.
    pub subjects: Vec<f64>,
}

/// Reads the runs of a start, with its outcome, the outcomes of its guardrails and the cost.
///
/// # Errors
///
/// If the records can't be read.
pub async fn experiment_measures(
    store: &Store,
    project: &OpenProject,
    start: &ExperimentStart,
) -> Result<ExperimentMeasures, Error> {
    let declared = &start.declared;
    let mut outcomes = vec![ExperimentOutcome::Cost, declared.outcome.clone()];
    outcomes.extend(declared.guardrails.iter().map(|guardrail| guardrail.outcome.clone()));
    outcomes.sort();
    outcomes.dedup();
    if outcomes.len() > ExperimentWanted::MOST {
        return Err(Error::invalid(format!(
            "the experiment `{}` has {} measures; at most {} are compared",
            start.name,
            outcomes.len(),
            ExperimentWanted::MOST
        )));
    }
    let wanted = ExperimentWanted {
        project: records_owner(project),
        experiment: start.name.clone(),
        started: start.begun.at,
        outcomes: outcomes.clone(),
    };
    Ok(ExperimentMeasures { rows: store.experiment_rows(wanted).await?, outcomes })
}

impl ExperimentMeasures {
    /// How many runs a version has.
    #[must_use]
    pub fn runs(&self, version: &str) -> u64 {
        self.rows.iter().filter(|row| row.version == version).count() as u64
    }

    /// The dollars of all runs whose cost is known, and how many others there are.
    #[must_use]
    pub fn dollars(&self) -> (f64, u64) {
        let cost = self.place(&ExperimentOutcome::Cost);
        let costs = self.rows.iter().map(|row| cost.and_then(|at| *row.values.get(at)?));
        costs.fold((0.0, 0), |(dollars, unknown), cost| match cost {
            Some(cost) => (dollars + cost, unknown),
            None => (dollars, unknown + 1),
        })
    }

    /// The outcomes of each version. A subject's runs are one value, their mean, so that a ticket that comes back ten
    /// times counts as one.
    #[must_use]
    pub fn by_version(&self, outcome: &ExperimentOutcome) -> BTreeMap<&str, VersionOutcomes> {
        let Some(place) = self.place(outcome) else { return BTreeMap::new() };
        let mut sums: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut subjects: Vec<(&str, f64, f64)> = Vec::new();
        for row in &self.rows {
            let Some(Some(value)) = row.values.get(place) else { continue };
            let at = *sums.entry((&row.version, &row.subject)).or_insert_with(|| {
                subjects.push((&row.version, 0.0, 0.0));
                subjects.len() - 1
            });
            if let Some((_, sum, count)) = subjects.get_mut(at) {
                *sum += value;
                *count += 1.0;
            }
        }
        let mut outcomes: BTreeMap<&str, VersionOutcomes> = BTreeMap::new();
        for (version, sum, count) in subjects {
            outcomes.entry(version).or_default().subjects.push(sum / count);
        }
        outcomes
    }

    /// The subjects of two versions in the order in which their first outcomes arrived, for a picture over time: whether
    /// each is of the second version, and its value.
    #[must_use]
    pub fn arrivals(&self, outcome: &ExperimentOutcome, [base, other]: [&str; 2]) -> Vec<(bool, f64)> {
        let by_version = self.by_version(outcome);
        let place = self.place(outcome);
        let values = |version| by_version.get(version).map(|outcomes| outcomes.subjects.as_slice()).unwrap_or_default();
        let (mut first, mut second) = (values(base).iter(), values(other).iter());
        let mut seen: std::collections::BTreeSet<(&str, &str)> = std::collections::BTreeSet::new();
        let mut arrivals = Vec::new();
        for row in &self.rows {
            let has_outcome = place.and_then(|at| *row.values.get(at)?).is_some();
            if !has_outcome || !seen.insert((&row.version, &row.subject)) {
                continue;
            }
            let is_other = row.version == other;
            let next = if is_other {
                second.next()
            } else if row.version == base {
                first.next()
            } else {
                None
            };
            arrivals.extend(next.map(|value| (is_other, *value)));
        }
        arrivals
    }

    fn place(&self, outcome: &ExperimentOutcome) -> Option<usize> {
        self.outcomes.iter().position(|known| known == outcome)
    }
}

impl VersionOutcomes {
    /// The mean over subjects, in the outcome's own unit.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a count of subjects")]
        let count = self.subjects.len() as f64;
        (count > 0.0).then(|| self.subjects.iter().sum::<f64>() / count)
    }

    /// The outcomes as the sequential test takes them: from 0 to 1, more is better.
    #[must_use]
    pub fn tally(&self, scale: AmountScale, better: BetterDirection) -> ArmTally {
        let mut tally = ArmTally::default();
        for value in &self.subjects {
            // A value that is no number counts as nothing, and can't be within the range.
            let _counted = tally.add(scale.unit_value(*value, better));
        }
        tally
    }
}

/// The scale of an amount by the runs of the version in use before the experiment.
///
/// # Errors
///
/// If there are too few, or the records can't be read.
pub(super) async fn earlier_scale(
    store: &Store,
    project: &OpenProject,
    experiment: &Experiment,
    outcome: &ExperimentOutcome,
) -> Result<AmountScale, Error> {
    let wanted = VersionWanted {
        project: records_owner(project),
        prompt: experiment.declared.prompt.clone(),
        version: experiment.base.clone(),
        measures: vec![RunMeasure::Outcome(outcome.clone())],
        most: MOST,
    };
    let mut values = store.version_values(wanted).await?.into_iter().next().unwrap_or_default();
    values.sort_by(f64::total_cmp);
    let (count, prompt, base) = (values.len(), &experiment.declared.prompt, &experiment.base);
    let at_95 = values.get((count * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0.0);
    let mean = VersionOutcomes { subjects: values }.mean().unwrap_or(0.0);
    if count < FEWEST || at_95 <= 0.0 {
        return Err(Error::invalid(format!(
            "`{outcome}` needs {FEWEST} earlier runs of {prompt}@{base} with a known amount above 0 to be measured \
             against, and there are {count}; let it run first, or remove `{outcome}` from the experiment"
        )));
    }
    Ok(AmountScale { bound: BOUND * at_95, usual: mean })
}
