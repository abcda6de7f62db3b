//! How much of an assessment is known.

use super::{Assessment, ChangeScore};
use crate::metric::{ConfidenceInterval, Signal};
use crate::metrics::decides_level;

/// See [the module](super).
pub(super) fn assessment_confidence(assessment: &Assessment) -> Option<f64> {
    let score = of_score(&assessment.score, assessment.calibration_error);
    let signals = || {
        let files = assessment.files.iter().filter(|file| decides_level(file.class.role));
        files.flat_map(|file| file.signals()).map(|(_, signal)| signal)
    };
    let known = count_to_f64(signals().filter(|signal| *signal != Signal::Unknown).count());
    let all = count_to_f64(signals().count());
    if score.is_none() && known == 0.0 {
        return None;
    }
    let score = score.unwrap_or_default();
    let confidence = if all > 0.0 { (score + known / all) / 2.0 } else { score };
    Some(confidence.clamp(0.0, 1.0))
}

fn of_score(score: &ChangeScore, calibration_error: f64) -> Option<f64> {
    let scored = score.scored.as_ref().filter(|_| score.signal != Signal::Unknown)?;
    let ConfidenceInterval { low, high } = score.between?;
    let width = (high - low) / 100.0;
    Some((1.0 - calibration_error).clamp(0.0, 1.0) * (1.0 - width).clamp(0.0, 1.0) * scored.known.clamp(0.0, 1.0))
}

fn count_to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
