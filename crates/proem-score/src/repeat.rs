//! How well repeated answers do: pass@k, pass^k, their intervals over cases, and how far two graders agree.
//!
//! Invariants: repeats of one case are not independent, so every interval counts cases and not answers. Shares stay
//! within 0 and 1. Nothing is estimated from fewer answers than it speaks of.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::interval::{Interval, Z95, wilson_of_share};

/// The answers to one case: how many there are, and how many of them pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseCount {
    /// The number of answers.
    pub answers: u32,
    /// The number of those that pass.
    pub passed: u32,
}

/// A mean over cases with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaseMean {
    /// The cases that it is the mean of.
    pub cases: u64,
    /// Their mean, from 0 to 1.
    pub mean: f64,
    /// Its interval, with 95 in 100.
    pub interval: Interval,
}

impl CaseCount {
    /// The chance that at least one of `k` answers passes: pass@k, by the unbiased estimator of Chen et al.,
    /// *Evaluating Large Language Models Trained on Code*, 2021, equation 1. `None` if there are fewer than `k` answers.
    #[must_use]
    pub fn pass_at(self, k: u32) -> Option<f64> {
        Some(1.0 - all_drawn(self.answers, self.answers.checked_sub(self.passed)?, k)?)
    }

    /// The chance that all of `k` answers pass: pass^k, by the unbiased estimator of Yao et al., *τ-bench*, 2024,
    /// section 3. `None` if there are fewer than `k` answers.
    #[must_use]
    pub fn pass_all(self, k: u32) -> Option<f64> {
        all_drawn(self.answers, self.passed, k)
    }

    /// Whether some of its answers pass and some don't.
    #[must_use]
    pub const fn flickers(self) -> bool {
        0 < self.passed && self.passed < self.answers
    }
}

/// The chance that `k` draws without putting back from `n` all come from the `wanted` among them.
fn all_drawn(n: u32, wanted: u32, k: u32) -> Option<f64> {
    if k == 0 || k > n || wanted > n {
        return None;
    }
    let factor = |drawn: u32| f64::from(wanted.saturating_sub(drawn)) / f64::from(n.saturating_sub(drawn));
    Some((0..k).map(factor).product())
}

/// The mean of values between 0 and 1, one for each case, with Wilson's interval for the effective number of cases.
///
/// The effective number is the one at which a simple random sample would vary as much as these cases do (Korn and
/// Graubard, *Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated from Survey
/// Data*, 1998). It is never below the number of cases, which it equals for values of 0 and 1, and never above `most`,
/// the number of all answers. Cases that all have the same value show nothing of how cases vary, so each counts once.
/// `None` without values, or with one outside 0 to 1.
#[must_use]
pub fn mean_over_cases(values: &[f64], most: u64) -> Option<CaseMean> {
    if values.is_empty() || values.iter().any(|value| !(0.0..=1.0).contains(value)) {
        return None;
    }
    let cases = u64::try_from(values.len()).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "counts above 2⁵³ lose a part in 10¹⁶")]
    let (n, most) = (cases as f64, most as f64);
    let mean = (values.iter().sum::<f64>() / n).clamp(0.0, 1.0);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let effective = if squares > 0.0 { mean * (1.0 - mean) * n * (n - 1.0) / squares } else { n };
    let interval = wilson_of_share(mean, effective.min(most).max(n), Z95)?;
    Some(CaseMean { cases, mean, interval })
}

/// The chance of at least so many wins if a win is as likely as a loss: the one-sided exact sign test (Dixon and Mood,
/// *The Statistical Sign Test*, 1946). Ties are not passed. 1 without wins and losses.
#[must_use]
pub fn sign_test(wins: u32, losses: u32) -> f64 {
    let all = f64::from(wins) + f64::from(losses);
    let chance = |won: u32| {
        let won = f64::from(won);
        let choose = libm::lgamma(all + 1.0) - libm::lgamma(won + 1.0) - libm::lgamma(all - won + 1.0);
        libm::exp(choose - all * core::f64::consts::LN_2)
    };
    let ends: f64 = (wins..=wins.saturating_add(losses)).map(chance).sum();
    ends.min(1.0)
}

