//! What a message says about mending.

use proem_risk::history::Mends;

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

/// What a message says about mending. A commit that reverts a revert brings something back: it mends nothing.
pub(super) fn mends(message: &str) -> Mends {
    let mut lines = message.lines().map(str::trim).skip_while(|line| line.is_empty());
    let subject = lines.next().unwrap_or_default();
    if subject.starts_with("Reapply \"") || subject.starts_with("Revert \"Revert \"") {
        return Mends::Nothing;
    }
    if subject.starts_with("Revert \"") || message.contains("This reverts commit ") {
        return Mends::Revert;
    }
    let mut words = subject.split(|c: char| !c.is_alphanumeric());
    if words.any(|word| is_one_of(&WORDS, word))
        || closes(subject)
        || lines.any(|line| is_trailer(line) || closes(line))
    {
        return Mends::Fix;
    }
    Mends::Nothing
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether a line is a trailer with a value, such as `Fixes: 1234abcd`.
fn is_trailer(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else { return false };
    is_one_of(&TRAILERS, name) && value.contains(|c: char| c.is_ascii_digit())
}

/// Whether a line has a closing word followed by an issue: `#12`, `owner/name#12` or the address of one.
fn closes(line: &str) -> bool {
    let words = line.split_whitespace();
    let next = words.clone().skip(1);
    words.zip(next).any(|(word, next)| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        is_one_of(&CLOSING, word) && is_issue(next)
    })
}

fn is_issue(word: &str) -> bool {
    let number = word.rsplit_once('#').or_else(|| word.rsplit_once("/issues/")).map(|(_, number)| number);
    number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        for (message, expected) in [
            ("Fix the parser", Mends::Fix),
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
            ("Change it\n\nCloses #12.", Mends::Fix),
            ("Change it (resolves owner/name#12)", Mends::Fix),
            ("Change it\n\nresolved: https://example.org/o/n/issues/12", Mends::Fix),
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
}
