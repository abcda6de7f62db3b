//! Logistic regression with several classes and many sparse features.
//!
//! The log-odds of two classes differ by `Σ (weight of one − weight of the other) · feature` (Bishop, *Pattern Recognition and
//! Machine Learning*, 2006, section 4.3.4). [`fit_softmax`] goes down the slope of all examples in each step, with momentum (Polyak,
//! *Some methods of speeding up the convergence of iteration methods*, 1964): where features are thousands and most are 0 in an
//! example, a step costs what is not 0, and Newton's would solve thousands of equations.

use alloc::{format, vec, vec::Vec};

use crate::error::{Error, ErrorKind};

/// An example: its features that are not 0, by their places, and its class.
#[derive(Debug, Clone, Copy)]
pub struct SparseExample<'e> {
    /// Places and values. A place may be there more than once, and its values then add up.
    pub features: &'e [(usize, f64)],
    /// The class, from 0.
    pub class: usize,
}

/// How to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DescentOptions {
    /// How many steps.
    pub rounds: u32,
    /// How much of a step the next one keeps, from 0 to less than 1.
    pub momentum: f64,
    /// Half the penalty on each squared weight, in examples, 0 or more.
    pub l2: f64,
}

/// The weights at the foot of the slope: for each of `features` in turn, one for each of `classes`. All examples count in
/// each step, in their order, so the same ones give the same weights.
///
/// # Errors
///
/// [`ErrorKind::Shape`] for an example whose class or one of whose places is none.
pub fn fit_softmax(
    examples: &[SparseExample<'_>],
    features: usize,
    classes: usize,
    options: DescentOptions,
) -> Result<Vec<f64>, Error> {
    let is_none = |example: &&SparseExample<'_>| {
        example.class >= classes || example.features.iter().any(|(place, _)| *place >= features)
    };
    if let Some(place) = examples.iter().position(|example| is_none(&example)) {
        return Err(Error::new(ErrorKind::Shape, format!("example {place} has a class or a feature that is none")));
    }
    // The classes of a feature are in pieces of a fixed size, the last one filled up, so that loops over them have a
    // length that the compiler knows.
    let pieces = classes.div_ceil(LANES);
    let mut weights = vec![[0.0; LANES]; features.saturating_mul(pieces)];
    let (mut steps, mut slopes) = (weights.clone(), weights.clone());
    let mut surprise = vec![[0.0; LANES]; pieces];
    #[expect(clippy::cast_precision_loss, reason = "a count of examples")]
    let count = examples.len() as f64;
    for _ in 0..options.rounds {
        slopes.fill([0.0; LANES]);
        for example in examples {
            surprise.fill([0.0; LANES]);
            for (place, value) in example.features {
                let of = weight_range(*place, pieces).and_then(|row| weights.get(row)).into_iter().flatten();
                surprise.iter_mut().zip(of).for_each(|(sums, weights)| add_scaled(sums, weights, *value));
            }
            let shares = surprise.as_flattened_mut().get_mut(..classes).unwrap_or_default();
            softmax(shares);
            shares.iter_mut().skip(example.class).take(1).for_each(|share| *share -= 1.0);
            for (place, value) in example.features {
                let of = weight_range(*place, pieces).and_then(|row| slopes.get_mut(row)).into_iter().flatten();
                of.zip(&surprise).for_each(|(slopes, surprise)| add_scaled(slopes, surprise, *value));
            }
        }
        let all = weights.as_flattened_mut().iter_mut().zip(steps.as_flattened_mut());
        for ((weight, step), slope) in all.zip(slopes.as_flattened()) {
            *step = options.momentum * *step - (slope + options.l2 * *weight) / count;
            *weight += *step;
        }
    }
    let rows = weights.chunks_exact(pieces.max(1));
    Ok(rows.flat_map(|row| row.as_flattened().iter().take(classes).copied()).collect())
}

/// How many classes are worked on at once.
const LANES: usize = 4;

/// Adds `value` times `of` to `sums`.
fn add_scaled(sums: &mut [f64; LANES], of: &[f64; LANES], value: f64) {
    sums.iter_mut().zip(of).for_each(|(sum, of)| *sum += of * value);
}

