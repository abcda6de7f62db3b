//! How good scores, probabilities and rankings are.
//!
//! `None` means that there is nothing to measure or that the input is not a number: never 0.

use alloc::vec::Vec;

/// The probability that a random example with the label scores above a random one without, ties
/// counted half: the area under the ROC curve, 0 to 1 (Hanley and McNeil, *The Meaning and Use of
/// the Area under a ROC Curve*, 1982; the Mann–Whitney statistic).
///
/// `None` if the lengths differ, a score is not a number, or one of the labels is absent.
#[must_use]
pub fn auc(scores: &[f32], labels: &[bool]) -> Option<f64> {
    let mut examples = scored_labels(scores, labels)?;
    examples.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    // Twice the wins and once the ties, in integers so that order can't matter.
    let (mut yes, mut no, mut wins): (u64, u64, u128) = (0, 0, 0);
    for tied in examples.chunk_by(|(a, _), (b, _)| a == b) {
        let with = count_true(tied.iter().map(|(_, label)| *label));
        let without = length_u64(tied).saturating_sub(with);
        let beaten = u128::from(no) * 2 + u128::from(without);
        wins = wins.saturating_add(u128::from(with).saturating_mul(beaten));
        yes = yes.saturating_add(with);
        no = no.saturating_add(without);
    }
    if yes == 0 || no == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "the last bits of a ratio")]
    let area = wins as f64 / (2.0 * yes as f64 * no as f64);
    Some(area.clamp(0.0, 1.0))
}

/// The mean squared distance of probabilities from the labels, 0 to 1, less is better (Brier,
/// *Verification of Forecasts Expressed in Terms of Probability*, 1950).
///
/// `None` without examples, if the lengths differ or a probability is not within 0 to 1.
#[must_use]
pub fn brier(probabilities: &[f32], labels: &[bool]) -> Option<f64> {
    mean_of_examples(&chances(probabilities, labels)?, |(probability, label)| {
        let distance = probability - label;
        distance * distance
    })
}

/// The mean negative logarithm of the probability given to what came true, in nats, 0 or more.
/// Probabilities are kept 10⁻⁷ away from 0 and 1, so one wrong certainty costs 16 nats.
///
/// `None` as for [`brier`].
#[must_use]
pub fn log_loss(probabilities: &[f32], labels: &[bool]) -> Option<f64> {
    mean_of_examples(&chances(probabilities, labels)?, |(probability, label)| {
        let probability = probability.clamp(1e-7, 1.0 - 1e-7);
        -libm::log(if label > 0.5 { probability } else { 1.0 - probability })
    })
}

