//! How far a counted share may be from the true one.

/// The quantile of the normal distribution for a two-sided interval of 95 %.
pub const Z95: f64 = 1.959_963_984_540_054;

/// A range of shares, both ends within 0 to 1, or of their differences, within −1 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Wilson's score interval for `successes` out of `trials` (Wilson, *Probable Inference, the Law
/// of Succession, and Statistical Inference*, 1927).
///
/// `z` is the normal quantile, such as [`Z95`]. Its sign doesn't matter. Without trials nothing is known and the
/// interval is 0 to 1. `None` if there are more successes than trials or `z` is not finite.
#[must_use]
pub fn wilson(successes: u64, trials: u64, z: f64) -> Option<Interval> {
    if successes > trials || !z.is_finite() {
        return None;
    }
    if trials == 0 {
        return Some(Interval { low: 0.0, high: 1.0 });
    }
    #[expect(clippy::cast_precision_loss, reason = "counts above 2⁵³ lose a part in 10¹⁶")]
    wilson_of_share(successes as f64 / trials as f64, trials as f64, z)
}

/// The same for a share out of `trials`, which need not be whole, as the effective size of a sample isn't.
///
/// `None` if the share is outside 0 to 1, there are no trials, or a number is not finite.
#[must_use]
pub fn wilson_of_share(share: f64, trials: f64, z: f64) -> Option<Interval> {
    if !(0.0..=1.0).contains(&share) || trials <= 0.0 || !trials.is_finite() || !z.is_finite() {
        return None;
    }
    let z2 = z * z;
    if !z2.is_finite() {
        return Some(Interval { low: 0.0, high: 1.0 });
    }
    let (weight, own) = (1.0 / (1.0 + z2 / trials), z2 / trials);
    let centre = weight * (share + own / 2.0);
    let half = weight * libm::sqrt(share * (1.0 - share) * own + own * own / 4.0);
    // The share itself is inside by algebra. Rounding must not put it outside.
    Some(Interval { low: (centre - half).clamp(0.0, share), high: (centre + half).clamp(share, 1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(successes: u64, trials: u64, low: f64, high: f64) {
        let interval = wilson(successes, trials, Z95).unwrap();
        assert!((interval.low - low).abs() < 5e-5 && (interval.high - high).abs() < 5e-5, "{interval:?}");
    }

    #[test]
    fn agrees_with_published_values() {
        // Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I.
        check(81, 263, 0.2553, 0.3662);
        check(15, 148, 0.0624, 0.1605);
        check(0, 20, 0.0, 0.1611);
        check(1, 29, 0.0061, 0.1718);
    }

    #[test]
    fn little_is_known_without_trials() {
        assert_eq!(wilson(0, 0, Z95), Some(Interval { low: 0.0, high: 1.0 }));
        assert_eq!(wilson(2, 1, Z95), None);
        assert_eq!(wilson(1, 2, f64::NAN), None);
        assert_eq!(wilson(1, 2, 0.0), Some(Interval { low: 0.5, high: 0.5 }));
        assert_eq!(wilson(1, 2, 1e200), Some(Interval { low: 0.0, high: 1.0 }));
    }
}
