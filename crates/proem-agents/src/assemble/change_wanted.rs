//! Finds the change that a task is about from its words: uncommitted changes, the last commit, or a revision that it
//! names.
//!
//! Only words of the person who asks choose a change: a task from outside has no text here.

use proem_select::mode::Mode;
use proem_text::words::search_words;

/// A change that a task can be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeWanted {
    /// The changes of the work tree against HEAD.
    Uncommitted,
    /// The commit that HEAD names.
    LastCommit,
    /// One commit, by a name that git resolves.
    Revision(String),
    /// From one commit to another.
    Between(String, String),
}

/// Phrases about what is not committed, as words in a row.
const UNCOMMITTED: [&str; 14] = [
    "uncommitted",
    "unstaged",
    "staged",
    "work tree",
    "working tree",
    "working copy",
    "my changes",
    "my diff",
    "these changes",
    "this diff",
    "the diff",
    "current changes",
    "local changes",
    "before i commit",
];

/// Phrases about the last commit.
const LAST: [&str; 4] = ["last commit", "latest commit", "previous commit", "most recent commit"];

/// One more, unless it says what a commit does that is still to be made, as its message would.
const THIS: &str = "this commit";

/// The words that follow in such a message.
const TO_BE_MADE: [&str; 24] = [
    "adds",
    "allows",
    "changes",
    "cleans",
    "converts",
    "drops",
    "enables",
    "ensures",
    "extends",
    "fixes",
    "implements",
    "improves",
    "introduces",
    "makes",
    "moves",
    "refactors",
    "removes",
    "renames",
    "replaces",
    "rewrites",
    "splits",
    "switches",
    "updates",
    "uses",
];

/// The fewest digits of an abbreviated id.
const ID_DIGITS: usize = 7;

/// The longest name of a revision.
const LONGEST: usize = 100;

/// The change that a task is about. `is_dirty` says whether there is something that is not committed.
#[must_use]
pub fn change_wanted(task: &str, mode: Mode, is_dirty: IsDirty) -> Option<ChangeWanted> {
    if let Some(named) = task.split_whitespace().find_map(revision) {
        return Some(named);
    }
    let said = format!(" {} ", search_words(task).collect::<Vec<_>>().join(" "));
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(&format!(" {phrase} ")));
    let dirty = is_dirty == IsDirty::Yes;
    if says(&UNCOMMITTED) && dirty {
        return Some(ChangeWanted::Uncommitted);
    }
    let is_this = said.split(&format!(" {THIS}")).skip(1).any(|rest| {
        let next = rest.split(' ').nth(1).unwrap_or_default();
        rest.starts_with(' ') && !TO_BE_MADE.contains(&next)
    });
    if says(&LAST) || is_this {
        return Some(ChangeWanted::LastCommit);
    }
    // A request to review changes, without naming any, means those at hand.
    let is_about_changes = says(&["change", "changes", "diff", "commit"]);
    (mode == Mode::Review && is_about_changes).then_some(if dirty {
        ChangeWanted::Uncommitted
    } else {
        ChangeWanted::LastCommit
    })
}

/// Whether a work tree has something that is not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsDirty {
    /// It has.
    Yes,
    /// It hasn't, or it is unknown.
    No,
}

/// A word that names a revision: `HEAD~2`, `1a2b3c4`, `main..feature`.
fn revision(word: &str) -> Option<ChangeWanted> {
    let word =
        word.trim_matches(|c: char| matches!(c, '`' | '"' | '\'' | ',' | ';' | ':' | '(' | ')' | '.' | '?' | '!'));
    if word.len() > LONGEST {
        return None;
    }
    if let Some((from, to)) = word.split_once("...").or_else(|| word.split_once("..")) {
        let is_name = |name: &str| is_plain_revision(name) && name.chars().any(|c| c.is_ascii_alphanumeric());
        // Paths such as `../x` and ranges of lines are no revisions.
        let is_range =
            is_name(from) && is_name(to) && !from.ends_with('/') && !from.chars().all(|c| c.is_ascii_digit());
        return is_range.then(|| ChangeWanted::Between(from.to_owned(), to.to_owned()));
    }
    // Digits and letters both: `deadbeef` is a word, and `1234567` a number.
    let is_id = (ID_DIGITS..=64).contains(&word.len()) && word.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    if is_id && word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_ascii_lowercase()) {
        return Some(ChangeWanted::Revision(word.to_owned()));
    }
    let rest = word.strip_prefix("HEAD").or_else(|| word.strip_prefix('@'))?;
    if rest.is_empty() {
        return (word == "HEAD").then_some(ChangeWanted::LastCommit);
    }
    let is_ancestor =
        rest.chars().all(|c| matches!(c, '~' | '^') || c.is_ascii_digit()) && rest.starts_with(['~', '^']);
    is_ancestor.then(|| ChangeWanted::Revision(word.to_owned()))
}

fn is_plain_revision(name: &str) -> bool {
    !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '~' | '^' | '@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(task: &str, mode: Mode, is_dirty: IsDirty, expected: Option<&ChangeWanted>) {
        assert_eq!(change_wanted(task, mode, is_dirty).as_ref(), expected, "{task}");
    }

    #[test]
    fn words_say_which_change() {
        use ChangeWanted::{Between, LastCommit, Revision, Uncommitted};
        use IsDirty::{No, Yes};
        check("review my changes before I commit", Mode::Review, Yes, Some(&Uncommitted));
        check("review my changes", Mode::Review, No, Some(&LastCommit));
        check("explain the last commit", Mode::Plan, Yes, Some(&LastCommit));
        check("what does this commit break?", Mode::Plan, No, Some(&LastCommit));
        check("review this commit", Mode::Review, No, Some(&LastCommit));
        check("this commit breaks the build", Mode::Act, No, Some(&LastCommit));
        check("Faster sums. This commit adds a table of them", Mode::Act, No, None);
        check("this commitment holds", Mode::Act, No, None);
        check("write tests for the uncommitted work", Mode::Act, Yes, Some(&Uncommitted));
        check("what did HEAD~2 break?", Mode::Plan, No, Some(&Revision("HEAD~2".into())));
        check("revert 1a2b3c4d please", Mode::Act, No, Some(&Revision("1a2b3c4d".into())));
        check("review main..feature/x", Mode::Review, No, Some(&Between("main".into(), "feature/x".into())));
        check("review the parser", Mode::Review, Yes, None);
        check("fix the flaky test", Mode::Act, Yes, None);
        check("open ../other and lines 3..9", Mode::Act, Yes, None);
        check("add a feature deadbeef", Mode::Act, No, None);
        check("change --upload-pack=x..y", Mode::Act, No, None);
    }
}
