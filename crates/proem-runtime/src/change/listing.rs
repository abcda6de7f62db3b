//! Reads what `diff-tree`, `diff-index` and their likes list with `-z`.

use std::collections::BTreeMap;

use proem_risk::change::{FileKind, FileStatus, LineCounts};
use proem_risk::history::ObjectId;
use proem_risk::path::RepoPath;

use crate::{
    Error,
    git::Session,
    git::status::{decimal_number, split_at_byte},
};

/// A changed path (git-diff(1), "Raw output format").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawDiffEntry {
    pub(super) path: RepoPath,
    pub(super) from: Option<RepoPath>,
    pub(super) status: FileStatus,
    /// Its mode after the change, before it for a deleted one.
    mode: GitFileMode,
    /// The blob before. `None` if there was none.
    pub(super) old: Option<ObjectId>,
    /// The blob after. `None` if there is none or git didn't compute it.
    pub(super) new: Option<ObjectId>,
}

/// The kinds of modes that git stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GitFileMode {
    File,
    Link,
    Submodule,
}

impl RawDiffEntry {
    pub(super) const fn kind(&self) -> FileKind {
        match self.mode {
            GitFileMode::File => FileKind::Regular,
            GitFileMode::Link => FileKind::Link,
            GitFileMode::Submodule => FileKind::Submodule,
        }
    }

    /// The blob whose lines are worth counting: that of a file that was there before and is after.
    pub(super) fn counted_before(&self) -> Option<ObjectId> {
        let stays = matches!(self.status, FileStatus::Modified | FileStatus::Renamed | FileStatus::TypeChanged);
        self.old.filter(|_| stays && self.mode == GitFileMode::File)
    }

    /// The blobs that a comparison of its contents reads.
    pub(super) fn blobs(&self) -> impl Iterator<Item = ObjectId> {
        let blobs = if self.mode == GitFileMode::Submodule { [None, None] } else { [self.old, self.new] };
        blobs.into_iter().flatten()
    }
}

/// The contents of a list of paths.
#[derive(Debug, Default)]
pub(super) struct RawDiff {
    pub(super) entries: Vec<RawDiffEntry>,
    /// How many paths are in conflict, and in no entry.
    pub(super) unmerged: usize,
}

/// Hands over the fields of `piece` that end in NUL. `rest` keeps what has not ended yet.
pub(super) fn split_fields(rest: &mut Vec<u8>, piece: &[u8], field: &mut dyn FnMut(&[u8])) {
    let mut fields = piece.split(|&byte| byte == 0).peekable();
    while let Some(part) = fields.next() {
        let ends = fields.peek().is_some();
        if rest.is_empty() && ends {
            field(part);
        } else {
            rest.extend_from_slice(part);
            if ends {
                field(rest);
                rest.clear();
            }
        }
    }
}

/// Reads the paths of one comparison.
pub(super) fn parse_raw_diff(bytes: &[u8], command: &'static str) -> Result<RawDiff, Error> {
    let mut fields = NulFields(bytes);
    let mut raw = RawDiff::default();
    while !fields.0.is_empty() {
        parse_raw_entry(&mut fields, &mut raw).ok_or(Error::GitAnswer { command })?;
    }
    Ok(raw)
}

/// The options of a listing of several commits: no other program takes part, and no setting decides about the form.
const OF_COMMITS: [&str; 13] = [
    "diff-tree",
    "--stdin",
    "--raw",
    "-z",
    "-r",
    "--root",
    "-l400",
    "--no-abbrev",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
    "-O/dev/null",
];

