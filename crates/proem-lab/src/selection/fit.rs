//! A conditional logit (McFadden 1974): the weights under which the entry that served a request
//! is the likeliest among all entries.

use proem_select::select::{EntryEvidence, FEATURES};

/// One request: the evidence of every entry and which one served it.
#[derive(Debug)]
pub(crate) struct ChoiceExample {
    pub(crate) evidence: Vec<EntryEvidence>,
    pub(crate) chosen: usize,
    pub(crate) weight: f64,
}

/// The pull of weights towards 0, for the mean of all requests.
const RIDGE: f64 = 1e-4;
/// Newton's method doubles the right digits in each step. This many always suffice here.
const STEPS: usize = 30;

/// Fits the weights of the features in `used`. All others stay 0.
pub(crate) fn fit_evidence_weights(choices: &[ChoiceExample], used: &[usize]) -> Result<[f32; FEATURES], String> {
    let mut weights = vec![0.0_f64; used.len()];
    for _ in 0..STEPS {
        let (gradient, hessian) = evidence_derivatives(choices, used, &weights);
        let step = solve(hessian, gradient).ok_or("the evidence is not independent; leave some kind of it out")?;
        let size = step.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        // A long step may overshoot. The loss is convex, so a shorter one in its direction is safe.
        let damping = if size > 4.0 { 4.0 / size } else { 1.0 };
        weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight -= damping * step);
        if size < 1e-8 {
            break;
        }
    }
    let mut all = [0.0_f32; FEATURES];
    for (weight, feature) in weights.iter().zip(used) {
        if let Some(slot) = all.get_mut(*feature) {
            // Four digits are more than the data can tell, and read well in a diff.
            #[expect(clippy::cast_possible_truncation, reason = "a weight of moderate size")]
            let rounded = (weight * 1e4).round() as f32 / 1e4;
            *slot = rounded;
        }
    }
    Ok(all)
}

fn evidence_derivatives(choices: &[ChoiceExample], used: &[usize], weights: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = used.len();
    let (mut gradient, mut hessian) = (vec![0.0; n], vec![vec![0.0; n]; n]);
    let all: f64 = choices.iter().map(|choice| choice.weight).sum();
    for choice in choices {
        let row = |features: &EntryEvidence| -> Vec<f64> {
            used.iter().map(|feature| f64::from(features.get(*feature).copied().unwrap_or(0.0))).collect()
        };
        let rows: Vec<Vec<f64>> = choice.evidence.iter().map(row).collect();
        let sum = |row: &Vec<f64>| row.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
        let sums: Vec<f64> = rows.iter().map(sum).collect();
        let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = sums.iter().map(|sum| libm::exp(sum - most)).collect();
        let whole: f64 = shares.iter().sum();
        let mut mean = vec![0.0; n];
        for (row, share) in rows.iter().zip(&shares) {
            mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += share / whole * value);
        }
        let weight = choice.weight / all;
        if let Some(chosen) = rows.get(choice.chosen) {
            let slots = gradient.iter_mut().zip(&mean).zip(chosen);
            slots.for_each(|((slot, mean), chosen)| *slot += weight * (mean - chosen));
        }
        for (row, share) in rows.iter().zip(&shares) {
            let share = weight * share / whole;
            for ((line, a), mean_a) in hessian.iter_mut().zip(row).zip(&mean) {
                let a = share * (a - mean_a);
                for ((slot, b), mean_b) in line.iter_mut().zip(row).zip(&mean) {
                    *slot += a * (b - mean_b);
                }
            }
        }
    }
    for (place, weight) in weights.iter().enumerate() {
        if let Some(slot) = gradient.get_mut(place) {
            *slot += 2.0 * RIDGE * weight;
        }
        if let Some(slot) = hessian.get_mut(place).and_then(|line| line.get_mut(place)) {
            *slot += 2.0 * RIDGE;
        }
    }
    (gradient, hessian)
}

/// Solves a small system by elimination with pivots. `None` if it has no single solution.
pub(crate) fn solve(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for column in 0..n {
        let size = |row: &usize| rows.get(*row).and_then(|row| row.get(column)).map_or(0.0, |value| value.abs());
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if size(&pivot) < 1e-12 {
            return None;
        }
        rows.swap(column, pivot);
        right.swap(column, pivot);
        let (head, base) = (rows.get(column)?.clone(), *right.get(column)?);
        for row in (0..n).filter(|row| *row != column) {
            let line = rows.get_mut(row)?;
            let factor = line.get(column)? / head.get(column)?;
            line.iter_mut().zip(&head).for_each(|(value, head)| *value -= factor * head);
            *right.get_mut(row)? -= factor * base;
        }
    }
    (0..n).map(|place| Some(right.get(place)? / rows.get(place)?.get(place)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_which_evidence_tells() {
        let choice = |a: f32, b: f32, chosen: usize| {
            let mut evidence = vec![[0.0; FEATURES]; 2];
            evidence[0][0] = a;
            evidence[1][1] = b;
            ChoiceExample { evidence, chosen, weight: 1.0 }
        };
        let choices: Vec<ChoiceExample> = (0..40).map(|n| choice(1.0, 1.0, usize::from(n % 4 == 0))).collect();
        let weights = fit_evidence_weights(&choices, &[0, 1]).expect("two kinds of evidence");
        // Three in four: the sums differ by the logarithm of 3.
        assert!((weights[0] - weights[1] - 3.0_f32.ln()).abs() < 0.01, "{weights:?}");
        assert_eq!(weights[2..], [0.0; FEATURES - 2]);
    }
}
