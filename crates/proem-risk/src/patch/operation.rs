//! Risky operations, by the words of changed lines.
//!
//! The words are a choice. How often changes with an operation needed a fix is measured in each repository
//! ([`crate::signal`]), so a word that says nothing there raises nothing there.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{FilePatch, Hunk, is_comment_or_blank};

/// The actions of changed lines that deserve a second look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// They take or release locks, or change how threads share memory.
    Concurrency,
    /// They change who may do what.
    Permissions,
    /// They change or remove stored data or its schema.
    StoredData,
    /// They handle fewer errors than before.
    ErrorPath,
    /// They check less than before: only in tests.
    Assertions,
    /// They skip a test: only in tests.
    SkippedTest,
    /// They add a test, as languages do whose tests are in the code's own files.
    AddedTest,
    /// They take code from elsewhere ([`super::changed_pins`]).
    OtherSource,
}

/// A place where a change does one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationSite {
    /// Which.
    pub operation: Operation,
    /// The line: after the change for an added one, before it for one that is gone.
    pub line: u32,
    /// The word that says so, one of ours.
    pub word: &'static str,
    /// How many such lines are gone, beyond those added, where that is what counts.
    pub lost: u32,
}

/// How the words of an operation count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// On either side.
    Either,
    /// The line is new.
    Added,
    /// Gone, beyond those that are added in the same file.
    Lost,
}

/// Words of a condition, on the line of a skip or the one before.
const CONDITIONS: &[&str] = &["if ", "if(", "unless ", "else", "switch ", "case ", "catch", "except ", "rescue"];

/// The beginnings of tests in test files.
const TESTS: &[&str] = &[
    "#[test]",
    "#[tokio::test",
    "rgtest!",
    "def test_",
    "func Test",
    "it(",
    "test(",
    "@Test",
    "fun test",
    "function test",
    "test \"",
];

/// Words of lines that check something in a test.
const CHECKS: &[&str] = &["assert", "expect(", "should", "require.", "XCTAssert", "t.Error", "t.Fatal"];

const OPERATIONS: [(Operation, Counting, &[&str]); 7] = [
    (
        Operation::Concurrency,
        Counting::Either,
        &[
            "mutex",
            "Mutex",
            "RwLock",
            "rwlock",
            "pthread_",
            "atomic",
            "Atomic",
            "synchronized",
            "volatile",
            "semaphore",
            "Semaphore",
            ".lock()",
            ".unlock()",
            "lock_",
            "unlock_",
            "std::thread",
            "thread::spawn",
            "threading.",
            "asyncio.",
            "sync.",
            "go func",
            "memory_order",
            "await ",
            "chan ",
            "critical_section",
        ],
    ),
    (
        Operation::Permissions,
        Counting::Either,
        &[
            "chmod",
            "chown",
            "setuid",
            "setgid",
            "umask",
            "permissions:",
            "permission",
            "sudo ",
            "is_admin",
            "authorize",
            "secrets.",
            "id-token",
            "contents: write",
            "packages: write",
            "pull_request_target",
            "curl ",
            "wget ",
        ],
    ),
    (
        Operation::StoredData,
        Counting::Added,
        &[
            "DROP TABLE",
            "DROP COLUMN",
            "ALTER TABLE",
            "TRUNCATE TABLE",
            "DELETE FROM",
            "RemoveField",
            "AlterField",
            "drop_table",
            "drop_column",
            "remove_column",
            "alter_column",
            "dropColumn",
            "dropIfExists",
        ],
    ),
    (
        Operation::ErrorPath,
        Counting::Lost,
        &[
            "catch",
            "except ",
            "except:",
            "raise ",
            "throw ",
            "Err(",
            "err != nil",
            "goto err",
            "return -1",
            "errno",
            "C_ERR",
            "rescue",
            "bail!",
            "ensure!",
            "map_err",
            "assert(",
        ],
    ),
    (Operation::Assertions, Counting::Lost, CHECKS),
    (
        Operation::SkippedTest,
        Counting::Added,
        &[
            concat!("#[", "ignore"),
            "pytest.skip",
            "mark.skip(",
            "mark.xfail(",
            "unittest.skip(",
            "t.Skip",
            "@Ignore",
            "@Disabled",
            "it.skip",
            "test.skip",
            "describe.skip",
            "xit(",
            "markTestSkipped(",
            "XCTSkip",
        ],
    ),
    (Operation::AddedTest, Counting::Added, &["#[test]", "#[tokio::test", "rgtest!", "def test_", "func Test"]),
];

impl Operation {
    /// Its bit in [`super::LinePrints::operations`].
    #[must_use]
    pub const fn bit(self) -> u16 {
        match self {
            Self::Concurrency => 1,
            Self::Permissions => 2,
            Self::StoredData => 4,
            Self::ErrorPath => 8,
            Self::Assertions => 16,
            Self::SkippedTest => 32,
            Self::AddedTest => 64,
            Self::OtherSource => 128,
        }
    }
}