/// Lists the files of commits, each against its only parent. A commit is introduced by its id. One without a change
/// isn't, and neither is a merge. `renames` is git's option for the likeness of renamed files.
pub(super) fn list_commit_files(
    session: &Session<'_>,
    ids: &[ObjectId],
    renames: &str,
) -> Result<BTreeMap<ObjectId, Vec<RawDiffEntry>>, Error> {
    const UNREADABLE: Error = Error::GitAnswer { command: "diff-tree" };
    let answer = session.answer(&OF_COMMITS, &[renames], super::blobs::input(ids.iter()))?;
    let mut fields = NulFields(&answer);
    let mut listed: BTreeMap<ObjectId, Vec<RawDiffEntry>> = BTreeMap::new();
    let mut current = None;
    while let Some(first) = fields.0.first() {
        if *first == b':' {
            let entries = current.and_then(|id| listed.get_mut(&id)).ok_or(UNREADABLE)?;
            let mut raw = RawDiff::default();
            parse_raw_entry(&mut fields, &mut raw).ok_or(UNREADABLE)?;
            entries.append(&mut raw.entries);
        } else {
            let id = fields.next().and_then(ObjectId::parse).ok_or(UNREADABLE)?;
            listed.entry(id).or_default();
            current = Some(id);
        }
    }
    Ok(listed)
}

/// Fields that end in NUL.
pub(super) struct NulFields<'b>(pub(super) &'b [u8]);

impl<'b> NulFields<'b> {
    pub(super) fn next(&mut self) -> Option<&'b [u8]> {
        let (field, rest) = split_at_byte(self.0, 0)?;
        self.0 = rest;
        Some(field)
    }
}

/// Reads a path with its modes, ids and status; what is in conflict is only counted.
pub(super) fn parse_raw_entry(fields: &mut NulFields<'_>, raw: &mut RawDiff) -> Option<()> {
    let mut words = fields.next()?.strip_prefix(b":")?.split(|&byte| byte == b' ');
    let (before, after) = (words.next()?, words.next()?);
    let (old, new) = (ObjectId::parse(words.next()?)?, ObjectId::parse(words.next()?)?);
    let letter = *words.next()?.first()?;
    let status = match letter {
        b'A' => FileStatus::Added,
        b'M' => FileStatus::Modified,
        b'D' => FileStatus::Deleted,
        b'T' => FileStatus::TypeChanged,
        b'R' => FileStatus::Renamed,
        b'U' => {
            fields.next()?;
            raw.unmerged = raw.unmerged.saturating_add(1);
            return Some(());
        }
        _ => return None,
    };
    let from = if status == FileStatus::Renamed { Some(RepoPath::new(fields.next()?)) } else { None };
    let path = RepoPath::new(fields.next()?);
    let mode = match if status == FileStatus::Deleted { before } else { after } {
        b"120000" => GitFileMode::Link,
        b"160000" => GitFileMode::Submodule,
        _ => GitFileMode::File,
    };
    let there = |id: ObjectId| Some(id).filter(|id| id.as_bytes().iter().any(|&byte| byte != 0));
    raw.entries.push(RawDiffEntry { path, from, status, mode, old: there(old), new: there(new) });
    Some(())
}

/// Reads the lines of one comparison, by the path after it.
pub(super) fn parse_numstat_lines(
    bytes: &[u8],
    command: &'static str,
) -> Result<BTreeMap<Vec<u8>, Option<LineCounts>>, Error> {
    let mut fields = NulFields(bytes);
    let mut lines = BTreeMap::new();
    while !fields.0.is_empty() {
        let (path, counted) = parse_counted_path(&mut fields).ok_or(Error::GitAnswer { command })?;
        lines.insert(path, counted);
    }
    Ok(lines)
}

/// Reads a path with its lines: `1 TAB 2 TAB path`, or nothing for the path and two more fields for a rename.
pub(super) fn parse_counted_path(fields: &mut NulFields<'_>) -> Option<(Vec<u8>, Option<LineCounts>)> {
    let (added, rest) = split_at_byte(fields.next()?, b'\t')?;
    let (removed, path) = split_at_byte(rest, b'\t')?;
    let lines = match (added, removed) {
        (b"-", b"-") => None,
        _ => Some(LineCounts { added: parse_line_count(added)?, removed: parse_line_count(removed)? }),
    };
    let path = if path.is_empty() { fields.next().and_then(|_| fields.next())? } else { path };
    Some((path.to_vec(), lines))
}

fn parse_line_count(digits: &[u8]) -> Option<u32> {
    decimal_number(digits).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}
