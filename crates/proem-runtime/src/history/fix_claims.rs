//! A commit's claim of mending.

use proem_risk::history::{ListedTouch, Mends};
use proem_risk::path::{FileRole, GitAttributes, PathRules, path_role};

/// Words of a first line that say that something is mended: those of Kamei et al. (2013) for FIX, "bug",
/// "fix", "defect" and "patch", in their forms, without "patch", which the projects that mail their changes
/// around put into every message, and with the words by which crashes and regressions are named.
const WORDS: [&str; 21] = [
    "bug",
    "bugfix",
    "bugfixes",
    "bugs",
    "crash",
    "crashed",
    "crashes",
    "defect",
    "defects",
    "fault",
    "faults",
    "fix",
    "fixed",
    "fixes",
    "fixing",
    "fixup",
    "hotfix",
    "hotfixes",
    "regression",
    "regressions",
    "repair",
];

/// Words that close an issue when its number follows (docs.github.com, "Linking a pull request to an issue").
const CLOSING: [&str; 9] = ["close", "closed", "closes", "fix", "fixed", "fixes", "resolve", "resolved", "resolves"];

/// Trailers that name what is mended: the kernel's `Fixes`, Chromium's `Bug` and `Fixed`, OpenStack's
/// `Closes-Bug` and its relatives.
const TRAILERS: [&str; 8] =
    ["bug", "bug-id", "closes-bug", "fixed", "fixes", "fixes-bug", "partial-bug", "related-bug"];

/// Words of a first line that say what was mended is no behaviour: documentation, lint, types for a checker, versions,
/// changelogs.
const CHORES: [&str; 30] = [
    "changelog",
    "changelogs",
    "clippy",
    "doc",
    "docs",
    "docstring",
    "docstrings",
    "documentation",
    "eslint",
    "flake8",
    "gofmt",
    "golangci",
    "golint",
    "javadoc",
    "lint",
    "linter",
    "linting",
    "lints",
    "misspelling",
    "mypy",
    "pylint",
    "pyright",
    "readme",
    "rustdoc",
    "rustfmt",
    "spelling",
    "typing",
    "typo",
    "typos",
    "whitespace",
];

/// Words that say that behaviour was wrong, whatever else is named.
const FAULTS: [&str; 12] = [
    "bug",
    "bugfix",
    "bugs",
    "crash",
    "crashed",
    "crashes",
    "defect",
    "defects",
    "fault",
    "faults",
    "regression",
    "regressions",
];

/// The words behind "fix version" that still refer to its number: "fix version in setup.py".
const OF_VERSIONS: [&str; 7] = ["bump", "for", "in", "number", "numbers", "of", "string"];

/// A message's claim of mending, by itself: [`is_described`] says whether the touched files can be a fix.
///
/// That an issue is closed says nothing: features close theirs too. A commit that reverts a revert brings
/// something back: it mends nothing.
pub(super) fn mends(message: &str) -> Mends {
    let mut lines = message.lines().map(str::trim).skip_while(|line| line.is_empty());
    let subject = lines.next().unwrap_or_default();
    // First, since what brings something back begins like a revert, or has its trailer.
    if subject.starts_with("Reapply \"") || subject.starts_with("Revert \"Revert \"") {
        return Mends::Nothing;
    }
    // Git's own sentence begins the body. Further down it is of a commit that was squashed into this one.
    let body = lines.clone().find(|line| !line.is_empty());
    if subject.starts_with("Revert \"") || body.is_some_and(|line| line.starts_with("This reverts commit ")) {
        return Mends::Revert;
    }
    let words = subject_words(subject);
    // Before the words of fixes, which chores have too: "fix typo".
    if is_chore(&words) {
        return Mends::Nothing;
    }
    if words.iter().any(|word| is_one_of(&WORDS, word)) || lines.any(is_trailer) {
        return Mends::Fix;
    }
    Mends::Nothing
}

