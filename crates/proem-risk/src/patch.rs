//! The changed lines of files, from git's answer.
//!
//! A patch with context has the same hunks, and beside them the prints of the lines around.
//!
//! A patch comes in pieces and may be huge: [`PatchReader`] bounds the lines that it keeps, and a file beyond the bounds
//! is marked [`FilePatch::is_cut`]. A quoted path, which holds an unusual character, is unquoted only where that needs
//! no table: such files have no lines here.

mod lock;
mod operation;
mod source;
mod text;

use self::operation::word_balance;
pub use self::operation::{Operation, OperationSite, operation_sites};
pub use self::source::{ChangedPin, PinChange, changed_pins};
pub(crate) use self::text::{is_comment_or_blank, is_equal_but_versions, is_telling_line, line_print};

use alloc::vec::Vec;

use crate::path::RepoPath;

/// The longest line that is kept, in bytes. Longer ones were made by a program.
const LONGEST_LINE: usize = 2_000;

/// How many lines before and behind a hunk count as around it: twice the context that git shows. A choice, tried on the
/// clones of `evals/risk/signals.md`.
pub const AROUND: usize = 6;

/// The fewest letters and digits of a line around a hunk that is recognised. A shorter one may stand elsewhere in its file
/// too, or only declares something.
const UNMISTAKABLE: usize = 20;

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
    /// The telling lines around the hunks that stay as they are. Empty for a patch without context.
    pub around: Vec<UnchangedLine>,
}

/// A line beside a changed one that stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnchangedLine {
    /// Its number after the change.
    pub line: u32,
    /// Its print.
    pub print: u64,
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

impl Hunk {
    /// Whether the same text stands on other lines, with other brackets or commas around it, as a formatter leaves it.
    fn changes_only_layout(&self) -> bool {
        let is_text = |byte: &&u8| !byte.is_ascii_whitespace() && !b"{}(),;".contains(byte);
        let removed = self.removed.iter().flatten().filter(is_text);
        !self.removed.is_empty() && !self.added.is_empty() && removed.eq(self.added.iter().flatten().filter(is_text))
    }
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
    /// Lines that handle an error: those added less those taken away.
    pub errors: i32,
    /// Whether only version numbers or only comments change.
    pub is_quiet: bool,
}

impl FilePatch {
    /// A patch of these hunks. It is cut, without any, if they have too many lines or one that is too long.
    #[must_use]
    pub fn of_hunks(path: RepoPath, hunks: Vec<Hunk>) -> Self {
        let lines = || hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.added));
        if lines().count() > FILE_LINES || lines().any(|line| line.len() > LONGEST_LINE) {
            return Self { path, is_cut: true, ..Self::default() };
        }
        Self { path, hunks, ..Self::default() }
    }

    /// The prints of its lines. Empty if lines are missing: a part says nothing about the rest.
    #[must_use]
    pub fn prints(&self) -> LinePrints {
        if self.is_cut {
            return LinePrints::default();
        }
        let prints = |side: fn(&Hunk) -> &Vec<Vec<u8>>| {
            let hunks = self.hunks.iter().filter(|hunk| !hunk.changes_only_layout());
            let lines = hunks.flat_map(side).filter(|line| is_telling_line(line));
            let mut prints: Vec<u64> = lines.map(|line| line_print(line)).collect();
            prints.sort_unstable();
            prints.dedup();
            prints
        };
        let (added, removed) = (prints(|hunk| &hunk.added), prints(|hunk| &hunk.removed));
        let sites = operation_sites(self).into_iter().map(|site| site.operation);
        let pins = changed_pins(self).into_iter().map(|_| Operation::OtherSource);
        let operations = sites.chain(pins).fold(0, |bits, operation| bits | operation.bit());
        // A line that only moved inside the file is neither added nor removed.
        let outside = |of: &[u64], other: &[u64]| {
            of.iter().filter(|print| other.binary_search(print).is_err()).copied().collect::<Vec<u64>>()
        };
        LinePrints {
            added: outside(&added, &removed),
            removed: outside(&removed, &added),
            operations,
            checks: word_balance(self, Operation::Assertions),
            errors: word_balance(self, Operation::ErrorPath),
            is_quiet: self.changes_only_versions() || self.changes_only_comments(),
        }
    }

    /// Keeps the lines around hunks that replace or remove code: code that is only added beside a line leaves it as it was.
    fn keep_beside_replaced_code(&mut self) {
        let (hunks, path) = (&self.hunks, self.path.as_bytes());
        let around = u32::try_from(AROUND).unwrap_or(u32::MAX);
        let replaces = |hunk: &&Hunk| hunk.removed.iter().any(|line| !is_comment_or_blank(line, path));
        let is_beside = |line: u32, hunk: &Hunk| {
            let added = u32::try_from(hunk.added.len()).unwrap_or(u32::MAX);
            let to = hunk.new_start.saturating_add(added).saturating_add(around);
            (hunk.new_start.saturating_sub(around)..=to).contains(&line)
        };
        self.around.retain(|kept| hunks.iter().filter(replaces).any(|hunk| is_beside(kept.line, hunk)));
    }

    /// Whether only comments and blank lines change. False if lines are missing.
    #[must_use]
    pub fn changes_only_comments(&self) -> bool {
        let mut lines = self.hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.added));
        !self.is_cut && !self.hunks.is_empty() && lines.all(|line| is_comment_or_blank(line, self.path.as_bytes()))
    }

    /// Whether each line differs from the one that it replaces in version numbers alone, and nothing is taken from
    /// elsewhere.
    #[must_use]
    pub fn changes_only_versions(&self) -> bool {
        let is_one = |hunk: &Hunk| {
            hunk.added.len() == hunk.removed.len()
                && hunk.removed.iter().zip(&hunk.added).all(|(old, new)| is_equal_but_versions(old, new))
        };
        !self.is_cut && !self.hunks.is_empty() && self.hunks.iter().all(is_one) && changed_pins(self).is_empty()
    }
}

