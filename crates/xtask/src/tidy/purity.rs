//! The pure crates say in their own files that they are pure.
//!
//! Six of them are `no_std`, so the compiler sees to it. The others have a `clippy.toml` with
//! what they may not use; such a file replaces the root's, so it repeats all of the root's keys.

use toml::{Table, Value};

use super::{finding::TidyFinding, tree::SourceTree};

const NO_STD: &[&str] = &["proem-guard", "proem-lisp", "proem-risk", "proem-score", "proem-text", "proem-tokens"];
const NO_STD_LINE: &str = "#![cfg_attr(not(test), no_std)]";

const LINTED: &[&str] = &["proem-agents", "proem-embed", "proem-engine", "proem-select", "proem-triage"];
const LISTS: &[&str] = &["disallowed-methods", "disallowed-types"];

/// Looks at the pure crates that exist.
pub(crate) fn check_purity(tree: &SourceTree) -> Vec<TidyFinding> {
    let crates = tree.crates();
    let no_std = NO_STD.iter().filter(|name| crates.contains(name)).filter_map(|name| check_no_std(tree, name));
    let linted = LINTED.iter().filter(|name| crates.contains(name)).flat_map(|name| check_lints(tree, name));
    no_std.chain(linted).collect()
}

fn check_no_std(tree: &SourceTree, name: &str) -> Option<TidyFinding> {
    let path = format!("crates/{name}/src/lib.rs");
    let missing = tree.line_of(&path, |line| line == NO_STD_LINE).is_none();
    missing.then(|| {
        TidyFinding::in_file(&path, "this crate has to be `no_std`".to_owned(), "add `#![cfg_attr(not(test), no_std)]`")
    })
}

fn check_lints(tree: &SourceTree, name: &str) -> Vec<TidyFinding> {
    let path = format!("crates/{name}/clippy.toml");
    let Some(own) = tree.text(&path) else {
        let remedy = "write one that forbids clock, environment, files, processes, threads and network";
        return vec![TidyFinding::in_file(&path, "missing".to_owned(), remedy)];
    };
    let (Ok(own), Ok(root)) = (own.parse::<Table>(), tree.text("clippy.toml").unwrap_or_default().parse::<Table>())
    else {
        return vec![TidyFinding::in_file(
            &path,
            "this or the root's `clippy.toml` is no TOML".to_owned(),
            "correct it",
        )];
    };
    let mut findings = Vec::new();
    for (key, value) in root.iter().filter(|(key, value)| own.get(*key) != Some(*value)) {
        findings.push(
            TidyFinding::in_file(
                &path,
                format!("`{key}` differs from the root's"),
                &format!("write `{key} = {value}`"),
            )
            .at(tree.line_of(&path, |line| line.starts_with(key.as_str()))),
        );
    }
    for list in LISTS {
        let entries = own.get(*list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if entries.is_empty() {
            findings.push(TidyFinding::in_file(
                &path,
                format!("`{list}` is empty"),
                "list what a pure crate may not use",
            ));
        }
        findings.extend(entries.iter().filter(|entry| entry.get("reason").is_none()).map(|entry| {
            TidyFinding::in_file(&path, format!("`{entry}` has no reason"), "write it as { path = …, reason = … }")
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines;

    fn problems(lib: &str, clippy: &str) -> Vec<String> {
        let tree = SourceTree::from([
            ("clippy.toml", "too-many-lines-threshold = 80\n"),
            ("crates/proem-text/Cargo.toml", ""),
            ("crates/proem-text/src/lib.rs", lib),
            ("crates/proem-engine/Cargo.toml", ""),
            ("crates/proem-engine/clippy.toml", clippy),
            ("crates/proem-cli/Cargo.toml", ""),
        ]);
        finding_lines(&check_purity(&tree))
    }

    const LIB: &str = "//! Text.\n#![cfg_attr(not(test), no_std)]\n";
    const CLIPPY: &str = "too-many-lines-threshold = 80\n\
                          disallowed-methods = [{ path = \"std::env::var\", reason = \"pure\" }]\n\
                          disallowed-types = [{ path = \"std::fs::File\", reason = \"pure\" }]\n";

    #[test]
    fn pure_crates_pass() {
        assert_eq!(problems(LIB, CLIPPY), Vec::<String>::new());
    }

    #[test]
    fn a_crate_with_std_is_found() {
        assert_eq!(
            problems("//! Text.\n", CLIPPY),
            ["crates/proem-text/src/lib.rs: this crate has to be `no_std`; add `#![cfg_attr(not(test), no_std)]`"]
        );
    }

    #[test]
    fn weaker_lints_are_found() {
        assert_eq!(
            problems(LIB, "\ntoo-many-lines-threshold = 90\ndisallowed-methods = [\"std::env::var\"]\n"),
            [
                "crates/proem-engine/clippy.toml:2: `too-many-lines-threshold` differs from the root's; \
              write `too-many-lines-threshold = 80`",
                "crates/proem-engine/clippy.toml: `\"std::env::var\"` has no reason; \
              write it as { path = …, reason = … }",
                "crates/proem-engine/clippy.toml: `disallowed-types` is empty; list what a pure crate may not use",
            ]
        );
        assert_eq!(problems(LIB, "x = ").len(), 1);
    }

    #[test]
    fn a_missing_file_is_found() {
        let tree = SourceTree::from([("crates/proem-agents/Cargo.toml", "")]);
        assert_eq!(
            finding_lines(&check_purity(&tree)),
            ["crates/proem-agents/clippy.toml: missing; \
              write one that forbids clock, environment, files, processes, threads and network"]
        );
    }
}
