//! From scores to probabilities.
//!
//! Two ways: [`Platt`] assumes a logistic curve and needs few examples. [`Isotonic`] assumes only that a higher score
//! doesn't mean less, and needs many. Both never reverse two scores' order, except that a Platt curve falls where the
//! scores themselves speak against the label.

use alloc::{format, vec::Vec};

use crate::{
    error::{Error, ErrorKind},
    linear::{logistic, logistic_f32, softplus},
};

/// A logistic curve over scores: `p = 1 / (1 + e^(slope · score + offset))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Platt {
    /// `A` in Platt's paper. Negative where a higher score speaks for the label.
    pub slope: f64,
    /// `B` in Platt's paper.
    pub offset: f64,
}

impl Platt {
    /// Fits the curve (Platt, *Probabilistic Outputs for Support Vector Machines*, 1999) with
    /// targets smoothed by the counts, by the damped Newton method of Lin, Lin and Weng (*A note
    /// on Platt's probabilistic outputs for support vector machines*, 2007, appendix C).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`], [`ErrorKind::NotFinite`] or [`ErrorKind::OneClass`] for examples that
    /// can't be learned from.
    pub fn fit(scores: &[f32], labels: &[bool]) -> Result<Self, Error> {
        check_examples(scores, labels)?;
        let yes = labels.iter().filter(|label| **label).count();
        #[expect(clippy::cast_precision_loss, reason = "counts of examples are far below 2⁵³")]
        let (yes, no) = (yes as f64, labels.len().saturating_sub(yes) as f64);
        let (high, low) = ((yes + 1.0) / (yes + 2.0), 1.0 / (no + 2.0));
        let examples: Vec<(f64, f64)> = scores
            .iter()
            .zip(labels)
            .map(|(score, label)| (f64::from(*score), if *label { high } else { low }))
            .collect();
        let mut curve = Self { slope: 0.0, offset: libm::log((no + 1.0) / (yes + 1.0)) };
        let mut loss = curve.loss(&examples);
        for _ in 0..100 {
            let Some((next, next_loss)) = curve.improve(&examples, loss) else { break };
            (curve, loss) = (next, next_loss);
        }
        Ok(curve)
    }

    /// The probability of a score, 0 to 1. Not a number if the score is not.
    #[must_use]
    pub fn apply(&self, score: f32) -> f32 {
        logistic_f32(-(self.slope * f64::from(score) + self.offset))
    }

    /// The cross entropy against the targets.
    fn loss(&self, examples: &[(f64, f64)]) -> f64 {
        let losses = examples.iter().map(|(score, target)| {
            let x = self.slope * score + self.offset;
            softplus(x) - (1.0 - target) * x
        });
        losses.sum()
    }

    /// One damped Newton step. `None` when the slope is flat or no step helps.
    fn improve(&self, examples: &[(f64, f64)], loss: f64) -> Option<(Self, f64)> {
        const RIDGE: f64 = 1e-12;
        let (mut aa, mut ab, mut bb, mut a, mut b) = (RIDGE, 0.0, RIDGE, 0.0, 0.0);
        for (score, target) in examples {
            let p = logistic(-(self.slope * score + self.offset));
            let (curvature, residual) = (p * (1.0 - p), target - p);
            aa += score * score * curvature;
            ab += score * curvature;
            bb += curvature;
            a += score * residual;
            b += residual;
        }
        if a.abs() < 1e-5 && b.abs() < 1e-5 {
            return None;
        }
        let determinant = aa * bb - ab * ab;
        let (slope, offset) = (-(bb * a - ab * b) / determinant, -(aa * b - ab * a) / determinant);
        let downhill = a * slope + b * offset;
        let mut share = 1.0;
        while share >= 1e-10 {
            let next = Self { slope: self.slope + share * slope, offset: self.offset + share * offset };
            let next_loss = next.loss(examples);
            if next_loss < loss + 1e-4 * share * downhill {
                return Some((next, next_loss));
            }
            share /= 2.0;
        }
        None
    }
}

/// One point of an isotonic curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knot {
    /// A score, of whatever scale the scorer has.
    pub score: f32,
    /// The probability at this score, 0 to 1.
    pub probability: f32,
}

/// A curve that never falls.
#[derive(Debug, Clone, PartialEq)]
pub struct Isotonic {
    knots: Vec<Knot>,
}

/// Neighbouring scores with one common share.
#[derive(Debug, Clone, Copy)]
struct PooledBlock {
    first: f32,
    last: f32,
    yes: f64,
    all: f64,
}

impl PooledBlock {
    fn share(&self) -> f64 {
        self.yes / self.all
    }

