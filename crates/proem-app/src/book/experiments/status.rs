//! The findings of an experiment so far: valid at any look.

use proem_engine::prompt::book::experiment::{BetterDirection, ExperimentOutcome};
use proem_score::interval::Interval;
use proem_score::sequential::{ArmTally, DifferenceTest, DifferenceVerdict, ERROR_OF_95, two_points_better};
use schemars::JsonSchema;
use serde::Serialize;

use super::measures::{AmountScale, ExperimentMeasures};
use super::starts::ExperimentStart;

/// An experiment as it is now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentStatus {
    /// Its name in `book.toml`.
    pub name: String,
    /// `agent/name`.
    pub prompt: String,
    /// The measure that decides.
    pub outcome: String,
    /// The version in use.
    pub base: VersionCount,
    /// The other versions, each compared with the one in use.
    pub others: Vec<VersionComparison>,
    /// The cost of its runs so far.
    pub cost: ExperimentCost,
    /// When it was stopped and why, if it was.
    pub stopped: Option<String>,
}

/// The cost of an experiment's runs.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentCost {
    /// US dollars of the runs whose cost is known.
    pub dollars: f64,
    /// How many others there are: they still run, or their model has no price.
    pub unknown_runs: u64,
}

/// The outcomes of one version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionCount {
    /// Three numbers, as in `book.toml`.
    pub version: String,
    /// The share of subjects that it is declared to get.
    pub share: f64,
    /// Subjects with an outcome, each of which counts once.
    pub subjects: u64,
    /// Runs of all its subjects.
    pub runs: u64,
    /// The mean over subjects.
    pub mean: Option<f64>,
}

/// A version beside the one in use.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionComparison {
    /// Its outcomes.
    pub of: VersionCount,
    /// The verdict on the outcome.
    pub verdict: ExperimentVerdict,
    /// How much its mean is above that of the version in use, in the outcome's unit.
    pub difference: Option<DifferenceEstimate>,
    /// About how many more subjects decide, if those to come are like those so far.
    pub more: Option<u64>,
    /// The limits that it must not break.
    pub guardrails: Vec<GuardrailReport>,
    /// Whether the rule "two points better" would promote it. It is no test, and is told for comparison. `None` for an
    /// amount.
    pub two_points: Option<bool>,
}

/// A difference, with an interval that holds at any look.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct DifferenceEstimate {
    /// The lower end.
    pub low: f64,
    /// The observed difference.
    pub mean: f64,
    /// The upper end.
    pub high: f64,
}

/// A verdict on a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentVerdict {
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// It is no better by the smallest difference worth having.
    NoDifference,
    /// Nobody knows yet.
    NotYet,
}

/// A guardrail of one version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardrailReport {
    /// The compared version, which is not in use.
    pub version: String,
    /// The measure.
    pub outcome: String,
    /// Whether the limit holds, as far as it is known.
    pub state: GuardrailState,
    /// How much the version is above the one in use, in the measure's unit.
    pub difference: Option<DifferenceEstimate>,
    /// The tolerated loss, in the same unit.
    pub limit: f64,
}

/// Whether a limit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardrailState {
    /// The version is worse by more than the limit.
    Broken,
    /// The version is not worse by the limit.
    Kept,
    /// Nobody knows yet.
    Open,
}

impl GuardrailReport {
    /// Whether the version is worse by more than the limit.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.state == GuardrailState::Broken
    }
}

/// The comparison of two versions on one measure.
struct MeasureComparison {
    test: DifferenceTest,
    base: ArmTally,
    other: ArmTally,
    scale: AmountScale,
    better: BetterDirection,
}

impl MeasureComparison {
    /// `None` if the shares of the two leave nothing to test.
    fn new(
        start: &ExperimentStart,
        measured: &ExperimentMeasures,
        (outcome, better): (&ExperimentOutcome, BetterDirection),
        other: &str,
    ) -> Option<Self> {
        let shares = &start.declared.versions;
        let (mine, its) = (*shares.get(&start.base)?, *shares.get(other)?);
        #[expect(clippy::cast_precision_loss, reason = "a few versions")]
        let comparisons = shares.len().saturating_sub(1).max(1) as f64;
        // Several versions share the error, so that the best of many equal ones is not promoted.
        let test = DifferenceTest::new(ERROR_OF_95 / comparisons, its / (mine + its))?;
        let scale = start.scale(outcome);
        let by_version = measured.by_version(outcome);
        let tally = |version: &str| by_version.get(version).map(|of| of.tally(scale, better)).unwrap_or_default();
        Some(Self { test, base: tally(&start.base), other: tally(other), scale, better })
    }

    /// The difference in the measure's own unit and direction. `None` while a version has no outcome.
    fn difference(&self) -> Option<DifferenceEstimate> {
        let mean = self.other.mean()? - self.base.mean()?;
        let Interval { low, high } = self.test.interval(&self.base, &self.other);
        let bound = self.scale.bound;
        Some(match self.better {
            BetterDirection::Higher => DifferenceEstimate { low: low * bound, mean: mean * bound, high: high * bound },
            BetterDirection::Lower => {
                DifferenceEstimate { low: -high * bound, mean: -mean * bound, high: -low * bound }
            }
        })
    }

