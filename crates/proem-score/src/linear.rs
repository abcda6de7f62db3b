//! Logistic regression with few features.
//!
//! The log-odds of a label are `bias + Σ weight · feature` (Cox, *The Regression Analysis of
//! Binary Sequences*, 1958). [`fit_logistic`] finds the weights by Newton's method, which for this model is
//! iteratively reweighted least squares (McCullagh and Nelder, *Generalized Linear Models*, 1989,
//! section 2.5): no learning rate, about ten rounds, the same result every time.

use alloc::{format, vec, vec::Vec};

use crate::{
    error::{Error, ErrorKind},
    matrix::Matrix,
};

/// A linear model of log-odds.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// One weight for each feature.
    pub weights: Vec<f32>,
    /// The log-odds when every feature is 0.
    pub bias: f32,
}

impl Logistic {
    /// The log-odds that these features speak for.
    ///
    /// Not a number if a feature is not. Features without a weight, and weights without a feature, count nothing.
    #[must_use]
    pub fn score(&self, features: &[f32]) -> f32 {
        let products = self.weights.iter().zip(features).map(|(weight, feature)| weight * feature);
        products.fold(self.bias, |sum, product| sum + product)
    }

    /// The probability that these features speak for, 0 to 1. Not a number like [`Self::score`].
    #[must_use]
    pub fn probability(&self, features: &[f32]) -> f32 {
        logistic_f32(f64::from(self.score(features)))
    }
}

/// The logistic function `1 / (1 + e⁻ˣ)`, without overflow.
#[must_use]
pub fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + libm::exp(-x))
    } else {
        let power = libm::exp(x);
        power / (1.0 + power)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1, or none")]
pub(crate) fn logistic_f32(x: f64) -> f32 {
    logistic(x) as f32
}

/// `ln(1 + eˣ)`, without overflow.
pub(crate) fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + libm::log1p(libm::exp(-x)) } else { libm::log1p(libm::exp(x)) }
}

/// How to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingOptions {
    /// Half the penalty on each squared weight, in examples, 0 or more. The bias has none. It applies to features of
    /// unit variance, so the features' units don't matter.
    pub l2: f64,
    /// The most rounds.
    pub iterations: usize,
    /// Stop when no weight of a feature of unit variance moves further than this in one round.
    pub tolerance: f64,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self { l2: 1.0, iterations: 50, tolerance: 1e-9 }
    }
}

/// A model and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedModel {
    /// The model that was learned.
    pub model: Logistic,
    /// Rounds used.
    pub iterations: usize,
    /// Whether the last round moved no weight further than the tolerance.
    pub converged: bool,
    /// The mean negative log-likelihood of the examples by their weights, without the penalty.
    pub loss: f64,
}

/// Learns which features speak for a label.
///
/// `weights` says how much each example counts. Empty means 1 each. A feature that never varies gets the weight 0.
///
/// # Errors
///
/// [`ErrorKind::Shape`], [`ErrorKind::NotFinite`] and [`ErrorKind::OneClass`] for examples that can't be learned from.
/// [`ErrorKind::Singular`] if two features say the same and `l2` is 0, or a setting is not a number.
pub fn fit_logistic<R: AsRef<[f32]>>(
    rows: &[R],
    labels: &[bool],
    weights: &[f32],
    options: TrainingOptions,
) -> Result<TrainedModel, Error> {
    let examples = training_examples(rows, labels, weights)?;
    if !(options.l2 >= 0.0 && options.l2.is_finite()) {
        return Err(Error::new(ErrorKind::NotFinite, "the penalty `l2` has to be finite and 0 or more"));
    }
    let examples = TrainingSet { scaling: Scaling::of(&examples), examples };
    let mut parameters = vec![0.0; examples.scaling.features.len().saturating_add(1)];
    let mut loss = examples.objective(&parameters, options.l2);
    let (mut iterations, mut converged) = (0, false);
    while iterations < options.iterations && !converged {
        iterations += 1;
        let step = examples.newton_step(&parameters, options.l2).ok_or_else(|| {
            Error::new(ErrorKind::Singular, "two features say the same; leave one out or set a penalty `l2`")
        })?;
        let Some((next, next_loss, length)) = examples.search(&parameters, &step, loss, options.l2) else {
            // No shorter step helps: rounding is all that is left.
            converged = true;
            break;
        };
        converged = length <= options.tolerance;
        (parameters, loss) = (next, next_loss);
    }
    let model = examples.scaling.unscale(&parameters);
    Ok(TrainedModel { model, iterations, converged, loss: examples.objective(&parameters, 0.0) / examples.total() })
}

/// One example to learn from.
#[derive(Debug, Clone, Copy)]
struct TrainingExample<'a> {
    features: &'a [f32],
    label: bool,
    weight: f64,
}

