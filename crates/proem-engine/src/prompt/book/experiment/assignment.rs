//! The version for a subject: a race of exponential times, one for each version.
//!
//! The version whose time `−ln(u) / share` is the shortest wins, where `u` is a number from a hash of names (weighted
//! rendezvous hashing: Schindelhauer and Schomaker, *Weighted distributed hash tables*, 2005). A version's chance is its
//! share. A time depends on its own version alone, so a larger share only attracts subjects, a smaller one only loses
//! them, and a new version only takes from the others, whose subjects otherwise stay as long as their shares keep their
//! proportions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How many digits of a subject's hash are recorded.
const SUBJECT_DIGITS: usize = 16;

/// The thing that always meets the same version: a ticket, a change, a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignmentUnit<'u> {
    /// The project, where one book serves several. Empty for an experiment of the project's own book, so that every
    /// clone assigns alike.
    pub project: &'u str,
    /// The subject, in any words: only its hash is recorded.
    pub subject: &'u str,
}

/// A version that an experiment chose for a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionAssignment {
    /// Its name in `book.toml`.
    pub experiment: String,
    /// When the experiment was started, in milliseconds since 1970: it tells its runs from those of an earlier start.
    pub started: i64,
    /// `agent/name`.
    pub prompt: String,
    /// The version that answers the subject.
    pub version: String,
    /// The subject's hash.
    pub subject: String,
}

impl AssignmentUnit<'_> {
    /// The version of an experiment by their shares. `None` without any.
    #[must_use]
    pub fn version<'v>(&self, experiment: &str, shares: &'v BTreeMap<String, f64>) -> Option<&'v str> {
        let time = |version: &str, share: f64| -libm::log(self.uniform(experiment, version)) / share;
        let times = shares.iter().map(|(version, share)| (time(version, *share), version.as_str()));
        times.min_by(|(first, _), (second, _)| first.total_cmp(second)).map(|(_, version)| version)
    }

    /// The hash by which records know the subject.
    #[must_use]
    pub fn subject_hash(&self) -> String {
        let text = proem_text::hex::encode_hex(hash_of_parts(&["subject", self.project, self.subject]));
        text.chars().take(SUBJECT_DIGITS).collect()
    }

    /// A number above 0 and below 1, of 53 bits.
    fn uniform(&self, experiment: &str, version: &str) -> f64 {
        let hash = hash_of_parts(&["assignment", experiment, self.project, self.subject, version]);
        let bits = hash.iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte)) >> 11;
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
        let number = bits as f64;
        (number + 0.5) / 9_007_199_254_740_992.0
    }
}

/// SHA-256 over each part's length and bytes.
fn hash_of_parts(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(format!("{}\0", part.len()).as_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}
