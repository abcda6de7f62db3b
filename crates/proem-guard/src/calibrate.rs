//! Moves the flag point to where one text in a hundred of a user's own benign corpus is above.
//!
//! A benign genre that the learned scorer never saw is flagged far more often than one in a hundred
//! times. A corpus of one's own mends that, and could also be used to switch the scorer off, so a
//! calibration needs many texts, moves the point within bounds, and is refused if fewer of the
//! committed attacks are found than before.

use crate::{
    finding::{FindingKind, Severity},
    guard::Guard,
    scan::Scan,
    score::TextScorer,
};
use alloc::{format, string::String, vec::Vec};
use core::fmt;
use serde_json::{Value, json};

/// The fewest texts that say something about one in a hundred.
pub const MIN_TEXTS: usize = 300;

/// The share of benign texts that may be above the flag point.
const RATE: f64 = 0.01;

/// How far the point may move, in log-odds.
const MAX_SHIFT: f32 = 2.0;

/// A flag point fitted to a corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The learned model that it belongs to.
    pub model: String,
    /// The log-odds that one text in a hundred is above.
    pub flag: f32,
    /// How many texts it was fitted to.
    pub texts: usize,
}

/// Why a corpus gives no calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CalibrationRefusal {
    /// Too few texts.
    TooFew {
        /// How many there were.
        texts: usize,
    },
    /// The point would rise too far: the corpus isn't benign, or it is unlike anything the scorer
    /// can judge.
    TooFar {
        /// How far, in log-odds.
        shift: f32,
    },
    /// Fewer of the committed attacks would be found.
    FindsLess {
        /// How many were found before.
        before: usize,
        /// How many would be.
        after: usize,
        /// How many there are.
        of: usize,
    },
}

impl fmt::Display for CalibrationRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { texts } => {
                write!(f, "{texts} texts are too few to calibrate; give at least {MIN_TEXTS}")
            }
            Self::TooFar { shift } => write!(
                f,
                "the flag threshold would rise by {shift:.2}, which is more than {MAX_SHIFT}; remove unusual texts \
                 from the corpus"
            ),
            Self::FindsLess { before, after, of } => write!(
                f,
                "of {of} known attacks, only {after} would be found instead of {before}; if the texts with the highest \
                 scores are attacks, remove them from the corpus"
            ),
        }
    }
}

impl core::error::Error for CalibrationRefusal {}

/// Fits the flag point to the scans of benign texts.
///
/// Findings of rules in them don't count: rules flag on their own.
///
/// # Errors
///
/// [`CalibrationRefusal`] says why not.
pub fn calibrate(guard: &Guard, benign: &[Scan]) -> Result<Calibration, CalibrationRefusal> {
    if benign.len() < MIN_TEXTS {
        return Err(CalibrationRefusal::TooFew { texts: benign.len() });
    }
    let stage = guard.stage();
    let mut scores: Vec<f32> = benign.iter().map(|scan| stage.logit(&scan.features)).collect();
    // A corpus that is plainer than any other would flag what the next text has a little more of.
    let flag = one_percent_point(&mut scores).max(stage.flag() - MAX_SHIFT);
    let shift = flag - stage.flag();
    if shift.is_nan() || shift > MAX_SHIFT {
        return Err(CalibrationRefusal::TooFar { shift });
    }
    let moved = stage.clone().with_flag(flag);
    let (mut before, mut after, mut of) = (0usize, 0usize, 0usize);
    for attack in shipped_attacks() {
        let scan = guard.scan_text(attack);
        let is_found_by_rule = scan.findings.iter().any(|found| {
            found.severity > Severity::Low && !matches!(found.kind, FindingKind::Learned | FindingKind::Similar)
        });
        let logit = stage.logit(&scan.features);
        before = before.saturating_add(usize::from(is_found_by_rule || stage.flags(logit)));
        after = after.saturating_add(usize::from(is_found_by_rule || moved.flags(logit)));
        of = of.saturating_add(1);
    }
    if after < before {
        return Err(CalibrationRefusal::FindsLess { before, after, of });
    }
    Ok(Calibration { model: guard.model_id(), flag, texts: benign.len() })
}

