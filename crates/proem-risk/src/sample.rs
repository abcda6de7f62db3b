//! Past commits of a repository: what a change is compared with.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::change::LineCounts;
use crate::history::{Commit, CommitIndex, ObjectId, Past};
use crate::score::ChangeFeatures;

/// The most commits that a change's score is compared with.
pub const MOST: usize = 500;

/// The most files that such a commit touches.
const FILES: usize = 1000;

/// The newest commits of `past`, at most `most`, oldest first: of those that count and touch between one and a
/// thousand files.
///
/// Files grow and get more authors and commits over the years, and scores with them: among all commits ever made
/// the latest would stand high for no other reason. A new commit drives out one.
#[must_use]
pub fn newest_commits(past: &Past<'_>, most: usize) -> Vec<CommitIndex> {
    let mut newest: Vec<CommitIndex> = eligible(past).map(|(index, _)| index).take(most).collect();
    newest.sort_unstable();
    newest
}

/// The commits that count and touch between one and a thousand files, newest first.
fn eligible<'p>(past: &'p Past<'_>) -> impl Iterator<Item = (CommitIndex, &'p Commit)> {
    past.commits().filter(|(index, _)| (1..=FILES).contains(&past.history().touches(*index).len()))
}

/// Draws at most `most` commits of `past`, oldest first: those with the smallest hash of seed and id, among
/// commits that count and touch between one and a thousand files.
///
/// A commit that comes to the past enters the draw with its own hash and drives out at most one other: the
/// draw is a bottom-k sketch (Cohen and Kaplan 2007), uniform and without memory.
#[must_use]
pub fn draw_commits(past: &Past<'_>, seed: u64, most: usize) -> Vec<CommitIndex> {
    let mut lowest: BinaryHeap<(u64, CommitIndex)> = BinaryHeap::new();
    for (index, commit) in eligible(past) {
        // The greatest hash is on top of the heap, so what goes is what the draw would leave out.
        lowest.push((seeded_hash(seed, &commit.id), index));
        if lowest.len() > most {
            lowest.pop();
        }
    }
    let mut drawn: Vec<CommitIndex> = lowest.into_iter().map(|(_, index)| index).collect();
    drawn.sort_unstable();
    drawn
}

/// The words of an id, each mixed in with the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn seeded_hash(seed: u64, id: &ObjectId) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().fold(0_u64, |word, &byte| (word << 8) | u64::from(byte));
    id.as_bytes().chunks(8).map(word).fold(seed, |hash, word| {
        let mixed = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// A commit of a sample with what git says of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnCommit {
    /// Which commit.
    pub id: ObjectId,
    /// Its files with their lines. `None` where git counts none.
    pub files: Vec<DrawnFile>,
}

/// A file of a drawn commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnFile {
    /// Its path before the commit.
    pub path: crate::path::RepoPath,
    /// Lines added and removed.
    pub lines: Option<LineCounts>,
    /// Lines before. `None` if unknown.
    pub before: Option<u32>,
}

/// A commit of a sample with its features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledCommit {
    /// The features that it had when it was made.
    pub features: ChangeFeatures,
}

/// The sample that a change is compared with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// The commits that were drawn, oldest first.
    pub commits: Vec<SampledCommit>,
    /// How many commits it was drawn from.
    pub of: u32,
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::change::FileStatus;
    use crate::history::{History, ListedCommit, ListedTouch, Mends};
    use crate::identity::Person;
    use crate::path::RepoPath;

    const NOW: i64 = 1_600_000_000;

    fn id(number: usize) -> ObjectId {
        ObjectId::parse(format!("{number:040x}").as_bytes()).unwrap()
    }

    fn commit(number: usize, files: usize) -> ListedCommit {
        let path =
            |file| ListedTouch { path: RepoPath::new(format!("f{file}")), from: None, status: FileStatus::Modified };
        ListedCommit {
            id: id(number),
            parents: number.checked_sub(1).map(id).into_iter().collect(),
            at: NOW - 100_000 + i64::try_from(number).unwrap(),
            author: Person { mail: String::from("a@x"), name: String::from("a") },
            subject: String::new(),
            mends: Mends::Nothing,
            touches: (0..files).map(path).collect(),
        }
    }

    fn drawn(commits: usize, seed: u64, most: usize) -> BTreeSet<ObjectId> {
        let history = History::of((0..commits).map(|number| commit(number, 1)).collect(), NOW);
        let past = history.before(CommitIndex(u32::MAX));
        let drawn = draw_commits(&past, seed, most);
        assert!(drawn.is_sorted());
        drawn.iter().map(|&index| history.commit(index).unwrap().id).collect()
    }

    #[test]
    fn new_commits_change_a_draw_little() {
        let before = drawn(1000, 7, 100);
        assert_eq!(before.len(), 100);
        assert_eq!(before, drawn(1000, 7, 100));
        assert_ne!(before, drawn(1000, 8, 100));
        let after = drawn(1010, 7, 100);
        assert_eq!(after.len(), 100);
        // Each of the ten may drive out one, and nobody else.
        assert!(before.difference(&after).count() <= 10);
        assert!(after.difference(&before).all(|new| *new >= id(1000)));
        assert_eq!(drawn(30, 7, 100).len(), 30);
        assert!(drawn(30, 7, 0).is_empty());
    }

    #[test]
    fn a_draw_is_spread_over_the_whole_past() {
        let old = drawn(2000, 1, 400).iter().filter(|drawn| **drawn < id(1000)).count();
        // 200 are expected, with a standard deviation of 9.
        assert!((160..240).contains(&old), "{old}");
    }

    #[test]
    fn empty_and_enormous_commits_are_not_drawn() {
        let history =
            History::of([0, 1, 1000, 1001].into_iter().enumerate().map(|(n, files)| commit(n, files)).collect(), NOW);
        assert_eq!(draw_commits(&history.before(CommitIndex(4)), 0, 10), [CommitIndex(1), CommitIndex(2)]);
        assert_eq!(newest_commits(&history.before(CommitIndex(4)), 10), [CommitIndex(1), CommitIndex(2)]);
    }

    #[test]
    fn the_newest_are_those_before_the_end() {
        let history = History::of((0..100).map(|number| commit(number, 1)).collect(), NOW);
        let expected: Vec<CommitIndex> = (47..50).map(CommitIndex).collect();
        assert_eq!(newest_commits(&history.before(CommitIndex(50)), 3), expected);
        assert_eq!(newest_commits(&history.before(CommitIndex(2)), 3).len(), 2);
    }
}
