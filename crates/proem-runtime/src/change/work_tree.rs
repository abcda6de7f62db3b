//! The facts that only a work tree has: files that were touched without a change, and untracked ones.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use proem_risk::change::{ChangedFile, FileKind, FileStatus, LineCounts};
use proem_risk::path::RepoPath;

use super::PathClassifier;
use super::blobs::count_lines;
use super::listing::RawDiffEntry;
use crate::{
    Error, Extent,
    files::{FileContent, read_beneath},
    git::{Repository, RepositoryKind, Session, StatusKind, parse_status},
};

/// The most untracked files that are looked at.
const UNTRACKED: usize = 5_000;

/// Drops files whose time changed and whose content didn't: a comparison lists them, the status doesn't.
/// Returns the paths in conflict, whose content is that of both sides with marks in between.
pub(super) fn drop_untouched(
    session: &Session<'_>,
    entries: &mut Vec<RawDiffEntry>,
) -> Result<BTreeSet<Vec<u8>>, Error> {
    let status =
        ["status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames"];
    let listing = parse_status(&session.ask_whole(&status, &[0])?.stdout);
    // A part of the status would drop files that changed.
    if listing.extent == Extent::Cut {
        return Err(Error::GitAnswer { command: "status" });
    }
    let unmerged = listing.entries.iter().filter(|entry| entry.kind == StatusKind::Unmerged);
    let unmerged = unmerged.map(|entry| entry.path.clone()).collect();
    let changed: BTreeSet<Vec<u8>> = listing.entries.into_iter().map(|entry| entry.path).collect();
    entries.retain(|entry| changed.contains(entry.path.as_bytes()));
    Ok(unmerged)
}

/// A file that git doesn't track and doesn't ignore.
#[derive(Debug)]
pub(super) struct UntrackedFile {
    pub(super) path: RepoPath,
    kind: FileKind,
    content: ContentKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentKind {
    /// A text of so many lines.
    Text(u32),
    /// Binary to git.
    Binary,
    /// It is no file, too large, or could not be read.
    Nothing,
}

impl UntrackedFile {
    /// Whether it is a regular file.
    pub(super) const fn is_file(&self) -> bool {
        matches!(self.kind, FileKind::Regular)
    }

    /// Whether its content was read.
    pub(super) const fn is_read(&self) -> bool {
        !matches!(self.content, ContentKind::Nothing)
    }

    const fn lines(&self) -> Option<u32> {
        match self.content {
            ContentKind::Text(lines) => Some(lines),
            ContentKind::Binary | ContentKind::Nothing => None,
        }
    }

    /// It as a file of a change.
    pub(super) fn added(self, classifier: PathClassifier<'_>) -> ChangedFile {
        let lines = self.lines();
        ChangedFile {
            class: classifier.class(&self.path),
            path: self.path,
            before: None,
            status: FileStatus::Added,
            kind: self.kind,
            lines: lines.map(|added| LineCounts { added, removed: 0 }),
            lines_before: Some(0),
            lines_after: lines,
        }
    }
}

/// The files that git doesn't track and doesn't ignore.
pub(super) fn untracked_files(
    session: &Session<'_>,
    repository: &Repository,
    largest: usize,
    gaps: &mut Vec<String>,
) -> Result<Vec<UntrackedFile>, Error> {
    let RepositoryKind::WorkTree(root) = &repository.place else { return Ok(Vec::new()) };
    let listing = session.ask_whole(&["ls-files", "-z", "--others", "--exclude-standard"], &[0])?;
    let set_up = repository.set_up();
    let paths = listing.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    let mut paths: Vec<&[u8]> = paths.filter(|path| !set_up.wrote(path)).collect();
    if paths.len() > UNTRACKED {
        gaps.push(format!(
            "only the first {UNTRACKED} of {} untracked files are assessed; add irrelevant files to `.gitignore`",
            paths.len()
        ));
        paths.truncate(UNTRACKED);
    }
    let look = |bytes: &&[u8]| {
        // Another repository in a folder of this one.
        let is_repository = bytes.ends_with(b"/");
        let (kind, content) = if is_repository {
            (FileKind::Submodule, ContentKind::Nothing)
        } else {
            look_at_untracked(root, bytes, largest)
        };
        UntrackedFile { path: RepoPath::new(*bytes), kind, content }
    };
    Ok(paths.iter().map(look).collect())
}

/// The uncounted parts of untracked files, in our words.
pub(super) fn uncounted_note(untracked: &[UntrackedFile]) -> Option<String> {
    let unread = untracked.iter().filter(|file| file.is_file() && file.lines().is_none()).count();
    (unread > 0).then(|| format!("lines: {unread} untracked files are binary, too large or could not be read"))
}

/// The kind of an untracked path, and its content. Links are not followed.
fn look_at_untracked(root: &Path, path: &[u8], largest: usize) -> (FileKind, ContentKind) {
    match read_beneath(root, Path::new(OsStr::from_bytes(path)), largest) {
        Ok(Some(FileContent::Whole(content))) => {
            (FileKind::Regular, count_lines(&content).map_or(ContentKind::Binary, ContentKind::Text))
        }
        Err(Error::Link { .. }) => (FileKind::Link, ContentKind::Nothing),
        _ => (FileKind::Regular, ContentKind::Nothing),
    }
}
