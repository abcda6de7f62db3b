//! Laws of the sequential test.

use proem_score::sequential::{ArmTally, DifferenceTest, DifferenceVerdict, ERROR_OF_95};
use proptest::prelude::*;

fn tally(values: &[f64]) -> ArmTally {
    let mut tally = ArmTally::default();
    for value in values {
        assert!(tally.add(*value));
    }
    tally
}

/// Pseudo-random numbers from 0 to 1, by a multiplicative congruence.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }
}

#[test]
fn an_interval_seldom_misses_the_difference_at_any_look() {
    // Rates, share of the second arm, and the seed's own difference.
    for (base, other, share) in [(0.5, 0.5, 0.5), (0.9, 0.95, 0.1), (0.02, 0.02, 0.3)] {
        let test = DifferenceTest::new(ERROR_OF_95, share).unwrap();
        let mut missed = 0;
        for seed in 0..100 {
            let (mut dice, mut arms) = (Dice(seed), [ArmTally::default(); 2]);
            missed += u32::from((0..400).any(|_| {
                let is_other = dice.roll() < share;
                let rate = if is_other { other } else { base };
                let value = f64::from(u8::from(dice.roll() < rate));
                assert!(arms[usize::from(is_other)].add(value));
                test.refuses(&arms[0], &arms[1], other - base)
            }));
        }
        // With an error of 5 %, chance exceeds 9 of 100 once in 35 seeds.
        assert!(missed <= 9, "{missed} of 100 at {base}, {other}, {share}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_interval_holds_the_observed_difference_and_grows_with_certainty(
        base in prop::collection::vec(0.0_f64..=1.0, 1..40), other in prop::collection::vec(0.0_f64..=1.0, 1..40),
        share in 0.05_f64..0.95,
    ) {
        let (base, other) = (tally(&base), tally(&other));
        let difference = other.mean().unwrap() - base.mean().unwrap();
        let interval = |error| DifferenceTest::new(error, share).unwrap().interval(&base, &other);
        let (narrow, wide) = (interval(0.1), interval(0.01));
        prop_assert!(wide.low <= narrow.low && narrow.low <= difference, "{wide:?} {narrow:?} {difference}");
        prop_assert!(difference <= narrow.high && narrow.high <= wide.high, "{wide:?} {narrow:?} {difference}");
        prop_assert!(wide.low >= -1.0 && wide.high <= 1.0);
    }

    #[test]
    fn exchanged_arms_exchange_the_ends(
        base in prop::collection::vec(0.0_f64..=1.0, 1..40), other in prop::collection::vec(0.0_f64..=1.0, 1..40),
        share in 0.05_f64..0.95,
    ) {
        let (base, other) = (tally(&base), tally(&other));
        let one = DifferenceTest::new(ERROR_OF_95, share).unwrap().interval(&base, &other);
        let exchanged = DifferenceTest::new(ERROR_OF_95, 1.0 - share).unwrap().interval(&other, &base);
        prop_assert!((one.low + exchanged.high).abs() < 1e-6 && (one.high + exchanged.low).abs() < 1e-6);
    }

    #[test]
    fn a_replay_of_outcomes_gives_the_same_decisions(outcomes in prop::collection::vec((any::<bool>(), 0.0_f64..=1.0), 0..30)) {
        let test = DifferenceTest::new(ERROR_OF_95, 0.5).unwrap();
        let decisions = || {
            let mut arms = [ArmTally::default(); 2];
            outcomes.iter().map(|(is_other, value)| {
                assert!(arms[usize::from(*is_other)].add(*value));
                (test.interval(&arms[0], &arms[1]).low.to_bits(), test.verdict(&arms[0], &arms[1], 0.02))
            }).collect::<Vec<(u64, DifferenceVerdict)>>()
        };
        prop_assert_eq!(decisions(), decisions());
    }
}