/// The examples, if rows, labels and weights belong together and something can be learned from them.
fn training_examples<'a, R: AsRef<[f32]>>(
    rows: &'a [R],
    labels: &[bool],
    weights: &[f32],
) -> Result<Vec<TrainingExample<'a>>, Error> {
    if rows.len() != labels.len() || !(weights.is_empty() || weights.len() == rows.len()) {
        let problem =
            format!("{} rows, {} labels and {} weights don't belong together", rows.len(), labels.len(), weights.len());
        return Err(Error::new(ErrorKind::Shape, problem));
    }
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    for (index, row) in rows.iter().enumerate() {
        let row = row.as_ref();
        if row.len() != columns {
            let problem = format!("row {index} has {} features, the first has {columns}", row.len());
            return Err(Error::new(ErrorKind::Shape, problem));
        }
        if let Some(column) = row.iter().position(|value| !value.is_finite()) {
            return Err(Error::new(ErrorKind::NotFinite, format!("feature {column} of row {index} is not finite")));
        }
    }
    if let Some(index) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        return Err(Error::new(ErrorKind::NotFinite, format!("weight {index} is negative or not finite")));
    }
    // Without weights each example counts once.
    let weights = weights.iter().map(|weight| f64::from(*weight)).chain(core::iter::repeat(1.0));
    let examples: Vec<TrainingExample<'_>> = rows
        .iter()
        .zip(labels)
        .zip(weights)
        .map(|((row, label), weight)| TrainingExample { features: row.as_ref(), label: *label, weight })
        .collect();
    let has = |wanted: bool| examples.iter().any(|example| example.label == wanted && example.weight > 0.0);
    if !(has(true) && has(false)) {
        return Err(Error::new(ErrorKind::OneClass, "examples of both labels are needed"));
    }
    Ok(examples)
}

/// The scaling that brings each feature to mean 0 and variance 1.
#[derive(Debug)]
struct Scaling {
    features: Vec<FeatureScale>,
}

/// How one feature is scaled.
#[derive(Debug, Clone, Copy, Default)]
struct FeatureScale {
    mean: f64,
    /// 1 / standard deviation; 0 for a feature that never varies.
    factor: f64,
}

impl FeatureScale {
    fn apply(self, value: f32) -> f64 {
        (f64::from(value) - self.mean) * self.factor
    }
}

impl Scaling {
    fn of(examples: &[TrainingExample<'_>]) -> Self {
        let total: f64 = examples.iter().map(|example| example.weight).sum();
        let columns = examples.first().map_or(0, |example| example.features.len());
        let mut features = vec![FeatureScale::default(); columns];
        for TrainingExample { features: values, weight, .. } in examples {
            for (feature, value) in features.iter_mut().zip(*values) {
                feature.mean += weight * f64::from(*value) / total;
            }
        }
        // The second pass sums the variance where the factor will be.
        for TrainingExample { features: values, weight, .. } in examples {
            for (feature, value) in features.iter_mut().zip(*values) {
                let distance = f64::from(*value) - feature.mean;
                feature.factor += weight * distance * distance / total;
            }
        }
        for FeatureScale { mean, factor } in &mut features {
            // A variance that rounding alone explains is none.
            let varies = *factor > *mean * *mean * 1e-24 && *factor > f64::MIN_POSITIVE;
            *factor = if varies { 1.0 / libm::sqrt(*factor) } else { 0.0 };
        }
        Self { features }
    }

    /// Writes a row's scaled features, then 1 for the bias.
    fn apply(&self, row: &[f32], scaled: &mut Vec<f64>) {
        scaled.clear();
        scaled.extend(row.iter().zip(&self.features).map(|(value, feature)| feature.apply(*value)));
        scaled.push(1.0);
    }

    /// The model for features as they come.
    fn unscale(&self, parameters: &[f64]) -> Logistic {
        let (bias, weights) = parameters.split_last().unwrap_or((&0.0, &[]));
        let weights: Vec<f64> =
            weights.iter().zip(&self.features).map(|(weight, feature)| weight * feature.factor).collect();
        let bias =
            weights.iter().zip(&self.features).fold(*bias, |bias, (weight, feature)| bias - weight * feature.mean);
        #[expect(clippy::cast_possible_truncation, reason = "a model's numbers are kept in single precision")]
        let single = |value: f64| value as f32;
        Logistic { weights: weights.into_iter().map(single).collect(), bias: single(bias) }
    }
}

/// Examples to learn from.
struct TrainingSet<'a> {
    examples: Vec<TrainingExample<'a>>,
    scaling: Scaling,
}

