//! Finds out what a change is: which files, how many lines, by whom.
//!
//! [`parse_change_spec`] reads what a person asks for, [`resolve_change`] finds the commits that are meant, and [`read_change`] reads
//! the change itself. [`commits_since`] lists commits for many assessments at once, [`read_drawn_commits`] reads the lines
//! of past commits that a change is compared with, and [`base_attributes`] what the base says of its files.
//!
//! Commits are compared as trees, without the work tree. Only the change of a work tree reads files of it, never
//! through a link. A count that git can't make, such as for a blob that a partial clone left out, is `None` with a gap,
//! never zero.

mod added_lines;
mod base_facts;
mod batch;
mod blob_pairs;
mod blobs;
mod commit;
mod comparison;
mod identifiers;
mod line_difference;
mod listing;
mod moves;
mod past_lines;
mod patch_text;
mod resolve;
mod single_commits;
mod work_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proem_risk::change::{Change, ChangeKind, ChangedFile, FileKind, FileStatus, LineCounts};
use proem_risk::history::ObjectId;
use proem_risk::identity::{Mailmap, Person};
use proem_risk::patch::{FilePatch, PatchItem, PatchReader};
use proem_risk::path::{GitAttributes, PathClass, PathRules, RepoPath, classify_path};

use crate::{
    Error,
    git::{GitProgram, IdLength, Repository, Session, filters},
    process::Deadline,
};

pub use self::added_lines::{AddedLines, read_added_lines};
pub(crate) use self::base_facts::{BaseFacts, BaseFactsMemory};
pub use self::batch::{CommitListing, CommitSelection, commits_since};
pub(crate) use self::commit::git_user;
pub use self::past_lines::read_drawn_commits;
pub use self::resolve::{ResolvedChange, Spec, parse_change_spec, resolve_change};
pub(crate) use self::single_commits::read_changes;

use self::blobs::Blobs;
use self::comparison::{Comparison, ComparisonTarget};
use self::listing::RawDiffEntry;

/// The most that an answer which is read as a whole may have, in bytes.
pub(crate) const ANSWER: usize = 256 << 20;

/// Bounds on reading a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeLimits {
    /// The most that reading the change may take.
    pub time: Duration,
    /// The most bytes of changed lines that are searched for names.
    pub patch: usize,
    /// The most names that are kept.
    pub identifiers: usize,
    /// The largest untracked file whose lines are counted, in bytes.
    pub untracked: usize,
}

impl Default for ChangeLimits {
    /// Two minutes, 4 MiB of changed lines, 200 names, untracked files of up to 8 MiB.
    fn default() -> Self {
        Self { time: Duration::from_mins(2), patch: 4 << 20, identifiers: 200, untracked: 8 << 20 }
    }
}

/// The facts about the files of a change, and the gaps.
struct ChangeListing {
    entries: Vec<RawDiffEntry>,
    /// Lines added and removed, by the path after the change. `None` for what git takes for binary or can't count.
    lines: BTreeMap<Vec<u8>, Option<LineCounts>>,
    /// The contents that the entries name, looked up.
    blobs: Blobs,
    gaps: Vec<String>,
}

/// The classifier of a path: the attributes of a base, and the rules for paths that they leave open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathClassifier<'a> {
    pub(crate) attributes: &'a GitAttributes,
    pub(crate) rules: &'a PathRules,
}

impl PathClassifier<'_> {
    pub(crate) fn class(&self, path: &RepoPath) -> PathClass {
        classify_path(path, self.attributes, self.rules)
    }
}

/// Reads a change. Files are sorted by path. Attributes and the mailmap are those of its base.
///
/// # Errors
///
/// If git can't list the changed files. Other missing facts are gaps.
pub fn read_change(
    git: &GitProgram,
    repository: &Repository,
    resolved: &ResolvedChange,
    rules: &PathRules,
    limits: &ChangeLimits,
) -> Result<Change, Error> {
    let mut session = Session::new(git, repository.folder(), Deadline::after(limits.time), ANSWER);
    let ids = id_length(&session, resolved)?;
    if resolved.kind == ChangeKind::WorkTree {
        // Comparing a work tree runs filters, and needs the attributes that say how its lines end.
        filters::overrides(&mut session)?;
    } else {
        session = session.without_attributes(ids);
    }
    let attributes = attributes_of(&session, resolved.base.as_ref())?;
    let classifier = PathClassifier { attributes: &attributes, rules };
    let mut comparison = Comparison::of(resolved, ids);
    let mut found = comparison.find(&session)?;
    let mut untracked = Vec::new();
    if resolved.kind == ChangeKind::WorkTree {
        // Files that Proem wrote during set-up are nobody's change as long as they are unedited.
        let set_up = repository.set_up();
        found.entries.retain(|entry| entry.status != FileStatus::Added || !set_up.wrote(entry.path.as_bytes()));
        untracked = work_tree::untracked_files(&session, repository, limits.untracked, &mut found.gaps)?;
        moves::pair_moved_files(&session, &mut found, &mut untracked);
    }
    let ChangedText { names, mut patches } = changed_text(&session, &comparison, classifier, limits, &mut found);
    let ChangeListing { entries, mut lines, blobs, mut gaps } = found;
    let before = blobs.count_lines(&session, entries.iter().filter_map(RawDiffEntry::counted_before));
    let before = before.unwrap_or_else(|error| {
        gaps.push(format!("the lines before the change could not be read: {error}"));
        BTreeMap::new()
    });
    let mut files: Vec<ChangedFile> = Vec::new();
    for entry in entries {
        let counted = lines.remove(entry.path.as_bytes()).flatten();
        files.push(changed_file(entry, counted, &before, classifier));
    }
    excuse_new_versions(&mut files, &patches);
    gaps.extend(work_tree::uncounted_note(&untracked));
    files.extend(untracked.into_iter().map(|file| file.added(classifier)));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    patches.sort_by(|a, b| a.path.cmp(&b.path));
    let (author, subject) = who_and_what(&session, resolved)?;
    Ok(Change {
        kind: resolved.kind,
        id: resolved.id,
        base: resolved.base,
        commits: resolved.commits,
        is_merge: resolved.is_merge,
        at: resolved.at,
        author,
        subject,
        files,
        identifiers: names,
        patches,
        gaps,
    })
}

