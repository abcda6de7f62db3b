//! What `scores.md` says is what the shipped rules do.

use std::path::Path;

use super::eval::{SCORES, TriagedHalf, calibration, scores};

fn workspace() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_committed_scores_are_those_of_a_new_run() {
    let committed = std::fs::read_to_string(workspace().join(SCORES)).unwrap();
    assert_eq!(scores(&workspace()).unwrap(), committed, "run `cargo lab eval triage` and read what changed");
}

#[test]
fn the_confidences_of_the_lexicon_are_those_of_the_fresh_signals() {
    let lexicon = workspace().join("crates/proem-agents/data/triage-lexicon.toml");
    let lexicon = std::fs::read_to_string(lexicon).unwrap();
    let calibration = calibration(&workspace()).unwrap();
    assert!(lexicon.contains(&calibration), "run `cargo lab eval triage --calibrate` and copy:\n{calibration}");
}

#[test]
fn both_halves_have_forty_signals_with_ids_of_their_own() {
    let halves = ["tune", "held"].map(|name| TriagedHalf::new(&workspace(), name).unwrap());
    let mut ids: Vec<&str> =
        halves.iter().flat_map(|half| &half.signals).map(|labelled| labelled.id.as_str()).collect();
    assert!(halves.iter().all(|half| half.signals.len() == 40));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 80);
}