    /// Both together.
    fn joined(&self, next: &Self) -> Self {
        Self { first: self.first, last: next.last, yes: self.yes + next.yes, all: self.all + next.all }
    }
}

impl Isotonic {
    /// Fits the best curve in least squares by pooling adjacent violators (Ayer et al., *An
    /// Empirical Distribution Function for Sampling with Incomplete Information*, 1955; Zadrozny
    /// and Elkan, *Transforming Classifier Scores into Accurate Multiclass Probability Estimates*,
    /// 2002).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`], [`ErrorKind::NotFinite`] or [`ErrorKind::OneClass`] for examples that
    /// can't be learned from.
    pub fn fit(scores: &[f32], labels: &[bool]) -> Result<Self, Error> {
        check_examples(scores, labels)?;
        let mut examples: Vec<(f32, bool)> = scores.iter().copied().zip(labels.iter().copied()).collect();
        examples.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut blocks: Vec<PooledBlock> = Vec::new();
        for tied in examples.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((score, _)) = tied.first() else { continue };
            #[expect(clippy::cast_precision_loss, reason = "counts of examples are far below 2⁵³")]
            let (yes, all) = (tied.iter().filter(|(_, label)| *label).count() as f64, tied.len() as f64);
            let mut block = PooledBlock { first: *score, last: *score, yes, all };
            while let Some(before) = blocks.pop_if(|before| before.share() >= block.share()) {
                block = before.joined(&block);
            }
            blocks.push(block);
        }
        let mut knots = Vec::with_capacity(blocks.len().saturating_mul(2));
        for block in &blocks {
            #[expect(clippy::cast_possible_truncation, reason = "a share is a number from 0 to 1")]
            let probability = block.share() as f32;
            knots.push(Knot { score: block.first, probability });
            if block.last > block.first {
                knots.push(Knot { score: block.last, probability });
            }
        }
        Ok(Self { knots })
    }

    /// A curve from knots that were kept.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`] if there are none, or scores don't rise, or a probability falls. [`ErrorKind::NotFinite`]
    /// if a number is infinite or a probability not within 0 to 1.
    pub fn from_knots(knots: Vec<Knot>) -> Result<Self, Error> {
        if knots.is_empty() {
            return Err(Error::new(ErrorKind::Shape, "a curve needs at least one knot"));
        }
        let valid = |knot: &Knot| knot.score.is_finite() && (0.0..=1.0).contains(&knot.probability);
        if let Some(index) = knots.iter().position(|knot| !valid(knot)) {
            let problem = format!("knot {index} has a score that is not finite or a probability outside 0 to 1");
            return Err(Error::new(ErrorKind::NotFinite, problem));
        }
        let rises = |(a, b): (&Knot, &Knot)| a.score < b.score && a.probability <= b.probability;
        if let Some(index) = knots.iter().zip(knots.iter().skip(1)).position(|pair| !rises(pair)) {
            let problem = format!("scores have to rise and probabilities not to fall after knot {index}");
            return Err(Error::new(ErrorKind::Shape, problem));
        }
        Ok(Self { knots })
    }

    /// The points between which the curve is straight. Scores rise.
    #[must_use]
    pub fn knots(&self) -> &[Knot] {
        &self.knots
    }

    /// The probability of a score: straight between two knots, level beyond the outermost. Not a number if the score is
    /// not.
    #[must_use]
    pub fn apply(&self, score: f32) -> f32 {
        if score.is_nan() {
            return f32::NAN;
        }
        let after = self.knots.partition_point(|knot| knot.score <= score);
        let before = after.checked_sub(1).and_then(|index| self.knots.get(index));
        match (before, self.knots.get(after)) {
            (Some(before), Some(after)) => interpolate(before, after, score),
            (Some(end), None) | (None, Some(end)) => end.probability,
            (None, None) => f32::NAN,
        }
    }
}

/// The straight line between two knots, never outside of them.
fn interpolate(before: &Knot, after: &Knot, score: f32) -> f32 {
    let (start, end) = (f64::from(before.score), f64::from(after.score));
    let share = (f64::from(score) - start) / (end - start);
    let (low, high) = (f64::from(before.probability), f64::from(after.probability));
    #[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
    let probability = (low + share * (high - low)) as f32;
    probability.clamp(before.probability, after.probability)
}

