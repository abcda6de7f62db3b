//! A conditional logit (McFadden 1974) with several right answers: the weights under which each file that was changed
//! is the likeliest beside all that were not. The others that were changed aren't in its way, for ten files are named.

use crate::selection::fit::solve;

/// One case: the signals of its candidates, and which of them were changed.
#[derive(Debug)]
pub(super) struct ContextChoice<const N: usize> {
    pub(super) rows: Vec<([f32; N], bool)>,
}

/// The pull of weights towards 0, for the mean of all cases.
const RIDGE: f64 = 2e-4;
const STEPS: usize = 40;

/// A candidate whose odds beside the likeliest are less than this is left out of the sums of signals.
const LEAST: f64 = 1e-7;

/// Fits the weights of the signals in `used`, beginning with those of `from`. All others stay 0.
pub(super) fn fit_conditional_logit<const N: usize>(
    choices: &[&ContextChoice<N>],
    used: &[usize],
    from: &[f32],
) -> Result<Vec<f32>, String> {
    let mut weights: Vec<f64> = used.iter().map(|signal| from.get(*signal).copied().map_or(0.0, f64::from)).collect();
    for _ in 0..STEPS {
        let (gradient, hessian) = choice_derivatives(choices, used, &weights);
        let step = solve(hessian, gradient).ok_or("the signals are not independent; leave some of them out")?;
        let size = step.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let damping = if size > 2.0 { 2.0 / size } else { 1.0 };
        weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight -= damping * step);
        if size < 1e-5 {
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

/// Sums over candidates, each by its odds: their number, their signals, and the products of their signals.
struct Moments {
    whole: f64,
    first: Vec<f64>,
    /// Of the pairs with `b ≥ a`.
    second: Vec<Vec<f64>>,
}

impl Moments {
    fn new(signals: usize) -> Self {
        Self { whole: 0.0, first: vec![0.0; signals], second: vec![vec![0.0; signals]; signals] }
    }

    fn add(&mut self, row: &[f64], odds: f64) {
        for ((first, second), (place, value)) in self.first.iter_mut().zip(&mut self.second).zip(row.iter().enumerate())
        {
            *first += odds * value;
            let pairs = second.iter_mut().zip(row).skip(place);
            pairs.for_each(|(slot, other)| *slot += odds * value * other);
        }
    }
}

/// The candidates of a case that were not changed, and those that were, each with its odds beside the likeliest.
fn choice_moments<const N: usize>(
    choice: &ContextChoice<N>,
    used: &[usize],
    weights: &[f64],
) -> (Moments, Vec<(Vec<f64>, f64)>) {
    let row = |signals: &[f32; N]| -> Vec<f64> {
        used.iter().map(|signal| f64::from(signals.get(*signal).copied().unwrap_or(0.0))).collect()
    };
    let sum = |signals: &[f32; N]| -> f64 {
        let of = |signal: &usize| f64::from(signals.get(*signal).copied().unwrap_or(0.0));
        used.iter().map(of).zip(weights).map(|(value, weight)| value * weight).sum()
    };
    let sums: Vec<f64> = choice.rows.iter().map(|(signals, _)| sum(signals)).collect();
    let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let odds: Vec<f64> = sums.iter().map(|sum| libm::exp(sum - most)).collect();
    let (mut wrong, mut right) = (Moments::new(used.len()), Vec::new());
    for ((signals, is_right), odds) in choice.rows.iter().zip(odds) {
        if *is_right {
            right.push((row(signals), odds));
            continue;
        }
        wrong.whole += odds;
        if odds > LEAST {
            wrong.add(&row(signals), odds);
        }
    }
    (wrong, right)
}

/// Of the mean over cases of `−ln p`, where `p` is how likely a changed file is among itself and those that were not.
fn choice_derivatives<const N: usize>(
    choices: &[&ContextChoice<N>],
    used: &[usize],
    weights: &[f64],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = used.len();
    let (mut gradient, mut hessian) = (vec![0.0; n], vec![vec![0.0; n]; n]);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand cases")]
    let share_of_case = 1.0 / choices.len().max(1) as f64;
    for choice in choices {
        let (wrong, right) = choice_moments(choice, used, weights);
        #[expect(clippy::cast_precision_loss, reason = "at most five")]
        let share = share_of_case / right.len().max(1) as f64;
        for (row, odds) in &right {
            let whole = wrong.whole + odds;
            let mean: Vec<f64> =
                wrong.first.iter().zip(row).map(|(first, value)| (first + odds * value) / whole).collect();
            let slots = gradient.iter_mut().zip(&mean).zip(row);
            slots.for_each(|((slot, mean), value)| *slot += share * (mean - value));
            for (place, ((line, second), (value, mean_of))) in
                hessian.iter_mut().zip(&wrong.second).zip(row.iter().zip(&mean)).enumerate()
            {
                let pairs = line.iter_mut().zip(second).zip(row.iter().zip(&mean)).skip(place);
                pairs.for_each(|((slot, second), (other, mean_of_other))| {
                    *slot += share * ((second + odds * value * other) / whole - mean_of * mean_of_other);
                });
            }
        }
    }
    for place in 0..n {
        for other in 0..place {
            let value = hessian.get(other).and_then(|line| line.get(place)).copied().unwrap_or(0.0);
            if let Some(slot) = hessian.get_mut(place).and_then(|line| line.get_mut(other)) {
                *slot = value;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The first derivatives are those of the loss itself, and the second those of the first, by small differences.
    #[test]
    fn derivatives_are_those_of_the_loss() {
        let choices = [
            ContextChoice {
                rows: vec![([1.0, 0.5], true), ([0.2, 0.9], true), ([0.4, 0.1], false), ([0.0, 0.8], false)],
            },
            ContextChoice { rows: vec![([0.3, 0.0], false), ([0.1, 1.0], true)] },
        ];
        let choices: Vec<&ContextChoice<2>> = choices.iter().collect();
        let loss = |weights: &[f64; 2]| -> f64 {
            let sum = |row: &[f32; 2]| row.iter().zip(weights).map(|(value, weight)| f64::from(*value) * weight).sum();
            let odds = |row: &[f32; 2]| libm::exp(sum(row));
            let of = |choice: &&ContextChoice<2>| {
                let wrong: f64 = choice.rows.iter().filter(|(_, right)| !right).map(|(row, _)| odds(row)).sum();
                let right: Vec<f64> =
                    choice.rows.iter().filter(|(_, right)| *right).map(|(row, _)| odds(row)).collect();
                right.iter().map(|odds| -(odds / (odds + wrong)).ln()).sum::<f64>() / right.len() as f64
            };
            let ridge: f64 = weights.iter().map(|weight| RIDGE * weight * weight).sum();
            choices.iter().map(of).sum::<f64>() / choices.len() as f64 + ridge
        };
        let (at, step) = ([0.7, -0.4], 1e-5);
        let moved = |place: usize, by: f64| {
            let mut weights = at;
            weights[place] += by;
            weights
        };
        let (gradient, hessian) = choice_derivatives(&choices, &[0, 1], &at);
        for place in 0..2 {
            let (more, less) = (moved(place, step), moved(place, -step));
            assert!((gradient[place] - (loss(&more) - loss(&less)) / (2.0 * step)).abs() < 1e-8);
            let (more, less) =
                (choice_derivatives(&choices, &[0, 1], &more).0, choice_derivatives(&choices, &[0, 1], &less).0);
            for other in 0..2 {
                assert!((hessian[place][other] - (more[other] - less[other]) / (2.0 * step)).abs() < 1e-8);
            }
        }
    }
}
