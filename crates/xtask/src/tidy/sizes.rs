//! Files stay short enough to be read in one sitting.

use super::{finding::TidyFinding, tree::SourceTree};

const MAX_SOURCE_LINES: usize = 600;

/// Documents with a limit of their own.
const DOCUMENTS: &[(&str, usize)] = &[("README.md", 200), ("ARCHITECTURE.md", 250)];

/// Counts lines. A source file's tests are not counted.
pub(crate) fn check_sizes(tree: &SourceTree) -> Vec<TidyFinding> {
    let sources = tree.files().filter(|(path, _)| is_counted(path)).filter_map(|(path, text)| {
        let lines = without_tests(text).len();
        (lines > MAX_SOURCE_LINES).then(|| {
            let problem = format!("{lines} lines without tests, {MAX_SOURCE_LINES} are allowed");
            TidyFinding::in_file(path, problem, "split it by concept").at(Some(MAX_SOURCE_LINES + 1))
        })
    });
    let documents = DOCUMENTS.iter().filter_map(|(path, allowed)| {
        let lines = tree.text(path)?.lines().count();
        (lines > *allowed).then(|| {
            let problem = format!("{lines} lines, {allowed} are allowed");
            TidyFinding::in_file(path, problem, "move detail into docs/").at(Some(allowed + 1))
        })
    });
    sources.chain(documents).collect()
}

fn is_counted(path: &str) -> bool {
    path.ends_with(".rs")
        && !path.ends_with("/tests.rs")
        && !path.split('/').any(|name| matches!(name, "tests" | "benches"))
}

/// Lines before the trailing test module. Clippy sees to it that nothing follows that module.
pub(crate) fn without_tests(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    let begins = |index: usize| {
        let mut rest = lines.iter().skip(index);
        rest.next() == Some(&"#[cfg(test)]")
            && rest.find(|line| !line.starts_with("#[")).is_some_and(|line| line.starts_with("mod tests {"))
    };
    let end = (0..lines.len()).find(|&index| begins(index)).unwrap_or(lines.len());
    lines.truncate(end);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::finding_lines;

    fn problems(path: &str, text: &str) -> Vec<String> {
        finding_lines(&check_sizes(&SourceTree::from([(path, text)])))
    }

    #[test]
    fn short_files_and_long_tests_pass() {
        let code = "fn f() {}\n".repeat(600);
        let tests = format!("#[cfg(test)]\n#[expect(x, reason = \"y\")]\nmod tests {{\n{}}}\n", "    //\n".repeat(900));
        assert_eq!(problems("crates/a/src/b.rs", &code), Vec::<String>::new());
        assert_eq!(problems("crates/a/src/b.rs", &format!("{code}{tests}")), Vec::<String>::new());
        for path in ["crates/a/tests/b.rs", "crates/a/benches/b.rs", "crates/a/src/b/tests.rs", "book.toml"] {
            assert_eq!(problems(path, &code.repeat(2)), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn long_files_are_found() {
        let expected = "crates/a/src/b.rs:601: 601 lines without tests, 600 are allowed; split it by concept";
        assert_eq!(problems("crates/a/src/b.rs", &"//\n".repeat(601)), [expected]);
        // A helper for tests is no test module.
        let helper = "#[cfg(test)]\nfn helper() {}\n";
        assert_eq!(problems("crates/a/src/b.rs", &format!("{helper}{}", "//\n".repeat(599))), [expected]);
    }

    #[test]
    fn long_documents_are_found() {
        assert_eq!(problems("README.md", &"\n".repeat(200)), Vec::<String>::new());
        assert_eq!(
            problems("README.md", &"\n".repeat(201)),
            ["README.md:201: 201 lines, 200 are allowed; move detail into docs/"]
        );
        assert_eq!(problems("ARCHITECTURE.md", &"\n".repeat(251)).len(), 1);
    }
}
