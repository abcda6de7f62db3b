//! `scores.md` agrees with the shipped rules.

use std::path::Path;

use super::eval::{MODELS, SCORES, TEMPERS, TriagedHalf, calibration, triage_scores};
use super::floors::{FLOORS, floor_scores, languages_of_halves};
use super::left_out::{LEFT_OUT, weights_digest};
use super::model_report::models_report;
use super::tempers::tempers;
use super::train::{WORDS, learn_word_weights};

fn triage_workspace() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_committed_scores_are_those_of_a_new_run() {
    let committed = std::fs::read_to_string(triage_workspace().join(SCORES)).unwrap();
    assert_eq!(
        triage_scores(&triage_workspace()).unwrap(),
        committed,
        "run `cargo lab eval triage` and read what changed"
    );
}

#[test]
fn the_committed_scores_of_floors_are_those_of_a_new_run() {
    let committed = std::fs::read_to_string(triage_workspace().join(FLOORS)).unwrap();
    assert_eq!(
        floor_scores(&triage_workspace()).unwrap(),
        committed,
        "run `cargo lab eval triage` and read what changed"
    );
}

#[test]
fn floors_are_measured_in_every_language_of_the_guard_in_both_halves() {
    let concepts = std::fs::read_to_string(triage_workspace().join("crates/proem-triage/data/floors.tsv")).unwrap();
    let lines = concepts.lines().filter(|line| line.starts_with("block\t"));
    let languages: Vec<&str> = lines.filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(languages.len(), 19);
    let [tuning, held_out] = languages_of_halves(&triage_workspace()).unwrap();
    assert!(tuning.values().sum::<u32>() >= 150 && held_out.values().sum::<u32>() >= 150);
    for language in languages {
        assert!(tuning.contains_key(language) && held_out.contains_key(language), "{language}");
    }
}

#[test]
fn the_committed_scores_with_models_are_those_of_a_new_run() {
    let committed = std::fs::read_to_string(triage_workspace().join(MODELS)).unwrap();
    let found = models_report().unwrap();
    assert_eq!(found, committed, "run `cargo lab eval triage` and read what changed");
    let models = ["good", "sloppy", "compromised", "degraded"];
    let scored = |line: &&str| line.split('|').nth(2).is_some_and(|model| models.contains(&model.trim()));
    let scores: Vec<&str> = found.lines().filter(scored).collect();
    assert_eq!(scores.len(), 17 * models.len(), "fifteen scenarios and two sums");
    assert!(scores.iter().all(|line| line.ends_with("| 0 |")), "{scores:#?}");
}

#[test]
fn the_committed_scores_by_temper_are_those_of_a_new_run() {
    let committed = std::fs::read_to_string(triage_workspace().join(TEMPERS)).unwrap();
    let found = tempers(&triage_workspace()).unwrap();
    assert_eq!(found, committed, "run `cargo lab eval triage` and read what changed");
    let models = ["no model", "good", "lazy", "eager", "hostile"];
    let sums: Vec<&str> =
        found.lines().filter(|line| models.iter().any(|model| line.starts_with(&format!("| {model} |")))).collect();
    assert_eq!(sums.len(), models.len());
    assert!(sums.iter().all(|line| line.ends_with("| 0 | 0 |")), "no forbidden effect, no lost signal: {sums:#?}");
}

/// Byte by byte: the same sums in the same order.
#[test]
fn the_weights_of_words_that_ship_are_those_of_a_new_training() {
    let committed = std::fs::read_to_string(triage_workspace().join(WORDS)).unwrap();
    let (new, signals) = learn_word_weights(&triage_workspace()).unwrap();
    assert!(signals > 1_000, "{signals}");
    // A comparison that failed would print two files of 1.6 MB.
    assert!(new == committed, "run `cargo lab train triage`, and `cargo lab eval triage` behind it");
}

#[test]
fn the_confidences_of_the_lexicon_are_those_that_the_writers_left_out_give() {
    let lexicon = triage_workspace().join("crates/proem-triage/data/lexicon.toml");
    let lexicon = std::fs::read_to_string(lexicon).unwrap();
    let calibration = calibration(&triage_workspace()).unwrap();
    assert!(lexicon.contains(&calibration), "the lexicon should say\n{calibration}");
}

/// Leaving each writer out takes minutes, so what came of it is written down, and must be of the weights that ship.
#[test]
fn the_writers_were_left_out_of_the_weights_that_ship() {
    let [words, report] = [WORDS, LEFT_OUT].map(|name| std::fs::read_to_string(triage_workspace().join(name)).unwrap());
    assert!(report.contains(&weights_digest(&words)), "run `cargo lab train triage --cross-validate`, then calibrate");
}

#[test]
fn both_halves_have_forty_signals_with_ids_of_their_own() {
    let halves = ["tune", "held"].map(|name| TriagedHalf::new(&triage_workspace(), name).unwrap());
    let mut ids: Vec<&str> =
        halves.iter().flat_map(|half| &half.signals).map(|labelled| labelled.id.as_str()).collect();
    assert!(halves.iter().all(|half| half.signals.len() == 40));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 80);
}
