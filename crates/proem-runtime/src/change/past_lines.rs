//! Reads the lines of past commits that a change is compared with.
//!
//! One process lists the files of all commits, one looks their blobs up, one compares those whose blobs are all here,
//! and one reads the blobs that they changed to count their lines. The results are kept by commit in a file of the
//! caller's folder, except for commits with gaps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proem_risk::change::{FileKind, FileStatus, LineCounts};
use proem_risk::history::ObjectId;
use proem_risk::patch::{LinePrints, PatchItem, PatchReader};
use proem_risk::path::RepoPath;
use proem_risk::sample::{DrawnCommit, DrawnFile};
use sha2::{Digest as _, Sha256};

use super::listing::{self, NulFields, RawDiff, RawDiffEntry};
use super::{ANSWER, Blobs};
use crate::{
    Error,
    files::{FileAccess, FileContent, read_regular, replace_file},
    git::{GitProgram, IdLength, Repository, Session},
    history::{cache_name, ignored_revisions, shallow},
    process::Deadline,
};

/// The form of what is kept.
const FORM: &[u8] = b"proem drawn 3\n";

/// How much of what is kept is a checksum, in bytes.
const SUM: usize = 32;

/// The most commits that are kept, and the most bytes of a file that is read.
const KEPT: usize = 5_000;
const LARGEST: usize = 256 << 20;

/// Reads the lines of past commits, each against its only parent, in the order of `ids`. `cache` is the folder that
/// they are kept in. A file there that is damaged is written anew. A commit whose parent a shallow clone left out has
/// no files here: git would call all that was there added.
///
/// # Errors
///
/// If git can't list the files of the commits.
pub fn read_drawn_commits(
    git: &GitProgram,
    repository: &Repository,
    ids: &[ObjectId],
    cache: Option<&Path>,
) -> Result<Vec<DrawnCommit>, Error> {
    let name = cache_name("drawn", repository);
    let mut known =
        cache.map_or_else(BTreeMap::new, |folder| kept_commit_lines(&folder.join(&name)).unwrap_or_default());
    let alone: BTreeSet<ObjectId> = ignored_revisions(&shallow(repository)?).into_iter().collect();
    let unknown = ids.iter().filter(|id| !known.contains_key(id) && !alone.contains(id));
    let unknown: Vec<ObjectId> = unknown.copied().collect();
    let mut passing = BTreeMap::new();
    if !unknown.is_empty() {
        let session = Session::new(git, repository.folder(), Deadline::after(git.limits().history), ANSWER);
        let ids_length = unknown.first().map_or(IdLength::Short, IdLength::of);
        let session = session.without_attributes(ids_length);
        let (whole, partial) = read_commit_files(&session, &unknown)?;
        known.extend(whole);
        passing = partial;
        if let Some(folder) = cache {
            // A result that can't be kept is read again the next time.
            let _ = keep_commit_lines(folder, &name, ids, &known);
        }
    }
    let files = |id: &ObjectId| known.get(id).or_else(|| passing.get(id)).cloned().unwrap_or_default();
    Ok(ids.iter().map(|id| DrawnCommit { id: *id, files: files(id) }).collect())
}

/// The changed files of commits.
type Files = BTreeMap<ObjectId, Vec<DrawnFile>>;

/// The files of commits: those of which all is known, and the others.
fn read_commit_files(session: &Session<'_>, ids: &[ObjectId]) -> Result<(Files, Files), Error> {
    if !Blobs::are_commits(session, ids)? {
        // Git says nothing about a commit that is not here, as if it had changed nothing.
        return Err(UNREADABLE);
    }
    let listed = list_commit_files(session, ids)?;
    let blobs = Blobs::look(session, listed.values().flatten().flat_map(RawDiffEntry::blobs))?;
    let is_here = |entries: &[RawDiffEntry]| entries.iter().flat_map(RawDiffEntry::blobs).all(|blob| blobs.has(&blob));
    // One missing blob would fail the comparison of all, so commits that lack one are not compared.
    let here: Vec<ObjectId> = ids.iter().filter(|id| listed.get(id).is_none_or(|all| is_here(all))).copied().collect();
    let mut lines = count_commit_lines(session, &here)?;
    let is_narrow = |id: &&ObjectId| listed.get(*id).is_none_or(|entries| entries.len() <= PRINTED);
    let narrow: Vec<ObjectId> = here.iter().filter(is_narrow).copied().collect();
    // Without prints, signals have no figures of their own here. The score needs none, so it does not fail with them.
    let (mut prints, are_printed) = match commit_prints(session, &narrow) {
        Ok(prints) => (prints, true),
        Err(_) => (BTreeMap::new(), false),
    };
    let before = listed.iter().filter(|(id, _)| lines.contains_key(id)).flat_map(|(_, entries)| entries);
    let before = blobs.count_lines(session, before.filter_map(RawDiffEntry::counted_before))?;
    let (mut whole, mut partial) = (Files::new(), Files::new());
    for id in ids {
        let entries = listed.get(id).map(Vec::as_slice).unwrap_or_default();
        let is_whole = is_here(entries);
        let mut counted = lines.remove(id).unwrap_or_default();
        let mut printed = prints.remove(id).unwrap_or_default();
        let file = |entry: &RawDiffEntry| {
            let lines = counted.remove(entry.path.as_bytes()).flatten().filter(|_| is_whole);
            let prints = printed.remove(&entry.path).unwrap_or_default();
            DrawnFile { prints, ..drawn_file(entry, lines.filter(|_| entry.kind() == FileKind::Regular), &before) }
        };
        let files = entries.iter().map(file).collect();
        if is_whole && are_printed {
            whole.insert(*id, files)
        } else {
            partial.insert(*id, files)
        };
    }
    Ok((whole, partial))
}

