//! Patterns of paths that stay out, beside git's own answer.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use proem_runtime::context::IgnorePatterns;
use proptest::prelude::*;

/// Git's verdict on paths under these patterns.
fn paths_ignored_by_git(folder: &std::path::Path, patterns: &str, paths: &[String]) -> Vec<bool> {
    fs::write(folder.join("patterns"), patterns).unwrap();
    let excludes = format!("core.excludesFile={}", folder.join("patterns").display());
    let mut child = Command::new("git")
        .args(["-c", &excludes, "check-ignore", "--no-index", "--stdin", "-z", "--non-matching", "--verbose"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input: String = paths.iter().map(|path| format!("{path}\0")).collect();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let fields: Vec<&str> = text.split_terminator('\0').collect();
    assert_eq!(fields.len(), paths.len() * 4, "{patterns:?}: {}", String::from_utf8_lossy(&output.stderr));
    // Source, line, pattern, path. A pattern that takes the path back is named as well.
    fields.chunks(4).map(|row| !row[2].is_empty() && !row[2].starts_with('!')).collect()
}

/// The patterns with a reading of their own: classes, a slash in one, one that never ends, a sign behind a backslash.
const ODD: &[&str] =
    &["[ab]", "[!a]", "[b/c]", "[a-c]", "[^b-c]", "[[:alpha:]]", "[]a]", "[b", "\\a", "\\*", "\\/", " "];

/// Patterns of everything that has a meaning, and letters that paths have. Two stars are whole parts: beside letters
/// git means one star by its manual, and folders where what is before has been compared already.
fn pattern() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[abc]{1,2}",
        2 => Just("*".to_owned()),
        1 => Just("?".to_owned()),
        1 => Just("/**/".to_owned()),
        2 => Just("/".to_owned()),
        1 => prop::sample::select(ODD).prop_map(str::to_owned),
    ];
    ("!?", "/?", prop::collection::vec(piece, 1..6), "/?").prop_map(|(back, root, pieces, end)| {
        let whole = format!("{root}{}{end}", pieces.concat());
        let parts: Vec<String> =
            whole.split('/').map(|part| if part == "**" { part.to_owned() } else { one_star(part) }).collect();
        format!("{back}{}", parts.join("/"))
    })
}

fn one_star(part: &str) -> String {
    let mut part = part.to_owned();
    while part.contains("**") {
        part = part.replace("**", "*");
    }
    part
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc]{1,3}|\\*|a b", 1..5).prop_map(|parts| parts.join("/"))
}

#[test]
fn the_answer_is_gits() {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("git").args(["init", "-q", "."]).current_dir(folder.path()).status().unwrap();
    assert!(made.success());
    let matched = std::cell::Cell::new(0_usize);
    proptest!(ProptestConfig::with_cases(100), |(
        patterns in prop::collection::vec(pattern(), 1..5),
        paths in prop::collection::vec(any_path(), 30),
    )| {
        let text = patterns.join("\n");
        let read = IgnorePatterns::parse(text.as_bytes());
        for (path, expected) in paths.iter().zip(paths_ignored_by_git(folder.path(), &text, &paths)) {
            prop_assert_eq!(read.matches(path.as_bytes()), expected, "{:?} {}", text, path);
            matched.set(matched.get() + usize::from(expected));
        }
    });
    // Of 3,000, by chance: 183 were seen once. Fewer than 50 would say that patterns and paths no longer meet.
    assert!(matched.get() > 50, "only {} paths matched anything", matched.get());
}
