//! Reads the changes of single commits together, with one process for each question about all of them.
//!
//! A change has the same files, lines and names whether it is read here or alone. Only what every repository has most
//! of is read here: commits with one parent or none whose contents are all here. Whatever else there is, such as
//! renames beyond the limit or more changed lines than are looked at, is left to the reading of one.

use std::collections::BTreeMap;

use proem_risk::change::{Change, ChangeKind, ChangedFile, FileKind, FileStatus, LineCounts};
use proem_risk::history::ObjectId;
use proem_risk::patch::{AROUND, FilePatch, PatchItem, PatchReader};
use proem_risk::path::{PathRules, RepoPath};

use super::base_facts::{BaseFacts, BaseFactsMemory};
use super::blob_pairs::{self, BlobPair};
use super::blobs::{self, Blobs, ObjectType};
use super::commit::{RawCommit, parse_raw_commit};
use super::comparison::RENAMES;
use super::line_difference::LineDifference;
use super::listing::{RawDiffEntry, list_commit_files};
use super::patch_text::patch_text;
use super::{
    ANSWER, ChangeLimits, PathClassifier, ResolvedChange, changed_file, excuse_new_versions, identifiers, read_change,
};
use crate::{
    Error,
    git::{GitProgram, IdLength, Repository, Session},
    process::Deadline,
};

/// Reads changes, each as [`read_change`] does. `memory` remembers the facts of their bases.
///
/// # Errors
///
/// If git can't list the changed files of one. Other missing facts are gaps.
pub(crate) fn read_changes(
    (git, repository): (&GitProgram, &Repository),
    resolved: &[ResolvedChange],
    rules: &PathRules,
    limits: &ChangeLimits,
    memory: &BaseFactsMemory,
) -> Result<Vec<Change>, Error> {
    let is_single = |resolved: &&ResolvedChange| resolved.kind == ChangeKind::Commit && !resolved.is_merge;
    let ids: Vec<ObjectId> = resolved.iter().filter(is_single).filter_map(|resolved| resolved.id).collect();
    let Some(first) = ids.first() else {
        return resolved.iter().map(|resolved| read_change(git, repository, resolved, rules, limits)).collect();
    };
    let session = Session::new(git, repository.folder(), Deadline::after(limits.time), ANSWER);
    let session = session.without_attributes(IdLength::of(first));
    let mut facts = CommitFacts::read(&session, &ids, limits.patch)?;
    let mut changes = Vec::with_capacity(resolved.len());
    for one in resolved {
        let id = one.id.filter(|_| is_single(&one));
        let entries = id.and_then(|id| Some((id, facts.listed.remove(&id)?)));
        let change = match entries {
            Some((id, entries)) => {
                let base = memory.of(&session, one.base.as_ref())?;
                if let Some(base) = &one.base {
                    memory.take_over(&id, base, &entries);
                }
                facts.change(one, entries, &base, (rules, limits))
            }
            None => None,
        };
        changes.push(match change {
            Some(change) => change,
            None => read_change(git, repository, one, rules, limits)?,
        });
    }
    Ok(changes)
}

/// The most files of a commit that is read here.
const WIDE: usize = 1_000;

/// The facts that git tells of some commits.
struct CommitFacts {
    /// The files of each. Only commits that are read here have any.
    listed: BTreeMap<ObjectId, Vec<RawDiffEntry>>,
    commits: BTreeMap<ObjectId, RawCommit>,
    /// How the versions of each file differ, in the order of the files. `None` for what git counts no lines of.
    differences: BTreeMap<ObjectId, Vec<Option<FileLines>>>,
}

/// The lines of a changed file.
#[derive(Debug, Clone)]
struct FileLines {
    counts: LineCounts,
    before: u32,
    /// The patch in git's form. Nothing of one that alone has more than is looked at.
    patch: Option<Vec<u8>>,
}

impl CommitFacts {
    fn read(session: &Session<'_>, ids: &[ObjectId], longest: usize) -> Result<Self, Error> {
        let mut facts = Self { listed: BTreeMap::new(), commits: BTreeMap::new(), differences: BTreeMap::new() };
        facts.listed = list_commit_files(session, ids, "-M100%")?;
        // Git passes over a commit in which nothing changed.
        ids.iter().for_each(|id| _ = facts.listed.entry(*id).or_default());
        let blobs = Blobs::look(session, facts.listed.values().flatten().flat_map(RawDiffEntry::blobs))?;
        facts.listed.retain(|_, entries| is_plain(entries, &blobs));
        let renaming: Vec<ObjectId> =
            facts.listed.iter().filter(|(_, entries)| may_rename(entries)).map(|(id, _)| *id).collect();
        if !renaming.is_empty() {
            facts.listed.extend(list_commit_files(session, &renaming, "-M50%")?);
        }
        facts.compare(session, ids, &blobs, longest)?;
        let mut damaged = false;
        blobs::read_each_object(session, ObjectType::Commit, facts.listed.keys(), &mut |id, content| {
            match parse_raw_commit(content) {
                Some(commit) => _ = facts.commits.insert(id, commit),
                None => damaged = true,
            }
        })?;
        if damaged { Err(Error::GitAnswer { command: "cat-file" }) } else { Ok(facts) }
    }