/// How long the ids are. Only a repository without a commit has to be asked.
fn id_length(session: &Session<'_>, resolved: &ResolvedChange) -> Result<IdLength, Error> {
    if let Some(id) = resolved.id.or(resolved.base) {
        return Ok(IdLength::of(&id));
    }
    session.id_length()
}

/// The attributes of generated, vendored and other files at the base of a change.
///
/// # Errors
///
/// If git can't list the files of the base.
pub fn base_attributes(
    git: &GitProgram,
    repository: &Repository,
    resolved: &ResolvedChange,
) -> Result<GitAttributes, Error> {
    let session = Session::new(git, repository.folder(), Deadline::after(git.limits().history), ANSWER);
    attributes_of(&session, resolved.base.as_ref())
}

fn attributes_of(session: &Session<'_>, base: Option<&ObjectId>) -> Result<GitAttributes, Error> {
    let mut attributes = GitAttributes::default();
    let Some(base) = base else { return Ok(attributes) };
    let mut files = Vec::new();
    let mut rest = Vec::new();
    let mut entry = |entry: &[u8]| {
        let mut parts = entry.splitn(2, |&byte| byte == b'\t');
        let (Some(what), Some(path)) = (parts.next(), parts.next()) else { return };
        let is_one = path == b".gitattributes" || path.ends_with(b"/.gitattributes");
        if is_one && what.starts_with(b"100") {
            files.extend(
                what.rsplit(|&byte| byte == b' ').next().and_then(ObjectId::parse).map(|id| (RepoPath::new(path), id)),
            );
        }
    };
    session.stream(&["ls-tree", "-r", "-z", "--full-tree"], &[&base.to_string()], Vec::new(), &mut |piece| {
        listing::split_fields(&mut rest, piece, &mut entry);
        Ok(())
    })?;
    // Outer folders first, as git applies them.
    files.sort_by_key(|(path, _)| (path.folder().iter().filter(|&&byte| byte == b'/').count(), path.folder().len()));
    let blobs = Blobs::look(session, files.iter().map(|(_, id)| *id))?;
    let texts = blobs.read(session, files.iter().map(|(_, id)| *id), blobs::TEXT)?;
    for (path, text) in files.iter().filter_map(|(path, id)| Some((path, texts.get(id)?))) {
        attributes.add(&RepoPath::new(path.folder()), text);
    }
    Ok(attributes)
}

/// Takes files for ordinary ones if only version numbers in them change. Only edits: a pipeline that is new, gone or
/// renamed does more than take another version.
fn excuse_new_versions(files: &mut [ChangedFile], patches: &[FilePatch]) {
    let updated = patches.iter().filter(|patch| patch.changes_only_versions());
    let updated: BTreeSet<&RepoPath> = updated.map(|patch| &patch.path).collect();
    for file in files.iter_mut().filter(|file| file.status == FileStatus::Modified) {
        if updated.contains(&file.path) {
            file.class.sensitive = None;
        }
    }
}

/// A file of the change, with lines before and after where they are known.
fn changed_file(
    entry: RawDiffEntry,
    lines: Option<LineCounts>,
    before: &BTreeMap<ObjectId, Option<u32>>,
    classifier: PathClassifier<'_>,
) -> ChangedFile {
    let kind = entry.kind();
    // A link has its target for a line, and a submodule its commit.
    let lines = lines.filter(|_| kind == FileKind::Regular);
    let lines_before = match (entry.status, lines) {
        (FileStatus::Added, _) => Some(0),
        (_, None) => None,
        // All its lines were removed, so its blob needn't be read.
        (FileStatus::Deleted, Some(lines)) => Some(lines.removed),
        (_, Some(_)) => entry.old.as_ref().and_then(|old| before.get(old).copied().flatten()),
    };
    let lines_after = match (entry.status, lines, lines_before) {
        (FileStatus::Deleted, ..) => Some(0),
        (_, Some(lines), Some(before)) => before.saturating_add(lines.added).checked_sub(lines.removed),
        _ => None,
    };
    let class = classifier.class(&entry.path);
    let RawDiffEntry { path, from, status, .. } = entry;
    ChangedFile { path, before: from, status, kind, class, lines, lines_before, lines_after }
}