/// Whether all that a commit touched describes the product and none of it is the product: then it mends
/// nothing, whatever its message says.
pub(super) fn is_described(touches: &[ListedTouch], rules: &PathRules) -> bool {
    let role = |touch: &ListedTouch| path_role(&touch.path, &GitAttributes::default(), rules);
    let is_described = |touch: &ListedTouch| matches!(role(touch), FileRole::Documentation | FileRole::Lock);
    !touches.is_empty() && touches.iter().all(is_described)
}

/// The words of a first line, without those that only close an issue.
fn subject_words(subject: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut pieces = subject.split_whitespace().peekable();
    while let Some(piece) = pieces.next() {
        if !(closes_issue(piece) && pieces.peek().is_some_and(|next| is_issue(next))) {
            words.extend(piece.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()));
        }
    }
    without_regression_tests(&words)
}

/// The words without those of "regression test": it keeps something from failing, and mends nothing. A subject that ends
/// with "regression" was wrapped before the test.
fn without_regression_tests<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let tests = ["test", "tests", "testing", "suite"];
    let is_one = |at: usize| {
        let next = words.get(at.saturating_add(1));
        let is_test = next.is_none_or(|next| is_one_of(&tests, next));
        is_test && words.get(at).is_some_and(|word| is_one_of(&["regression"], word))
    };
    words.iter().enumerate().filter(|(at, _)| !is_one(*at)).map(|(_, word)| *word).collect()
}

/// Whether what was mended is documentation, lint, a version or a changelog.
fn is_chore(words: &[&str]) -> bool {
    if words.iter().any(|word| is_one_of(&FAULTS, word)) {
        return false;
    }
    words.iter().any(|word| is_one_of(&CHORES, word)) || is_of_version(words)
}

