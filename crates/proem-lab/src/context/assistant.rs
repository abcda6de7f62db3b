//! Requests to an assistant: CLINC150 (Larson et al., *An Evaluation Dataset for Intent Classification and Out-of-Scope
//! Prediction*, EMNLP 2019; <https://github.com/clinc/oos-eval>, Creative Commons Attribution 3.0), 150 errands of
//! everyday life with 150 requests each, and requests that are none of these.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::cases::git_stdout;

/// The file of the clone with all of it.
const FILE: &str = "HEAD:data/data_full.json";

/// A shorter one is a word of thanks as often as a request.
const FEWEST_WORDS: usize = 4;

/// One in so many of the reported requests beside all errands.
const STEP: usize = 7;

/// A request, and what errand it is.
type Request = (String, String);

/// The parts of the set.
#[derive(Debug, Deserialize)]
pub(super) struct AssistantRequests {
    train: Vec<Request>,
    test: Vec<Request>,
    oos_train: Vec<Request>,
    oos_val: Vec<Request>,
    oos_test: Vec<Request>,
}

impl AssistantRequests {
    /// Reads the set from a clone of its repository.
    pub(super) fn read(clone: &Path) -> Result<Self, String> {
        serde_json::from_str(&git_stdout(clone, &["show", FILE])?)
            .map_err(|error| format!("{}: {error}", clone.display()))
    }

    /// One request of each errand and those beside all errands, of the part that is learned from.
    pub(super) fn examples(&self) -> Vec<String> {
        let beside = self.oos_train.iter().chain(&self.oos_val).map(|(text, _)| text.clone());
        of_each_errand(&self.train).chain(beside).collect()
    }

    /// The rest of the part that is learned from.
    pub(super) fn lessons(&self) -> Vec<String> {
        let examples: BTreeSet<String> = self.examples().into_iter().collect();
        self.train.iter().map(|(text, _)| text.clone()).filter(|text| !examples.contains(text)).collect()
    }

    /// Requests of the part that nothing is learned from: one of each errand, and some beside all errands.
    pub(super) fn reported(&self) -> Vec<String> {
        let beside = self.oos_test.iter().step_by(STEP).map(|(text, _)| text.clone());
        of_each_errand(&self.test).chain(beside).collect()
    }
}

/// The first request of each errand that is long enough.
fn of_each_errand(requests: &[Request]) -> impl Iterator<Item = String> {
    let mut seen = BTreeSet::new();
    let is_long = |text: &str| text.split_whitespace().count() >= FEWEST_WORDS;
    requests.iter().filter(move |(text, errand)| is_long(text) && seen.insert(errand)).map(|(text, _)| text.clone())
}
