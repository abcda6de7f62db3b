//! A conditional logit (McFadden 1974) with several right answers: the weights under which the files that were changed
//! are the likeliest of all, each an equal share of its case.

use crate::selection::fit::solve;

/// One case: the signals of its candidates, and which of them were changed.
#[derive(Debug)]
pub(super) struct ContextChoice<const N: usize> {
    pub(super) rows: Vec<([f32; N], bool)>,
}

/// The pull of weights towards 0, for the mean of all cases.
const RIDGE: f64 = 2e-4;
const STEPS: usize = 40;

/// Fits the weights of the signals in `used`; all others stay 0.
pub(super) fn fit<const N: usize>(choices: &[ContextChoice<N>], used: &[usize]) -> Result<Vec<f32>, String> {
    let mut weights = vec![0.0_f64; used.len()];
    for _ in 0..STEPS {
        let (gradient, hessian) = derivatives(choices, used, &weights);
        let step = solve(hessian, gradient).ok_or("the signals are not independent; leave some of them out")?;
        let size = step.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let damping = if size > 2.0 { 2.0 / size } else { 1.0 };
        weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight -= damping * step);
        if size < 1e-7 {
            break;
        }
    }
    let mut all = vec![0.0_f32; N];
    for (weight, signal) in weights.iter().zip(used) {
        if let Some(slot) = all.get_mut(*signal) {
            #[expect(clippy::cast_possible_truncation, reason = "a weight of moderate size")]
            let rounded = (weight * 1e3).round() as f32 / 1e3;
            *slot = rounded;
        }
    }
    Ok(all)
}

fn derivatives<const N: usize>(
    choices: &[ContextChoice<N>],
    used: &[usize],
    weights: &[f64],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = used.len();
    let (mut gradient, mut hessian) = (vec![0.0; n], vec![vec![0.0; n]; n]);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand cases")]
    let share_of_case = 1.0 / choices.len().max(1) as f64;
    for choice in choices {
        let row = |signals: &[f32; N]| -> Vec<f64> {
            used.iter().map(|signal| f64::from(signals.get(*signal).copied().unwrap_or(0.0))).collect()
        };
        let rows: Vec<Vec<f64>> = choice.rows.iter().map(|(signals, _)| row(signals)).collect();
        let sums: Vec<f64> =
            rows.iter().map(|row| row.iter().zip(weights).map(|(value, weight)| value * weight).sum()).collect();
        let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let odds: Vec<f64> = sums.iter().map(|sum| libm::exp(sum - most)).collect();
        let whole: f64 = odds.iter().sum();
        let right = choice.rows.iter().filter(|(_, is_right)| *is_right).count();
        #[expect(clippy::cast_precision_loss, reason = "at most five")]
        let right = right.max(1) as f64;
        let mut mean = vec![0.0; n];
        for (row, odds) in rows.iter().zip(&odds) {
            mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += odds / whole * value);
        }
        for (row, (_, is_right)) in rows.iter().zip(&choice.rows) {
            if *is_right {
                let slots = gradient.iter_mut().zip(&mean).zip(row);
                slots.for_each(|((slot, mean), value)| *slot += share_of_case / right * (mean - value));
            }
        }
        for (row, odds) in rows.iter().zip(&odds) {
            let share = share_of_case * odds / whole;
            if share < 1e-9 {
                continue;
            }
            for ((line, a), mean_a) in hessian.iter_mut().zip(row).zip(&mean) {
                let a = share * (a - mean_a);
                line.iter_mut().zip(row).zip(&mean).for_each(|((slot, b), mean_b)| *slot += a * (b - mean_b));
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