impl TrainingSet<'_> {
    fn total(&self) -> f64 {
        self.examples.iter().map(|example| example.weight).sum()
    }

    /// Calls `visit` with each example's scaled features, label and weight, in order.
    fn visit(&self, mut visit: impl FnMut(&[f64], f64, f64)) {
        let mut scaled = Vec::new();
        for example in &self.examples {
            self.scaling.apply(example.features, &mut scaled);
            visit(&scaled, f64::from(u8::from(example.label)), example.weight);
        }
    }

    /// The negative log-likelihood with its penalty.
    fn objective(&self, parameters: &[f64], l2: f64) -> f64 {
        let mut sum = l2 / 2.0 * squares(parameters);
        self.visit(|features, label, weight| {
            let odds = dot_f64(features, parameters);
            sum += weight * (softplus(odds) - label * odds);
        });
        sum
    }

    /// The step to the minimum of the parabola that touches the objective here.
    fn newton_step(&self, parameters: &[f64], l2: f64) -> Option<Vec<f64>> {
        let size = parameters.len();
        let mut curvature = Matrix::zeros(size);
        let mut downhill = vec![0.0; size];
        self.visit(|features, label, weight| {
            let probability = logistic(dot_f64(features, parameters));
            let residual = weight * (label - probability);
            for (slope, feature) in downhill.iter_mut().zip(features) {
                *slope += residual * feature;
            }
            curvature.add_outer(weight * probability * (1.0 - probability), features);
        });
        for (index, ((feature, parameter), slope)) in
            self.scaling.features.iter().zip(parameters).zip(&mut downhill).enumerate()
        {
            *slope -= l2 * parameter;
            // A feature that never varies has no curvature and no slope: any number keeps it at 0.
            curvature.add(index, index, if feature.factor > 0.0 { l2 } else { 1.0 });
        }
        curvature.solve(&downhill)
    }

    /// The longest of the step's halves that lowers the objective: the parameters there, the
    /// objective and the furthest that one parameter moved.
    fn search(&self, from: &[f64], step: &[f64], loss: f64, l2: f64) -> Option<(Vec<f64>, f64, f64)> {
        let mut share = 1.0;
        for _ in 0..30 {
            let next: Vec<f64> = from.iter().zip(step).map(|(value, step)| value + share * step).collect();
            let next_loss = self.objective(&next, l2);
            if next_loss < loss {
                let length = step.iter().fold(0.0_f64, |longest, step| longest.max((share * step).abs()));
                return Some((next, next_loss, length));
            }
            share /= 2.0;
        }
        None
    }
}

