//! Laws that hold for every input.

use proem_score::{
    bm25::{Bm25Parameters, Index, IndexBuilder},
    calibrate::{Isotonic, Platt},
    interval::wilson,
    linear::{TrainingOptions, fit_logistic},
    measure::{auc, average_precision, brier, expected_calibration_error, log_loss, precision_at, recall_at},
};
use proptest::prelude::*;

fn index_of_documents(documents: &[Vec<(u64, f32)>]) -> Index {
    let mut builder = IndexBuilder::new(Bm25Parameters::default());
    for document in documents {
        builder.add(document);
    }
    builder.build()
}

/// Terms from a small set, so that they meet, with any weight at all.
fn terms() -> impl Strategy<Value = Vec<(u64, f32)>> {
    let weight = prop_oneof![4 => 0.1_f32..5.0, 1 => any::<f32>()];
    prop::collection::vec((0_u64..8, weight), 0..10)
}

/// Scores from a small set, so that they tie, with both labels.
fn labelled_examples() -> impl Strategy<Value = (Vec<f32>, Vec<bool>)> {
    let example = (prop_oneof![(-4_i8..5).prop_map(f32::from), -1.0e6_f32..1.0e6], any::<bool>());
    let both = |examples: &Vec<(f32, bool)>| examples.iter().any(|e| e.1) && examples.iter().any(|e| !e.1);
    prop::collection::vec(example, 2..40)
        .prop_filter("both labels", both)
        .prop_map(|examples| examples.into_iter().unzip())
}