    /// Whether the loss is within a limit, on the scale of 0 to 1.
    fn guardrail_state(&self, limit: f64) -> GuardrailState {
        let (Some(base), Some(other)) = (self.base.mean(), self.other.mean()) else { return GuardrailState::Open };
        let observed = other - base;
        match self.test.refuses(&self.base, &self.other, -limit) {
            true if observed < -limit => GuardrailState::Broken,
            true => GuardrailState::Kept,
            false => GuardrailState::Open,
        }
    }
}

/// The guardrails of every version beside the one in use.
#[must_use]
pub fn guardrail_reports(start: &ExperimentStart, measured: &ExperimentMeasures) -> Vec<GuardrailReport> {
    other_versions(start).flat_map(|version| version_guardrails(start, measured, version)).collect()
}

fn version_guardrails<'s>(
    start: &'s ExperimentStart,
    measured: &'s ExperimentMeasures,
    version: &'s str,
) -> impl Iterator<Item = GuardrailReport> + 's {
    start.declared.guardrails.iter().filter_map(move |guardrail| {
        let outcome = &guardrail.outcome;
        let compared = MeasureComparison::new(start, measured, (outcome, outcome.usual_direction()), version)?;
        Some(GuardrailReport {
            version: version.to_owned(),
            outcome: outcome.to_string(),
            state: compared.guardrail_state(compared.scale.limit(guardrail.worse_by)),
            difference: compared.difference(),
            limit: guardrail.worse_by * compared.scale.usual,
        })
    })
}

fn other_versions(start: &ExperimentStart) -> impl Iterator<Item = &str> {
    start.declared.versions.keys().map(String::as_str).filter(|version| *version != start.base)
}

/// The status of a start by its runs so far.
#[must_use]
pub fn experiment_status(start: &ExperimentStart, measured: &ExperimentMeasures) -> ExperimentStatus {
    let declared = &start.declared;
    let by_version = measured.by_version(&declared.outcome);
    let count = |version: &str| {
        let outcomes = by_version.get(version).cloned().unwrap_or_default();
        VersionCount {
            version: version.to_owned(),
            share: declared.versions.get(version).copied().unwrap_or(0.0),
            subjects: outcomes.subjects.len() as u64,
            runs: measured.runs(version),
            mean: outcomes.mean(),
        }
    };
    let compare = |version: &str| {
        let compared = MeasureComparison::new(start, measured, (&declared.outcome, declared.better), version)?;
        let smallest = compared.scale.limit(declared.smallest_difference);
        let verdict = match compared.test.verdict(&compared.base, &compared.other, smallest) {
            DifferenceVerdict::Better => ExperimentVerdict::Better,
            DifferenceVerdict::Worse => ExperimentVerdict::Worse,
            DifferenceVerdict::TooSmall => ExperimentVerdict::NoDifference,
            DifferenceVerdict::Open => ExperimentVerdict::NotYet,
        };
        let more = compared.test.outcomes_missing(&compared.base, &compared.other, smallest);
        Some(VersionComparison {
            of: count(version),
            verdict,
            difference: compared.difference(),
            more: more.filter(|_| verdict == ExperimentVerdict::NotYet),
            guardrails: version_guardrails(start, measured, version).collect(),
            two_points: declared.outcome.is_share().then(|| two_points_better(&compared.base, &compared.other)),
        })
    };
    let (dollars, unknown_runs) = measured.dollars();
    ExperimentStatus {
        name: start.name.clone(),
        prompt: declared.prompt.clone(),
        outcome: declared.outcome.to_string(),
        base: count(&start.base),
        others: other_versions(start).filter_map(compare).collect(),
        cost: ExperimentCost { dollars, unknown_runs },
        stopped: start.stopped.as_ref().map(|stopped| stopped.because.clone()),
    }
}

/// The interval of a version's difference after each of some looks, oldest first: how many subjects there were, and the
/// interval in the outcome's unit.
#[must_use]
pub fn intervals_over_time(
    start: &ExperimentStart,
    measured: &ExperimentMeasures,
    version: &str,
    looks: usize,
) -> Vec<(usize, DifferenceEstimate)> {
    let declared = &start.declared;
    let Some(mut compared) = MeasureComparison::new(start, measured, (&declared.outcome, declared.better), version)
    else {
        return Vec::new();
    };
    let arrivals = measured.arrivals(&declared.outcome, [&start.base, version]);
    let step = arrivals.len().div_ceil(looks.max(1)).max(1);
    (compared.base, compared.other) = Default::default();
    let mut intervals = Vec::new();
    for (place, (is_other, value)) in arrivals.iter().enumerate() {
        let unit = super::measures::VersionOutcomes { subjects: vec![*value] };
        let tally = unit.tally(compared.scale, compared.better).mean().unwrap_or(0.0);
        let arm = if *is_other { &mut compared.other } else { &mut compared.base };
        let _counted = arm.add(tally);
        if (place + 1) % step == 0 || place + 1 == arrivals.len() {
            intervals.extend(compared.difference().map(|difference| (place + 1, difference)));
        }
    }
    intervals
}
