//! Recognises modes from a task's words, on the committed cases.

use proem_agents::assemble::{mode_keywords, phrases};
use proem_select::mode::{Hints, Keywords, ModeInference, Phrases, Wording, infer};

const CASES: &str = include_str!("../../../data/mode-cases.jsonl");

fn infer_mode(task: &str, phrases: &Phrases, keywords: &Keywords) -> ModeInference {
    infer(Some(task), &Hints::default(), &Wording { phrases, keywords }, None)
}

/// The folder of data.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data");

#[expect(clippy::disallowed_methods, reason = "it reads the files that indexes are made of")]
fn read_mode_data(name: &str) -> String {
    std::fs::read_to_string(format!("{DATA}/{name}")).unwrap()
}

/// Whether an index is what was read of the files beside it, and of that what ships. Writes it where it is asked to.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "it writes one file where it is asked to")]
fn up_to_date(name: &str, index: &str, is_shipped: bool) {
    if std::env::var_os("PROEM_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        // The index that this test was built with is the earlier file.
        return std::fs::write(format!("{DATA}/{name}"), index).unwrap();
    }
    assert!(read_mode_data(name) == index, "repeat with PROEM_UPDATE_REFERENCE=1");
    assert!(is_shipped, "what is read is what was written");
}

#[test]
fn the_index_of_phrases_is_up_to_date() {
    let names = ["en", "de", "fr", "es", "pt", "it"];
    let texts = names.map(|name| read_mode_data(&format!("speech/{name}.toml")));
    let files: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let written = Phrases::parse(&files).unwrap();
    up_to_date("speech/index.txt", &written.index(), phrases().unwrap() == &written);
}

#[test]
fn the_index_of_keywords_is_up_to_date() {
    let written = Keywords::parse(&read_mode_data("modes.toml")).unwrap();
    up_to_date("modes-index.txt", written.index(), mode_keywords() == written);
}

#[test]
fn every_case_has_its_mode() {
    let (phrases, keywords) = (phrases().unwrap(), mode_keywords());
    let mut wrong = Vec::new();
    for line in CASES.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let inferred = infer_mode(case["task"].as_str().unwrap(), phrases, &keywords);
        let told = serde_json::to_value(&inferred).unwrap();
        if (&case["mode"], &case["because"]) != (&told["mode"], &told["basis"]) {
            wrong.push(format!("{line}\n  is {}: {}", inferred.mode.as_str(), inferred.reason));
        }
        assert_eq!(case.get("was").is_some(), case.get("reason").is_some(), "{line}: a mode that changed says why");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(CASES.lines().count(), 113);
}

#[test]
fn what_decided_is_said() {
    let (phrases, keywords) = (phrases().unwrap(), mode_keywords());
    for (task, expected) in [
        ("why is the build red?", "plan: the task asks a question (en)"),
        ("Ne touche à rien, dis-moi où c'est", "plan: the task forbids changes (fr)"),
        ("¿es seguro mergear esto?", "review: the task asks for an assessment, `seguro` (es)"),
        ("Tippfehler in der Fußzeile", "act: the task says what is wrong or what is wanted, `tippfehler` (de)"),
        ("põe o timeout em 30 segundos", "act: the task orders a change, `poe` (pt)"),
        ("Analizza i tempi di risposta", "plan: the task says `analizza` (it)"),
        ("dark mode for the settings", "act: the task names what is wanted (en)"),
        ("hmm", "plan: nothing in the task asks for a change"),
    ] {
        let inferred = infer_mode(task, phrases, &keywords);
        assert_eq!(format!("{}: {}", inferred.mode.as_str(), inferred.reason), expected, "{task:?}");
    }
}

#[test]
fn a_long_task_is_read_once() {
    let (phrases, keywords) = (phrases().unwrap(), mode_keywords());
    let log = "2026-11-01 worker 3 took job 17, and then it was done; next one please\n".repeat(2_000);
    let inferred = infer_mode(&format!("{log}why is worker 3 so busy?"), phrases, &keywords);
    assert_eq!(inferred.reason, "the task asks a question (en)");
}
