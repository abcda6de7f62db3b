//! Collects the names that appear in changed lines.

use std::collections::BTreeSet;

use proem_risk::path::{FileRole, PathClass, RepoPath};
use proem_text::search_words;

/// The shortest name that says something, in characters.
const SHORTEST: usize = 3;

/// The longest line that is looked at, in bytes. Longer ones were made by a program.
const LONGEST_LINE: usize = 2000;

/// Collects names from a patch that comes in pieces.
pub(super) struct PatchIdentifiers<'r> {
    found: Vec<String>,
    known: BTreeSet<String>,
    most: usize,
    /// How many more bytes are looked at.
    left: usize,
    rest: Vec<u8>,
    /// Lines of the current hunk that are still to come: removed and added.
    hunk: (usize, usize),
    wanted: bool,
    is_wanted: Box<dyn Fn(&RepoPath) -> bool + 'r>,
}

/// Whether people write such files.
pub(super) const fn is_written(class: &PathClass) -> bool {
    !matches!(class.role, FileRole::Generated | FileRole::Vendored | FileRole::Lock | FileRole::Asset)
}

/// Whether the changed lines of such files are read: lock files say where packages come from.
pub(super) const fn has_telling_lines(class: &PathClass) -> bool {
    is_written(class) || matches!(class.role, FileRole::Lock)
}

impl<'r> PatchIdentifiers<'r> {
    /// Looks at `bytes` bytes for `most` names in files that are wanted by their paths.
    pub(super) fn new(bytes: usize, most: usize, is_wanted: impl Fn(&RepoPath) -> bool + 'r) -> Self {
        Self {
            found: Vec::new(),
            known: BTreeSet::new(),
            most,
            left: bytes,
            rest: Vec::new(),
            hunk: (0, 0),
            wanted: true,
            is_wanted: Box::new(is_wanted),
        }
    }

    /// Takes the next piece. False once it is enough.
    pub(super) fn take(&mut self, piece: &[u8]) -> bool {
        // The bytes are bounded before they are looked at: most of a huge patch says nothing new.
        let piece = piece.get(..piece.len().min(self.left)).unwrap_or_default();
        self.left = self.left.saturating_sub(piece.len());
        let mut lines = piece.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            let room = LONGEST_LINE.saturating_sub(self.rest.len());
            self.rest.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            if lines.peek().is_some() {
                let line = std::mem::take(&mut self.rest);
                self.line(&line);
            }
        }
        !self.is_full()
    }

    /// Whether nothing more is looked at.
    fn is_full(&self) -> bool {
        self.left == 0 || self.found.len() >= self.most
    }

    /// The names.
    pub(super) fn into_names(self) -> Vec<String> {
        self.found
    }

    fn line(&mut self, line: &[u8]) {
        // By what the hunk still owes: a removed line that begins with `-- ` looks like the name of a file.
        match (line, self.hunk) {
            ([b'-', text @ ..], (removed @ 1.., added)) => {
                self.hunk = (removed.saturating_sub(1), added);
                self.text(text);
            }
            ([b'+', text @ ..], (removed, added @ 1..)) => {
                self.hunk = (removed, added.saturating_sub(1));
                self.text(text);
            }
            // Some programs leave out the space of an empty line.
            ([b' ', ..] | [], (before @ 1.., after @ 1..)) => {
                self.hunk = (before.saturating_sub(1), after.saturating_sub(1));
            }
            ([b'@', b'@', ..], _) => self.hunk = hunk(line).unwrap_or_default(),
            ([b'-', b'-', b'-', b' ', name @ ..] | [b'+', b'+', b'+', b' ', name @ ..], _) if name != b"/dev/null" => {
                // A quoted name has an unusual character; what it is for is told by the rest of it.
                let name = name.strip_prefix(b"\"").unwrap_or(name);
                let name = name.get(2..).unwrap_or_default();
                let name = name.strip_suffix(b"\t").or_else(|| name.strip_suffix(b"\"")).unwrap_or(name);
                self.wanted = (self.is_wanted)(&RepoPath::new(name));
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &[u8]) {
        // As long as what is kept of a line, less its sign: it was cut, and its last word may be half of one.
        if !self.wanted || text.len() >= LONGEST_LINE - 1 {
            return;
        }
        for word in search_words(&String::from_utf8_lossy(text)) {
            let is_name = word.chars().count() >= SHORTEST && word.chars().any(char::is_alphabetic);
            if is_name && self.found.len() < self.most && self.known.insert(word.clone()) {
                self.found.push(word);
            }
        }
    }
}

/// How many lines a hunk removes and adds: `@@ -12,3 +14 @@` (a missing count is one).
fn hunk(line: &[u8]) -> Option<(usize, usize)> {
    let line = std::str::from_utf8(line.get(3..)?.split(|&byte| byte == b'@').next()?).ok()?;
    let mut ranges = line.split_whitespace();
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    let removed = count(ranges.next()?.strip_prefix('-')?)?;
    let added = count(ranges.next()?.strip_prefix('+')?)?;
    Some((removed, added))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n\
        @@ -1,2 +1 @@ fn unchanged()\n-let oldName = 12;\n--- b/x.lock\n+let x = parse_it(oldName);\n\
        diff --git a/x.lock b/x.lock\n--- a/x.lock\n+++ b/x.lock\n@@ -0,0 +1 @@\n+locked\n\
        \\ No newline at end of file\n";

    fn names(pieces: &[&[u8]], bytes: usize, most: usize) -> Vec<String> {
        let mut names = PatchIdentifiers::new(bytes, most, |path| !path.as_bytes().ends_with(b".lock"));
        let _ = pieces.iter().all(|piece| names.take(piece));
        names.into_names()
    }

    #[test]
    fn names_come_from_changed_lines_of_wanted_files() {
        let expected = ["let", "oldname", "old", "name", "lock", "parse"];
        let patch = PATCH.as_bytes();
        for cut in 0..patch.len() {
            let (first, second) = patch.split_at(cut);
            assert_eq!(names(&[first, second], 10_000, 200), expected, "{cut}");
        }
        assert_eq!(names(&[patch], 10_000, 2), ["let", "oldname"]);
        assert!(names(&[patch], 30, 200).is_empty());
    }
}
