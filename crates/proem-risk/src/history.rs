//! Git's knowledge of the past, in a form that metrics can count over.
//!
//! Commits are kept in topological order, parents before children, and by date where that leaves a choice. A merge
//! touches nothing. A file is one through exact renames ([`FileId`]), a path is a name that it had ([`PathId`]). The
//! order and all numbers follow from the commits alone, never from the order in which they were read: a history that
//! was kept and continued equals one that was read at once.

mod builder;
mod bytes;
mod header;
mod lineage;
mod order;
mod past;
mod people;
mod table;

pub use self::builder::HistoryBuilder;
pub use self::past::{Past, UncountedCommits};
pub use crate::id::ObjectId;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use self::lineage::Lineage;
use self::people::People;
use self::table::{JaggedTable, index_to_usize};
use crate::Error;
use crate::change::FileStatus;
use crate::identity::{Mailmap, Person, is_bot};
use crate::path::RepoPath;

/// A commit, by its place in topological order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitIndex(pub u32);

/// A path that some file had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathId(pub u32);

/// A file, whatever paths it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// An author or committer, numbered within one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PersonId(pub u32);

/// One commit of the past, with its author and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// The hash by which git names it.
    pub id: ObjectId,
    /// When it was committed, in seconds since 1970, corrected: a date that can't be true (before 1990,
    /// or after the caller's clock by more than a day) counts as that of the newest parent, and without a
    /// parent as the oldest date of the history that can be true (0 if there is none).
    pub at: i64,
    /// The person, after the mailmap.
    pub author: PersonId,
    /// Whether it has more than one parent. A merge touches nothing.
    pub is_merge: bool,
    /// Whether `.git-blame-ignore-revs` names it.
    pub is_ignored: bool,
    /// Its message's claim of mending.
    pub mends: Mends,
}

/// A commit's claim of mending, by its words and trailers. Closing an issue is no claim, and documentation, lint,
/// versions and changelogs are nothing to mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mends {
    /// No word of its message says that it mends anything.
    Nothing,
    /// It fixes something: a keyword in its first line, or a trailer that names a commit or a bug.
    Fix,
    /// It reverts another commit.
    Revert,
}

/// A file that a commit touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// Its path after the commit. Before it for a deleted one.
    pub path: PathId,
    /// Its path before an exact rename.
    pub from: Option<PathId>,
    /// The file's place in the history's table.
    pub file: FileId,
    /// How it changed.
    pub status: crate::change::FileStatus,
}

/// The missing parts of the history, with reasons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryGaps {
    /// A shallow clone: older commits aren't there.
    pub shallow: bool,
    /// A partial clone: some blobs aren't there.
    pub partial: bool,
    /// Commits beyond the most that are read.
    pub capped: bool,
    /// The beginning of the window that was asked for, in seconds since 1970: older commits were not read.
    pub since: Option<i64>,
    /// Commits whose date could not be true.
    pub misdated: u32,
}

/// A commit as git lists it, before it is put in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommit {
    /// The hash by which git names it.
    pub id: ObjectId,
    /// The commits it follows, the first parent first.
    pub parents: Vec<ObjectId>,
    /// The committer's date, in seconds since 1970, as it is there.
    pub at: i64,
    /// The author as git names one, before the mailmap.
    pub author: Person,
    /// The first line of its message, at most 200 bytes.
    pub subject: String,
    /// The claim of mending of its message and its files.
    pub mends: Mends,
    /// The touched files. Empty for a merge.
    pub touches: Vec<ListedTouch>,
}

/// A touched file as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTouch {
    /// Its path. The new one of a rename.
    pub path: RepoPath,
    /// Its path before an exact rename.
    pub from: Option<RepoPath>,
    /// How it changed.
    pub status: crate::change::FileStatus,
}

