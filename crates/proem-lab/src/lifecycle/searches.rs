//! Searches for a better wording, simulated: the test at a fixed size beside tests that look after every case.
//!
//! A search asks the text in use once for each held-out case, and every variant for the same cases. A case is won, lost
//! or tied. All tests have the same error, divided by the number of variants.

use std::fmt::Write as _;

use proem_score::repeat::sign_test;
use proem_score::sequential::{ArmTally, DifferenceTest, DifferenceVerdict, ERROR_OF_95};

use super::{Randomness, percent_of};

/// A kind of search.
#[derive(Debug, Clone, Copy)]
struct SimulatedSearch {
    /// The held-out cases.
    cases: u32,
    /// How many wordings are tested.
    variants: u32,
    /// The share of cases that the text in use passes.
    base: f64,
    /// The same of the first variant. The others pass as many as the text in use.
    better: f64,
}

/// The counts of one test over many searches.
#[derive(Debug, Clone, Copy, Default)]
struct TestCounts {
    /// Searches in which at least one variant was proven.
    proven: u64,
    /// The cases that variants were asked for.
    asked: u64,
}

/// The tests that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchTest {
    /// The exact sign test over all cases.
    Fixed,
    /// The same, which stops asking for a variant that can't pass any more.
    Curtailed,
    /// An e-value for the share of wins among cases that differ, with a look after every case.
    SequentialSigns,
    /// The test of experiments, with a look after every case.
    SequentialMeans,
}

impl SearchTest {
    const ALL: [Self; 4] = [Self::Fixed, Self::Curtailed, Self::SequentialSigns, Self::SequentialMeans];
}

/// The state of one variant's comparison.
#[derive(Debug, Default)]
struct Comparison {
    wins: u32,
    losses: u32,
    before: ArmTally,
    after: ArmTally,
}

impl Comparison {
    fn add(&mut self, before: bool, after: bool) {
        self.wins += u32::from(after && !before);
        self.losses += u32::from(before && !after);
        let _counted = self.before.add(f64::from(u8::from(before))) && self.after.add(f64::from(u8::from(after)));
    }

    /// Whether the variant is proven, once that is known. `left` cases are not asked for yet.
    fn decide(&self, test: SearchTest, left: u32, error: f64, means: &DifferenceTest) -> Option<bool> {
        let is_last = (left == 0).then_some(false);
        match test {
            SearchTest::Fixed => (left == 0).then(|| sign_test(self.wins, self.losses) <= error),
            SearchTest::Curtailed if sign_test(self.wins.saturating_add(left), self.losses) > error => Some(false),
            SearchTest::Curtailed => (left == 0).then(|| sign_test(self.wins, self.losses) <= error),
            SearchTest::SequentialSigns if sign_e_value(self.wins, self.losses) >= 1.0 / error => Some(true),
            SearchTest::SequentialSigns => {
                let is_hopeless = sign_e_value(self.wins.saturating_add(left), self.losses) < 1.0 / error;
                is_hopeless.then_some(false).or(is_last)
            }
            SearchTest::SequentialMeans => match means.verdict(&self.before, &self.after, -1.0) {
                DifferenceVerdict::Better => Some(true),
                DifferenceVerdict::Worse => Some(false),
                DifferenceVerdict::TooSmall | DifferenceVerdict::Open => is_last,
            },
        }
    }
}

/// The likelihood ratio of a share of wins that is uniform between one half and one, against one half: a martingale
/// with mean 1 if a win is as likely as a loss (the method of mixtures; Robbins, *Statistical Methods Related to the Law
/// of the Iterated Logarithm*, 1970).
fn sign_e_value(wins: u32, losses: u32) -> f64 {
    let all = f64::from(wins) + f64::from(losses);
    let choose = |n: f64, k: f64| (libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)).exp();
    let tail: f64 = (0..=wins).map(|k| choose(all + 1.0, f64::from(k))).sum();
    tail / ((all + 1.0) * choose(all, f64::from(wins)))
}

