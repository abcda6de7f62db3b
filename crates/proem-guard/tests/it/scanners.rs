//! The rules against whole documents, and against their own reference.
#![expect(clippy::unwrap_used, reason = "helper functions of tests")]

use proem_guard::{
    Hit, Scanner, Severity, Sight,
    lexicon::Lexicon,
    scanners::{self, catalogue, payload},
    view::{DecodingLimits, all_readings, folded_view},
};
use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

type Scanners = Vec<Box<dyn Scanner + Send + Sync>>;

/// The families with hostile fixtures, and how their rules begin.
const FAMILIES: [(&str, &str); 8] = [
    ("exfiltration", "exfiltration/"),
    ("extraction", "extraction/"),
    ("forgery", "forgery/"),
    ("override", "override/"),
    // Text behind an encoding may be of any family.
    ("payload", ""),
    ("persona", "persona/"),
    ("social", "social/"),
    ("tools", "tool/"),
];

fn fixtures(folder: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| (file.display().to_string(), fs::read_to_string(file).unwrap())).collect()
}

/// The hits in all readings of a text.
fn look(lexicon: &Lexicon, scanners: &Scanners, text: &str) -> Vec<Hit> {
    let readings = all_readings(text, &DecodingLimits::for_text(text.len()));
    let mut hits = payload::hidden_character_hits(text, &readings.clean.removed);
    for reading in &readings.all {
        let folded = folded_view(&reading.view.text);
        let mentions = lexicon.mentions(&folded.text);
        let sight = Sight { reading, folded: &folded, mentions: &mentions };
        for scanner in scanners {
            scanner.scan(&sight, &mut hits).unwrap();
        }
    }
    hits
}

#[test]
fn hostile_documents_are_noticed() {
    let (lexicon, scanners) = scanners::shipped_scanners(&[]).unwrap();
    let mut missed = String::new();
    for (family, rules) in FAMILIES {
        let files = fixtures(family);
        assert!(files.len() >= 12, "{family} has {} fixtures", files.len());
        for (name, text) in files {
            let hits = look(&lexicon, &scanners, &text);
            if !hits.iter().any(|hit| hit.rule.starts_with(rules) && hit.severity >= Severity::Medium) {
                writeln!(missed, "{name}: {hits:?}").unwrap();
            }
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn benign_documents_pass() {
    let (lexicon, scanners) = scanners::shipped_scanners(&[]).unwrap();
    let files = fixtures("benign");
    assert!(files.len() >= 24);
    let mut noticed = String::new();
    for (name, text) in files {
        let hits = look(&lexicon, &scanners, &text);
        let bad: Vec<&Hit> = hits.iter().filter(|hit| hit.severity >= Severity::Medium).collect();
        if !bad.is_empty() {
            writeln!(noticed, "{name}: {bad:?}").unwrap();
        }
    }
    assert!(noticed.is_empty(), "{noticed}");
}

#[test]
fn every_example_breaks_its_rule() {
    let (lexicon, scanners) = scanners::shipped_scanners(&[]).unwrap();
    let mut silent = String::new();
    for described in catalogue().unwrap().iter().filter(|described| !described.example.is_empty()) {
        let hits = look(&lexicon, &scanners, described.example);
        let is_found = |hit: &Hit| hit.rule == described.id && described.severities.contains(&hit.severity);
        if !hits.iter().any(is_found) {
            writeln!(silent, "{}: {hits:?}", described.id).unwrap();
        }
    }
    assert!(silent.is_empty(), "{silent}");
}

#[test]
fn every_rule_that_is_found_is_described() {
    let (lexicon, scanners) = scanners::shipped_scanners(&[]).unwrap();
    let known: BTreeSet<&str> = catalogue().unwrap().iter().map(|described| described.id).collect();
    for (folder, _) in FAMILIES {
        for (name, text) in fixtures(folder) {
            for hit in look(&lexicon, &scanners, &text) {
                assert!(known.contains(hit.rule), "{name}: {}", hit.rule);
            }
        }
    }
}

#[test]
fn the_reference_lists_every_rule() {
    let mut expected = String::from(
        "# Rules\n\nWhat `proem scan` looks for. The severity is that of a place in plain sight: what was hidden on\n\
         purpose counts as worse, what is reported or quoted by somebody who writes about attacks as milder.\n\
         An empty example means that the rule is about characters that a page can't show.\n\n\
         | rule | severity | what it means | example |\n| --- | --- | --- | --- |\n",
    );
    for described in catalogue().unwrap() {
        let severities: Vec<&str> = described.severities.iter().map(|severity| severity.as_str()).collect();
        let example = described.example.replace('|', "\\|").replace('\n', " ⏎ ");
        let example = if example.is_empty() { String::new() } else { format!("`` {example} ``") };
        writeln!(expected, "| `{}` | {} | {} | {example} |", described.id, severities.join(", "), described.meaning)
            .unwrap();
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rules.md");
    let actual = fs::read_to_string(&path).unwrap_or_default();
    if actual != expected {
        let fresh = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("rules.md");
        fs::write(&fresh, expected).unwrap();
        panic!("docs/reference/rules.md is out of date; copy {} there", fresh.display());
    }
}

/// The shipped index is made of the file of concepts.
#[test]
fn the_index_of_concepts_is_up_to_date() {
    const CONCEPTS: &str = include_str!("../../data/concepts.tsv");
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/concepts-index.txt");
    let written = Lexicon::index(CONCEPTS, scanners::OWN_TOOL).unwrap();
    if std::env::var_os("PROEM_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        return fs::write(&file, &written).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == written, "repeat with PROEM_UPDATE_REFERENCE=1");
}
