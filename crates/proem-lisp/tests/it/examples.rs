//! The examples of the reference give what they say.

use crate::support::run;
use proem_lisp::documentation::entries;

#[test]
fn every_example_gives_what_it_says() {
    let mut wrong = Vec::new();
    for entry in entries() {
        for (source, expected) in entry.examples {
            let result = run(source);
            if result != *expected {
                wrong.push(format!("{}: {source} gives {result}, not {expected}", entry.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_entry_is_documented_and_has_one_place() {
    let mut names = std::collections::BTreeSet::new();
    for entry in entries() {
        assert!(names.insert(entry.name), "{} is there twice", entry.name);
        assert!(entry.doc.ends_with('.') && entry.doc.len() > 6, "{}: {}", entry.name, entry.doc);
    }
}
