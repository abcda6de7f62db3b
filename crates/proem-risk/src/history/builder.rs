//! Puts listed commits together.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use super::header::CommitHeader;
use super::order::{can_be, order_commits};
use super::people::People;
use super::table::{JaggedTable, index_to_u32, index_to_usize};
use super::{
    Commit, CommitIndex, History, HistoryGaps, HistoryRecord, ListedCommit, ObjectId, PathId, SUBJECT, UnlinkedTouch,
};
use crate::identity::{Mailmap, Person};
use crate::path::RepoPath;
use crate::{Error, ErrorKind};

/// The place of a commit that is not part of the history.
const NOWHERE: u32 = u32::MAX;

/// Puts listed commits into a history, onto one that was kept or onto nothing.
///
/// Commits may come in any order and more than once. Paths and identities are kept once.
#[derive(Debug, Default)]
pub struct HistoryBuilder {
    commits: Vec<CommitHeader>,
    /// A row for each commit, as in the next two.
    parents: JaggedTable<ObjectId>,
    touched: JaggedTable<UnlinkedTouch>,
    subjects: JaggedTable<u8>,
    paths: BTreeMap<RepoPath, u32>,
    /// The numbers of the identities that authors have.
    identities: BTreeMap<Person, u32>,
    mailmap: Mailmap,
    tips: Option<Vec<ObjectId>>,
    most: Option<u32>,
    since: Option<i64>,
}

/// Numbers of old to numbers of those that are kept.
struct Renumbered<T> {
    kept: Vec<T>,
    numbers: Vec<u32>,
}

impl HistoryBuilder {
    /// A builder that begins with a history, or with nothing.
    #[must_use]
    pub fn new(kept: Option<History>) -> Self {
        let mut builder = Self::default();
        let Some(History { kept, .. }) = kept else { return builder };
        let id = |index: &CommitIndex| kept.commits.get(index_to_usize(index.0)).map(|commit| commit.id);
        let headers = kept.commits.iter().zip(&kept.dates).zip(&kept.identity_of);
        for (((commit, &date), &identity), parents) in headers.zip(kept.parents.iter()) {
            builder.commits.push(CommitHeader {
                id: commit.id,
                date,
                identity,
                is_merge: commit.is_merge,
                mends: commit.mends,
            });
            parents.iter().filter_map(id).for_each(|parent| builder.parents.push(parent));
            builder.parents.end();
        }
        builder.touched = kept.touched;
        builder.subjects = kept.subjects;
        builder.paths = kept.paths.into_iter().zip(0..).collect();
        builder.identities = kept.identities.into_iter().zip(0..).collect();
        builder
    }

    /// Sets the mailmap that says which identities are one person. Without one each mail address is a person.
    #[must_use]
    pub fn mailmap(mut self, mailmap: Mailmap) -> Self {
        self.mailmap = mailmap;
        self
    }

    /// Keeps only `tips` and their ancestors.
    #[must_use]
    pub fn tips(mut self, tips: Vec<ObjectId>) -> Self {
        self.tips = Some(tips);
        self
    }

    /// Keeps only the newest `most` commits.
    #[must_use]
    pub const fn most(mut self, most: u32) -> Self {
        self.most = Some(most);
        self
    }

    /// Keeps only commits that were not made before `since`, in seconds since 1970.
    #[must_use]
    pub const fn since(mut self, since: i64) -> Self {
        self.since = Some(since);
        self
    }

    /// Adds a commit.
    pub fn add(&mut self, listed: ListedCommit) {
        let ListedCommit { id, parents, at: date, author, subject, mends, touches } = listed;
        let identity = self.identity(author);
        self.commits.push(CommitHeader { id, date, identity, is_merge: parents.len() > 1, mends });
        parents.into_iter().for_each(|parent| self.parents.push(parent));
        self.parents.end();
        for touch in touches {
            let path = PathId(self.path(touch.path));
            let from = touch.from.map(|from| PathId(self.path(from)));
            self.touched.push(UnlinkedTouch { path, from, status: touch.status });
        }
        self.touched.end();
        let end = subject.floor_char_boundary(SUBJECT);
        subject.bytes().take(end).for_each(|byte| self.subjects.push(byte));
        self.subjects.end();
    }

