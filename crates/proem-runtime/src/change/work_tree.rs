//! What only a work tree has: files that were touched without a change, and untracked ones.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use proem_risk::change::{ChangedFile, FileKind, Lines, Status};
use proem_risk::path::{Class, RepoPath};

use super::blobs::count_lines;
use super::listing::Entry;
use crate::{
    Error, Extent,
    files::{Content, read_beneath},
    git::{Place, Repository, Session, StatusKind, parse_status},
};

/// The most untracked files that are looked at.
const UNTRACKED: usize = 5_000;

/// Drops files whose time changed and whose content didn't: a comparison lists them, the status doesn't.
/// Returns the paths in conflict, whose content is that of both sides with marks in between.
pub(super) fn drop_untouched(session: &Session<'_>, entries: &mut Vec<Entry>) -> Result<BTreeSet<Vec<u8>>, Error> {
    let status =
        ["status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames"];
    let listing = parse_status(&session.ask_whole(&status, &[0])?.stdout);
    if listing.extent == Extent::Cut {
        return Err(Error::GitAnswer { command: "status" });
    }
    let unmerged = listing.entries.iter().filter(|entry| entry.kind == StatusKind::Unmerged);
    let unmerged = unmerged.map(|entry| entry.path.clone()).collect();
    let changed: BTreeSet<Vec<u8>> = listing.entries.into_iter().map(|entry| entry.path).collect();
    entries.retain(|entry| changed.contains(entry.path.as_bytes()));
    Ok(unmerged)
}

/// Adds the files that git doesn't track and doesn't ignore.
pub(super) fn untracked(
    session: &Session<'_>,
    repository: &Repository,
    largest: usize,
    (files, gaps): (&mut Vec<ChangedFile>, &mut Vec<String>),
    class: &dyn Fn(&RepoPath) -> Class,
) -> Result<(), Error> {
    let Place::WorkTree(root) = &repository.place else { return Ok(()) };
    let listing = session.ask_whole(&["ls-files", "-z", "--others", "--exclude-standard"], &[0])?;
    let mut paths: Vec<&[u8]> = listing.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty()).collect();
    if paths.len() > UNTRACKED {
        gaps.push(format!("only the first {UNTRACKED} of {} untracked files are assessed; list what needs no attention in `.gitignore`", paths.len()));
        paths.truncate(UNTRACKED);
    }
    if !paths.is_empty() && files.iter().any(|file| file.status == Status::Deleted) {
        gaps.push("rename_incomplete: an untracked file may be a deleted one under another name; `git add` both to have that found".to_owned());
    }
    let mut unread = 0_usize;
    for bytes in paths {
        let path = RepoPath::new(bytes);
        // Another repository in a folder of this one.
        let is_repository = bytes.ends_with(b"/");
        let (kind, lines) = if is_repository { (FileKind::Submodule, None) } else { look(root, bytes, largest) };
        unread = unread.saturating_add(usize::from(kind == FileKind::Regular && lines.is_none()));
        let class = class(&path);
        files.push(ChangedFile {
            path,
            before: None,
            status: Status::Added,
            kind,
            class,
            lines: lines.map(|added| Lines { added, removed: 0 }),
            lines_before: Some(0),
            lines_after: lines,
        });
    }
    if unread > 0 {
        gaps.push(format!("lines: {unread} untracked files are binary, too large or could not be read"));
    }
    Ok(())
}

/// What an untracked path is, and its lines; links are not followed.
fn look(root: &Path, path: &[u8], largest: usize) -> (FileKind, Option<u32>) {
    match read_beneath(root, Path::new(OsStr::from_bytes(path)), largest) {
        Ok(Some(Content::Whole(content))) => (FileKind::Regular, count_lines(&content)),
        Err(Error::Link { .. }) => (FileKind::Link, None),
        _ => (FileKind::Regular, None),
    }
}
