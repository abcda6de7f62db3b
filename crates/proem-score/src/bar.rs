//! Whether a share is above a bar, looked at after any outcome.
//!
//! If each outcome is a success with a probability of at most `bar`, whatever came before, then
//! `Π (q / bar)^x · ((1 − q) / (1 − bar))^(1 − x)` is a supermartingale for every `q` above the bar (Wald, *Sequential
//! Tests of Statistical Hypotheses*, 1945), and so is a mixture over `q`. The probability that it *ever* reaches
//! `1 / error` is at most `error` (Ville's inequality), however often somebody looks.

/// The alternatives of the mixture, spread evenly between the bar and 1.
const ALTERNATIVES: u32 = 32;

/// How many times more outcomes an estimate of the missing ones considers.
const FURTHEST: f64 = 64.0;

/// The evidence that a share is above `bar`: the natural logarithm of the mixture.
///
/// `None` if there are more successes than trials, or the bar is not strictly between 0 and 1.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts above 2⁵³ lose a part in 10¹⁶")]
pub fn evidence_above_bar(bar: f64, successes: u64, trials: u64) -> Option<f64> {
    let failures = trials.checked_sub(successes)?;
    (bar > 0.0 && bar < 1.0).then(|| log_mixture(bar, successes as f64, failures as f64))
}

/// Whether outcomes show that a share is above `bar`, with an error of at most `error` over all looks together.
///
/// False for a bar or an error that is not strictly between 0 and 1.
#[must_use]
pub fn is_above_bar(bar: f64, successes: u64, trials: u64, error: f64) -> bool {
    let is_error = error > 0.0 && error < 1.0;
    is_error && evidence_above_bar(bar, successes, trials).is_some_and(|evidence| evidence >= -libm::log(error))
}

/// About how many more outcomes show it, if those to come are like those so far. `None` if 64 times the outcomes would
/// not.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts above 2⁵³ lose a part in 10¹⁶")]
pub fn trials_missing_above_bar(bar: f64, successes: u64, trials: u64, error: f64) -> Option<u64> {
    let (successes, failures) = (successes as f64, trials.checked_sub(successes)? as f64);
    if !(bar > 0.0 && bar < 1.0 && error > 0.0 && error < 1.0) {
        return None;
    }
    let shows = |times: f64| log_mixture(bar, successes * times, failures * times) >= -libm::log(error);
    if !shows(FURTHEST) {
        return None;
    }
    let (mut too_few, mut enough) = (1.0, FURTHEST);
    if shows(too_few) {
        return Some(0);
    }
    for _ in 0..20 {
        let middle = f64::midpoint(too_few, enough);
        if shows(middle) { enough = middle } else { too_few = middle }
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 64 times a count")]
    Some(libm::ceil((enough - 1.0) * (successes + failures)) as u64)
}

fn log_mixture(bar: f64, successes: f64, failures: f64) -> f64 {
    let log_of = |place: u32| {
        let alternative = bar + (1.0 - bar) * f64::from(place) / f64::from(ALTERNATIVES + 1);
        successes * libm::log(alternative / bar) + failures * libm::log((1.0 - alternative) / (1.0 - bar))
    };
    let most = (1..=ALTERNATIVES).map(log_of).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = (1..=ALTERNATIVES).map(|place| libm::exp(log_of(place) - most)).sum();
    most + libm::log(sum / f64::from(ALTERNATIVES))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability that the bar's own share is ever shown to be above it, over all sequences of `trials` outcomes:
    /// exact, by the number of successes so far.
    fn false_alarms(bar: f64, trials: u64, error: f64) -> f64 {
        let mut alive = vec![1.0];
        let mut alarmed = 0.0;
        for trial in 1..=trials {
            let mut next = vec![0.0; alive.len() + 1];
            for (successes, mass) in alive.iter().enumerate() {
                next[successes] += mass * (1.0 - bar);
                next[successes + 1] += mass * bar;
            }
            for (successes, mass) in next.iter_mut().enumerate() {
                if is_above_bar(bar, successes as u64, trial, error) {
                    alarmed += *mass;
                    *mass = 0.0;
                }
            }
            alive = next;
        }
        alarmed
    }

    #[test]
    fn a_share_at_the_bar_is_seldom_called_above_it_however_often_somebody_looks() {
        for (bar, error) in [(0.1, 0.05), (0.25, 0.05), (0.5, 0.01), (0.9, 0.2)] {
            let found = false_alarms(bar, 300, error);
            assert!(found <= error && found > error / 20.0, "{bar} {error}: {found}");
        }
    }

    #[test]
    fn evidence_grows_with_successes_and_is_none_without_outcomes() {
        assert!(evidence_above_bar(0.1, 0, 0).unwrap().abs() < 1e-12);
        assert!(evidence_above_bar(0.1, 5, 10).unwrap() > evidence_above_bar(0.1, 4, 10).unwrap());
        assert!(is_above_bar(0.1, 12, 30, 0.01) && !is_above_bar(0.1, 4, 30, 0.01));
        assert_eq!(evidence_above_bar(0.1, 2, 1), None);
        for bar in [0.0, 1.0, f64::NAN] {
            assert!(!is_above_bar(bar, 10, 10, 0.05), "{bar}");
        }
        assert!(!is_above_bar(0.1, 10, 10, 0.0));
    }

    #[test]
    fn the_missing_outcomes_are_enough() {
        let missing = trials_missing_above_bar(0.1, 6, 30, 0.01).unwrap();
        assert!(missing > 0 && is_above_bar(0.1, 6 + missing.div_ceil(5), 30 + missing, 0.01), "{missing}");
        assert_eq!(trials_missing_above_bar(0.1, 25, 30, 0.01), Some(0));
        assert_eq!(trials_missing_above_bar(0.1, 3, 30, 0.01), None);
    }
}