fn dot_f64(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The sum of the squared weights, without the bias, which is last.
fn squares(parameters: &[f64]) -> f64 {
    parameters.split_last().map_or(0.0, |(_, weights)| weights.iter().map(|weight| weight * weight).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f32, expected: f32) -> bool {
        (value - expected).abs() < 1e-4
    }

    #[test]
    fn scores_are_log_odds() {
        let model = Logistic { weights: vec![2.0, -1.0], bias: 0.5 };
        for (features, score) in [(&[0.0, 0.0][..], 0.5), (&[1.0, 1.0], 1.5), (&[], 0.5), (&[1.0, 1.0, 9.0], 1.5)] {
            assert!(is_near(model.score(features), score), "{features:?}");
            assert!(is_near(model.probability(features), 1.0 / (1.0 + (-score).exp())), "{features:?}");
        }
        assert!(model.score(&[f32::NAN]).is_nan() && model.probability(&[f32::NAN]).is_nan());
        assert!(
            is_near(model.probability(&[f32::INFINITY]), 1.0) && is_near(model.probability(&[f32::NEG_INFINITY]), 0.0)
        );
    }

    /// A feature of 0 or 1 with counted labels has a solution in closed form.
    fn push_counted(rows: &mut Vec<[f32; 1]>, labels: &mut Vec<bool>, feature: f32, yes: usize, no: usize) {
        rows.extend(vec![[feature]; yes + no]);
        labels.extend((0..yes + no).map(|index| index < yes));
    }

    #[test]
    fn finds_the_odds_that_were_counted() {
        let (mut rows, mut labels) = (vec![], vec![]);
        push_counted(&mut rows, &mut labels, 0.0, 20, 80);
        push_counted(&mut rows, &mut labels, 1.0, 60, 40);
        let fitted =
            fit_logistic(&rows, &labels, &[], TrainingOptions { l2: 0.0, ..TrainingOptions::default() }).unwrap();
        assert!(fitted.converged && fitted.iterations < 10, "{fitted:?}");
        assert!(is_near(fitted.model.bias, (20.0_f32 / 80.0).ln()), "{fitted:?}");
        assert!(is_near(fitted.model.weights[0], (60.0_f32 / 40.0).ln() - (20.0_f32 / 80.0).ln()), "{fitted:?}");
        let entropy = |p: f64| -(p * p.ln() + (1.0 - p) * (1.0 - p).ln());
        assert!((fitted.loss - f64::midpoint(entropy(0.2), entropy(0.6))).abs() < 1e-9, "{fitted:?}");
    }

    #[test]
    fn a_weight_counts_like_so_many_examples() {
        let options = TrainingOptions::default();
        let rows = [[0.0, 1.0], [1.0, 0.0], [1.0, 3.0], [2.0, 1.0]];
        let labels = [true, false, true, false];
        let repeated = [rows[0], rows[0], rows[1], rows[2], rows[2], rows[2], rows[3]];
        let a = fit_logistic(&rows, &labels, &[2.0, 1.0, 3.0, 1.0], options).unwrap().model;
        let b = fit_logistic(&repeated, &[true, true, false, true, true, true, false], &[], options).unwrap().model;
        assert!(
            a.weights.iter().zip(&b.weights).all(|(a, b)| is_near(*a, *b)) && is_near(a.bias, b.bias),
            "{a:?} {b:?}"
        );
        let without = fit_logistic(&rows[..3], &labels[..3], &[], options).unwrap().model;
        let ignored = fit_logistic(&rows, &labels, &[1.0, 1.0, 1.0, 0.0], options).unwrap().model;
        assert!(is_near(without.weights[0], ignored.weights[0]), "{without:?} {ignored:?}");
    }

    #[test]
    fn a_feature_that_never_varies_and_separable_examples_are_no_trouble() {
        let rows = [[5.0, -1.0], [5.0, -2.0], [5.0, 1.0], [5.0, 2.0]];
        let fitted = fit_logistic(&rows, &[false, false, true, true], &[], TrainingOptions::default()).unwrap();
        assert_eq!(fitted.model.weights[0], 0.0);
        assert!(fitted.model.weights[1] > 0.0 && fitted.converged);
        // Without a penalty there is no best weight, but what is found is finite and right.
        let fitted = fit_logistic(
            &rows,
            &[false, false, true, true],
            &[],
            TrainingOptions { l2: 0.0, ..TrainingOptions::default() },
        );
        if let Ok(fitted) = fitted {
            assert!(fitted.model.weights[1].is_finite() && fitted.model.weights[1] > 0.0, "{fitted:?}");
        }
    }

    #[test]
    fn units_of_a_feature_do_not_matter() {
        let labels = [true, false, true, false, true];
        let fit = |unit: f32| {
            let rows: Vec<[f32; 1]> = [1.0, 2.0, 4.0, 3.0, 6.0].into_iter().map(|value| [value * unit]).collect();
            super::fit_logistic(&rows, &labels, &[], TrainingOptions::default()).unwrap().model.weights[0] * unit
        };
        assert!(is_near(fit(1.0), fit(1024.0)) && is_near(fit(1.0), fit(-0.001)));
    }

    #[test]
    fn refuses_examples_that_teach_nothing() {
        let check = |rows: &[&[f32]], labels: &[bool], weights: &[f32], kind: ErrorKind, text: &str| {
            let error = fit_logistic(rows, labels, weights, TrainingOptions { l2: 0.0, ..TrainingOptions::default() })
                .expect_err(text);
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
        };
        let (shape, finite, one) = (ErrorKind::Shape, ErrorKind::NotFinite, ErrorKind::OneClass);
        check(&[&[1.0]], &[], &[], shape, "1 rows, 0 labels and 0 weights don't belong together");
        check(&[&[1.0]], &[true], &[1.0, 1.0], shape, "1 rows, 1 labels and 2 weights don't belong together");
        check(&[&[1.0], &[]], &[true, false], &[], shape, "row 1 has 0 features, the first has 1");
        check(&[&[1.0], &[f32::NAN]], &[true, false], &[], finite, "feature 0 of row 1 is not finite");
        check(&[&[1.0], &[2.0]], &[true, false], &[1.0, -1.0], finite, "weight 1 is negative or not finite");
        check(&[], &[], &[], one, "examples of both labels are needed");
        check(&[&[1.0], &[2.0]], &[true, true], &[], one, "examples of both labels are needed");
        check(&[&[1.0], &[2.0]], &[true, false], &[1.0, 0.0], one, "examples of both labels are needed");
        let twins: &[&[f32]] = &[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 3.0], &[0.0, 0.0]];
        let text = "two features say the same; leave one out or set a penalty `l2`";
        check(twins, &[true, false, true, false], &[], ErrorKind::Singular, text);
        let options = TrainingOptions { l2: f64::NAN, ..TrainingOptions::default() };
        let error =
            fit_logistic(&[[1.0], [2.0]], &[true, false], &[], options).expect_err("a penalty that is no number");
        assert_eq!(error.to_string(), "the penalty `l2` has to be finite and 0 or more");
    }
}