fn drawn_file(entry: &RawDiffEntry, lines: Option<LineCounts>, before: &BTreeMap<ObjectId, Option<u32>>) -> DrawnFile {
    let known = match (entry.status, lines) {
        (FileStatus::Added, _) => Some(0),
        (FileStatus::Deleted, Some(lines)) => Some(lines.removed),
        (_, Some(_)) => entry.old.as_ref().and_then(|old| before.get(old).copied().flatten()),
        (_, None) => None,
    };
    let path = entry.from.clone().unwrap_or_else(|| entry.path.clone());
    DrawnFile { path, lines, before: known, prints: LinePrints::default() }
}

/// The most files of a commit whose lines are printed: wider ones are sweeps, and their patches can take minutes.
const PRINTED: usize = 100;

/// The prints of each commit's changed lines, by path. The answer is huge, so it is read as it comes.
fn commit_prints(
    session: &Session<'_>,
    ids: &[ObjectId],
) -> Result<BTreeMap<ObjectId, BTreeMap<RepoPath, LinePrints>>, Error> {
    let mut printed: BTreeMap<ObjectId, BTreeMap<RepoPath, LinePrints>> = BTreeMap::new();
    if ids.is_empty() {
        return Ok(printed);
    }
    let mut current = None;
    let mut keep = |items: Vec<PatchItem>| {
        for item in items {
            match (item, current) {
                (PatchItem::Line(line), _) => current = ObjectId::parse(&line).or(current),
                (PatchItem::File(file), Some(id)) => {
                    let prints = file.prints();
                    printed.entry(id).or_default().insert(file.path, prints);
                }
                (PatchItem::File(_), None) => {}
            }
        }
    };
    let mut reader = PatchReader::default();
    let form = ["--unified=0", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all"];
    session.stream(&OPTIONS, &form, commit_lines_input(ids), &mut |piece| {
        keep(reader.take(piece));
        Ok(())
    })?;
    keep(reader.end());
    Ok(printed)
}

fn commit_lines_input(ids: &[ObjectId]) -> Vec<u8> {
    ids.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect()
}

const OPTIONS: [&str; 10] = [
    "diff-tree",
    "--stdin",
    "-r",
    "-M100%",
    "--root",
    "--no-abbrev",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "-O/dev/null",
];

fn ask_diff_tree(session: &Session<'_>, form: &str, ids: &[ObjectId]) -> Result<Vec<u8>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    session.answer(&OPTIONS, &["-z", form, "--ignore-submodules=none"], commit_lines_input(ids))
}

const UNREADABLE: Error = Error::GitAnswer { command: "diff-tree" };

/// The files of each commit. A commit is introduced by its id. One without a change isn't.
fn list_commit_files(session: &Session<'_>, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, Vec<RawDiffEntry>>, Error> {
    let answer = ask_diff_tree(session, "--raw", ids)?;
    let mut fields = NulFields(&answer);
    let mut listed: BTreeMap<ObjectId, Vec<RawDiffEntry>> = BTreeMap::new();
    let mut current = None;
    while let Some(first) = fields.0.first() {
        if *first == b':' {
            let entries = current.and_then(|id| listed.get_mut(&id)).ok_or(UNREADABLE)?;
            let mut raw = RawDiff::default();
            listing::parse_raw_entry(&mut fields, &mut raw).ok_or(UNREADABLE)?;
            entries.append(&mut raw.entries);
        } else {
            let id = fields.next().and_then(ObjectId::parse).ok_or(UNREADABLE)?;
            listed.entry(id).or_default();
            current = Some(id);
        }
    }
    Ok(listed)
}

/// The lines of a commit by path.
type CommitLines = BTreeMap<Vec<u8>, Option<LineCounts>>;

fn count_commit_lines(session: &Session<'_>, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, CommitLines>, Error> {
    let answer = ask_diff_tree(session, "--numstat", ids)?;
    let mut fields = NulFields(&answer);
    // All of them, since git passes over a commit in which nothing changed.
    let mut counted: BTreeMap<ObjectId, CommitLines> = ids.iter().map(|id| (*id, CommitLines::new())).collect();
    let mut current = None;
    while !fields.0.is_empty() {
        // A commit's id, or the counts of a file: those have tabs in them.
        let line = NulFields(fields.0).next().ok_or(UNREADABLE)?;
        if let Some(id) = ObjectId::parse(line) {
            fields.next();
            current = Some(id);
        } else {
            let (path, lines) = listing::parse_counted_path(&mut fields).ok_or(UNREADABLE)?;
            current.and_then(|id| counted.get_mut(&id)).ok_or(UNREADABLE)?.insert(path, lines);
        }
    }
    Ok(counted)
}

/// The kept files. `None` if there are none, or it is no such file.
fn kept_commit_lines(path: &Path) -> Option<Files> {
    let Ok(Some(FileContent::Whole(bytes))) = read_regular(path, LARGEST) else { return None };
    let (sum, payload) = bytes.strip_prefix(FORM)?.split_at_checked(SUM)?;
    if Sha256::digest(payload).as_slice() != sum {
        return None;
    }
    let mut files = Files::new();
    let mut reader = ByteCursor(payload);
    while !reader.0.is_empty() {
        let id = ObjectId::from_bytes(reader.text()?)?;
        let count = reader.number()?;
        let list = (0..count).map(|_| reader.file()).collect::<Option<Vec<_>>>()?;
        files.insert(id, list);
    }
    Some(files)
}

/// Keeps the drawn commits and as many others as there is room for.
fn keep_commit_lines(folder: &Path, name: &str, ids: &[ObjectId], known: &Files) -> Result<(), Error> {
    // Those of other branches, which would have to be read again as soon as somebody goes back to one.
    let others = known.keys().filter(|id| !ids.contains(id)).take(KEPT.saturating_sub(ids.len()));
    let mut payload = Vec::new();
    for (id, files) in ids.iter().chain(others).filter_map(|id| Some((id, known.get(id)?))) {
        push_sized_text(&mut payload, id.as_bytes());
        push_number(&mut payload, files.len());
        for file in files {
            push_sized_text(&mut payload, file.path.as_bytes());
            let lines = file.lines.map(|lines| [lines.added, lines.removed]);
            let numbers = [lines.map(|lines| lines[0]), lines.map(|lines| lines[1]), file.before];
            // No count is the greatest number, which represents one that is unknown.
            numbers.iter().for_each(|number| payload.extend_from_slice(&number.unwrap_or(u32::MAX).to_le_bytes()));
            push_prints(&mut payload, &file.prints);
        }
    }
    let mut bytes = FORM.to_vec();
    bytes.extend_from_slice(&Sha256::digest(&payload));
    bytes.append(&mut payload);
    std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    replace_file(folder, Path::new(name), &bytes, FileAccess::Private)
}

fn push_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn push_sized_text(out: &mut Vec<u8>, bytes: &[u8]) {
    push_number(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn push_prints(out: &mut Vec<u8>, prints: &LinePrints) {
    push_number(out, usize::from(prints.operations));
    out.extend_from_slice(&prints.checks.to_le_bytes());
    out.extend_from_slice(&prints.errors.to_le_bytes());
    push_number(out, usize::from(prints.is_quiet));
    for side in [&prints.added, &prints.removed] {
        push_number(out, side.len());
        side.iter().for_each(|print| out.extend_from_slice(&print.to_le_bytes()));
    }
}

struct ByteCursor<'b>(&'b [u8]);

impl<'b> ByteCursor<'b> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    fn file(&mut self) -> Option<DrawnFile> {
        let path = RepoPath::new(self.text()?);
        let mut known = || self.number().map(|number| (number != u32::MAX).then_some(number));
        let (added, removed, before) = (known()?, known()?, known()?);
        let lines = added.zip(removed).map(|(added, removed)| LineCounts { added, removed });
        let prints = self.prints()?;
        Some(DrawnFile { path, lines, before, prints })
    }

    fn prints(&mut self) -> Option<LinePrints> {
        let operations = u16::try_from(self.number()?).ok()?;
        let checks = self.number()?.cast_signed();
        let errors = self.number()?.cast_signed();
        let is_quiet = self.number()? == 1;
        let (added, removed) = (self.side()?, self.side()?);
        Some(LinePrints { added, removed, operations, checks, errors, is_quiet })
    }

    fn side(&mut self) -> Option<Vec<u64>> {
        let length = usize::try_from(self.number()?).ok()?.checked_mul(size_of::<u64>())?;
        let (side, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(side.as_chunks().0.iter().map(|print| u64::from_le_bytes(*print)).collect())
    }
}