/// Reads a patch that comes in pieces.
#[derive(Debug, Default)]
pub struct PatchReader {
    rest: Vec<u8>,
    place: PatchPlace,
    file: Option<FilePatch>,
    kept: usize,
    done: Vec<PatchItem>,
}

/// The place of the next line of a patch.
#[derive(Debug, Clone, Copy, Default)]
struct PatchPlace {
    /// Lines of git's hunk that are still to come: before and after the change.
    due: (usize, usize),
    /// The numbers of the next lines: before and after.
    next: (u32, u32),
    /// Whether the line before it changed, so that a changed one belongs to the same hunk.
    is_in_hunk: bool,
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
        if let Some(file) = &mut self.file {
            file.keep_beside_replaced_code();
        }
        self.done.extend(self.file.take().map(PatchItem::File));
        self.kept = 0;
    }

    fn line(&mut self, line: &[u8]) {
        // By what the hunk still owes: a removed line that begins with `-- ` looks like the name of a file.
        match (line, self.place.due) {
            ([b'-', text @ ..], (1.., _)) => self.take_removed(text),
            ([b'+', text @ ..], (_, 1..)) => self.take_added(text),
            // Some programs leave out the space of an empty line.
            ([b' ', text @ ..] | text @ [], (1.., 1..)) => self.pass_kept(text),
            ([b'@', b'@', ..], _) => self.place = hunk_place(line).unwrap_or_default(),
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

    fn take_removed(&mut self, text: &[u8]) {
        let ((before, after), (old, new)) = (self.place.due, self.place.next);
        self.begin_hunk(old, new.saturating_sub(1));
        self.keep(text, |hunk| &mut hunk.removed);
        self.place =
            PatchPlace { due: (before.saturating_sub(1), after), next: (old.saturating_add(1), new), is_in_hunk: true };
    }

    fn take_added(&mut self, text: &[u8]) {
        let ((before, after), (old, new)) = (self.place.due, self.place.next);
        self.begin_hunk(old.saturating_sub(1), new);
        if let Some(hunk) =
            self.file.as_mut().and_then(|file| file.hunks.last_mut()).filter(|hunk| hunk.added.is_empty())
        {
            hunk.new_start = new;
        }
        self.keep(text, |hunk| &mut hunk.added);
        self.place =
            PatchPlace { due: (before, after.saturating_sub(1)), next: (old, new.saturating_add(1)), is_in_hunk: true };
    }

    fn pass_kept(&mut self, text: &[u8]) {
        let ((before, after), (old, new)) = (self.place.due, self.place.next);
        let solid = text.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
        if let Some(file) = self.file.as_mut().filter(|_| solid >= UNMISTAKABLE && is_telling_line(text)) {
            file.around.push(UnchangedLine { line: new, print: line_print(text) });
        }
        self.place = PatchPlace {
            due: (before.saturating_sub(1), after.saturating_sub(1)),
            next: (old.saturating_add(1), new.saturating_add(1)),
            is_in_hunk: false,
        };
    }

    fn begin_hunk(&mut self, old_start: u32, new_start: u32) {
        if !self.place.is_in_hunk {
            self.file.iter_mut().for_each(|file| file.hunks.push(Hunk { old_start, new_start, ..Hunk::default() }));
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

/// The place behind the head of a hunk: `@@ -12,3 +14 @@` (a missing count is one, and without lines the number is that
/// of the line before).
fn hunk_place(line: &[u8]) -> Option<PatchPlace> {
    let ranges = line.get(3..)?.split(|&byte| byte == b'@').next()?;
    let mut ranges = core::str::from_utf8(ranges).ok()?.split_whitespace();
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let (start, count) = (start.parse::<u32>().ok()?, count.parse::<usize>().ok()?);
        Some((start.saturating_add(u32::from(count == 0)), count))
    };
    let (old, before) = range(ranges.next()?.strip_prefix('-')?)?;
    let (new, after) = range(ranges.next()?.strip_prefix('+')?)?;
    Some(PatchPlace { due: (before, after), next: (old, new), is_in_hunk: false })
}

#[cfg(test)]
mod tests;
