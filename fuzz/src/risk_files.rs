//! Any file of attributes, a mailmap, a coverage report or a list of incidents: it is read or refused with the remedy,
//! in bounded time. Coverage never exceeds its lines, and every incident has a title and an id.
//!
//! The first character says what the rest is read as.

use proem_risk::coverage::Coverage;
use proem_risk::identity::Mailmap;
use proem_risk::incident::{Corpus, IncidentQuery};
use proem_risk::path::{GitAttributes, PathRules, RepoPath, classify_path};

/// Holds one input to the laws.
pub fn feed(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    match kind {
        b'a' => attributes(rest),
        b'm' => mailmap(rest),
        b'c' => coverage(rest),
        _ => incidents(rest),
    }
}

fn attributes(bytes: &[u8]) {
    let rules = PathRules::shipped().expect("the shipped rules are rules");
    let (text, path) = bytes.split_at(bytes.len() / 2);
    let mut attributes = GitAttributes::default();
    attributes.add(&RepoPath::new(""), text);
    attributes.add(&RepoPath::new("a"), text);
    let path = RepoPath::new(path);
    assert_eq!(classify_path(&path, &attributes, &rules), classify_path(&path, &attributes, &rules));
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