fn check_examples(scores: &[f32], labels: &[bool]) -> Result<(), Error> {
    if scores.len() != labels.len() {
        let problem = format!("{} scores and {} labels don't belong together", scores.len(), labels.len());
        return Err(Error::new(ErrorKind::Shape, problem));
    }
    if let Some(index) = scores.iter().position(|score| !score.is_finite()) {
        return Err(Error::new(ErrorKind::NotFinite, format!("score {index} is not finite")));
    }
    if !(labels.contains(&true) && labels.contains(&false)) {
        return Err(Error::new(ErrorKind::OneClass, "examples of both labels are needed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platt_recovers_a_logistic_curve() {
        // 1,000 examples at each of five scores, with the labels that slope −2, offset 1 expects.
        let (mut scores, mut labels) = (vec![], vec![]);
        for step in -2_i16..=2 {
            let score = f32::from(step) / 2.0;
            let p = 1.0 / (1.0 + (-2.0 * score + 1.0).exp());
            scores.extend([score; 1000]);
            labels.extend((0_u16..1000).map(|index| f32::from(index) < (p * 1000.0).round()));
        }
        let curve = Platt::fit(&scores, &labels).unwrap();
        assert!((curve.slope + 2.0).abs() < 0.02 && (curve.offset - 1.0).abs() < 0.02, "{curve:?}");
        assert!((curve.apply(0.5) - 0.5).abs() < 0.01 && curve.apply(f32::NAN).is_nan());
        assert_eq!((curve.apply(f32::MAX), curve.apply(f32::MIN)), (1.0, 0.0));
    }

    #[test]
    fn platt_stays_away_from_certainty() {
        // Separable, but ten examples can't show more than 6/7.
        let scores: Vec<f32> = (0_u8..10).map(f32::from).collect();
        let labels: Vec<bool> = (0..10).map(|index| index >= 5).collect();
        let curve = Platt::fit(&scores, &labels).unwrap();
        assert!(curve.apply(9.0) < 0.95 && curve.apply(0.0) > 0.05, "{curve:?}");
        // Scores that say nothing give the base rate.
        let curve = Platt::fit(&[1.0; 10], &labels).unwrap();
        assert!((curve.apply(1.0) - 0.5).abs() < 1e-3, "{curve:?}");
    }

    #[test]
    fn isotonic_pools_what_would_fall() {
        let curve = Isotonic::fit(&[1.0, 2.0, 3.0, 4.0, 5.0], &[false, true, false, true, true]).unwrap();
        for (score, expected) in [(0.0, 0.0), (1.0, 0.0), (1.5, 0.25), (2.0, 0.5), (3.0, 0.5), (3.5, 0.75), (9.0, 1.0)]
        {
            assert_eq!(curve.apply(score), expected, "{score}: {curve:?}");
        }
        assert!(curve.apply(f32::NAN).is_nan());
        assert_eq!((curve.apply(f32::INFINITY), curve.apply(f32::NEG_INFINITY)), (1.0, 0.0));
        // Scores that speak against the label give the base rate everywhere.
        let curve = Isotonic::fit(&[2.0, 1.0, 3.0, 0.0], &[false, true, false, true]).unwrap();
        assert_eq!((curve.apply(0.0), curve.apply(3.0), curve.knots().len()), (0.5, 0.5, 2));
        // Zeros of both signs are one score.
        assert_eq!(Isotonic::fit(&[0.0, -0.0], &[false, true]).unwrap().apply(0.0), 0.5);
    }

    #[test]
    fn a_curve_that_was_kept_is_the_same() {
        let curve = Isotonic::fit(&[1.0, 2.0, 3.0, 4.0], &[false, true, false, true]).unwrap();
        assert_eq!(Isotonic::from_knots(curve.knots().to_vec()).unwrap(), curve);
        let knot = |score: f32, probability: f32| Knot { score, probability };
        for (knots, text) in [
            (vec![], "a curve needs at least one knot"),
            (vec![knot(0.0, 1.5)], "knot 0 has a score that is not finite or a probability outside 0 to 1"),
            (vec![knot(f32::NAN, 0.5)], "knot 0 has a score that is not finite or a probability outside 0 to 1"),
            (vec![knot(0.0, 0.5), knot(0.0, 0.5)], "scores have to rise and probabilities not to fall after knot 0"),
            (vec![knot(0.0, 0.5), knot(1.0, 0.4)], "scores have to rise and probabilities not to fall after knot 0"),
        ] {
            assert_eq!(Isotonic::from_knots(knots).expect_err(text).to_string(), text);
        }
    }

    #[test]
    fn refuses_examples_that_teach_nothing() {
        for (scores, labels, text) in [
            (&[1.0][..], &[][..], "1 scores and 0 labels don't belong together"),
            (&[1.0, f32::NAN], &[true, false], "score 1 is not finite"),
            (&[1.0, 2.0], &[true, true], "examples of both labels are needed"),
            (&[], &[], "examples of both labels are needed"),
        ] {
            assert_eq!(Platt::fit(scores, labels).expect_err(text).to_string(), text);
            assert_eq!(Isotonic::fit(scores, labels).expect_err(text).to_string(), text);
        }
    }
}