/// The history of a repository up to some commit.
///
/// 100,000 commits with 500,000 touched files take some 60 MB.
#[derive(Debug, Clone)]
pub struct History {
    kept: HistoryRecord,
    /// The persons behind the identities.
    people: People,
    /// The touched files of each commit.
    touches: JaggedTable<Touch>,
    /// Commits by their ids.
    by_id: Vec<CommitIndex>,
    /// The commits that touched each file, oldest first.
    by_file: JaggedTable<CommitIndex>,
    /// The commits that name each path, before or after, oldest first.
    by_path: JaggedTable<CommitIndex>,
    /// The commits of each person, oldest first.
    by_person: JaggedTable<CommitIndex>,
    /// The first person with the name of each.
    namesakes: Vec<PersonId>,
    /// The commits of all persons with a name, oldest first, at the first of them.
    by_name: JaggedTable<CommitIndex>,
    /// The last path of each file.
    last_paths: Vec<PathId>,
    /// Marks the persons that are programs.
    bots: Vec<bool>,
    /// The path of what there is not.
    nowhere: RepoPath,
}

/// The written part of a history. All else follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HistoryRecord {
    /// The commits, parents before children.
    commits: Vec<Commit>,
    /// Their dates as they are there: another clock may believe more of them.
    dates: Vec<i64>,
    /// The identity of the author of each: another mailmap may find other persons.
    identity_of: Vec<u32>,
    /// The parents of each, as far as they are part of the history.
    parents: JaggedTable<CommitIndex>,
    /// The touched files of each.
    touched: JaggedTable<UnlinkedTouch>,
    /// The paths, by their bytes.
    paths: Vec<RepoPath>,
    /// The identities of authors, by mail address and name.
    identities: Vec<Person>,
    /// The first lines of the messages.
    subjects: JaggedTable<u8>,
    missing: HistoryGaps,
}

/// A [`Touch`] before it is known which file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UnlinkedTouch {
    path: PathId,
    from: Option<PathId>,
    status: FileStatus,
}

/// The most bytes that are kept of the first line of a message.
const SUBJECT: usize = 200;

static NOBODY: Person = Person { mail: String::new(), name: String::new() };

/// The first person with the name of each, in any case. Persons without a name are alone.
fn first_namesakes(persons: &[Person]) -> Vec<PersonId> {
    let mut first: BTreeMap<String, PersonId> = BTreeMap::new();
    let numbered = (0..).map(PersonId).zip(persons);
    let namesake = |(number, person): (PersonId, &Person)| match person.name.as_str() {
        "" => number,
        name => *first.entry(name.to_lowercase()).or_insert(number),
    };
    numbered.map(namesake).collect()
}

impl History {
    /// A history of these commits, oldest first, for tests and small histories.
    ///
    /// Ids are the caller's. A parent that is not among the commits is left out, and so is a commit that is
    /// its own ancestor.
    #[must_use]
    pub fn of(listed: Vec<ListedCommit>, now: i64) -> Self {
        let mut builder = HistoryBuilder::new(None);
        for commit in listed {
            builder.add(commit);
        }
        builder.put_together(now, &[], HistoryGaps::default()).0
    }

    fn arrange(kept: HistoryRecord, people: People) -> Self {
        let Lineage { touches, last_paths } = Lineage::of(&kept.touched, kept.paths.len());
        let commits = || (0..).map(CommitIndex).zip(&kept.commits);
        let mut by_id: Vec<CommitIndex> = commits().map(|(index, _)| index).collect();
        let id = |index: &CommitIndex| kept.commits.get(index_to_usize(index.0)).map(|commit| commit.id);
        by_id.sort_unstable_by_key(id);
        let named = |touch: &Touch| [Some(touch.path), touch.from].into_iter().flatten();
        let rows = || (0..).map(CommitIndex).zip(touches.iter());
        let by_path = rows().flat_map(|(index, row)| row.iter().flat_map(named).map(move |path| (path.0, index)));
        let by_path = JaggedTable::grouped(table::index_to_u32(kept.paths.len()), by_path);
        let by_file =
            JaggedTable::grouped(table::index_to_u32(last_paths.len()), distinct_files(&touches).iter().copied());
        let by_author = |commits: &[Commit], row: &dyn Fn(PersonId) -> Option<PersonId>| {
            let pairs = (0..).map(CommitIndex).zip(commits);
            let pairs = pairs.filter_map(|(index, commit)| Some((row(commit.author)?.0, index)));
            JaggedTable::grouped(table::index_to_u32(people.persons.len()), pairs)
        };
        let by_person = by_author(&kept.commits, &Some);
        let namesakes = first_namesakes(&people.persons);
        let by_name = by_author(&kept.commits, &|author| namesakes.get(index_to_usize(author.0)).copied());
        let bots = people.persons.iter().map(is_bot).collect();
        Self {
            kept,
            people,
            touches,
            by_id,
            by_file,
            by_path,
            by_person,
            namesakes,
            by_name,
            last_paths,
            bots,
            nowhere: RepoPath::new(Vec::new()),
        }
    }

