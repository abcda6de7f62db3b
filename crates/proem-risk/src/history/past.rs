//! The past before a change.

use alloc::vec;
use alloc::vec::Vec;

use super::table::{index_to_u32, index_to_usize};
use super::{Commit, CommitIndex, FileId, History, PathId};
use crate::change::FileStatus;
use crate::path::RepoPath;

/// The part of a history that precedes a change.
#[derive(Debug, Clone)]
pub struct Past<'h> {
    history: &'h History,
    /// No commit from here on is part of it.
    end: u32,
    /// The ancestors among those before the end, one bit each. `None` if all are.
    ancestors: Option<Vec<u64>>,
}

/// Commits of a past that no metric counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UncountedCommits {
    /// Commits with more than one parent.
    pub merges: u32,
    /// Commits of programs.
    pub bots: u32,
    /// Commits that `.git-blame-ignore-revs` names.
    pub ignored: u32,
}

/// Why no metric counts a commit.
enum Why {
    Merge,
    Bot,
    Ignored,
}

impl<'h> Past<'h> {
    /// The first commits of a history.
    pub(super) const fn first(history: &'h History, end: u32) -> Self {
        Self { history, end, ancestors: None }
    }

    /// A commit and its ancestors.
    pub(super) fn of(history: &'h History, tip: CommitIndex) -> Self {
        if history.commit(tip).is_none() {
            return Self::first(history, 0);
        }
        let end = tip.0.saturating_add(1);
        let mut bits = vec![0_u64; index_to_usize(end).div_ceil(64)];
        set_bit(&mut bits, tip.0);
        // Parents are before their children: one walk down finds all.
        for index in (0..end).rev() {
            if is_set(&bits, index) {
                history.parents(CommitIndex(index)).iter().for_each(|parent| set_bit(&mut bits, parent.0));
            }
        }
        Self { history, end, ancestors: Some(bits) }
    }

    /// The whole history.
    #[must_use]
    pub const fn history(&self) -> &'h History {
        self.history
    }

    /// Whether a commit is part of it.
    #[must_use]
    pub fn contains(&self, commit: CommitIndex) -> bool {
        commit.0 < self.end && self.ancestors.as_ref().is_none_or(|bits| is_set(bits, commit.0))
    }

    /// Its commits that count, newest first: no merges, bots or ignored ones.
    pub fn commits(&self) -> impl Iterator<Item = (CommitIndex, &'h Commit)> {
        self.all().filter(|(_, commit)| self.why_not(commit).is_none())
    }

    /// Its counted commits that touched a file, newest first.
    pub fn touching(&self, file: FileId) -> impl Iterator<Item = (CommitIndex, &'h Commit)> {
        self.history
            .touching(file)
            .iter()
            .rev()
            .filter(|&&commit| self.contains(commit))
            .filter_map(|&index| self.history.commit(index).map(|commit| (index, commit)))
            .filter(|(_, commit)| self.why_not(commit).is_none())
    }

    /// The file that had a path when this past ended. `None` if it was deleted or has another name since.
    #[must_use]
    pub fn file(&self, path: &RepoPath) -> Option<FileId> {
        let path = self.history.find_path(path)?;
        let named = self.history.by_path.row(path.0);
        let last = named.iter().rev().find(|&&commit| self.contains(commit))?;
        self.last_of(*last, path)
    }

    /// The file behind a path after a commit that names it.
    fn last_of(&self, commit: CommitIndex, path: PathId) -> Option<FileId> {
        let mut touches = self.history.touches(commit).iter();
        touches.find(|touch| touch.path == path && touch.status != FileStatus::Deleted).map(|touch| touch.file)
    }

    /// The commits that no metric counts.
    #[must_use]
    pub fn left_out(&self) -> UncountedCommits {
        let mut left_out = UncountedCommits::default();
        for (_, commit) in self.all() {
            match self.why_not(commit) {
                Some(Why::Merge) => left_out.merges += 1,
                Some(Why::Bot) => left_out.bots += 1,
                Some(Why::Ignored) => left_out.ignored += 1,
                None => {}
            }
        }
        left_out
    }

    fn all(&self) -> impl Iterator<Item = (CommitIndex, &'h Commit)> {
        let commits = self.history.commits().get(..index_to_usize(self.end)).unwrap_or_default();
        let commits =
            commits.iter().enumerate().rev().map(|(index, commit)| (CommitIndex(index_to_u32(index)), commit));
        commits.filter(|&(index, _)| self.contains(index))
    }

    fn why_not(&self, commit: &Commit) -> Option<Why> {
        if commit.is_merge {
            Some(Why::Merge)
        } else if self.history.is_bot(commit.author) {
            Some(Why::Bot)
        } else {
            commit.is_ignored.then_some(Why::Ignored)
        }
    }
}

fn set_bit(bits: &mut [u64], at: u32) {
    if let Some(word) = bits.get_mut(index_to_usize(at / 64)) {
        *word |= 1 << (at % 64);
    }
}

fn is_set(bits: &[u64], at: u32) -> bool {
    bits.get(index_to_usize(at / 64)).is_some_and(|word| (word >> (at % 64)) & 1 == 1)
}