/// The first site of each operation in the changed lines of a file, in the order of [`Operation`]. Comments don't count.
#[must_use]
pub fn operation_sites(patch: &FilePatch) -> Vec<OperationSite> {
    OPERATIONS.iter().filter_map(|(operation, counting, words)| site(patch, *operation, *counting, words)).collect()
}

fn site(patch: &FilePatch, operation: Operation, counting: Counting, words: &[&'static str]) -> Option<OperationSite> {
    let mut added = operation_words(patch, words, |hunk| (&hunk.added, hunk.new_start));
    if operation == Operation::SkippedTest {
        added.retain(|(line, _)| !skips_elsewhere(patch, *line));
    }
    let removed = operation_words(patch, words, |hunk| (&hunk.removed, hunk.old_start));
    let lost = u32::try_from(removed.len().saturating_sub(added.len())).unwrap_or(u32::MAX);
    // Of several words the one that is rarer than before.
    let count = |side: &[(u32, &str)], word: &str| side.iter().filter(|(_, other)| *other == word).count();
    let mut rarer = removed.iter().filter(|(_, word)| count(&removed, word) > count(&added, word));
    // A line that only moved, or changed around the word, has it on both sides.
    let first = match counting {
        Counting::Either if added.len() != removed.len() => added.first().or_else(|| removed.first()),
        Counting::Added if added.len() > removed.len() => added.first(),
        Counting::Lost if lost > 0 => rarer.next(),
        _ => None,
    };
    first.map(|&(line, word)| OperationSite {
        operation,
        line,
        word,
        lost: if counting == Counting::Lost { lost } else { 0 },
    })
}

/// Whether an added line skips a test only under a condition, or one that the same hunk adds: neither checks less than
/// before.
fn skips_elsewhere(patch: &FilePatch, line: u32) -> bool {
    let holds = |hunk: &&Hunk| (hunk.new_start..).zip(&hunk.added).any(|(number, _)| number == line);
    let Some(hunk) = patch.hunks.iter().find(holds) else { return false };
    let has_one = |text: &[u8], words: &[&str]| words.iter().any(|word| has_word(text, word.as_bytes()));
    let is_new_test = hunk.added.iter().any(|text| has_one(text, TESTS));
    let numbered = (hunk.new_start..).zip(&hunk.added);
    let beside = numbered.filter(|(number, _)| *number == line || number.saturating_add(1) == line);
    is_new_test || beside.into_iter().any(|(_, text)| has_one(text, CONDITIONS))
}

/// Lines with a word of an operation: those added less those taken away.
pub(super) fn word_balance(patch: &FilePatch, operation: Operation) -> i32 {
    let words = OPERATIONS.iter().find(|(other, ..)| *other == operation).map_or(CHECKS, |(.., words)| *words);
    let count = |side: fn(&Hunk) -> (&Vec<Vec<u8>>, u32)| {
        i32::try_from(operation_words(patch, words, side).len()).unwrap_or(i32::MAX)
    };
    count(|hunk| (&hunk.added, hunk.new_start)).saturating_sub(count(|hunk| (&hunk.removed, hunk.old_start)))
}

/// The lines of one side that have one of the words.
fn operation_words<'w>(
    patch: &FilePatch,
    words: &[&'w str],
    side: fn(&Hunk) -> (&Vec<Vec<u8>>, u32),
) -> Vec<(u32, &'w str)> {
    let numbered = patch.hunks.iter().flat_map(|hunk| {
        let (lines, start) = side(hunk);
        (start..).zip(lines)
    });
    let code = numbered.filter(|(_, line)| !is_comment_or_blank(line, patch.path.as_bytes()));
    code.filter_map(|(number, line)| Some((number, *words.iter().find(|word| has_word(line, word.as_bytes()))?)))
        .collect()
}

/// Whether a line has a word that doesn't continue a longer one, and a number that doesn't go on: `block_size` has no
/// `lock_`, and `return -1L` no `return -1`.
fn has_word(line: &[u8], word: &[u8]) -> bool {
    let starts_inside = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        word.first().is_some_and(u8::is_ascii_alphanumeric) && before.is_some_and(u8::is_ascii_alphanumeric)
    };
    let goes_on = |at: usize| {
        let behind = line.get(at.saturating_add(word.len()));
        word.last().is_some_and(u8::is_ascii_digit) && behind.is_some_and(u8::is_ascii_alphanumeric)
    };
    let mut parts = line.windows(word.len().max(1)).enumerate();
    parts.any(|(at, part)| part == word && !starts_inside(at) && !goes_on(at))
}
