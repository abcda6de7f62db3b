//! Credentials are read in the sweep, and for the tools of a trusted agent, and nowhere else.
//!
//! The holder of one can send in the user's name, past policy and queue. Reading one takes both a place and an access,
//! whose types no other module names, whatever it calls the module that they come from; nor does one learn from the
//! configuration where a credential is.

use super::{finding::TidyFinding, sizes::without_tests, tree::SourceTree};

/// The modules that may: each a file, or the folder of its parts.
const DOORS: &[&str] = &[
    "crates/proem-app/src/config/effects.rs",
    // Authenticating signals and reading their sources. Both refuse a credential that also sends.
    "crates/proem-app/src/config/sources.rs",
    // The password of the records' database, which must not be one that sends either.
    "crates/proem-app/src/config/store.rs",
    "crates/proem-app/src/config/webhooks.rs",
    "crates/proem-app/src/login.rs",
    "crates/proem-app/src/secrets.rs",
    "crates/proem-app/src/triage/sync/",
    "crates/proem-app/src/webhooks.rs",
    "crates/proem-app/src/effects/sweep.rs",
    "crates/proem-app/src/effects/sweep/",
    "crates/proem-app/src/lisp/tool_secrets.rs",
    "crates/proem-runtime/src/effects/credentials.rs",
    "crates/proem-runtime/src/effects/credentials/",
];

/// The names needed to read one, or to know its place.
const WORDS: &[&str] = &["CredentialAccess", "CredentialFile", "CredentialPlace", "effects::credentials"];

/// Reads the sources of all crates but for their tests.
pub(crate) fn check_credential_reads(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_product(path) && !is_door(path)) {
        for (number, line) in (1..).zip(without_tests(text)) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for word in WORDS.iter().filter(|word| has_whole_word(line, word)) {
                let problem = format!("`{word}` leads to the credentials of mail and tickets");
                let remedy = "leave reading them to `proem-app/src/effects/sweep`";
                findings.push(TidyFinding::in_file(path, problem, remedy).at(Some(number)));
            }
        }
    }
    findings
}

/// Whether a file is a source of a crate that is part of the product, and no test.
fn is_product(path: &str) -> bool {
    let source = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"));
    source.is_some_and(|(name, rest)| {
        let is_test = rest.split('/').any(|part| matches!(part, "tests" | "tests.rs"));
        name != "xtask" && rest.ends_with(".rs") && !is_test
    })
}

fn is_door(path: &str) -> bool {
    DOORS.iter().any(|door| path == *door || (door.ends_with('/') && path.starts_with(door)))
}

/// Whether `word` is in a line as a whole.
fn has_whole_word(line: &str, word: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line.get(..at).unwrap_or_default(), line.get(at + word.len()..).unwrap_or_default());
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines;

    fn problems(path: &str, text: &str) -> Vec<String> {
        finding_lines(&check_credential_reads(&SourceTree::from([(path, text)])))
    }

    #[test]
    fn each_way_to_a_credential_is_found_but_in_the_sweep() {
        for word in WORDS {
            let text = format!("//! A queue.\nuse proem_runtime::{word};\n");
            for path in ["crates/proem-app/src/effects/queue.rs", "crates/proem-runtime/src/effects/deliver.rs"] {
                let expected = format!(
                    "{path}:2: `{word}` leads to the credentials of mail and tickets; \
                     leave reading them to `proem-app/src/effects/sweep`"
                );
                assert_eq!(problems(path, &text), [expected]);
            }
            for path in DOORS.iter().map(|door| door.replace("/sweep/", "/sweep/routes.rs")) {
                assert_eq!(problems(&path, &text), Vec::<String>::new(), "{path}");
            }
        }
    }

    #[test]
    fn another_name_for_the_module_hides_nothing() {
        let text = "use proem_runtime::effects::{credentials as c, mail};\n\
                    fn f() {\n    c::load(name, &c::CredentialPlace::Variable(name), c::CredentialAccess::FileAlone)\n}\n";
        assert_eq!(problems("crates/proem-app/src/effects/drafting.rs", text).len(), 2);
    }

    #[test]
    fn the_beginning_of_a_path_is_no_door() {
        let text = "use proem_runtime::effects::credentials::load;\n";
        for path in ["crates/proem-app/src/effects/sweeping.rs", "crates/proem-cli/src/commands/effects/sweep.rs"] {
            assert_eq!(problems(path, text).len(), 1, "{path}");
        }
    }

    #[test]
    fn tests_comments_and_longer_names_may_hold_the_words() {
        let text = "/// See `CredentialPlace`.\nstruct CredentialFileName;\n\n#[cfg(test)]\nmod tests {\n    \
                    use x::CredentialFile;\n}\n";
        assert_eq!(problems("crates/proem-cli/src/a.rs", text), Vec::<String>::new());
        let named = "use x::CredentialFile;\n";
        for path in ["crates/proem-cli/tests/it/a.rs", "crates/proem-runtime/src/effects/smtp/tests.rs"] {
            assert_eq!(problems(path, named), Vec::<String>::new(), "{path}");
        }
    }
}