/// How far two graders agree about the same answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// The share of answers with the same grade, as a mean over cases.
    pub share: CaseMean,
    /// Cohen's κ (Cohen, *A Coefficient of Agreement for Nominal Scales*, 1960). `None` where chance alone explains full
    /// agreement, as where both graders give one grade only.
    pub kappa: Option<f64>,
}

/// The agreement of two graders, from the pairs of grades of each case. `None` without a pair.
#[must_use]
pub fn grader_agreement(cases: &[&[(&str, &str)]]) -> Option<Agreement> {
    let (mut firsts, mut seconds) = (BTreeMap::<&str, f64>::new(), BTreeMap::<&str, f64>::new());
    let (mut all, mut same, mut shares) = (0_u32, 0_u32, alloc::vec::Vec::new());
    for pairs in cases.iter().filter(|pairs| !pairs.is_empty()) {
        let mut same_here = 0_u32;
        for (first, second) in *pairs {
            *firsts.entry(first).or_default() += 1.0;
            *seconds.entry(second).or_default() += 1.0;
            same_here = same_here.saturating_add(u32::from(first == second));
        }
        let here = u32::try_from(pairs.len()).ok()?;
        shares.push(f64::from(same_here) / f64::from(here));
        (all, same) = (all.saturating_add(here), same.saturating_add(same_here));
    }
    let share = mean_over_cases(&shares, u64::from(all))?;
    let total = f64::from(all);
    let grades: BTreeSet<&str> = firsts.keys().chain(seconds.keys()).copied().collect();
    let of = |counts: &BTreeMap<&str, f64>, grade: &str| counts.get(grade).copied().unwrap_or(0.0) / total;
    let by_chance: f64 = grades.into_iter().map(|grade| of(&firsts, grade) * of(&seconds, grade)).sum();
    let observed = f64::from(same) / total;
    let kappa = (by_chance < 1.0).then(|| (observed - by_chance) / (1.0 - by_chance));
    Some(Agreement { share, kappa })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(answers: u32, passed: u32) -> CaseCount {
        CaseCount { answers, passed }
    }

    #[test]
    fn estimators_agree_with_counted_subsets() {
        for (answers, passed, k, at, all) in [
            (5, 5, 5, Some(1.0), Some(1.0)),
            (5, 0, 5, Some(0.0), Some(0.0)),
            (4, 2, 1, Some(0.5), Some(0.5)),
            // Of the six pairs of four answers, five hold a passing one, and one holds two.
            (4, 2, 2, Some(5.0 / 6.0), Some(1.0 / 6.0)),
            (3, 2, 4, None, None),
            (3, 2, 0, None, None),
            (2, 3, 1, None, None),
        ] {
            let near = |found: Option<f64>, wanted: Option<f64>| match (found, wanted) {
                (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-12,
                (found, wanted) => found.is_none() && wanted.is_none(),
            };
            let case = count(answers, passed);
            assert!(near(case.pass_at(k), at) && near(case.pass_all(k), all), "{case:?} {k}: {:?}", case.pass_at(k));
        }
        assert!(count(3, 1).flickers() && !count(3, 0).flickers() && !count(3, 3).flickers());
    }

    #[test]
    fn many_repeats_of_one_case_say_nothing_of_other_cases() {
        let one = mean_over_cases(&[1.0], 1_000).unwrap().interval;
        assert!(one.low < 0.3, "{one:?}");
        let twenty = mean_over_cases(&[1.0; 20], 1_000).unwrap().interval;
        assert!(twenty.low > 0.8 && twenty.low < 0.9, "{twenty:?}");
        assert!(mean_over_cases(&[], 0).is_none() && mean_over_cases(&[f64::NAN], 1).is_none());
    }

    #[test]
    fn cases_of_zero_and_one_have_wilsons_interval() {
        let values = [1.0, 1.0, 1.0, 0.0];
        let found = mean_over_cases(&values, 40).unwrap().interval;
        let wilson = crate::interval::wilson(3, 4, Z95).unwrap();
        assert!((found.low - wilson.low).abs() < 1e-9 && (found.high - wilson.high).abs() < 1e-9, "{found:?}");
    }

    /// Uniform numbers, by Steele, Lea and Flood's SplitMix64, 2014.
    fn next_uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Cases whose own chance is 0.2 or 1 with equal odds, so that repeats of one case are alike.
    #[test]
    fn the_interval_by_cases_covers_the_truth_where_one_by_answers_does_not() {
        let (mut state, mut by_cases, mut by_answers, rounds) = (7, 0, 0, 2_000);
        for _ in 0..rounds {
            let (mut values, mut passed) = (alloc::vec::Vec::new(), 0);
            for _ in 0..20 {
                let chance = if next_uniform(&mut state) < 0.5 { 0.2 } else { 1.0 };
                let of_case = (0..9_u32).map(|_| u32::from(next_uniform(&mut state) < chance)).sum::<u32>();
                values.push(count(9, of_case).pass_at(1).unwrap());
                passed += u64::from(of_case);
            }
            let covers = |interval: Interval| i32::from(interval.low <= 0.6 && 0.6 <= interval.high);
            by_cases += covers(mean_over_cases(&values, 180).unwrap().interval);
            by_answers += covers(crate::interval::wilson(passed, 180, Z95).unwrap());
        }
        assert!(by_cases * 100 >= rounds * 93, "{by_cases} of {rounds}");
        assert!(by_answers * 100 < rounds * 75, "{by_answers} of {rounds}");
    }

    #[test]
    fn the_sign_test_counts_the_ways() {
        for (wins, losses, expected) in
            [(0, 0, 1.0), (1, 0, 0.5), (7, 0, 1.0 / 128.0), (8, 2, 56.0 / 1024.0), (0, 3, 1.0), (2_000, 0, 0.0)]
        {
            let found = sign_test(wins, losses);
            assert!((found - expected).abs() < 1e-9, "{wins} {losses}: {found}");
        }
    }

    #[test]
    fn kappa_agrees_with_a_published_table() {
        // Cohen, 1960, table 1, of 100 answers.
        let cells = [
            ("a", "a", 25),
            ("a", "b", 13),
            ("a", "c", 12),
            ("b", "a", 12),
            ("b", "b", 2),
            ("b", "c", 16),
            ("c", "a", 3),
            ("c", "b", 15),
            ("c", "c", 2),
        ];
        let pairs: alloc::vec::Vec<_> = cells.iter().flat_map(|(a, b, n)| core::iter::repeat_n((*a, *b), *n)).collect();
        let found = grader_agreement(&[&pairs]).unwrap();
        // Observed 0.29; by chance 0.5×0.4 + 0.3×0.3 + 0.2×0.3 = 0.35.
        assert!((found.kappa.unwrap() - (0.29 - 0.35) / 0.65).abs() < 1e-9, "{found:?}");
        let one_grade = grader_agreement(&[&[("a", "a"), ("a", "a")]]).unwrap();
        assert!(one_grade.kappa.is_none() && one_grade.share.mean == 1.0);
        assert!(grader_agreement(&[&[]]).is_none());
    }

    proptest! {
        #[test]
        fn more_draws_never_hurt_at_least_one_nor_help_all(answers in 1_u32..40, passed in 0_u32..40, k in 1_u32..40) {
            let case = count(answers, passed.min(answers));
            if let (Some(at), Some(more)) = (case.pass_at(k), case.pass_at(k + 1)) {
                prop_assert!(at <= more + 1e-12);
                prop_assert!(case.pass_all(k).unwrap() + 1e-12 >= case.pass_all(k + 1).unwrap());
            }
        }

        #[test]
        fn the_mean_is_within_its_interval(values in prop::collection::vec(0.0..=1.0_f64, 1..60), most in 0_u64..500) {
            let found = mean_over_cases(&values, most).unwrap();
            prop_assert!(0.0 <= found.interval.low && found.interval.low <= found.mean);
            prop_assert!(found.mean <= found.interval.high && found.interval.high <= 1.0);
        }
    }
}
