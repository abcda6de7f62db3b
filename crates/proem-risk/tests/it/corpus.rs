//! The inputs of the fuzz target `risk_files`, as ordinary tests: whatever somebody's file holds is read
//! or refused, and what is read keeps its laws.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use proem_risk::coverage::Coverage;
use proem_risk::identity::Mailmap;
use proem_risk::incident::{Corpus, IncidentQuery};
use proem_risk::path::{GitAttributes, PathRules, RepoPath, classify};

#[test]
fn every_input_is_read_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/risk_files");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Some((kind, rest)) = bytes.split_first() else { continue };
        match kind {
            b'a' => attributes(rest),
            b'm' => mailmap(rest),
            b'c' => coverage(rest),
            _ => incidents(rest),
        }
        read += 1;
    }
    assert!(read >= 8, "{read} inputs in {folder}");
}

fn attributes(bytes: &[u8]) {
    let rules = PathRules::shipped().unwrap();
    let (text, path) = bytes.split_at(bytes.len() / 2);
    let mut attributes = GitAttributes::default();
    attributes.add(&RepoPath::new(""), text);
    attributes.add(&RepoPath::new("a"), text);
    let path = RepoPath::new(path);
    assert_eq!(classify(&path, &attributes, &rules), classify(&path, &attributes, &rules));
}

fn mailmap(bytes: &[u8]) {
    let (text, mail) = bytes.split_at(bytes.len() / 2);
    let person = Mailmap::read(text).person(b"Ann", mail);
    assert_eq!(person.mail, person.mail.to_lowercase());
}

fn coverage(bytes: &[u8]) {
    match Coverage::read(bytes) {
        Ok(coverage) => {
            for path in ["a", "src/a.py", "b/c.rs"] {
                if let Some(of) = coverage.of(&RepoPath::new(path)) {
                    assert!(of.covered <= of.lines);
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn incidents(bytes: &[u8]) {
    let Ok(incidents) = Corpus::read(bytes) else { return };
    assert!(incidents.iter().all(|incident| !incident.id.is_empty() && !incident.title.trim().is_empty()));
    let corpus = Corpus::new(incidents);
    let found = corpus.like(&IncidentQuery { subject: "a crash", paths: &["src/a.py"], identifiers: &[] }, 5);
    assert!(found.len() <= 5 && found.iter().all(|(_, score)| score.is_finite() && *score > 0.0));
}
