//! How far our counts are from what providers report, and counting by that.
//!
//! For a provider that publishes no tokeniser, another one's count is scaled up. The reports give the factor: the new
//! scale is reported ÷ counted × the previous scale, rounded up, so that a count stays an upper estimate of the mean.

use std::collections::BTreeMap;

use proem_engine::call::NanoDollars;
use proem_store::query::Estimate;
use proem_store::record::AttemptId;
use proem_store::{Correction, Store};
use serde::Serialize;

use crate::error::Error;
use crate::factors::{Factor, Factors, RANGE};
use crate::operator::Operator;
use crate::places::Places;
use crate::when;

/// The real cost of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct CostCorrection<'c> {
    /// The attempt to send a request that the correction is for.
    pub attempt: AttemptId,
    /// The real price, as the provider's bill says, in nano-dollars.
    pub cost: NanoDollars,
    /// How that is known, in the person's words.
    pub why: &'c str,
}

/// Puts right what is booked for an attempt, as a person says.
///
/// # Errors
///
/// If there is no such attempt, it is not over, or it can't be written.
pub async fn correct_attempt(store: &Store, operator: &Operator, correction: CostCorrection<'_>) -> Result<(), Error> {
    let CostCorrection { attempt, cost, why } = correction;
    let actor = operator.actor().clone();
    store.correct(Correction { attempt, nanos: cost, why: why.to_owned(), actor, at: when::time_now() }).await?;
    Ok(())
}

/// Fewer calls say too little.
pub const MIN_CALLS: u64 = 20;

/// The fit for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorFit {
    /// The model's name.
    pub model: String,
    /// The counter that is scaled.
    pub base: String,
    /// The factor that counts today, in hundredths.
    pub present: usize,
    /// The one that would fit, within its limits. Nothing if there are too few calls.
    pub fitted: Option<usize>,
    /// How many calls say so.
    pub calls: u64,
    /// The tokens that were reported.
    pub reported: u64,
    /// The count of the base alone, before it is scaled.
    pub base_counted: u64,
}

/// Counts by what was found from now on. How many models that changes.
///
/// # Errors
///
/// If the factors can't be kept.
pub fn apply_factors(fitted: &[FactorFit], mut factors: Factors, places: &Places) -> Result<u64, Error> {
    let mut changed = 0_u64;
    for one in fitted {
        let Some(percent) = one.fitted.filter(|percent| *percent != one.present) else { continue };
        factors.models.insert(one.model.clone(), Factor { percent, calls: one.calls, previous: Some(one.present) });
        changed = changed.saturating_add(1);
    }
    if changed > 0 {
        factors.store(places)?;
    }
    Ok(changed)
}

/// Counts by the factors before. How many models that changes.
///
/// # Errors
///
/// If there are none, or the factors can't be kept.
pub fn revert(mut factors: Factors, places: &Places) -> Result<u64, Error> {
    let mut changed = 0_u64;
    for factor in factors.models.values_mut() {
        let Some(previous) = factor.previous.take() else { continue };
        factor.percent = previous;
        changed = changed.saturating_add(1);
    }
    if changed == 0 {
        return Err(Error::negative("no factor was changed, so there is nothing to undo"));
    }
    factors.store(places)?;
    Ok(changed)
}

/// The fits for each model that is counted by an estimate.
#[must_use]
pub fn fit_factors(estimates: &[Estimate], factors: &Factors) -> Vec<FactorFit> {
    let mut found: BTreeMap<(String, String), FactorFit> = BTreeMap::new();
    for estimate in estimates {
        let Some((base, percent)) = split_scaled_counter(&estimate.counter) else { continue };
        let present = factors.models.get(&estimate.model).map_or(percent, |factor| factor.percent);
        let one = found.entry((estimate.model.clone(), base.to_owned())).or_insert_with(|| FactorFit {
            model: estimate.model.clone(),
            base: base.to_owned(),
            present,
            fitted: None,
            calls: 0,
            reported: 0,
            base_counted: 0,
        });
        one.calls = one.calls.saturating_add(estimate.calls);
        one.reported = one.reported.saturating_add(estimate.reported);
        // Counts were rounded up; what the base counted is at most this.
        let counted = estimate.counted.saturating_mul(100) / u64::try_from(percent).unwrap_or(u64::MAX).max(1);
        one.base_counted = one.base_counted.saturating_add(counted);
    }
    let mut fitted: Vec<FactorFit> = found.into_values().collect();
    for one in &mut fitted {
        if one.calls >= MIN_CALLS && one.base_counted > 0 {
            let percent = one.reported.saturating_mul(100).div_ceil(one.base_counted);
            let percent = usize::try_from(percent).unwrap_or(usize::MAX);
            one.fitted = Some(percent.clamp(*RANGE.start(), *RANGE.end()));
        }
    }
    fitted
}

/// The base and the hundredths of a counter's name such as `o200k × 1.30`. A counter without a factor is exact.
fn split_scaled_counter(counter: &str) -> Option<(&str, usize)> {
    let (base, factor) = counter.split_once(" × ")?;
    let (whole, part) = factor.split_once('.')?;
    if part.len() != 2 {
        return None;
    }
    Some((base, whole.parse::<usize>().ok()?.checked_mul(100)?.checked_add(part.parse().ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(counter: &str, calls: u64, counted: u64, reported: u64) -> Estimate {
        Estimate { model: "m".to_owned(), counter: counter.to_owned(), calls, counted, reported }
    }

    #[test]
    fn factors_follow_what_was_reported() {
        for (estimates, expected) in [
            (vec![estimate("o200k", 40, 100, 100)], vec![]),
            (vec![estimate("o200k × 1.30", 19, 1_300, 1_400)], vec![None]),
            (vec![estimate("o200k × 1.30", 20, 1_300, 1_340)], vec![Some(134)]),
            (vec![estimate("o200k × 1.30", 20, 1_300, 500)], vec![Some(100)]),
            (vec![estimate("o200k × 1.30", 20, 1_300, 9_000)], vec![Some(200)]),
            // Counts under two factors are the same base's.
            (
                vec![estimate("o200k × 1.30", 10, 1_300, 1_200), estimate("o200k × 2.00", 10, 2_000, 1_200)],
                vec![Some(120)],
            ),
            (vec![estimate("o200k × 1.30", 20, 0, 0)], vec![None]),
        ] {
            let fitted: Vec<Option<usize>> =
                fit_factors(&estimates, &Factors::default()).iter().map(|one| one.fitted).collect();
            assert_eq!(fitted, expected, "{estimates:?}");
        }
    }

    #[test]
    fn a_counters_name_says_its_factor() {
        for (counter, expected) in [
            ("o200k × 1.30", Some(("o200k", 130))),
            ("o200k × 10.05", Some(("o200k", 1_005))),
            ("o200k", None),
            ("o200k × 1.3", None),
            ("o200k × x.30", None),
        ] {
            assert_eq!(split_scaled_counter(counter), expected, "{counter}");
        }
    }
}
