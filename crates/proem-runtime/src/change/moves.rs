//! Finds deleted files again among untracked ones: what was moved without telling git.
//!
//! Git tells the ids that the untracked files would have, after its own conversion of line ends and whatever
//! filters the user chose, so that equal ids are what `git add` would make of them. Contents that only
//! resemble each other are not compared.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proem_risk::change::{FileKind, FileStatus, LineCounts};
use proem_risk::history::ObjectId;
use proem_risk::path::RepoPath;

use super::ChangeListing;
use super::listing::RawDiffEntry;
use super::work_tree::UntrackedFile;
use crate::{Error, git::Session};

const COMMAND: &str = "hash-object";

/// Turns deleted entries of `found` into renames if an untracked file has their content, and takes those files out of
/// `untracked`. A possible rename, and one that can't be checked, becomes a gap.
pub(super) fn pair_moved_files(session: &Session<'_>, found: &mut ChangeListing, untracked: &mut Vec<UntrackedFile>) {
    let is_gone = |entry: &RawDiffEntry| entry.status == FileStatus::Deleted && entry.kind() == FileKind::Regular;
    if !found.entries.iter().any(is_gone) || !untracked.iter().any(UntrackedFile::is_read) {
        return;
    }
    match untracked_ids(session, untracked) {
        Ok(ids) => {
            let gone = found.entries.iter().filter(|entry| is_gone(entry));
            let pairs = moved_pairs(gone.filter_map(|entry| Some((entry.old?, &entry.path))), &ids);
            let found_again: BTreeSet<&RepoPath> = pairs.values().collect();
            untracked.retain(|file| !found_again.contains(&file.path));
            found.moved(&pairs);
        }
        Err(error) => {
            found.gaps.push(format!("rename_incomplete: untracked files can't be compared with deleted ones: {error}"));
        }
    }
    if found.entries.iter().any(is_gone) && untracked.iter().any(UntrackedFile::is_file) {
        found.gaps.push(
            "rename_incomplete: an untracked file may be a deleted file that was renamed and edited; stage \
                         both so that the rename is detected"
                .to_owned(),
        );
    }
}

impl ChangeListing {
    /// Makes a rename of each deleted path that has a new one. One that is there still didn't change.
    fn moved(&mut self, pairs: &BTreeMap<RepoPath, RepoPath>) {
        self.entries.retain(|entry| pairs.get(&entry.path).is_none_or(|to| *to != entry.path));
        for entry in &mut self.entries {
            let Some(to) = pairs.get(&entry.path) else { continue };
            let from = std::mem::replace(&mut entry.path, to.clone());
            // A file without lines stays one.
            let lines = self.lines.remove(from.as_bytes()).flatten().map(|_| LineCounts::default());
            self.lines.insert(to.as_bytes().to_vec(), lines);
            entry.from = Some(from);
            entry.status = FileStatus::Renamed;
            entry.new = entry.old;
        }
    }
}

/// The ids that git would give to the untracked files that could be read, with their paths.
fn untracked_ids<'u>(
    session: &Session<'_>,
    untracked: &'u [UntrackedFile],
) -> Result<Vec<(ObjectId, &'u RepoPath)>, Error> {
    let read: Vec<&RepoPath> = untracked.iter().filter(|file| file.is_read()).map(|file| &file.path).collect();
    let input = read.iter().flat_map(|path| quote_path_for_git(path.as_bytes())).collect();
    let answer = session.answer(&[COMMAND, "--stdin-paths"], &[], input)?;
    let lines = answer.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let ids: Vec<ObjectId> = lines.filter_map(ObjectId::parse).collect();
    if ids.len() == read.len() { Ok(ids.into_iter().zip(read).collect()) } else { Err(unreadable_hash_object()) }
}

const fn unreadable_hash_object() -> Error {
    Error::GitAnswer { command: COMMAND }
}