proptest! {
    #[test]
    fn a_bm25_score_is_finite_and_grows_with_the_query(
        documents in prop::collection::vec(terms(), 0..12), query in terms(), more in terms(),
    ) {
        let index = index_of_documents(&documents);
        let scores = index.score(&query);
        prop_assert_eq!(scores.len(), documents.len());
        prop_assert!(scores.iter().all(|score| score.is_finite() && *score >= 0.0));
        let longer = index.score(&[query.clone(), more].concat());
        prop_assert!(scores.iter().zip(&longer).all(|(short, long)| long >= short));
        let bound: f64 = query.iter().filter(|(_, w)| *w > 0.0).map(|(t, w)| f64::from(w.min(1.0e6) * index.idf(*t))).sum();
        prop_assert!(scores.iter().all(|score| f64::from(*score) <= bound * 1.0001));
        prop_assert!(documents.iter().flatten().all(|(term, _)| index.idf(*term) > 0.0 && index.idf(*term) <= index.idf(99)));
        prop_assert_eq!(index.score(&query), scores);
    }

    #[test]
    fn auc_is_a_share_and_symmetric((scores, labels) in labelled_examples()) {
        let area = auc(&scores, &labels).unwrap();
        prop_assert!((0.0..=1.0).contains(&area));
        let opposite: Vec<bool> = labels.iter().map(|label| !label).collect();
        prop_assert!((area + auc(&scores, &opposite).unwrap() - 1.0).abs() < 1e-12);
        let negated: Vec<f32> = scores.iter().map(|score| -score).collect();
        prop_assert!((area + auc(&negated, &labels).unwrap() - 1.0).abs() < 1e-12);
        let slow: f64 = scores.iter().zip(&labels).filter(|e| *e.1).map(|(yes, _)| {
            scores.iter().zip(&labels).filter(|e| !*e.1).map(|(no, _)| {
                if yes > no { 1.0 } else if yes < no { 0.0 } else { 0.5 }
            }).sum::<f64>()
        }).sum();
        let pairs = labels.iter().filter(|l| **l).count() * labels.iter().filter(|l| !**l).count();
        prop_assert!((area - slow / f64::from(u32::try_from(pairs).unwrap())).abs() < 1e-12);
    }

    #[test]
    fn an_isotonic_curve_never_falls_and_keeps_the_mean((scores, labels) in labelled_examples(), extra in any::<f32>()) {
        let curve = Isotonic::fit(&scores, &labels).unwrap();
        let mut at: Vec<f32> = scores.clone();
        at.extend(scores.iter().map(|score| score * 0.37));
        if !extra.is_nan() {
            at.push(extra);
        }
        at.sort_by(f32::total_cmp);
        let applied: Vec<f32> = at.iter().map(|score| curve.apply(*score)).collect();
        prop_assert!(applied.iter().all(|p| (0.0..=1.0).contains(p)));
        prop_assert!(applied.windows(2).all(|pair| pair[0] <= pair[1]));
        let mean: f64 = scores.iter().map(|score| f64::from(curve.apply(*score))).sum();
        let share: f64 = labels.iter().map(|label| f64::from(u8::from(*label))).sum();
        prop_assert!((mean - share).abs() < 1e-4);
        prop_assert_eq!(Isotonic::from_knots(curve.knots().to_vec()).unwrap(), curve);
    }

    #[test]
    fn a_platt_curve_is_monotone_and_within_bounds((scores, labels) in labelled_examples()) {
        let curve = Platt::fit(&scores, &labels).unwrap();
        prop_assert!(curve.slope.is_finite() && curve.offset.is_finite());
        let mut sorted = scores.clone();
        sorted.sort_by(f32::total_cmp);
        if curve.slope > 0.0 {
            sorted.reverse();
        }
        let applied: Vec<f32> = sorted.iter().map(|score| curve.apply(*score)).collect();
        prop_assert!(applied.iter().all(|p| (0.0..=1.0).contains(p)));
        prop_assert!(applied.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert_eq!(Platt::fit(&scores, &labels).unwrap(), curve);
    }

    #[test]
    fn a_wilson_interval_contains_its_share(successes in any::<u64>(), more in any::<u64>(), z in -10.0_f64..10.0) {
        let trials = successes.saturating_add(more).max(1);
        let interval = wilson(successes.min(trials), trials, z).unwrap();
        #[expect(clippy::cast_precision_loss, reason = "as the code under test has it")]
        let share = successes.min(trials) as f64 / trials as f64;
        prop_assert!(0.0 <= interval.low && interval.low <= share && share <= interval.high && interval.high <= 1.0);
    }

    #[test]
    fn more_trials_narrow_a_wilson_interval(successes in 0_u64..1000, more in 0_u64..1000, times in 2_u64..50) {
        let trials = successes + more + 1;
        let few = wilson(successes, trials, 1.96).unwrap();
        let many = wilson(successes * times, trials * times, 1.96).unwrap();
        prop_assert!(many.high - many.low < few.high - few.low);
    }

    #[test]
    fn a_fit_recovers_signs_and_is_deterministic(
        signs in prop::collection::vec(any::<bool>(), 1..5),
        values in prop::collection::vec(-1.0_f32..1.0, 400),
    ) {
        let rows: Vec<Vec<f32>> = values.chunks_exact(signs.len()).map(<[f32]>::to_vec).collect();
        let truth = |row: &Vec<f32>| -> f32 { row.iter().zip(&signs).map(|(x, up)| if *up { *x } else { -x }).sum() };
        let labels: Vec<bool> = rows.iter().map(|row| truth(row) > 0.0).collect();
        prop_assume!(labels.contains(&true) && labels.contains(&false));
        let fitted = fit_logistic(&rows, &labels, &[], TrainingOptions::default()).unwrap();
        prop_assert!(fitted.converged, "{fitted:?}");
        for (weight, up) in fitted.model.weights.iter().zip(&signs) {
            prop_assert_eq!(*weight > 0.0, *up, "{:?}", fitted);
        }
        prop_assert!(fitted.loss < 2.0_f64.ln());
        prop_assert_eq!(fit_logistic(&rows, &labels, &[], TrainingOptions::default()).unwrap(), fitted);
    }

    #[test]
    fn a_fit_of_anything_is_finite_or_refused(
        rows in prop::collection::vec((any::<f32>(), -1.0_f32..1.0).prop_map(<[f32; 2]>::from), 0..20), labels in prop::collection::vec(any::<bool>(), 20),
        l2 in 0.0_f64..10.0,
    ) {
        if let Ok(fitted) = fit_logistic(&rows, &labels[..rows.len()], &[], TrainingOptions { l2, ..TrainingOptions::default() }) {
            prop_assert!(!fitted.model.bias.is_nan() && fitted.model.weights.iter().all(|weight| !weight.is_nan()));
            prop_assert!(fitted.loss >= 0.0);
        }
    }

    #[test]
    fn measures_stay_in_their_range(
        examples in prop::collection::vec((0.0_f32..=1.0, any::<bool>()), 1..30), bins in 1_usize..20, k in 1_usize..20,
    ) {
        let (p, labels): (Vec<f32>, Vec<bool>) = examples.into_iter().unzip();
        for value in [brier(&p, &labels), expected_calibration_error(&p, &labels, bins), precision_at(&labels, k)] {
            prop_assert!((0.0..=1.0).contains(&value.unwrap()));
        }
        prop_assert!(log_loss(&p, &labels).unwrap() >= 0.0);
        let relevant = labels.iter().filter(|label| **label).count();
        if relevant > 0 {
            prop_assert!((0.0..=1.0).contains(&recall_at(&labels, relevant, k).unwrap()));
            prop_assert!((0.0..=1.0).contains(&average_precision(&labels, relevant).unwrap()));
        }
    }
}