/// The expected calibration error over bins of equal mass, 0 to 1: the mean distance between a
/// bin's mean probability and its share of labels (Naeini, Cooper and Hauskrecht, *Obtaining Well
/// Calibrated Probabilities Using Bayesian Binning*, 2015; equal mass as Nixon et al., *Measuring
/// Calibration in Deep Learning*, 2019, advise).
///
/// Examples are sorted by probability. Equal ones may be parted, in the order given. With fewer examples than bins each
/// is a bin of its own.
///
/// `None` as for [`brier`], and without bins.
#[must_use]
pub fn expected_calibration_error(probabilities: &[f32], labels: &[bool], bins: usize) -> Option<f64> {
    let mut examples = chances(probabilities, labels)?;
    examples.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let bins = bins.min(examples.len());
    let mut rest = examples.as_slice();
    let mut distance = 0.0;
    for open in (1..=bins).rev() {
        // The remaining examples over the remaining bins: sizes differ by one at most.
        let (bin, after) = rest.split_at_checked(rest.len().div_ceil(open))?;
        distance += bin.iter().map(|(probability, label)| probability - label).sum::<f64>().abs();
        rest = after;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of examples are far below 2⁵³")]
    let error = distance / examples.len() as f64;
    (bins > 0).then_some(error)
}

/// The share of what is relevant that is among the first `k`, 0 to 1.
///
/// `ranked` says of each result, best first, whether it is relevant. `relevant` is how many there are in all, found or
/// not. `None` if nothing is relevant.
#[must_use]
pub fn recall_at(ranked: &[bool], relevant: usize, k: usize) -> Option<f64> {
    ratio(relevant_in_top(ranked, k), relevant)
}

/// The share of relevant ones among the first `k`, 0 to 1. Places without a result count as misses. `None` if `k` is 0.
#[must_use]
pub fn precision_at(ranked: &[bool], k: usize) -> Option<f64> {
    ratio(relevant_in_top(ranked, k), k)
}

/// One divided by the rank of the first relevant result, 0 to 1; 0 if there is none.
#[must_use]
pub fn reciprocal_rank(ranked: &[bool]) -> f64 {
    ranked.iter().position(|relevant| *relevant).and_then(|index| ratio(1, index.saturating_add(1))).unwrap_or_default()
}

/// The mean over everything relevant of the precision at its rank, 0 for what was not found
/// (Buckley and Voorhees, *Evaluating Evaluation Measure Stability*, 2000), 0 to 1. `None` if
/// nothing is relevant.
#[must_use]
pub fn average_precision(ranked: &[bool], relevant: usize) -> Option<f64> {
    let (mut found, mut sum) = (0_usize, 0.0);
    for (index, relevant) in ranked.iter().enumerate() {
        if *relevant {
            found = found.saturating_add(1);
            sum += ratio(found, index.saturating_add(1)).unwrap_or_default();
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of results are far below 2⁵³")]
    let all = relevant.max(found) as f64;
    (relevant > 0).then(|| sum / all)
}

fn relevant_in_top(ranked: &[bool], k: usize) -> usize {
    ranked.iter().take(k).filter(|relevant| **relevant).count()
}

/// A share, at most 1. `None` of nothing.
fn ratio(part: usize, whole: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts of results are far below 2⁵³")]
    let ratio = part as f64 / whole as f64;
    (whole > 0).then(|| ratio.min(1.0))
}

fn count_true(labels: impl Iterator<Item = bool>) -> u64 {
    labels.map(u64::from).sum()
}

fn length_u64<T>(slice: &[T]) -> u64 {
    u64::try_from(slice.len()).unwrap_or(u64::MAX)
}

/// Scores with their labels.
fn scored_labels(scores: &[f32], labels: &[bool]) -> Option<Vec<(f32, bool)>> {
    let valid = scores.len() == labels.len() && !scores.iter().any(|score| score.is_nan());
    valid.then(|| scores.iter().copied().zip(labels.iter().copied()).collect())
}

/// Probabilities with their labels as 0 or 1.
fn chances(probabilities: &[f32], labels: &[bool]) -> Option<Vec<(f64, f64)>> {
    let valid = probabilities.iter().all(|probability| (0.0..=1.0).contains(probability));
    let examples = scored_labels(probabilities, labels).filter(|examples| valid && !examples.is_empty())?;
    Some(examples.iter().map(|(p, label)| (f64::from(*p), f64::from(u8::from(*label)))).collect())
}

fn mean_of_examples(examples: &[(f64, f64)], value: impl Fn((f64, f64)) -> f64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts of examples are far below 2⁵³")]
    let mean = examples.iter().map(|example| value(*example)).sum::<f64>() / examples.len() as f64;
    (!examples.is_empty()).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: bool = true;
    const F: bool = false;

    fn is_near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 1e-7)
    }

    #[test]
    fn auc_counts_pairs_with_ties_as_half() {
        for (scores, labels, expected) in [
            (&[1.0, 2.0][..], &[F, T][..], Some(1.0)),
            (&[2.0, 1.0], &[F, T], Some(0.0)),
            (&[1.0, 1.0], &[F, T], Some(0.5)),
            (&[0.0, -0.0], &[F, T], Some(0.5)),
            (&[0.1, 0.4, 0.35, 0.8], &[F, F, T, T], Some(0.75)),
            (&[f32::NEG_INFINITY, f32::INFINITY], &[F, T], Some(1.0)),
            (&[1.0, 2.0], &[T, T], None),
            (&[f32::NAN, 2.0], &[F, T], None),
            (&[1.0], &[F, T], None),
            (&[], &[], None),
        ] {
            assert_eq!(auc(scores, labels), expected, "{scores:?} {labels:?}");
        }
    }

    #[test]
    fn probabilities_are_measured_against_what_came() {
        let (p, labels) = (&[0.8, 0.4, 0.0][..], &[T, F, F][..]);
        assert!(is_near(brier(p, labels), (0.04 + 0.16) / 3.0));
        let expected = -(0.8_f64.ln() + 0.6_f64.ln() + (1.0 - 1e-7_f64).ln()) / 3.0;
        assert!(is_near(log_loss(p, labels), expected));
        assert!(log_loss(&[0.0], &[T]).is_some_and(|loss| loss > 16.0 && loss < 16.2));
        for (p, labels) in [(&[][..], &[][..]), (&[f32::NAN], &[T]), (&[1.1], &[T]), (&[-0.1], &[T]), (&[0.5], &[T, F])]
        {
            assert_eq!((brier(p, labels), log_loss(p, labels)), (None, None), "{p:?}");
            assert_eq!(expected_calibration_error(p, labels, 10), None, "{p:?}");
        }
    }

    #[test]
    fn calibration_is_measured_in_bins_of_equal_mass() {
        let labels = [F, F, F, T, T, T, T, F];
        let p = [0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75];
        assert!(is_near(expected_calibration_error(&p, &labels, 2), 0.0));
        assert!(is_near(expected_calibration_error(&p, &labels, 1), 0.0));
        assert!(is_near(expected_calibration_error(&[0.5; 8], &[T; 8], 3), 0.5));
        assert!(is_near(expected_calibration_error(&[1.0, 0.0], &[F, T], 9), 1.0));
        assert_eq!(expected_calibration_error(&p, &labels, 0), None);
    }

    #[test]
    fn rankings_are_measured_by_where_the_relevant_stand() {
        let ranked = [F, T, F, T, F];
        assert_eq!(recall_at(&ranked, 3, 2), Some(1.0 / 3.0));
        assert_eq!(recall_at(&ranked, 3, 99), Some(2.0 / 3.0));
        assert_eq!((recall_at(&ranked, 0, 5), recall_at(&[], 2, 5)), (None, Some(0.0)));
        assert_eq!((precision_at(&ranked, 4), precision_at(&ranked, 10)), (Some(0.5), Some(0.2)));
        assert_eq!((precision_at(&ranked, 0), precision_at(&[], 3)), (None, Some(0.0)));
        assert!(is_near(Some(reciprocal_rank(&ranked)), 0.5));
        assert!(is_near(Some(reciprocal_rank(&[F, F])), 0.0));
        assert!(is_near(average_precision(&ranked, 3), (0.5 + 0.5) / 3.0));
        assert_eq!((average_precision(&ranked, 0), average_precision(&[T, T], 2)), (None, Some(1.0)));
    }
}
