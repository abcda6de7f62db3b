//! The changed lines of files, from git's answer with `--unified=0`.
//!
//! A patch comes in pieces and may be huge: [`PatchReader`] bounds the lines that it keeps, and a file beyond the bounds
//! is marked [`FilePatch::is_cut`]. A quoted path, which holds an unusual character, is unquoted only where that needs
//! no table: such files have no lines here.

mod operation;
mod text;

use self::operation::check_balance;
pub use self::operation::{Operation, OperationSite, operation_sites};
pub(crate) use self::text::{is_comment_or_blank, is_equal_but_versions, is_telling_line, line_print};

use alloc::vec::Vec;

use crate::path::RepoPath;

/// The longest line that is kept, in bytes. Longer ones were made by a program.
const LONGEST_LINE: usize = 2_000;

/// The most changed lines of a file that are kept.
const FILE_LINES: usize = 4_000;

/// The changed lines of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// Its path after the change. Before it for a deleted one.
    pub path: RepoPath,
    /// Its hunks, in order.
    pub hunks: Vec<Hunk>,
    /// Whether lines are missing, because there were too many or one was too long.
    pub is_cut: bool,
}

/// Lines that were replaced by others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the first line that is taken away, or that the added ones follow.
    pub old_start: u32,
    /// The lines taken away, without their ends.
    pub removed: Vec<Vec<u8>>,
    /// The number of the first added line.
    pub new_start: u32,
    /// The added lines.
    pub added: Vec<Vec<u8>>,
}

/// The prints of a file's changed lines: enough to recognise a line, and nothing that could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinePrints {
    /// Of the telling lines that were added, ascending.
    pub added: Vec<u64>,
    /// Of the telling lines that were taken away, ascending.
    pub removed: Vec<u64>,
    /// The risky operations, as one bit each by [`Operation::bit`].
    pub operations: u16,
    /// Lines that check something in a test: those added less those taken away.
    pub checks: i32,
    /// Whether only version numbers or only comments change.
    pub is_quiet: bool,
}

impl FilePatch {
    /// A patch of these hunks. It is cut, without any, if they have too many lines or one that is too long.
    #[must_use]
    pub fn of_hunks(path: RepoPath, hunks: Vec<Hunk>) -> Self {
        let lines = || hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.added));
        if lines().count() > FILE_LINES || lines().any(|line| line.len() > LONGEST_LINE) {
            return Self { path, hunks: Vec::new(), is_cut: true };
        }
        Self { path, hunks, is_cut: false }
    }

    /// The prints of its lines. Empty if lines are missing: a part says nothing about the rest.
    #[must_use]
    pub fn prints(&self) -> LinePrints {
        if self.is_cut {
            return LinePrints::default();
        }
        let prints = |side: fn(&Hunk) -> &Vec<Vec<u8>>| {
            let lines = self.hunks.iter().flat_map(side).filter(|line| is_telling_line(line));
            let mut prints: Vec<u64> = lines.map(|line| line_print(line)).collect();
            prints.sort_unstable();
            prints.dedup();
            prints
        };
        let (added, removed) = (prints(|hunk| &hunk.added), prints(|hunk| &hunk.removed));
        let operations = operation_sites(self).iter().fold(0, |bits, site| bits | site.operation.bit());
        // A line that only moved inside the file is neither added nor removed.
        let outside = |of: &[u64], other: &[u64]| {
            of.iter().filter(|print| other.binary_search(print).is_err()).copied().collect::<Vec<u64>>()
        };
        LinePrints {
            added: outside(&added, &removed),
            removed: outside(&removed, &added),
            operations,
            checks: check_balance(self),
            is_quiet: self.changes_only_versions() || self.changes_only_comments(),
        }
    }

    /// Whether only comments and blank lines change. False if lines are missing.
    #[must_use]
    pub fn changes_only_comments(&self) -> bool {
        let mut lines = self.hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.added));
        !self.is_cut && !self.hunks.is_empty() && lines.all(|line| is_comment_or_blank(line, self.path.as_bytes()))
    }

    /// Whether each line differs from the one that it replaces in version numbers alone.
    #[must_use]
    pub fn changes_only_versions(&self) -> bool {
        let is_one = |hunk: &Hunk| {
            hunk.added.len() == hunk.removed.len()
                && hunk.removed.iter().zip(&hunk.added).all(|(old, new)| is_equal_but_versions(old, new))
        };
        !self.is_cut && !self.hunks.is_empty() && self.hunks.iter().all(is_one)
    }
}