/// A path as a line that git reads, quoted as in C: any byte but NUL may be in it.
fn quote_path_for_git(path: &[u8]) -> Vec<u8> {
    let mut line = vec![b'"'];
    for &byte in path {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', byte]),
            b' '..=b'~' => line.push(byte),
            _ => line.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    line.extend_from_slice(b"\"\n");
    line
}

/// The target of each deleted path, among those with the same id: the same path, else one of the same name, else the
/// first that is left, in the order of the paths. Every path is used once.
fn moved_pairs<'p>(
    gone: impl Iterator<Item = (ObjectId, &'p RepoPath)>,
    untracked: &[(ObjectId, &RepoPath)],
) -> BTreeMap<RepoPath, RepoPath> {
    let mut from: BTreeMap<ObjectId, BTreeSet<&RepoPath>> = BTreeMap::new();
    for (id, path) in gone {
        from.entry(id).or_default().insert(path);
    }
    let mut to: BTreeMap<ObjectId, BTreeSet<&RepoPath>> = BTreeMap::new();
    for (id, path) in untracked {
        to.entry(*id).or_default().insert(path);
    }
    let mut pairs = BTreeMap::new();
    for (id, from) in &mut from {
        let Some(to) = to.get_mut(id) else { continue };
        let same = from.intersection(to).copied().map(|path| (path, path)).collect::<Vec<_>>();
        take_pairs(&mut pairs, same, from, to);
        let mut named: BTreeMap<&[u8], VecDeque<&RepoPath>> = BTreeMap::new();
        for path in to.iter() {
            named.entry(path.name()).or_default().push_back(path);
        }
        let mut next = |path: &RepoPath| named.get_mut(path.name()).and_then(VecDeque::pop_front);
        let named = from.iter().filter_map(|path| Some((*path, next(path)?))).collect();
        take_pairs(&mut pairs, named, from, to);
        let rest = from.iter().copied().zip(to.iter().copied()).collect();
        take_pairs(&mut pairs, rest, from, to);
    }
    pairs
}

/// Takes pairs over, and their paths out of those that are left.
fn take_pairs<'p>(
    pairs: &mut BTreeMap<RepoPath, RepoPath>,
    found: Vec<(&'p RepoPath, &'p RepoPath)>,
    from: &mut BTreeSet<&'p RepoPath>,
    to: &mut BTreeSet<&'p RepoPath>,
) {
    for (old, new) in found {
        from.remove(old);
        to.remove(new);
        pairs.insert(old.clone(), new.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(gone: &str, untracked: &str, expected: &str) {
        let files = |text: &str| -> Vec<(ObjectId, RepoPath)> {
            let file = |word: &str| {
                let (path, id) = word.split_once('=').unwrap();
                (ObjectId::parse(id.repeat(40).as_bytes()).unwrap(), RepoPath::new(path))
            };
            text.split_whitespace().map(file).collect()
        };
        let (gone, untracked) = (files(gone), files(untracked));
        let untracked: Vec<(ObjectId, &RepoPath)> = untracked.iter().map(|(id, path)| (*id, path)).collect();
        let found = moved_pairs(gone.iter().map(|(id, path)| (*id, path)), &untracked);
        let found: Vec<String> =
            found.iter().map(|(from, to)| format!("{}>{}", from.to_text(), to.to_text())).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn each_deleted_file_goes_to_one_untracked_one() {
        check("a=1", "b=1", "a>b");
        check("a=1", "b=2", "");
        check("a=1", "b=1 c=1", "a>b");
        check("a=1 b=1", "c=1", "a>c");
        check("a=1 b=2", "c=2 d=1", "a>d b>c");
        // The same name is what people keep when they move a file.
        check("a/x=1 b/y=1", "c/y=1 d/x=1", "a/x>d/x b/y>c/y");
        check("a/x=1 b/x=1", "c/x=1 d/z=1", "a/x>c/x b/x>d/z");
        // Taken out of the index alone.
        check("a/x=1 b/x=1", "b/x=1 c/x=1", "a/x>c/x b/x>b/x");
        check("", "a=1", "");
    }

    #[test]
    fn any_path_is_a_line() {
        for (path, expected) in [
            (&b"src/a.rs"[..], "\"src/a.rs\"\n"),
            (b"a \"b\\", "\"a \\\"b\\\\\"\n"),
            (b"new\nline\t\xff", "\"new\\012line\\011\\377\"\n"),
        ] {
            assert_eq!(String::from_utf8(quote_path_for_git(path)).unwrap(), expected);
        }
    }
}
