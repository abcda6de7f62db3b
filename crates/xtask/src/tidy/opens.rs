//! Files are opened in one place of each crate, where it is seen to that they are files.
//!
//! Opening a named pipe means waiting for somebody to write into it, and a device never ends. Clippy can't keep this
//! rule: it doesn't tell a test, which may open its own files, from the product.

use super::{finding::TidyFinding, sizes::without_tests, tree::SourceTree};

/// The crates that open files.
const CRATES: &[&str] =
    &["crates/proem-app/", "crates/proem-cli/", "crates/proem-llm/", "crates/proem-runtime/", "crates/proem-store/"];

/// The files that may.
const DOORS: &[&str] = &[
    "crates/proem-llm/src/cassette/file.rs",
    "crates/proem-runtime/src/files/regular_file.rs",
    "crates/proem-runtime/src/files/write.rs",
    "crates/proem-store/src/file.rs",
];

/// The calls that open one.
const OPENS: &[&str] = &[
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
    "fs::copy(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
];

/// Reads the sources of these crates but for their tests.
pub(crate) fn check_opens(tree: &SourceTree) -> Vec<TidyFinding> {
    let is_product = |path: &str| {
        CRATES.iter().any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with("src/")))
            && path.ends_with(".rs")
            && !path.ends_with("/tests.rs")
            && !path.contains("/tests/")
            && !DOORS.contains(&path)
    };
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_product(path)) {
        for (number, line) in (1..).zip(without_tests(text)) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for opens in OPENS.iter().filter(|opens| has_own_word(line, opens)) {
                let problem = format!("`{opens}` may wait for a named pipe");
                findings.push(TidyFinding::in_file(path, problem, "open it as `files::open` does").at(Some(number)));
            }
        }
    }
    findings
}

/// Whether `word` is in a line as a whole: `RecordsFile::open(` is no `File::open(`.
fn has_own_word(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines;

    fn problems(path: &str, text: &str) -> Vec<String> {
        finding_lines(&check_opens(&SourceTree::from([(path, text)])))
    }

    #[test]
    fn each_way_to_open_a_file_is_found_but_where_it_belongs() {
        for opens in OPENS {
            let line = format!("\nlet x = std::{opens}path);");
            let expected = format!(
                "crates/proem-cli/src/a.rs:2: `{opens}` may wait for a named pipe; open it as `files::open` does"
            );
            assert_eq!(problems("crates/proem-cli/src/a.rs", &line), [expected]);
            assert_eq!(problems("crates/proem-app/src/a.rs", &format!("Records{opens}path)")), Vec::<String>::new());
            for path in ["crates/proem-store/src/file.rs", "crates/proem-cli/tests/a.rs", "crates/proem-lab/src/a.rs"] {
                assert_eq!(problems(path, &line), Vec::<String>::new(), "{path}");
            }
        }
    }

    #[test]
    fn tests_and_comments_may_name_them() {
        let text = "/// `File::open(` waits.\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    fs::write(a, b)\n}\n";
        assert_eq!(problems("crates/proem-cli/src/a.rs", text), Vec::<String>::new());
    }
}