/// The tables of searches with equal variants, and with one that is better.
pub(super) fn search_report(searches: u64) -> String {
    let mut out = format!(
        "# Searches for a better wording, simulated\n\n`cargo lab eval lifecycle` writes this file. Each row is {searches} \
         seeded searches. Every test has an error of 5 %,\ndivided by the number of variants. *Asked* is the mean number of \
         held-out cases per variant.\n\n- *fixed*: the exact sign test over all cases.\n- *curtailed*: the same test. A \
         variant is no longer asked once it can't pass even if it wins every case that is left.\n- *signs*: a sequential \
         test of wins and losses, with a look after every case.\n- *means*: the sequential test of experiments, \
         `sequential.rs`, with a look after every case.\n"
    );
    let head = "| cases | variants | before | after | fixed | asked | curtailed | asked | signs | asked | means | asked |\n\
                |---|---|---|---|---|---|---|---|---|---|---|---|\n";
    let sizes = [(8, 1), (16, 4), (30, 4), (60, 8)];
    _ = write!(out, "\n## Equal variants\n\nSearches that prove a variant, although none is better.\n\n{head}");
    for base in [0.3, 0.5, 0.8] {
        for (cases, variants) in sizes {
            push_row(&mut out, SimulatedSearch { cases, variants, base, better: base }, searches);
        }
    }
    _ = write!(out, "\n## One better variant\n\nSearches that prove a variant.\n\n{head}");
    for (base, better) in [(0.1, 0.9), (0.3, 0.8), (0.5, 0.8)] {
        for (cases, variants) in sizes {
            push_row(&mut out, SimulatedSearch { cases, variants, base, better }, searches);
        }
    }
    out
}

#[expect(clippy::cast_precision_loss, reason = "counts of searches and cases")]
fn push_row(out: &mut String, kind: SimulatedSearch, searches: u64) {
    let SimulatedSearch { cases, variants, base, better } = kind;
    _ = write!(out, "| {cases} | {variants} | {base} | {better} |");
    for counts in simulate_searches(kind, searches) {
        let asked = counts.asked as f64 / (searches.max(1) as f64 * f64::from(variants));
        _ = write!(out, " {} | {asked:.1} |", percent_of(counts.proven, searches));
    }
    out.push('\n');
}

fn simulate_searches(kind: SimulatedSearch, searches: u64) -> [TestCounts; 4] {
    let mut counts = [TestCounts::default(); 4];
    let error = ERROR_OF_95 / f64::from(kind.variants);
    let Some(means) = DifferenceTest::new(error, 0.5) else { return counts };
    for seed in 0..searches {
        let mut dice = Randomness(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(7));
        let before: Vec<bool> = (0..kind.cases).map(|_| dice.uniform() < kind.base).collect();
        let mut is_proven = [false; 4];
        for variant in 0..kind.variants {
            let rate = if variant == 0 { kind.better } else { kind.base };
            let after: Vec<bool> = (0..kind.cases).map(|_| dice.uniform() < rate).collect();
            for ((test, counts), is_proven) in SearchTest::ALL.into_iter().zip(&mut counts).zip(&mut is_proven) {
                let mut comparison = Comparison::default();
                for ((before, after), left) in before.iter().zip(&after).zip((0..kind.cases).rev()) {
                    comparison.add(*before, *after);
                    counts.asked += 1;
                    if let Some(decision) = comparison.decide(test, left, error, &means) {
                        *is_proven |= decision;
                        break;
                    }
                }
            }
        }
        for (counts, is_proven) in counts.iter_mut().zip(is_proven) {
            counts.proven += u64::from(is_proven);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_e_value_has_mean_one_if_a_win_is_as_likely_as_a_loss() {
        for all in [1_u32, 5, 12] {
            let chance = |wins: u32| {
                sign_test(wins, all - wins) - if wins == all { 0.0 } else { sign_test(wins + 1, all - wins - 1) }
            };
            let mean: f64 = (0..=all).map(|wins| chance(wins) * sign_e_value(wins, all - wins)).sum();
            assert!((mean - 1.0).abs() < 1e-9, "{all}: {mean}");
        }
    }

    #[test]
    fn a_curtailed_test_decides_like_the_fixed_one_and_asks_less() {
        let kind = SimulatedSearch { cases: 16, variants: 4, base: 0.5, better: 0.8 };
        let [fixed, curtailed, ..] = simulate_searches(kind, 200);
        assert_eq!(fixed.proven, curtailed.proven);
        assert!(curtailed.asked < fixed.asked);
        assert_eq!(fixed.asked, 200 * 4 * 16);
    }
}