    /// How many commits were added or kept, those that came twice counted twice.
    #[must_use]
    pub fn len(&self) -> u32 {
        index_to_u32(self.commits.len())
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// The history. `now` is the caller's clock in seconds since 1970, which decides about dates that can't be true.
    /// `ignored` are the commits that `.git-blame-ignore-revs` names. `missing` is what the caller knows to be missing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] if a commit is its own ancestor.
    pub fn finish(self, now: i64, ignored: &[ObjectId], missing: HistoryGaps) -> Result<History, Error> {
        match self.put_together(now, ignored, missing) {
            (history, 0) => Ok(history),
            (_, circular) => {
                Err(Error::new(ErrorKind::Damaged, alloc::format!("{circular} commits are their own ancestors")))
            }
        }
    }

    /// The history, and how many commits are not part of it because they are their own ancestors.
    pub(super) fn put_together(mut self, now: i64, ignored: &[ObjectId], missing: HistoryGaps) -> (History, usize) {
        let mut by_id: Vec<(ObjectId, u32)> = self.commits.iter().map(|commit| commit.id).zip(0..).collect();
        by_id.sort_unstable();
        by_id.dedup_by_key(|(id, _)| *id);
        let find = |id: &ObjectId| {
            let at = by_id.binary_search_by_key(id, |&(id, _)| id).ok()?;
            by_id.get(at).map(|&(_, place)| place)
        };
        let mut parents = JaggedTable::with_capacity(self.commits.len(), self.parents.items());
        for row in self.parents.iter() {
            row.iter().filter_map(find).for_each(|place| parents.push(place));
            parents.end();
        }
        let mut order = order_commits(&self.commits, &parents, now);
        let circular = self.commits.len().saturating_sub(order.len());
        order.retain(|(place, _)| {
            self.commits.get(index_to_usize(*place)).and_then(|commit| find(&commit.id)) == Some(*place)
        });
        if let Some(tips) = &self.tips {
            let reached = reachable_places(tips.iter().filter_map(find), &order, &parents, self.commits.len());
            order.retain(|(place, _)| reached.get(index_to_usize(*place)).copied().unwrap_or_default());
        }
        drop(by_id);
        let missing = self.trim(&mut order, missing, now);
        let (kept, people) = self.permute(&order, &parents, &ignored.iter().copied().collect(), missing);
        (History::arrange(kept, people), circular)
    }

    /// Drops what is too old or too much, and says what is missing then.
    fn trim(&self, order: &mut Vec<(u32, i64)>, mut missing: HistoryGaps, now: i64) -> HistoryGaps {
        if let Some(since) = self.since {
            order.retain(|&(_, at)| at >= since);
            missing.since = Some(since);
        }
        let excess = self.most.map_or(0, |most| order.len().saturating_sub(index_to_usize(most)));
        if excess > 0 {
            order.drain(..excess);
            missing.capped = true;
        }
        let commits = order.iter().filter_map(|(place, _)| self.commits.get(index_to_usize(*place)));
        let misdated = commits.filter(|commit| !can_be(commit.date, now)).count();
        missing.misdated = index_to_u32(misdated);
        missing
    }

    fn permute(
        &mut self,
        order: &[(u32, i64)],
        parents: &JaggedTable<u32>,
        ignored: &BTreeSet<ObjectId>,
        missing: HistoryGaps,
    ) -> (HistoryRecord, People) {
        let mut places = vec![NOWHERE; self.commits.len()];
        for (index, &(place, _)) in order.iter().enumerate() {
            if let Some(new) = places.get_mut(index_to_usize(place)) {
                *new = index_to_u32(index);
            }
        }
        // Of paths and identities only those are kept that a kept commit names, so they get new numbers, as commits do.
        let paths = self.renumber_paths(order);
        let identities = self.renumber_identities(order);
        let people = People::of(&identities.kept, &self.mailmap);
        let path = |path: PathId| PathId(new_number(&paths.numbers, path.0));
        let mut kept = HistoryRecord {
            commits: Vec::with_capacity(order.len()),
            dates: Vec::with_capacity(order.len()),
            parents: JaggedTable::with_capacity(order.len(), order.len()),
            touched: JaggedTable::with_capacity(order.len(), self.touched.items()),
            subjects: JaggedTable::with_capacity(order.len(), self.subjects.items()),
            paths: Vec::new(),
            identities: identities.kept,
            identity_of: Vec::with_capacity(order.len()),
            missing,
        };
        for &(place, at) in order {
            let Some(&CommitHeader { id, date, identity, is_merge, mends }) = self.commits.get(index_to_usize(place))
            else {
                continue;
            };
            let identity = new_number(&identities.numbers, identity);
            let author = people.person_of(identity);
            kept.commits.push(Commit { id, at, author, is_merge, is_ignored: ignored.contains(&id), mends });
            kept.dates.push(date);
            kept.identity_of.push(identity);
            // A parent that was cut off, or that the clone doesn't have, is none: the history begins with this commit.
            let parents = parents.row(place).iter().map(|&parent| new_number(&places, parent));
            parents.filter(|&parent| parent != NOWHERE).for_each(|parent| kept.parents.push(CommitIndex(parent)));
            kept.parents.end();
            for touch in self.touched.row(place) {
                kept.touched.push(UnlinkedTouch {
                    path: path(touch.path),
                    from: touch.from.map(path),
                    status: touch.status,
                });
            }
            kept.touched.end();
            self.subjects.row(place).iter().for_each(|&byte| kept.subjects.push(byte));
            kept.subjects.end();
        }
        kept.paths = paths.kept;
        (kept, people)
    }

    /// The paths that are still touched, by their bytes.
    fn renumber_paths(&mut self, order: &[(u32, i64)]) -> Renumbered<RepoPath> {
        let mut used = vec![false; self.paths.len()];
        for touch in order.iter().flat_map(|&(place, _)| self.touched.row(place)) {
            for path in [Some(touch.path), touch.from].into_iter().flatten() {
                mark_used(&mut used, path.0);
            }
        }
        renumber(core::mem::take(&mut self.paths).into_iter().map(|(path, number)| (number, path)), &used)
    }

    /// The identities that still wrote something, by mail address and name.
    fn renumber_identities(&mut self, order: &[(u32, i64)]) -> Renumbered<Person> {
        let mut used = vec![false; self.identities.len()];
        order
            .iter()
            .filter_map(|&(place, _)| self.commits.get(index_to_usize(place)))
            .for_each(|commit| mark_used(&mut used, commit.identity));
        let identities = core::mem::take(&mut self.identities).into_iter();
        renumber(identities.map(|(identity, number)| (number, identity)), &used)
    }

    fn path(&mut self, path: RepoPath) -> u32 {
        let next = index_to_u32(self.paths.len());
        *self.paths.entry(path).or_insert(next)
    }

    fn identity(&mut self, identity: Person) -> u32 {
        let next = index_to_u32(self.identities.len());
        *self.identities.entry(identity).or_insert(next)
    }
}

/// The places that some tips reach, themselves included. Children are behind their parents in `order`.
fn reachable_places(
    tips: impl Iterator<Item = u32>,
    order: &[(u32, i64)],
    parents: &JaggedTable<u32>,
    places: usize,
) -> Vec<bool> {
    let mut reached = vec![false; places];
    tips.for_each(|tip| mark_used(&mut reached, tip));
    for &(place, _) in order.iter().rev() {
        if reached.get(index_to_usize(place)).copied().unwrap_or_default() {
            parents.row(place).iter().for_each(|&parent| mark_used(&mut reached, parent));
        }
    }
    reached
}

fn mark_used(used: &mut [bool], number: u32) {
    if let Some(used) = used.get_mut(index_to_usize(number)) {
        *used = true;
    }
}

fn new_number(numbers: &[u32], old: u32) -> u32 {
    numbers.get(index_to_usize(old)).copied().unwrap_or(NOWHERE)
}

fn renumber<T>(all: impl Iterator<Item = (u32, T)>, used: &[bool]) -> Renumbered<T> {
    let mut renumbered = Renumbered { kept: Vec::new(), numbers: vec![NOWHERE; used.len()] };
    for (old, item) in all.filter(|(old, _)| used.get(index_to_usize(*old)).copied().unwrap_or_default()) {
        if let Some(number) = renumbered.numbers.get_mut(index_to_usize(old)) {
            *number = index_to_u32(renumbered.kept.len());
        }
        renumbered.kept.push(item);
    }
    renumbered
}