/// Reads a patch that comes in pieces.
#[derive(Debug, Default)]
pub struct PatchReader {
    rest: Vec<u8>,
    /// Lines of the current hunk that are still to come: removed and added.
    due: (usize, usize),
    file: Option<FilePatch>,
    kept: usize,
    done: Vec<PatchItem>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchItem {
    /// A line outside of patches: with `diff-tree --stdin`, the id of the commit whose files follow.
    Line(Vec<u8>),
    /// A file, after its last line.
    File(FilePatch),
}

impl PatchItem {
    /// The file. `None` for another line.
    #[must_use]
    pub fn into_file(self) -> Option<FilePatch> {
        match self {
            Self::File(file) => Some(file),
            Self::Line(_) => None,
        }
    }
}

impl PatchReader {
    /// Takes the next piece. The parts that are whole by then.
    pub fn take(&mut self, piece: &[u8]) -> Vec<PatchItem> {
        let mut lines = piece.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            let room = LONGEST_LINE.saturating_add(2).saturating_sub(self.rest.len());
            self.rest.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            if lines.peek().is_some() {
                let line = core::mem::take(&mut self.rest);
                self.line(&line);
            }
        }
        core::mem::take(&mut self.done)
    }

    /// The last file.
    pub fn end(mut self) -> Vec<PatchItem> {
        self.end_file();
        self.done
    }

    fn end_file(&mut self) {
        self.done.extend(self.file.take().map(PatchItem::File));
        self.kept = 0;
    }

    fn line(&mut self, line: &[u8]) {
        // By what the hunk still owes: a removed line that begins with `-- ` looks like the name of a file.
        match (line, self.due) {
            ([b'-', text @ ..], (removed @ 1.., added)) => {
                self.due = (removed.saturating_sub(1), added);
                self.keep(text, |hunk| &mut hunk.removed);
            }
            ([b'+', text @ ..], (removed, added @ 1..)) => {
                self.due = (removed, added.saturating_sub(1));
                self.keep(text, |hunk| &mut hunk.added);
            }
            ([b'@', b'@', ..], _) => {
                let (hunk, due) = hunk_head(line).unwrap_or_default();
                self.due = due;
                self.file.iter_mut().for_each(|file| file.hunks.push(hunk.clone()));
            }
            ([b'd', b'i', b'f', b'f', b' ', ..], _) => {
                self.end_file();
                self.file = Some(FilePatch::default());
            }
            ([b'-', b'-', b'-', b' ', name @ ..] | [b'+', b'+', b'+', b' ', name @ ..], _) => {
                // The second name wins unless it is that of a deleted file.
                let name = name.strip_suffix(b"\t").unwrap_or(name);
                let path = name.strip_prefix(b"a/").or_else(|| name.strip_prefix(b"b/"));
                if let (Some(path), Some(file)) = (path, self.file.as_mut()) {
                    file.path = RepoPath::new(path);
                }
            }
            _ if self.file.is_none() || !line.contains(&b' ') => {
                self.end_file();
                if !line.is_empty() {
                    self.done.push(PatchItem::Line(line.to_vec()));
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, text: &[u8], side: fn(&mut Hunk) -> &mut Vec<Vec<u8>>) {
        let Some(file) = self.file.as_mut() else { return };
        if self.kept >= FILE_LINES || text.len() > LONGEST_LINE {
            file.is_cut = true;
        } else if let Some(hunk) = file.hunks.last_mut() {
            side(hunk).push(text.to_vec());
            self.kept = self.kept.saturating_add(1);
        }
    }
}

/// A hunk without its lines, and how many it removes and adds: `@@ -12,3 +14 @@` (a missing count is one).
fn hunk_head(line: &[u8]) -> Option<(Hunk, (usize, usize))> {
    let ranges = line.get(3..)?.split(|&byte| byte == b'@').next()?;
    let mut ranges = core::str::from_utf8(ranges).ok()?.split_whitespace();
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse::<u32>().ok()?, count.parse::<usize>().ok()?))
    };
    let (old_start, removed) = range(ranges.next()?.strip_prefix('-')?)?;
    let (new_start, added) = range(ranges.next()?.strip_prefix('+')?)?;
    Some((Hunk { old_start, new_start, ..Hunk::default() }, (removed, added)))
}

#[cfg(test)]
mod tests;
