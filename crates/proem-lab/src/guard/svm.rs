//! A linear support vector machine with squared hinge loss.
//!
//! Dual coordinate descent (Hsieh et al., *A Dual Coordinate Descent Method for Large-scale Linear
//! SVM*, 2008, algorithm 1 without shrinking): one example after the other in an order that is dealt
//! anew each round. Everything is done in one fixed order, so the same examples give the same bits.

use crate::selection::public_sets::Dice;

/// One example.
#[derive(Debug, Clone)]
pub(super) struct SvmExample {
    /// Features that are not 0, ascending.
    pub(super) features: Vec<(u32, f32)>,
    pub(super) is_attack: bool,
    /// How much an error costs, above 0.
    pub(super) cost: f64,
}

/// The learned weights.
#[derive(Debug)]
pub(super) struct LinearWeights {
    pub(super) weights: Vec<f64>,
    pub(super) bias: f64,
    /// Rounds through all examples.
    pub(super) rounds: usize,
}

/// The most rounds, and the greatest violation of the optimum that is as good as none.
const ROUNDS: usize = 300;
const TOLERANCE: f64 = 0.03;
const SEED: u64 = 20;

/// Learns weights for features 0 to `size` − 1.
pub(super) fn fit_svm(examples: &[SvmExample], size: usize) -> LinearWeights {
    let mut learned = LinearWeights { weights: vec![0.0; size], bias: 0.0, rounds: 0 };
    let mut duals: Vec<DualExample<'_>> = examples.iter().map(DualExample::new).collect();
    let mut order: Vec<usize> = (0..duals.len()).collect();
    let mut dice = Dice(SEED);
    while learned.rounds < ROUNDS {
        learned.rounds += 1;
        dice.shuffle(&mut order);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for index in &order {
            if let Some(dual) = duals.get_mut(*index) {
                let violation = learned.improve(dual);
                least = least.min(violation);
                most = most.max(violation);
            }
        }
        if most - least <= TOLERANCE {
            break;
        }
    }
    learned
}

/// An example in the dual problem.
#[derive(Debug)]
struct DualExample<'e> {
    example: &'e SvmExample,
    /// Its Lagrange multiplier, at least 0; 0 as long as it has no part in the weights.
    multiplier: f64,
    /// The dual's second derivative for it: its squared length, with 1 for the bias, and the loss's part.
    curvature: f64,
}

impl<'e> DualExample<'e> {
    fn new(example: &'e SvmExample) -> Self {
        let squares: f64 = example.features.iter().map(|(_, value)| f64::from(*value) * f64::from(*value)).sum();
        Self { example, multiplier: 0.0, curvature: squares + 1.0 + 0.5 / example.cost }
    }
}

impl LinearWeights {
    /// The distance from the border, in margins.
    pub(super) fn score(&self, features: &[(u32, f32)]) -> f64 {
        let weight = |feature: u32| self.weights.get(feature as usize).copied().unwrap_or(0.0);
        features.iter().fold(self.bias, |sum, (feature, value)| sum + weight(*feature) * f64::from(*value))
    }

    /// Moves the weights to where one example is content, and says how far it was from that.
    fn improve(&mut self, dual: &mut DualExample<'_>) -> f64 {
        let example = dual.example;
        let sign = if example.is_attack { 1.0 } else { -1.0 };
        let slope = sign * self.score(&example.features) - 1.0 + dual.multiplier * 0.5 / example.cost;
        let violation = if dual.multiplier > 0.0 { slope } else { slope.min(0.0) };
        if violation.abs() > 1e-12 {
            let next = (dual.multiplier - slope / dual.curvature).max(0.0);
            let step = (next - dual.multiplier) * sign;
            dual.multiplier = next;
            self.bias += step;
            for (feature, value) in &example.features {
                if let Some(weight) = self.weights.get_mut(*feature as usize) {
                    *weight += step * f64::from(*value);
                }
            }
        }
        violation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(features: &[(u32, f32)], is_attack: bool, cost: f64) -> SvmExample {
        SvmExample { features: features.to_vec(), is_attack, cost }
    }

    #[test]
    fn two_examples_have_a_solution_in_closed_form() {
        // Minimise (w² + b²)/2 + C Σ max(0, 1 − y(wx + b))² for x = ±1: b = 0 and w = 4C/(1 + 4C).
        for cost in [0.5, 1.0, 8.0] {
            let learned = fit_svm(&[example(&[(0, 1.0)], true, cost), example(&[(0, -1.0)], false, cost)], 1);
            let expected = 4.0 * cost / (1.0 + 4.0 * cost);
            assert!((learned.weights[0] - expected).abs() < 0.03 && learned.bias.abs() < 0.03, "{learned:?}");
        }
    }

    #[test]
    fn a_costly_error_counts_more() {
        let weight = |cost| fit_svm(&[example(&[(0, 1.0)], true, cost), example(&[(0, 1.0)], false, 1.0)], 1);
        assert!(weight(10.0).score(&[(0, 1.0)]) > 0.0 && weight(0.1).score(&[(0, 1.0)]) < 0.0);
    }

    #[test]
    fn the_same_examples_give_the_same_bits() {
        let mut dice = Dice(3);
        let bucket = |dice: &mut Dice| u32::try_from(dice.below(9)).unwrap();
        let examples: Vec<SvmExample> = (0..50)
            .map(|index| example(&[(bucket(&mut dice), 0.5), (9 + bucket(&mut dice), 1.5)], index % 3 == 0, 1.0))
            .collect();
        let (a, b) = (fit_svm(&examples, 18), fit_svm(&examples, 18));
        assert!(a.weights == b.weights && a.bias == b.bias && a.rounds == b.rounds);
    }
}