/// The facts in the changed lines.
#[derive(Default)]
struct ChangedText {
    /// The names in them.
    names: Vec<String>,
    /// The lines. None of them if they are too many.
    patches: Vec<FilePatch>,
}

/// The changed lines of files that somebody wrote.
fn changed_text(
    session: &Session<'_>,
    comparison: &Comparison,
    classifier: PathClassifier<'_>,
    limits: &ChangeLimits,
    found: &mut ChangeListing,
) -> ChangedText {
    let ChangeListing { entries, blobs, gaps, .. } = found;
    // Git fetches nothing here, so a patch fails as a whole where one content is missing.
    if blobs.any_missing() {
        gaps.push("names in changed lines could not be read: some contents are not in this clone".to_owned());
        return ChangedText::default();
    }
    // To git a file that was moved behind its back is gone.
    let moved: BTreeSet<&RepoPath> = entries.iter().filter_map(|entry| entry.from.as_ref()).collect();
    let is_written = |path: &RepoPath| !moved.contains(path) && identifiers::is_written(&classifier.class(path));
    let is_told = |path: &RepoPath| !moved.contains(path) && identifiers::has_telling_lines(&classifier.class(path));
    let mut names = identifiers::PatchIdentifiers::new(limits.patch, limits.identifiers, is_written);
    let mut lines = PatchLines { left: limits.patch, reader: PatchReader::default(), files: Vec::new() };
    let read = comparison.patch(session, &mut |piece| {
        let wants_more = names.take(piece);
        lines.take(piece, &is_told) || wants_more
    });
    let names = names.into_names();
    match read {
        Ok(()) => {
            let patches = lines.end(&is_told).unwrap_or_else(|| {
                gaps.push(format!("changed lines beyond {} MiB are not looked at", limits.patch >> 20));
                Vec::new()
            });
            ChangedText { names, patches }
        }
        Err(error) => {
            gaps.push(format!("names in changed lines could not be read: {error}"));
            // Names of a part are names. Of lines that were seen in part nobody knows what else changes.
            ChangedText { names, ..ChangedText::default() }
        }
    }
}

/// Collects the changed lines of wanted files, up to a bound.
struct PatchLines {
    /// How many more bytes are looked at.
    left: usize,
    reader: PatchReader,
    files: Vec<FilePatch>,
}

impl PatchLines {
    /// Takes the next piece. False once there were too many.
    fn take(&mut self, piece: &[u8], is_wanted: &dyn Fn(&RepoPath) -> bool) -> bool {
        self.left = self.left.saturating_sub(piece.len());
        if self.left > 0 {
            let items = self.reader.take(piece);
            self.keep(items, is_wanted);
        }
        self.left > 0
    }

    fn keep(&mut self, items: Vec<PatchItem>, is_wanted: &dyn Fn(&RepoPath) -> bool) {
        self.files.extend(items.into_iter().filter_map(PatchItem::into_file).filter(|file| is_wanted(&file.path)));
    }

    /// The files. `None` if there were too many lines: a part of a change is another change.
    fn end(mut self, is_wanted: &dyn Fn(&RepoPath) -> bool) -> Option<Vec<FilePatch>> {
        if self.left == 0 {
            return None;
        }
        let rest = std::mem::take(&mut self.reader).end();
        self.keep(rest, is_wanted);
        Some(self.files)
    }
}

/// The author of a change, and the beginning of its message.
fn who_and_what(session: &Session<'_>, resolved: &ResolvedChange) -> Result<(Option<Person>, String), Error> {
    let mailmap = match &resolved.base {
        Some(base) => crate::history::file_at(session, base, ".mailmap", &mut Vec::new())?,
        None => Vec::new(),
    };
    let mailmap = Mailmap::read(&mailmap);
    match (resolved.kind, &resolved.id) {
        (ChangeKind::Commit, Some(id)) => {
            let commit = commit::read_commit(session, id)?;
            Ok((Some(mailmap.person(&commit.author.0, &commit.author.1)), commit.subject))
        }
        (ChangeKind::Range, Some(id)) => {
            let author = batch::only_author(session, resolved.base.as_ref(), id, &mailmap)?;
            Ok((author, commit::read_commit(session, id)?.subject))
        }
        _ => Ok((commit::git_user(session).map(|(name, mail)| mailmap.person(&name, &mail)), String::new())),
    }
}

/// The side of the index that a comparison looks at.
impl From<ChangeKind> for ComparisonTarget {
    fn from(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Commit | ChangeKind::Range => Self::Trees,
            ChangeKind::Staged => Self::Index,
            ChangeKind::WorkTree => Self::WorkTree,
        }
    }
}
