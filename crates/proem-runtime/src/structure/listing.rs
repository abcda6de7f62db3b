//! Lists the files of a commit, of the index or of the work tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use crate::{
    Error, Extent,
    files::{self, read_beneath},
    git::{INDEX_ENTRIES, STATUS, Session, StatusKind, UNTRACKED_PATHS, filters, parse_status},
    parallel::join_thread,
    structure::source_reading::{SourceGap, StructureLimits},
};

/// The most bytes of files that differ from what git has, which are held until they are parsed.
const CHANGED: usize = 64 << 20;

/// A file of the listing, with where its content is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SourceEntry {
    /// From the repository's root, in git's bytes.
    pub(super) path: Vec<u8>,
    pub(super) content: SourceContent,
}

/// The place of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SourceContent {
    /// In the object with this id, in hexadecimal digits.
    Blob(String),
    /// It is read already.
    Bytes(Vec<u8>),
    /// Nowhere that it is read from.
    Unread(SourceGap),
}

/// The files, sorted by path, and what was left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SourceListing {
    pub(super) entries: Vec<SourceEntry>,
    links: usize,
    submodules: usize,
}

/// The kind of a path in git.
enum TreeEntryKind {
    File(String),
    Link,
    Submodule,
}

impl SourceListing {
    fn new(recorded: BTreeMap<Vec<u8>, TreeEntryKind>) -> Self {
        let mut listing = Self::default();
        for (path, recorded) in recorded {
            match recorded {
                TreeEntryKind::File(id) => listing.entries.push(SourceEntry { path, content: SourceContent::Blob(id) }),
                TreeEntryKind::Link => listing.links = listing.links.saturating_add(1),
                TreeEntryKind::Submodule => listing.submodules = listing.submodules.saturating_add(1),
            }
        }
        listing
    }

    /// The gaps, in our words. Links are files that git also lists under their own name.
    pub(super) fn gaps(&self) -> Vec<String> {
        let gap = match self.submodules {
            0 => None,
            1 => Some("1 submodule was not read; its imports are unknown".to_owned()),
            several => Some(format!("{several} submodules were not read; their imports are unknown")),
        };
        gap.into_iter().collect()
    }
}

/// Lists the files of `commit`.
pub(super) fn of_commit(session: &Session<'_>, commit: &str) -> Result<SourceListing, Error> {
    let args = ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options"];
    let listed = session.ask_about(&args, &[commit], &[0])?.stdout;
    let mut recorded = BTreeMap::new();
    for line in listed.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
        let (path, [mode, _, id]) = line_fields(line).ok_or(Error::GitAnswer { command: "ls-tree" })?;
        recorded.insert(path, recorded_of(mode, id).ok_or(Error::GitAnswer { command: "ls-tree" })?);
    }
    Ok(SourceListing::new(recorded))
}

/// Lists the files of the index, as what it adds to nothing: what is only intended to be added is in no commit.
pub(super) fn of_index(session: &Session<'_>) -> Result<SourceListing, Error> {
    const COMMAND: &str = "diff-index";
    let args = [COMMAND, "--cached", "--ita-invisible-in-index", "--raw", "-r", "-z"];
    let form = ["--no-abbrev", "--no-renames", "--no-relative", "--no-color", "-O/dev/null"];
    let more = [&form[..], &[session.id_length()?.empty_tree(), "--"]].concat();
    let listed = session.ask_about(&args, &more, &[0])?.stdout;
    let mut fields = listed.split(|&byte| byte == 0).filter(|field| !field.is_empty());
    let (mut recorded, mut conflicts) = (BTreeMap::new(), BTreeSet::new());
    while let Some((what, path)) = fields.next().map(|what| (what, fields.next())) {
        let unreadable = || Error::GitAnswer { command: COMMAND };
        let path = path.ok_or_else(unreadable)?;
        let words: Vec<&[u8]> = what.split(|&byte| byte == b' ').collect();
        let [_, mode, _, id, status] = words.as_slice() else { return Err(unreadable()) };
        if *status == b"U" {
            conflicts.insert(path);
        } else {
            recorded.insert(path.to_vec(), recorded_of(mode, id).ok_or_else(unreadable)?);
        }
    }
    if conflicts.is_empty() {
        Ok(SourceListing::new(recorded))
    } else {
        Err(Error::InConflict { paths: conflicts.len() })
    }
}