    fn compare(&mut self, session: &Session<'_>, ids: &[ObjectId], blobs: &Blobs, longest: usize) -> Result<(), Error> {
        let mut compared: Vec<(&ObjectId, usize, &RawDiffEntry)> = Vec::new();
        // The oldest first, so that versions of a file follow each other.
        for id in ids.iter().rev() {
            let entries = self.listed.get(id).map(Vec::as_slice).unwrap_or_default();
            self.differences.insert(*id, vec![None; entries.len()]);
            let regular = entries.iter().enumerate().filter(|(_, entry)| entry.kind() == FileKind::Regular);
            compared.extend(regular.map(|(place, entry)| (id, place, entry)));
        }
        compared.sort_by_key(|(.., entry)| &entry.path);
        let pairs: Vec<BlobPair> =
            compared.iter().map(|(.., entry)| BlobPair { old: entry.old, new: entry.new }).collect();
        let differences = &mut self.differences;
        blob_pairs::compare_pairs(session, blobs, &pairs, &mut |at, new, difference| {
            let Some((id, place, entry)) = compared.get(at) else { return };
            let slot = differences.get_mut(*id).and_then(|files| files.get_mut(*place));
            slot.into_iter().for_each(|slot| *slot = Some(file_lines(entry, new, &difference, longest)));
        })
    }

    /// The change of a commit. `None` if it has more lines than are looked at.
    fn change(
        &mut self,
        resolved: &ResolvedChange,
        entries: Vec<RawDiffEntry>,
        base: &BaseFacts,
        (rules, limits): (&PathRules, &ChangeLimits),
    ) -> Option<Change> {
        let id = resolved.id?;
        let (commit, differences) = (self.commits.remove(&id)?, self.differences.remove(&id)?);
        let classifier = PathClassifier { attributes: &base.attributes, rules };
        let is_written = |path: &RepoPath| identifiers::is_written(&classifier.class(path));
        let is_told = |path: &RepoPath| identifiers::has_telling_lines(&classifier.class(path));
        let mut names = identifiers::PatchIdentifiers::new(limits.patch, limits.identifiers, is_written);
        let (mut files, mut patches) = (Vec::new(), PatchReader::default());
        let (mut patch_items, mut left) = (Vec::new(), limits.patch);
        for (entry, lines) in entries.into_iter().zip(differences) {
            if let Some(lines) = &lines {
                let text = lines.patch.as_deref()?;
                left = left.checked_sub(text.len())?;
                names.take(text);
                patch_items.extend(patches.take(text));
            }
            let lines_before = entry.old.zip(lines.as_ref()).map(|(old, lines)| (old, Some(lines.before)));
            let counts = lines.map(|lines| lines.counts);
            files.push(changed_file(entry, counts, &lines_before.into_iter().collect(), classifier));
        }
        patch_items.extend(patches.end());
        let patches = patch_items.into_iter().filter_map(PatchItem::into_file);
        let mut patches: Vec<FilePatch> = patches.filter(|patch| is_told(&patch.path)).collect();
        patches.sort_by(|a, b| a.path.cmp(&b.path));
        excuse_new_versions(&mut files, &patches);
        files.sort_by(|a: &ChangedFile, b| a.path.cmp(&b.path));
        Some(Change {
            kind: resolved.kind,
            id: resolved.id,
            base: resolved.base,
            commits: resolved.commits,
            is_merge: resolved.is_merge,
            at: resolved.at,
            author: Some(base.mailmap.person(&commit.author.0, &commit.author.1)),
            subject: commit.subject,
            files,
            identifiers: names.into_names(),
            patches,
            gaps: Vec::new(),
        })
    }
}

/// Whether a commit is read here: all contents are here, and nothing about it needs a word.
fn is_plain(entries: &[RawDiffEntry], blobs: &Blobs) -> bool {
    let is_odd = |entry: &RawDiffEntry| {
        entry.kind() != FileKind::Regular
            || entry.status == FileStatus::TypeChanged
            || entry.path.as_bytes().contains(&b'\n')
    };
    let count = |status| entries.iter().filter(|entry| entry.status == status).count();
    entries.len() <= WIDE
        && !entries.iter().any(is_odd)
        && entries.iter().flat_map(RawDiffEntry::blobs).all(|blob| blobs.has(&blob))
        && count(FileStatus::Added).saturating_mul(count(FileStatus::Deleted)) <= RENAMES
}

fn may_rename(entries: &[RawDiffEntry]) -> bool {
    let has = |status| entries.iter().any(|entry| entry.status == status);
    has(FileStatus::Added) && has(FileStatus::Deleted)
}

fn file_lines(entry: &RawDiffEntry, new: &[u8], difference: &LineDifference, longest: usize) -> FileLines {
    let LineDifference { counts, before, hunks } = difference;
    let changed = || hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.added));
    let is_short = changed().map(Vec::len).sum::<usize>() <= longest;
    let patch = is_short.then(|| patch_text(&entry.path, new, hunks, AROUND));
    FileLines { counts: *counts, before: *before, patch }
}