    /// Every commit, parents before children.
    #[must_use]
    pub fn commits(&self) -> &[Commit] {
        &self.kept.commits
    }

    /// The commit at this place. `None` beyond the last.
    #[must_use]
    pub fn commit(&self, commit: CommitIndex) -> Option<&Commit> {
        self.kept.commits.get(index_to_usize(commit.0))
    }

    /// The parents of a commit that are part of the history.
    #[must_use]
    pub fn parents(&self, commit: CommitIndex) -> &[CommitIndex] {
        self.kept.parents.row(commit.0)
    }

    /// The touched files of a commit.
    #[must_use]
    pub fn touches(&self, commit: CommitIndex) -> &[Touch] {
        self.touches.row(commit.0)
    }

    /// The commits that touched a file, oldest first.
    #[must_use]
    pub fn touching(&self, file: FileId) -> &[CommitIndex] {
        self.by_file.row(file.0)
    }

    /// The commits of a person, oldest first.
    #[must_use]
    pub fn by(&self, person: PersonId) -> &[CommitIndex] {
        self.by_person.row(person.0)
    }

    /// Whether two persons are one, perhaps under two addresses.
    #[must_use]
    pub fn is_namesake(&self, one: PersonId, other: PersonId) -> bool {
        let first = |person: PersonId| self.namesakes.get(index_to_usize(person.0));
        one == other || first(one).is_some_and(|name| first(other) == Some(name))
    }

    /// The commits of a person under any address, oldest first: a person who changes the address keeps the name.
    #[must_use]
    pub fn by_name_of(&self, person: PersonId) -> &[CommitIndex] {
        self.namesakes.get(index_to_usize(person.0)).map_or(&[], |first| self.by_name.row(first.0))
    }

    /// The commit with an id.
    #[must_use]
    pub fn find(&self, id: &ObjectId) -> Option<CommitIndex> {
        let place = self.by_id.binary_search_by_key(&Some(id), |&index| self.commit(index).map(|commit| &commit.id));
        self.by_id.get(place.ok()?).copied()
    }

    /// The commits that no other commit has for a parent. All others are their ancestors.
    #[must_use]
    pub fn heads(&self) -> Vec<ObjectId> {
        let parents: BTreeSet<CommitIndex> = self.kept.parents.iter().flatten().copied().collect();
        let commits = (0..).map(CommitIndex).zip(&self.kept.commits);
        commits.filter(|(index, _)| !parents.contains(index)).map(|(_, commit)| commit.id).collect()
    }

    /// A path. Empty if there is no such path.
    #[must_use]
    pub fn path(&self, path: PathId) -> &RepoPath {
        self.kept.paths.get(index_to_usize(path.0)).unwrap_or(&self.nowhere)
    }

    /// The path with these bytes.
    #[must_use]
    pub fn find_path(&self, path: &RepoPath) -> Option<PathId> {
        self.kept.paths.binary_search(path).ok().map(|at| PathId(table::index_to_u32(at)))
    }

    /// The last path of a file. Empty if there is no such file.
    #[must_use]
    pub fn last_path(&self, file: FileId) -> &RepoPath {
        self.last_paths.get(index_to_usize(file.0)).map_or(&self.nowhere, |&path| self.path(path))
    }

    /// How many files there were.
    #[must_use]
    pub fn files(&self) -> u32 {
        table::index_to_u32(self.last_paths.len())
    }