/// Whether a version is set: "bump …", "release 1.2", "fix version number".
fn is_of_version(words: &[&str]) -> bool {
    let is_number = |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    match words {
        [first, ..] if is_one_of(&["bump", "bumps"], first) => true,
        [first, next, ..] if is_one_of(&["release", "version"], first) => is_number(next),
        [first, rest @ ..] if is_one_of(&WORDS, first) => match rest {
            [next] => is_one_of(&["version"], next),
            [next, after, ..] => is_one_of(&["version"], next) && is_one_of(&OF_VERSIONS, after),
            [] => false,
        },
        _ => false,
    }
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether a line is a trailer that names a bug or a commit, such as `Fixes: 1234abcd`. `Fixes: #12` closes an
/// issue, which may ask for anything.
fn is_trailer(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else { return false };
    let names_digits = value.contains(|c: char| c.is_ascii_digit());
    let closes = closes_issue(name) && value.split_whitespace().next().is_some_and(is_issue);
    is_one_of(&TRAILERS, name) && names_digits && !closes
}

fn closes_issue(word: &str) -> bool {
    is_one_of(&CLOSING, word.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Whether a word is an issue: `#12`, `owner/name#12` or the address of one.
fn is_issue(word: &str) -> bool {
    let number = word.rsplit_once('#').or_else(|| word.rsplit_once("/issues/")).map(|(_, number)| number);
    number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use proem_risk::change::FileStatus;
    use proem_risk::path::RepoPath;

    use super::*;

    #[test]
    fn messages() {
        for (message, expected) in [
            ("Fix the parser", Mends::Fix),
            ("Modal pane regression test.", Mends::Nothing),
            ("Undo the cache\n\nThis reverts commit 0c61bb4e2fb3.", Mends::Revert),
            ("Add all (#12)\n\n* Add\n\n* Revert \"test\"\n\nThis reverts commit 0c61bb4e2fb3.", Mends::Nothing),
            ("Add regression tests for a crash", Mends::Fix),
            ("Fix a regression in the parser", Mends::Fix),
            ("Add a raw output for debugging and regression", Mends::Nothing),
            ("Fix typing issues.", Mends::Nothing),
            ("fix(parser): accept tabs", Mends::Fix),
            ("parser: fixes a crash", Mends::Fix),
            ("Bugfix", Mends::Fix),
            ("[BUG] wrong total", Mends::Fix),
            ("\n\n  fixed it", Mends::Fix),
            ("Add a fixture", Mends::Nothing),
            ("Use the prefix", Mends::Nothing),
            ("Debug output", Mends::Nothing),
            ("Add a page\n\nThis is no bug, and there is nothing to fix.", Mends::Nothing),
            ("Change it\n\nFixes: 1234abcd5678 (\"parser: new\")", Mends::Fix),
            ("Change it\n\nFixes: nothing", Mends::Nothing),
            ("Change it\n\nBug: 1234", Mends::Fix),
            ("Change it\n\nCloses-Bug: #1234", Mends::Fix),
            ("Close the file\n\nSee #12", Mends::Nothing),
            ("Merge pull request #12", Mends::Nothing),
            ("Revert \"Add a page\"\n\nThis reverts commit 1234.", Mends::Revert),
            ("Go back\n\nThis reverts commit 1234.", Mends::Revert),
            ("Revert \"Revert \"Add a page\"\"\n\nThis reverts commit 1234.", Mends::Nothing),
            ("Reapply \"Add a page\"", Mends::Nothing),
            ("", Mends::Nothing),
        ] {
            assert_eq!(mends(message), expected, "{message}");
        }
    }

    #[test]
    fn closing_an_issue_is_no_fix() {
        for (message, expected) in [
            ("Add a flag\n\nCloses #12.", Mends::Nothing),
            ("Add a flag\n\nFixes #12", Mends::Nothing),
            ("Add a flag\n\nFixes: #12", Mends::Nothing),
            ("Add a flag\n\nresolved: https://example.org/o/n/issues/12", Mends::Nothing),
            ("Add a flag (fixes #12)", Mends::Nothing),
            ("Add a flag (resolves owner/name#12)", Mends::Nothing),
            ("Fixes #12", Mends::Nothing),
            ("Fix wrong total\n\nCloses #12", Mends::Fix),
            ("Fix wrong total (fixes #12)", Mends::Fix),
            ("Fixes #12: crash on empty input", Mends::Fix),
            ("Fix bug #12", Mends::Fix),
            ("Handle empty input\n\nFixes #12\nBug: 1234", Mends::Fix),
        ] {
            assert_eq!(mends(message), expected, "{message}");
        }
    }

    #[test]
    fn documentation_lint_versions_and_changelogs_are_no_fixes() {
        for (message, expected) in [
            ("docs: fix a link", Mends::Nothing),
            ("Fix typo in error message", Mends::Nothing),
            ("Fix the README", Mends::Nothing),
            ("fix clippy warnings", Mends::Nothing),
            ("Fix lint", Mends::Nothing),
            ("changelog: fix entry of the parser", Mends::Nothing),
            ("Fix version", Mends::Nothing),
            ("fix version number of the parser", Mends::Nothing),
            ("Bump parser to fix CI", Mends::Nothing),
            ("Release 1.2.1 with fixes", Mends::Nothing),
            ("fix lint\n\nFixes: 1234abcd5678", Mends::Nothing),
            ("Fix version comparison", Mends::Fix),
            ("Release the lock, which fixes a hang", Mends::Fix),
            ("Fix crash in the linter", Mends::Fix),
            ("Revert \"docs: new page\"", Mends::Revert),
        ] {
            assert_eq!(mends(message), expected, "{message}");
        }
    }

    #[test]
    fn a_commit_of_documentation_alone_mends_nothing() {
        let rules = PathRules::shipped().unwrap();
        let check = |paths: &[&str], expected: bool| {
            let touch = |path: &&str| {
                let path = RepoPath::new(*path);
                ListedTouch { path, from: None, status: FileStatus::Modified }
            };
            let touches: Vec<ListedTouch> = paths.iter().map(touch).collect();
            assert_eq!(is_described(&touches, &rules), expected, "{paths:?}");
        };
        check(&["docs/a.rst", "CHANGES.rst", "README.md", "Cargo.lock"], true);
        check(&["docs/a.rst", "src/a.py"], false);
        check(&["setup.cfg"], false);
        check(&[], false);
    }
}