/// The attacks of the bank that ships: what a calibration may not lose.
fn shipped_attacks() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../data/bank.tsv").lines();
    lines.filter_map(|line| line.strip_prefix("attack\t")?.split_once('\t').map(|(_, pattern)| pattern))
}

/// The lowest point that at most one score in a hundred is at or above.
fn one_percent_point(scores: &mut [f32]) -> f32 {
    scores.sort_by(f32::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a hundredth of a length"
    )]
    let above = (scores.len() as f64 * RATE) as usize;
    let highest_below = scores.len().saturating_sub(above).checked_sub(1).and_then(|index| scores.get(index));
    highest_below.map_or(f32::NAN, |score| score.next_up())
}

impl Calibration {
    /// The file's text.
    #[must_use]
    pub fn write(&self) -> String {
        format!("{:#}\n", json!({ "model": self.model, "flag": self.flag, "texts": self.texts }))
    }

    /// A calibration from its file.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the file.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let model = file.get("model").and_then(Value::as_str).ok_or("`model` is missing")?;
        #[expect(clippy::cast_possible_truncation, reason = "checked to be finite")]
        let flag = file.get("flag").and_then(Value::as_f64).map(|flag| flag as f32).filter(|flag| flag.is_finite());
        let texts = file.get("texts").and_then(Value::as_u64).and_then(|texts| usize::try_from(texts).ok());
        let texts = texts.filter(|texts| *texts >= MIN_TEXTS).ok_or(format!("`texts` is not at least {MIN_TEXTS}"))?;
        Ok(Self { model: model.into(), flag: flag.ok_or("`flag` is not a number")?, texts })
    }
}

/// A guard's score with a calibration.
///
/// # Errors
///
/// A sentence that says why it can't be used: it belongs to another model, or moves the point too
/// far.
pub fn calibrated_scorer(guard: &Guard, calibration: &Calibration) -> Result<TextScorer, String> {
    let model = guard.model_id();
    if calibration.model != model {
        return Err(format!("it belongs to model `{}`, but the current model is `{model}`", calibration.model));
    }
    let shift = calibration.flag - guard.stage().flag();
    // With room for what is lost when a number is written.
    if shift.is_nan() || shift.abs() > MAX_SHIFT + 0.001 {
        return Err(format!("{}", CalibrationRefusal::TooFar { shift }));
    }
    Ok(guard.stage().clone().with_flag(calibration.flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_lies_above() {
        let mut scores: Vec<f32> = (0..300u16).rev().map(f32::from).collect();
        let flag = one_percent_point(&mut scores);
        assert_eq!(scores.iter().filter(|score| **score >= flag).count(), 3);
        assert!(flag > 296.0 && flag < 296.1);
        let mut equal = [1.0; 400];
        let flag = one_percent_point(&mut equal);
        assert_eq!(equal.iter().filter(|score| **score >= flag).count(), 0, "ties don't exceed the rate");
    }

    #[test]
    fn a_file_reads_back() {
        let calibration = Calibration { model: "m".into(), flag: 0.25, texts: 300 };
        assert_eq!(Calibration::read(&calibration.write()), Ok(calibration));
        for (text, expected) in [
            ("{}", "`model` is missing"),
            ("{\"model\":\"m\",\"texts\":300}", "`flag` is not a number"),
            ("{\"model\":\"m\",\"flag\":1e60,\"texts\":300}", "`flag` is not a number"),
            ("{\"model\":\"m\",\"flag\":0,\"texts\":3}", "`texts` is not at least 300"),
        ] {
            assert_eq!(Calibration::read(text).unwrap_err(), expected, "{text}");
        }
    }
}