/// Lists the files of the work tree below `root`: what git would commit of it if all were added.
pub(super) fn of_work_tree(
    session: &mut Session<'_>,
    root: &Path,
    limits: &StructureLimits,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<SourceListing, Error> {
    // For what is in the index no filter runs.
    let plain = session.without_overrides();
    filters::overrides(session)?;
    let session = &*session;
    let of = |session: &Session<'_>, args: &[&'static str]| session.ask_whole(args, &[0]).map(|answer| answer.stdout);
    // Git looks at every file for each of the last two, so they are asked side by side.
    let (recorded_list, modified, others) = std::thread::scope(|scope| {
        let modified = scope.spawn(|| modified_paths(session));
        let others = scope.spawn(|| of(session, &UNTRACKED_PATHS));
        (of(&plain, &INDEX_ENTRIES), join_thread(modified), join_thread(others))
    });
    let (recorded_list, modified, others) = (recorded_list?, modified?, others?);
    let mut recorded = BTreeMap::new();
    let mut changed: BTreeSet<Vec<u8>> = BTreeSet::new();
    for line in recorded_list.split(|&byte| byte == 0).filter(|l| !l.is_empty()) {
        let (path, [mode, id, stage]) = line_fields(line).ok_or(Error::GitAnswer { command: "ls-files" })?;
        if stage != b"0" {
            changed.insert(path.clone());
        }
        recorded.insert(path, recorded_of(mode, id).ok_or(Error::GitAnswer { command: "ls-files" })?);
    }
    changed.extend(modified);
    changed.extend(nul_separated_paths(&others));
    let mut listing = SourceListing::new(
        recorded
            .into_iter()
            .filter(|(path, kind)| matches!(kind, TreeEntryKind::Submodule) || !changed.contains(path))
            .collect(),
    );
    let mut room = CHANGED;
    for path in changed {
        if let Some(content) = on_disk(root, &path, if wanted(&path) { limits.source.bytes } else { 0 }, &mut room)? {
            listing.entries.push(SourceEntry { path, content });
        }
    }
    listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listing)
}

/// The paths of the index that are not in the work tree as they are there.
fn modified_paths(session: &Session<'_>) -> Result<Vec<Vec<u8>>, Error> {
    // In the words in which the state of a repository is asked for, which may be known.
    match session.ask_whole(&STATUS, &[0]).map(|answer| parse_status(&answer.stdout)) {
        Ok(status) if status.extent == Extent::Whole => {
            let is_modified = |kind| matches!(kind, StatusKind::Tracked { unstaged, .. } if unstaged != b'.');
            Ok(status.entries.into_iter().filter(|entry| is_modified(entry.kind)).map(|entry| entry.path).collect())
        }
        // This question needs no commit, and a missing commit may be git's problem.
        Ok(_) | Err(Error::GitFailed { .. }) => {
            Ok(nul_separated_paths(&session.ask_whole(&["ls-files", "-m", "-z"], &[0])?.stdout).collect())
        }
        Err(error) => Err(error),
    }
}

/// Paths that a zero byte follows each.
fn nul_separated_paths(listed: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    listed.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec)
}

/// The content of a file in the work tree, of at most `longest` bytes. `None` if there is none, or something else.
fn on_disk(root: &Path, path: &[u8], longest: usize, room: &mut usize) -> Result<Option<SourceContent>, Error> {
    let relative = Path::new(OsStr::from_bytes(path));
    // A folder that is a repository of its own is listed with a slash.
    if path.ends_with(b"/") {
        return Ok(None);
    }
    let cap = longest.min(*room);
    match read_beneath(root, relative, cap) {
        Ok(Some(files::FileContent::Whole(bytes))) => {
            *room = room.saturating_sub(bytes.len());
            Ok(Some(SourceContent::Bytes(bytes)))
        }
        Ok(Some(files::FileContent::Cut(_))) => {
            let why = if cap < longest { SourceGap::NotReached } else { SourceGap::TooLarge };
            Ok(Some(SourceContent::Unread(why)))
        }
        Ok(None) | Err(Error::Link { .. } | Error::NotRegular { .. }) => Ok(None),
        // A file that its owner keeps from being read is there all the same.
        Err(Error::Io { .. }) => Ok(Some(SourceContent::Unread(SourceGap::Missing))),
        Err(error) => Err(error),
    }
}

/// The path after the tab of a line, and the three fields before it.
fn line_fields(line: &[u8]) -> Option<(Vec<u8>, [&[u8]; 3])> {
    let tab = line.iter().position(|&byte| byte == b'\t')?;
    let (head, path) = line.split_at_checked(tab)?;
    let parts: Vec<&[u8]> = head.split(|&byte| byte == b' ').collect();
    Some((path.get(1..)?.to_vec(), <[&[u8]; 3]>::try_from(parts).ok()?))
}

fn recorded_of(mode: &[u8], id: &[u8]) -> Option<TreeEntryKind> {
    let hexadecimal = matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit);
    match mode {
        _ if !hexadecimal => None,
        b"120000" => Some(TreeEntryKind::Link),
        b"160000" => Some(TreeEntryKind::Submodule),
        _ => Some(TreeEntryKind::File(String::from_utf8_lossy(id).into_owned())),
    }
}
