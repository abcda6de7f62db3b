//! Thresholds that would have called fewer false alarms.

use proem_risk::level::{Steps, Thresholds};
use schemars::JsonSchema;
use serde::Serialize;

use super::{AssessmentOpinion, FeedbackTally, Meter};
use crate::risk::report::FractionOut;

/// The fewest verdicts on a metric from which a threshold is suggested.
pub const FEWEST: u64 = 30;
/// The fewest right alarms among them: with fewer, it is open what a threshold would miss.
const FEWEST_CAUGHT: usize = 5;
/// The share of alarms that were right which a suggestion keeps at least.
const KEEP: f64 = 0.95;
/// The share of false alarms that a suggestion removes at least.
const REMOVE: f64 = 0.2;

/// A threshold that would have called fewer false alarms.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Suggestion {
    /// Of which metric.
    pub metric: Meter,
    /// The thresholds that it was judged by.
    pub from: StepsOut,
    /// The suggested ones.
    pub to: StepsOut,
    /// The false alarms that they would not have called.
    pub removed: FractionOut,
    /// The right ones that they would have called still.
    pub kept: FractionOut,
    /// Why, in our words.
    pub because: String,
}

/// Two thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StepsOut {
    /// Between LOW and MEDIUM.
    pub first: f64,
    /// Between MEDIUM and HIGH.
    pub second: f64,
}

impl From<Steps> for StepsOut {
    fn from(steps: Steps) -> Self {
        Self { first: steps.first, second: steps.second }
    }
}

impl From<StepsOut> for Steps {
    fn from(steps: StepsOut) -> Self {
        Self { first: steps.first, second: steps.second }
    }
}

/// Suggests thresholds, at most one for each metric.
///
/// From the values that were judged, the second threshold is the one that removes most false alarms while it keeps at
/// least 95 % of the right ones. Among equals the nearest to the present one. There is no suggestion from fewer than
/// [`FEWEST`] judged values, fewer than five right alarms, or one that would remove less than a fifth of the false
/// ones.
#[must_use]
pub fn suggest(tally: &FeedbackTally, thresholds: &Thresholds) -> Vec<Suggestion> {
    let of =
        |(meter, values): (&Meter, &Vec<(f64, AssessmentOpinion)>)| suggestion(*meter, values, meter.steps(thresholds));
    tally.values.iter().filter_map(of).collect()
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ThresholdEffect {
    pub(super) second: f64,
    removed: usize,
    kept: usize,
}

pub(super) fn suggestion(meter: Meter, values: &[(f64, AssessmentOpinion)], from: Steps) -> Option<Suggestion> {
    // Values that the present thresholds would not call HIGH carry no evidence about them.
    let values: Vec<(f64, AssessmentOpinion)> =
        values.iter().copied().filter(|(value, _)| meter.is_high(*value, from.second)).collect();
    let (false_positives, caught) =
        (count_opinions(&values, AssessmentOpinion::FalsePositive), count_opinions(&values, AssessmentOpinion::Caught));
    if u64::try_from(values.len()).unwrap_or(u64::MAX) < FEWEST || caught < FEWEST_CAUGHT {
        return None;
    }
    let best = best_threshold(meter, &values, from)?;
    let (removed, kept) = (fraction(best.removed, false_positives), fraction(best.kept, caught));
    let because = format!(
        "with it, {} of {} false alarms would not have been HIGH, and {} of {} true alarms still would (n = {})",
        best.removed,
        false_positives,
        best.kept,
        caught,
        values.len()
    );
    let to = StepsOut { first: from.first, second: best.second };
    Some(Suggestion { metric: meter, from: from.into(), to, removed, kept, because })
}

/// The second threshold that removes most false alarms among those that keep the right ones. `None` if there is no right
/// alarm, or if none removes enough.
pub(super) fn best_threshold(
    meter: Meter,
    values: &[(f64, AssessmentOpinion)],
    from: Steps,
) -> Option<ThresholdEffect> {
    let (false_positives, caught) =
        (count_opinions(values, AssessmentOpinion::FalsePositive), count_opinions(values, AssessmentOpinion::Caught));
    let nearer = |a: &ThresholdEffect, b: &ThresholdEffect| {
        (b.second - from.second).abs().total_cmp(&(a.second - from.second).abs())
    };
    values
        .iter()
        .map(|(value, _)| threshold_effect(meter, values, *value))
        .filter(|effect| {
            share_or_zero(effect.kept, caught) >= KEEP && share_or_zero(effect.removed, false_positives) >= REMOVE
        })
        .max_by(|a, b| a.removed.cmp(&b.removed).then_with(|| nearer(a, b)))
}

fn count_opinions(values: &[(f64, AssessmentOpinion)], said: AssessmentOpinion) -> usize {
    values.iter().filter(|(_, known)| *known == said).count()
}

fn threshold_effect(meter: Meter, values: &[(f64, AssessmentOpinion)], second: f64) -> ThresholdEffect {
    let called = |said: AssessmentOpinion| {
        values.iter().filter(|(value, known)| *known == said && meter.is_high(*value, second)).count()
    };
    let false_positives = count_opinions(values, AssessmentOpinion::FalsePositive);
    let removed = false_positives.saturating_sub(called(AssessmentOpinion::FalsePositive));
    ThresholdEffect { second, removed, kept: called(AssessmentOpinion::Caught) }
}

#[expect(clippy::cast_precision_loss, reason = "counts of verdicts are far below 2⁵³")]
fn share_or_zero(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn fraction(part: usize, whole: usize) -> FractionOut {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    FractionOut { numerator: count(part), denominator: count(whole) }
}

/// The thresholds with suggestions taken over.
#[must_use]
pub fn apply_suggestions(thresholds: &Thresholds, suggestions: &[Suggestion]) -> Thresholds {
    let mut new = thresholds.clone();
    for suggestion in suggestions {
        *suggestion.metric.steps_mut(&mut new) = suggestion.to.into();
    }
    new
}
