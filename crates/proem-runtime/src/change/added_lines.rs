//! Finds the lines that the tracked files of a work tree have and a commit lacks.
//!
//! Invariants: no attribute makes git take a file for binary, so that nothing hides by its own settings. Lines of a
//! change are counted by the hunks' own numbers, so that a line which looks like a header is a line.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    time::Duration,
};

use proem_risk::{history::ObjectId, path::unquote_c};

use super::ANSWER;
use crate::{
    Error,
    git::{GitProgram, Repository, Session, filters},
    process::Deadline,
};

/// The options of the comparison: no other program takes part, and no setting decides about the form.
const OPTIONS: [&str; 12] = [
    "diff-index",
    "-r",
    "-p",
    "--unified=0",
    "--text",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--find-renames=50%",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Added lines, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddedLines {
    /// The first line and the last, from 1, in order. Paths are relative to the root of the work tree.
    files: BTreeMap<PathBuf, Vec<(usize, usize)>>,
}

impl AddedLines {
    /// Whether the change adds lines to the file at `path`.
    #[must_use]
    pub fn has_file(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Whether one of the lines from `first` to `last` of the file at `path` is an added one.
    #[must_use]
    pub fn has_line(&self, path: &Path, first: usize, last: usize) -> bool {
        let hunks = self.files.get(path).map(Vec::as_slice).unwrap_or_default();
        hunks.iter().any(|(start, end)| *start <= last && first <= *end)
    }
}

/// The lines that the tracked files have, staged or not, and `base` lacks. A renamed file's unchanged lines are none.
///
/// # Errors
///
/// Any reason that git gave no answer, and [`Error::GitAnswer`] for one that is no patch.
pub fn read_added_lines(
    git: &GitProgram,
    repository: &Repository,
    base: &ObjectId,
    limit: Duration,
) -> Result<AddedLines, Error> {
    let mut session = Session::new(git, repository.folder(), Deadline::after(limit), ANSWER);
    // Comparing a work tree runs filters.
    filters::overrides(&mut session)?;
    let answer = session.ask_about(&OPTIONS, &[&base.to_string(), "--"], &[0])?;
    parse_patch(&answer.stdout).ok_or(Error::GitAnswer { command: "diff-index" })
}

fn parse_patch(patch: &[u8]) -> Option<AddedLines> {
    let mut added = AddedLines::default();
    let mut path = None;
    // How many lines of the hunk at hand are still to come.
    let mut body = 0_usize;
    for line in patch.split_inclusive(|&byte| byte == b'\n') {
        if body > 0 && line.starts_with(b"\\") {
            continue;
        }
        if body > 0 {
            body = body.saturating_sub(1);
        } else if line.starts_with(b"diff --git ") {
            path = None;
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            path = patched_path(name);
        } else if let Some(header) = line.strip_prefix(b"@@ -") {
            let (removed, start, count) = hunk_counts(header)?;
            body = removed.saturating_add(count);
            if let (Some(path), 1..) = (&path, count) {
                let last = start.saturating_add(count).saturating_sub(1);
                added.files.entry(PathBuf::clone(path)).or_default().push((start, last));
            }
        }
    }
    Some(added)
}

/// The path of `b/path`, quoted or not. `None` for the place of what is gone.
fn patched_path(name: &[u8]) -> Option<PathBuf> {
    let name = name.strip_suffix(b"\n").unwrap_or(name);
    let path = match name.strip_prefix(b"\"") {
        Some(quoted) => unquote_c(quoted)?.0,
        // A tab ends a name with a space in it.
        None => name.strip_suffix(b"\t").unwrap_or(name).to_vec(),
    };
    Some(PathBuf::from(OsString::from_vec(path.strip_prefix(b"b/")?.to_vec())))
}

/// How many lines a hunk removes, where its added lines begin, and how many they are: `3,0 +4,2 @@`.
fn hunk_counts(header: &[u8]) -> Option<(usize, usize, usize)> {
    let header = std::str::from_utf8(header.split(|&byte| byte == b'@').next()?).ok()?;
    let (old, new) = header.trim_end().split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((_, removed), (start, added)) = (range(old)?, range(new)?);
    Some((removed, start, added))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_say_which_lines_are_new() {
        let patch = b"diff --git a/a b.txt b/a b.txt\nindex 1..2 100644\n--- a/a b.txt\t\n+++ b/a b.txt\t\n\
            @@ -1 +1,2 @@ head\n-x\n+y\n+++ b/forged\n\\ No newline at end of file\n@@ -9,0 +11 @@\n+z\n\
            diff --git \"a/\\303\\251\\n\" \"b/\\303\\251\\n\"\n--- /dev/null\n+++ \"b/\\303\\251\\n\"\n@@ -0,0 +1 @@\n+x\n\
            diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let added = parse_patch(patch).unwrap();
        let paths: Vec<_> = added.files.keys().map(|path| path.to_string_lossy().into_owned()).collect();
        assert_eq!(paths, ["a b.txt", "é\n"], "a line that looks like a header is a line");
        assert_eq!(added.files[Path::new("a b.txt")], [(1, 2), (11, 11)]);
        assert!(added.has_line(Path::new("a b.txt"), 3, 11) && !added.has_line(Path::new("a b.txt"), 3, 10));
        assert!(!added.has_file(Path::new("gone")));
    }

    #[test]
    fn a_hunk_that_cannot_be_read_is_no_answer() {
        assert_eq!(parse_patch(b"@@ -x +y @@\n"), None);
    }
}