/// The place of a feature's weights.
fn weight_range(place: usize, pieces: usize) -> Option<core::ops::Range<usize>> {
    let start = place.checked_mul(pieces)?;
    Some(start..start.checked_add(pieces)?)
}

/// Makes probabilities of log-odds.
fn softmax(sums: &mut [f64]) {
    let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    sums.iter_mut().for_each(|sum| *sum = libm::exp(*sum - most));
    let all: f64 = sums.iter().sum();
    sums.iter_mut().for_each(|power| *power /= all);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    const OPTIONS: DescentOptions = DescentOptions { rounds: 300, momentum: 0.9, l2: 0.5 };

    #[test]
    fn what_speaks_for_a_class_is_learned() {
        let of = |features: &'static [(usize, f64)], class| SparseExample { features, class };
        let examples = [of(&[(0, 1.0)], 0), of(&[(1, 1.0)], 1), of(&[(2, 1.0)], 2), of(&[(0, 1.0), (3, 1.0)], 0)];
        let weights = fit_softmax(&examples, 4, 3, OPTIONS).unwrap();
        for example in &examples {
            let mut shares = [0.0; 3];
            for (place, value) in example.features {
                shares.iter_mut().zip(&weights[place * 3..]).for_each(|(sum, weight)| *sum += weight * value);
            }
            softmax(&mut shares);
            assert!(shares[example.class] > 0.5, "{shares:?} {example:?}");
        }
    }

    /// With two classes the difference of the weights is what one class's logistic regression has, whose penalty on a
    /// difference is half of that on both.
    #[test]
    fn two_classes_are_logistic_regression() {
        let rows = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.5], [0.0, 0.7]];
        let labels = [true, true, false, false, true, false];
        let features: Vec<Vec<(usize, f64)>> = rows.iter().map(|[a, b]| vec![(0, *a), (1, *b), (2, 1.0)]).collect();
        let examples: Vec<SparseExample<'_>> = features
            .iter()
            .zip(labels)
            .map(|(features, label)| SparseExample { features, class: usize::from(label) })
            .collect();
        let options = DescentOptions { rounds: 20_000, momentum: 0.9, l2: 0.1 };
        let weights = fit_softmax(&examples, 3, 2, options).unwrap();
        // At the foot of the slope the penalty holds each weight where the examples pull it.
        for feature in 0..3 {
            for class in 0..2 {
                let pull: f64 = examples
                    .iter()
                    .map(|example| {
                        let mut shares = [0.0; 2];
                        for (place, value) in example.features {
                            shares
                                .iter_mut()
                                .zip(&weights[place * 2..])
                                .for_each(|(sum, weight)| *sum += weight * value);
                        }
                        softmax(&mut shares);
                        let surprise = shares[class] - f64::from(u8::from(example.class == class));
                        surprise * example.features[feature].1
                    })
                    .sum();
                assert!((pull + 0.1 * weights[feature * 2 + class]).abs() < 1e-9, "{feature} {class} {pull}");
            }
        }
    }

    #[test]
    fn a_class_or_a_feature_that_is_none_is_refused() {
        for (features, class) in [([(2, 1.0)], 0), ([(0, 1.0)], 2)] {
            let error = fit_softmax(&[SparseExample { features: &features, class }], 2, 2, OPTIONS).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Shape);
        }
        assert_eq!(fit_softmax(&[], 2, 2, OPTIONS).map(|weights| weights.len()), Ok(4));
    }

    proptest! {
        #[test]
        fn the_weights_of_a_feature_add_up_to_nothing(
            rows in vec((vec((0usize..5, -2.0..2.0), 0..6), 0usize..3), 1..12)
        ) {
            let examples: Vec<SparseExample<'_>> =
                rows.iter().map(|(features, class)| SparseExample { features, class: *class }).collect();
            let weights = fit_softmax(&examples, 5, 3, OPTIONS).unwrap();
            for row in weights.chunks(3) {
                prop_assert!(row.iter().sum::<f64>().abs() < 1e-6, "{:?}", row);
            }
        }
    }
}
