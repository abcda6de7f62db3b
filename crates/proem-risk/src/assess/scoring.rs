//! The score of a change and its place among the sampled commits.

use alloc::vec::Vec;

use super::{ChangeScore, RECENT};
use crate::metric::{ConfidenceInterval, Fraction, Metric, PercentileRank, Signal};
use crate::metrics::{AssessmentFacts, kamei};
use crate::score::{ChangeFeatures, RiskModel, Scale};

/// Scores a change. Without its size there is no signal: size decides most.
pub(super) fn score_change(facts: &AssessmentFacts<'_>, model: &RiskModel) -> (ChangeScore, Vec<Metric>) {
    let features = kamei::features_of_change(facts.past, facts.change);
    let metrics = kamei::kamei_metrics(facts, &features);
    if features.nf.is_none() {
        let score = ChangeScore { scored: None, rank: None, recent: None, between: None, signal: Signal::Unknown };
        return (score, metrics);
    }
    let sample: Vec<ChangeFeatures> = facts.sample.commits.iter().map(|sampled| sampled.features).collect();
    let scale = Scale::of(&sample);
    let scored = model.score(&features, &scale);
    let mut others: Vec<f64> = sample.iter().map(|features| model.log_odds(features, &scale)).collect();
    let mut newest = others.get(others.len().saturating_sub(RECENT)..).unwrap_or_default().to_vec();
    newest.sort_by(f64::total_cmp);
    let recent = PercentileRank::among(&newest, scored.log_odds);
    others.sort_by(f64::total_cmp);
    let below = others.partition_point(|other| *other < scored.log_odds);
    let rank = PercentileRank::among(&others, scored.log_odds);
    let whole = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let share = Fraction { numerator: whole(below), denominator: whole(others.len()) };
    let between = share
        .between()
        .map(|ConfidenceInterval { low, high }| ConfidenceInterval { low: low * 100.0, high: high * 100.0 });
    let signal = match rank {
        Some(rank) if scored.given_size.is_some() => facts.thresholds.score_signal(rank.percentile, rank.among),
        _ => Signal::Unknown,
    };
    (ChangeScore { scored: Some(scored), rank, recent, between, signal }, metrics)
}
