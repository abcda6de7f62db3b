//! What `scores.md` says is what the shipped rules do.

use std::path::Path;

use super::eval::{MODELS, SCORES, TriagedHalf, calibration, scores};
use super::modelled::modelled;
use super::train::{WORDS, learned};

fn workspace() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_committed_scores_are_those_of_a_new_run() {
    let committed = std::fs::read_to_string(workspace().join(SCORES)).unwrap();
    assert_eq!(scores(&workspace()).unwrap(), committed, "run `cargo lab eval triage` and read what changed");
}

#[test]
fn the_committed_scores_with_models_are_those_of_a_new_run() {
    let committed = std::fs::read_to_string(workspace().join(MODELS)).unwrap();
    let found = modelled().unwrap();
    assert_eq!(found, committed, "run `cargo lab eval triage` and read what changed");
    let models = ["good", "sloppy", "compromised", "degraded"];
    let scored = |line: &&str| line.split('|').nth(2).is_some_and(|model| models.contains(&model.trim()));
    let scores: Vec<&str> = found.lines().filter(scored).collect();
    assert_eq!(scores.len(), 17 * models.len(), "fifteen scenarios and two sums");
    assert!(scores.iter().all(|line| line.ends_with("| 0 |")), "{scores:#?}");
}

/// Byte by byte: the same sums in the same order.
#[test]
fn the_weights_of_words_that_ship_are_those_of_a_new_training() {
    let committed = std::fs::read_to_string(workspace().join(WORDS)).unwrap();
    let (new, signals) = learned(&workspace()).unwrap();
    assert!(signals > 1_000, "{signals}");
    // A comparison that failed would print two files of 1.6 MB.
    assert!(new == committed, "run `cargo lab train triage`, and `cargo lab eval triage` behind it");
}

/// The fresh signals have been tuned on since they were scored first, which is what the lexicon still promises; it must
/// promise no more than they give now.
#[test]
fn the_confidences_of_the_lexicon_promise_no_more_than_the_fresh_signals_give() {
    let lexicon = workspace().join("crates/proem-agents/data/triage-lexicon.toml");
    let lexicon = std::fs::read_to_string(lexicon).unwrap();
    let calibration = calibration(&workspace()).unwrap();
    let read = |text: &str| {
        let (_, table) = text.split_once("[confidence.right]\n").unwrap();
        let lines = table.lines().map_while(|line| line.split_once(" = "));
        lines.map(|(name, value)| (name.to_owned(), value.parse::<f64>().unwrap())).collect::<Vec<_>>()
    };
    let (promised, given) = (read(&lexicon), read(&calibration));
    assert_eq!(promised.len(), 4, "{promised:?}");
    for (name, promise) in &promised {
        let given = given.iter().find(|(known, _)| known == name).unwrap().1;
        assert!(*promise <= given, "{name} promises {promise}; the fresh signals give {given}");
    }
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