    /// A person. Nobody, without name and address, if there is no such person.
    #[must_use]
    pub fn person(&self, person: PersonId) -> &Person {
        self.people.persons.get(index_to_usize(person.0)).unwrap_or(&NOBODY)
    }

    /// Whether a person is a program.
    #[must_use]
    pub fn is_bot(&self, person: PersonId) -> bool {
        self.bots.get(index_to_usize(person.0)).copied().unwrap_or_default()
    }

    /// The person with a mail address.
    #[must_use]
    pub fn person_with(&self, mail: &str) -> Option<PersonId> {
        let at = self.people.persons.binary_search_by(|person| person.mail.as_str().cmp(mail)).ok()?;
        Some(PersonId(table::index_to_u32(at)))
    }

    /// The first line of a commit's message. From outside.
    #[must_use]
    pub fn subject(&self, commit: CommitIndex) -> &str {
        // Written subjects are text. A cache is checked when it is read.
        core::str::from_utf8(self.kept.subjects.row(commit.0)).unwrap_or_default()
    }

    /// Its gaps.
    #[must_use]
    pub const fn missing(&self) -> HistoryGaps {
        self.kept.missing
    }

    /// The past up to `tip`, it and its ancestors. Nothing if there is no such commit.
    #[must_use]
    pub fn past(&self, tip: CommitIndex) -> Past<'_> {
        Past::of(self, tip)
    }

    /// The commits before `commit` in topological order: its ancestors, and commits on other branches by then. Cheap;
    /// for samples.
    #[must_use]
    pub fn before(&self, commit: CommitIndex) -> Past<'_> {
        Past::first(self, commit.0.min(table::index_to_u32(self.kept.commits.len())))
    }

    /// The past of a change that begins the history: nothing.
    #[must_use]
    pub const fn nothing(&self) -> Past<'_> {
        Past::first(self, 0)
    }

    /// Whether putting it together anew from the same tips would change nothing but its gaps: all its dates can be true,
    /// before and at `now`, and `ignored` names what is ignored already.
    #[must_use]
    pub fn holds_at(&self, now: i64, ignored: &[ObjectId]) -> bool {
        let HistoryGaps { since, misdated, .. } = self.kept.missing;
        let ignored: BTreeSet<&ObjectId> = ignored.iter().collect();
        since.is_none()
            && misdated == 0
            && self.kept.dates.iter().all(|date| order::can_be(*date, now))
            && self.kept.commits.iter().all(|commit| commit.is_ignored == ignored.contains(&commit.id))
    }

    /// It with what the caller knows to be missing.
    #[must_use]
    pub const fn with_gaps(mut self, missing: HistoryGaps) -> Self {
        self.kept.missing = missing;
        self
    }

    /// It as bytes, for a cache.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::write_history(&self.kept)
    }

    /// It as [`Self::to_bytes`] wrote it, with the persons that a mailmap finds: bytes hold for any.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Damaged`] if the bytes are anything else.
    pub fn from_bytes(bytes: &[u8], mailmap: &Mailmap) -> Result<Self, Error> {
        let mut kept = bytes::read_history_bytes(bytes)?;
        let people = People::of(&kept.identities, mailmap);
        let identified = kept.commits.iter_mut().zip(&kept.identity_of);
        identified.for_each(|(commit, &identity)| commit.author = people.person_of(identity));
        Ok(Self::arrange(kept, people))
    }
}

/// Each file that each commit touched, once even where the commit touched it by two of its paths.
fn distinct_files(touches: &JaggedTable<Touch>) -> Vec<(u32, CommitIndex)> {
    let mut pairs = Vec::with_capacity(touches.items());
    let mut files = Vec::new();
    for (index, row) in (0..).zip(touches.iter()) {
        files.extend(row.iter().map(|touch| touch.file.0));
        files.sort_unstable();
        files.dedup();
        pairs.extend(files.drain(..).map(|file| (file, CommitIndex(index))));
    }
    pairs
}

/// Equal histories were made of the same commits; what follows from these is not compared.
impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.kept == other.kept
    }
}

impl Eq for History {}

#[cfg(test)]
mod tests;
