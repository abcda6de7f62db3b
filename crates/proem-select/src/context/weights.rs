//! The learned weights: of each signal, and of a score.
//!
//! Made by `cargo lab train context` and, whether a task is about code at all, by `cargo lab train abstention`. The
//! data card is beside the scores under `evals/context`.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::signals::{FIRST_LATE, FileSignals, SIGNALS};
use proem_engine::error::{Error, ErrorKind};

/// How many signals of a definition there are.
pub const DEFINITION_SIGNALS: usize = 7;

/// How many numbers tell whether a task is about code.
pub const TASK_SIGNALS: usize = 13;

/// The signals of one task on whether it is about code.
pub type TaskSignals = [f32; TASK_SIGNALS];

/// A repository of fewer files knows few words of what it is about. A task that has one that it defines or calls a file by is
/// about it.
pub(super) const FEW_FILES: usize = 200;

/// How much each signal counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextWeights {
    /// Of the first ranking: the late signals have none.
    pub first: Vec<f32>,
    /// Of the ranking.
    pub all: Vec<f32>,
    /// Of a definition within the best files.
    pub definitions: Vec<f32>,
    /// The probability of a file is `1 / (1 + exp(−(slope · s + offset)))`, where `s` is how far its score is above what
    /// the whole list adds up to.
    pub slope: f32,
    /// See [`Self::slope`].
    pub offset: f32,
    /// Whether a task is about code at all.
    pub abstention: AbstentionWeights,
}

/// The weights that tell a task about code from any other, by logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbstentionWeights {
    /// Of what is known of a task, in the order of [`TASK_SIGNAL_NAMES`](super::TASK_SIGNAL_NAMES).
    pub signals: Vec<f32>,
    /// Added to their sum.
    pub offset: f32,
    /// A task is about code at this probability, 0 to 1.
    pub least: f32,
    /// Below this one, at or above [`Self::least`], that is doubtful. See [`Self::is_doubtful`].
    pub doubtful: f32,
    /// Which directions of meaning are those of software, for the model that ships; 256 numbers.
    pub software: Vec<f32>,
    /// Added to their sum.
    pub software_offset: f32,
    /// Which ranking it was learned behind: its [`ContextWeights::ranking_id`]. Behind another one it tells less.
    pub ranking: String,
}

/// The dimension of the model that ships.
const DIMENSION: usize = 256;

impl AbstentionWeights {
    /// How likely a task is about code, 0 to 1.
    #[must_use]
    pub fn probability(&self, signals: &TaskSignals) -> f32 {
        let sum: f32 = self.signals.iter().zip(signals).map(|(weight, signal)| weight * signal).sum();
        1.0 / (1.0 + libm::expf(-(sum + self.offset)))
    }

    /// Whether it is doubtful that a task is about code that is so likely about it. In a repository with few files hardly a
    /// word is known, and all of its code has room.
    #[must_use]
    pub fn is_doubtful(&self, about_code: f32, files: usize) -> bool {
        about_code < self.doubtful && files >= FEW_FILES
    }

    /// How much a direction of meaning is one of software, as the logarithm of the odds.
    #[must_use]
    pub fn of_software(&self, direction: &[f32]) -> f32 {
        self.software.iter().zip(direction).map(|(weight, value)| weight * value).sum::<f32>() + self.software_offset
    }
}

impl ContextWeights {
    /// The shipped weights.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the shipped file is damaged, which a test excludes.
    pub fn shipped() -> Result<Self, Error> {
        Self::parse(include_str!("../../data/context.json"))
    }

    /// Reads weights as `cargo lab train context` writes them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if they are none, or of another number of signals.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let weights: Self = serde_json::from_str(text)
            .map_err(|error| Error::new(ErrorKind::InvalidFile, format!("these are no weights of context: {error}")))?;
        if weights.first.len() != SIGNALS
            || weights.all.len() != SIGNALS
            || weights.definitions.len() != DEFINITION_SIGNALS
            || weights.abstention.signals.len() != TASK_SIGNALS
            || weights.abstention.software.len() != DIMENSION
        {
            let problem = format!(
                "weights of context: {SIGNALS} numbers are needed in `first` and in `all`, {DEFINITION_SIGNALS} in \
                 `definitions`, {TASK_SIGNALS} in `abstention.signals` and {DIMENSION} in `abstention.software`"
            );
            return Err(Error::new(ErrorKind::InvalidFile, problem));
        }
        Ok(weights)
    }

    /// Which ranking this is: the first 16 digits of the SHA-256 of its weights, abstention left out.
    #[must_use]
    pub fn ranking_id(&self) -> String {
        let mut hash = Sha256::new();
        let calibration = [self.slope, self.offset];
        for weight in [&self.first, &self.all, &self.definitions].into_iter().flatten().chain(&calibration) {
            hash.update(weight.to_le_bytes());
        }
        let mut id = proem_text::hex::encode_hex(hash.finalize());
        id.truncate(16);
        id
    }

    pub(super) fn first_score(&self, signals: &FileSignals) -> f32 {
        weighted_sum(&self.first, signals, FIRST_LATE)
    }

    pub(super) fn score(&self, signals: &FileSignals) -> f32 {
        weighted_sum(&self.all, signals, SIGNALS)
    }

    /// The probability of a file whose score is so far above what the whole list adds up to.
    #[must_use]
    pub fn probability_above(&self, above: f64) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a score of moderate size")]
        let above = above as f32;
        self.probability(above)
    }

    /// How likely a file is what the task is about, 0 to 1.
    pub(super) fn probability(&self, above: f32) -> f32 {
        1.0 / (1.0 + libm::expf(-(self.slope * above + self.offset)))
    }
}

fn weighted_sum(weights: &[f32], signals: &FileSignals, count: usize) -> f32 {
    weights.iter().zip(signals).take(count).map(|(weight, signal)| weight * signal).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstention_was_learned_behind_the_ranking_that_ships() {
        let shipped = ContextWeights::shipped().unwrap();
        let id = shipped.ranking_id();
        assert_eq!(shipped.abstention.ranking, id, "repeat `cargo lab train abstention` behind `train context`");
        let other = ContextWeights { offset: shipped.offset + 0.1, ..shipped };
        assert_ne!(other.ranking_id(), id);
    }
}
