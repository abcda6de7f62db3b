//! Reads the lines of past commits that a change is compared with.
//!
//! One process lists the files of all commits, one looks their blobs up, and one reads them, file by file, so that a
//! version is read once for the commit that made it and the commit that changed it. They are compared here, since git
//! would need three times as long. The results are kept by commit in a file of the caller's folder, except for commits
//! with gaps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proem_risk::change::{FileKind, FileStatus, LineCounts};
use proem_risk::history::ObjectId;
use proem_risk::patch::{FilePatch, LinePrints};
use proem_risk::path::RepoPath;
use proem_risk::sample::{DrawnCommit, DrawnFile};
use sha2::{Digest as _, Sha256};

use super::blob_pairs::{self, BlobPair};
use super::line_difference::LineDifference;
use super::listing::{RawDiffEntry, list_commit_files};
use super::{ANSWER, Blobs};
use crate::{
    Error,
    files::{FileAccess, FileContent, read_regular, replace_file},
    git::{GitProgram, IdLength, Repository, Session},
    history::{cache_name, ignored_revisions, shallow},
    process::Deadline,
};

/// The form of what is kept.
const FORM: &[u8] = b"proem drawn 4\n";

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
    let listed = list_commit_files(session, ids, "-M100%")?;
    let blobs = Blobs::look(session, listed.values().flatten().flat_map(RawDiffEntry::blobs))?;
    let is_here = |entries: &[RawDiffEntry]| entries.iter().flat_map(RawDiffEntry::blobs).all(|blob| blobs.has(&blob));
    let mut files = Files::new();
    let mut compared: Vec<ComparedFile<'_>> = Vec::new();
    for id in ids {
        let entries = listed.get(id).map(Vec::as_slice).unwrap_or_default();
        files.insert(*id, entries.iter().map(drawn_file).collect());
        if is_here(entries) {
            let is_printed = entries.len() <= PRINTED;
            let regular = entries.iter().enumerate().filter(|(_, entry)| entry.kind() == FileKind::Regular);
            compared.extend(regular.map(|(place, entry)| ComparedFile { id, place, entry, is_printed }));
        }
    }
    // The versions of a file follow each other in the order of the commits, so that one is read for both that have it.
    compared.sort_by_key(|file| &file.entry.path);
    let pairs: Vec<BlobPair> =
        compared.iter().map(|file| BlobPair { old: file.entry.old, new: file.entry.new }).collect();
    blob_pairs::compare_pairs(session, &blobs, &pairs, &mut |at, _, difference| {
        let Some(ComparedFile { id, place, entry, is_printed }) = compared.get(at) else { return };
        if let Some(file) = files.get_mut(*id).and_then(|files| files.get_mut(*place)) {
            note_difference(file, entry, difference, *is_printed);
        }
    })?;
    let is_whole = |id: &ObjectId, _: &mut Vec<DrawnFile>| listed.get(id).is_none_or(|entries| is_here(entries));
    let whole = files.extract_if(.., is_whole).collect();
    Ok((whole, files))
}

/// A file of a commit whose versions are compared.
struct ComparedFile<'l> {
    id: &'l ObjectId,
    /// Its place among the files of its commit.
    place: usize,
    entry: &'l RawDiffEntry,
    is_printed: bool,
}

/// A file whose lines nobody counted yet.
fn drawn_file(entry: &RawDiffEntry) -> DrawnFile {
    let path = entry.from.clone().unwrap_or_else(|| entry.path.clone());
    let before = (entry.status == FileStatus::Added).then_some(0);
    DrawnFile { path, lines: None, before, prints: LinePrints::default() }
}

/// The most files of a commit whose lines are printed: wider ones are sweeps.
const PRINTED: usize = 100;

fn note_difference(file: &mut DrawnFile, entry: &RawDiffEntry, difference: LineDifference, is_printed: bool) {
    let LineDifference { counts, before, hunks } = difference;
    file.lines = Some(counts);
    file.before = Some(before);
    if is_printed {
        file.prints = FilePatch::of_hunks(entry.path.clone(), hunks).prints();
    }
}

const UNREADABLE: Error = Error::GitAnswer { command: "diff-tree" };

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
