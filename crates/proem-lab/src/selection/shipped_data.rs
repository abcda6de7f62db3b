//! The shipped data agree with training: the parts that are made quickly are made anew.

use std::path::{Path, PathBuf};

use proem_select::select::WordWeights;

use super::public_sets::{SelectionRequest, read_requests};
use super::train::{MODEL, WORDS, weighted_static_model};
use crate::skipped::skip;

fn selection_workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The raw data and its training requests. `None`, said aloud, where there are none.
fn raw_selection_data() -> Option<(PathBuf, Vec<SelectionRequest>)> {
    let folder = selection_workspace().join("..").join("shared/data");
    if !folder.is_dir() {
        skip("shared-data", format!("there is no `{}`", folder.display()));
        return None;
    }
    let training = read_requests(&folder.join("selection/metatool.train.jsonl")).unwrap();
    Some((folder, training))
}

#[test]
fn the_shipped_model_is_made_from_its_raw_data_and_the_training_requests() {
    let Some((folder, training)) = raw_selection_data() else { return };
    let shipped = std::fs::read(selection_workspace().join(MODEL)).unwrap();
    // Not `assert_eq!`: that would print seven million numbers.
    assert!(
        weighted_static_model(&folder.join("embed"), &training).unwrap() == shipped,
        "run `cargo lab train select`"
    );
}

#[test]
fn the_shipped_word_weights_are_learned_from_the_training_requests() {
    let Some((_, training)) = raw_selection_data() else { return };
    let learned = WordWeights::learn(training.iter().map(|request| request.query.as_str()));
    let shipped = std::fs::read_to_string(selection_workspace().join(WORDS)).unwrap();
    assert!(learned == shipped, "run `cargo lab train select`");
}
