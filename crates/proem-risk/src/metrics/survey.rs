//! The facts that all files of a change share, found out once and only when needed.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::cell::OnceCell;

use super::{AssessmentFacts, RECENT_DAYS, coupling, incidents, prior};
use crate::change::{Change, ChangedFile, FileStatus};
use crate::history::{Commit, CommitIndex, FileId, ObjectId, Past, PathId};
use crate::metric::Exclusion;
use crate::path::{FileRole, PathClass};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The facts of a change with what is counted over the whole repository.
#[derive(Debug)]
pub(crate) struct Survey<'f> {
    facts: AssessmentFacts<'f>,
    /// When the change was made.
    at: i64,
    changed: OnceCell<BTreeSet<FileId>>,
    left_out: OnceCell<Vec<Exclusion>>,
    reach: OnceCell<Option<u32>>,
    recent: OnceCell<Vec<u32>>,
    mended: OnceCell<prior::MendTimes>,
    fan_ins: OnceCell<Vec<u32>>,
    hidden: OnceCell<BTreeMap<&'f str, coupling::HiddenImporters>>,
    usual: OnceCell<Vec<f64>>,
    test_ratios: OnceCell<Vec<f64>>,
    added_tests: OnceCell<super::test_ratio::AddedTests>,
    churns: OnceCell<Vec<f64>>,
    null: OnceCell<incidents::NullDistribution>,
}

impl<'f> Survey<'f> {
    pub(crate) fn new(facts: AssessmentFacts<'f>) -> Self {
        Self {
            facts,
            at: time_of(facts.past, facts.change),
            changed: OnceCell::new(),
            left_out: OnceCell::new(),
            reach: OnceCell::new(),
            recent: OnceCell::new(),
            mended: OnceCell::new(),
            fan_ins: OnceCell::new(),
            hidden: OnceCell::new(),
            usual: OnceCell::new(),
            test_ratios: OnceCell::new(),
            added_tests: OnceCell::new(),
            churns: OnceCell::new(),
            null: OnceCell::new(),
        }
    }

    pub(crate) const fn facts(&self) -> &AssessmentFacts<'f> {
        &self.facts
    }

    /// When the change was made, in seconds since 1970.
    pub(super) const fn at(&self) -> i64 {
        self.at
    }

    /// A file of the change.
    pub(crate) fn file(&self, file: u32) -> Option<&'f ChangedFile> {
        self.facts.change.files.get(usize::try_from(file).ok()?)
    }

    /// The history of a file of the change. `None` if it has none.
    pub(super) fn history_of(&self, file: u32) -> Option<FileId> {
        self.facts.past.file(self.file(file)?.base_path())
    }

    /// A file of the change in the tree. `None` if it is gone or the tree is.
    pub(crate) fn tree_index(&self, file: u32) -> Option<u32> {
        self.facts.tree?.find(&self.file(file)?.path)
    }

    /// The class of a file in the tree.
    pub(crate) fn class(&self, index: u32) -> Option<&'f PathClass> {
        let file = self.facts.tree?.files.get(usize::try_from(index).ok()?)?;
        Some(&file.class)
    }

    /// Whether a file of the tree is product code, which fan-in counts.
    pub(super) fn is_product(&self, index: u32) -> bool {
        self.class(index).is_none_or(|class| matches!(class.role, FileRole::Code | FileRole::Configuration))
    }

    /// The lines that the change adds to tests.
    pub(super) fn added_tests(&self) -> &super::test_ratio::AddedTests {
        self.added_tests.get_or_init(|| super::test_ratio::AddedTests::new(self))
    }

    /// The files that the change touches.
    pub(super) fn changed(&self) -> &BTreeSet<FileId> {
        self.changed.get_or_init(|| {
            let paths = self.facts.change.files.iter().map(ChangedFile::base_path);
            paths.filter_map(|path| self.facts.past.file(path)).collect()
        })
    }

    /// The path of a file when the past ended. `None` if it was gone by then.
    pub(super) fn path_of(&self, file: FileId) -> Option<PathId> {
        let (past, history) = (self.facts.past, self.facts.past.history());
        let last = history.touching(file).iter().rev().find(|&&commit| past.contains(commit))?;
        let touch = history.touches(*last).iter().rev().find(|touch| touch.file == file)?;
        (touch.status != FileStatus::Deleted).then_some(touch.path)
    }

    /// The days from a commit to the change. One with a later date counts as of the same day.
    pub(super) fn days_since(&self, at: i64) -> u32 {
        days_between(at, self.at)
    }

    /// The counted commits of a file not more than `days` before the change, newest first.
    pub(super) fn within(&self, file: FileId, days: u32) -> impl Iterator<Item = (CommitIndex, &'f Commit)> {
        let from = self.at.saturating_sub(i64::from(days).saturating_mul(DAY));
        self.facts.past.touching(file).filter(move |(_, commit)| commit.at >= from)
    }

    /// How many days the history goes back, if it doesn't go back to its beginning.
    pub(super) fn reach(&self) -> Option<u32> {
        *self.reach.get_or_init(|| {
            let missing = self.facts.past.history().missing();
            let is_cut = missing.shallow || missing.capped;
            let oldest = || self.facts.past.commits().map(|(_, commit)| commit.at).min();
            let reach = is_cut.then(|| oldest().map_or(0, |at| self.days_since(at)));
            let asked = missing.since.map(|since| self.days_since(since));
            reach.into_iter().chain(asked).min()
        })
    }

    /// The commits that no metric over commits counts.
    pub(super) fn left_out(&self) -> Vec<Exclusion> {
        let count = || {
            let left_out = self.facts.past.left_out();
            let named = [
                ("merges", left_out.merges),
                ("commits of programs", left_out.bots),
                ("commits that .git-blame-ignore-revs names", left_out.ignored),
            ];
            let some = named.into_iter().filter(|(_, count)| *count > 0);
            some.map(|(what, count)| Exclusion { what: what.to_string(), count: u64::from(count) }).collect()
        };
        self.left_out.get_or_init(count).clone()
    }

    /// The commits of each file that was touched lately, ascending.
    pub(super) fn recent(&self) -> &[u32] {
        self.recent.get_or_init(|| {
            let from = self.at.saturating_sub(i64::from(RECENT_DAYS).saturating_mul(DAY));
            let (past, history) = (self.facts.past, self.facts.past.history());
            let recent = past.commits().filter(|(_, commit)| commit.at >= from);
            let mut counts: BTreeMap<FileId, u32> = BTreeMap::new();
            for touch in recent.flat_map(|(index, _)| history.touches(index)) {
                let count = counts.entry(touch.file).or_default();
                *count = count.saturating_add(1);
            }
            let mut counts: Vec<u32> = counts.into_values().collect();
            counts.sort_unstable();
            counts
        })
    }

    /// The fixes and reverts of each file that ever had one.
    pub(super) fn mended(&self) -> &prior::MendTimes {
        self.mended.get_or_init(|| prior::MendTimes::of(self.facts.past))
    }

    /// The fan-in of each file of product code, ascending.
    pub(super) fn fan_ins(&self) -> &[u32] {
        self.fan_ins.get_or_init(|| coupling::fan_ins(self))
    }

    /// The files that could hide importers, by family of languages.
    pub(super) fn hidden(&self, family: &str) -> coupling::HiddenImporters {
        let all = self.hidden.get_or_init(|| self.facts.tree.map(coupling::hidden_importers).unwrap_or_default());
        all.get(family).copied().unwrap_or_default()
    }

    /// The greatest lower bound of co-change of some files of the repository, ascending.
    pub(super) fn usual(&self) -> &[f64] {
        self.usual.get_or_init(|| super::co_change::usual_lower_bounds(self))
    }

    /// The test ratios of some files of the repository, ascending.
    pub(super) fn test_ratios(&self) -> &[f64] {
        self.test_ratios.get_or_init(|| self.facts.tree.map(super::test_ratio::ratios).unwrap_or_default())
    }

    /// The days since the owner of some files of the repository changed, ascending.
    pub(super) fn churns(&self) -> &[f64] {
        self.churns.get_or_init(|| super::ownership::churns(self))
    }

    /// How like past incidents past commits are.
    pub(super) fn null(&self) -> &incidents::NullDistribution {
        self.null.get_or_init(|| incidents::NullDistribution::of(self))
    }
}

/// When a change was made: as the history has it, where dates that can't be true are corrected, and not before the
/// commit that it is on, whatever a clock said.
pub(crate) fn time_of(past: &Past<'_>, change: &Change) -> i64 {
    let history = past.history();
    let of = |id: &ObjectId| history.find(id).and_then(|index| history.commit(index)).map(|commit| commit.at);
    let own = change.id.as_ref().and_then(of).unwrap_or(change.at);
    change.base.as_ref().and_then(of).map_or(own, |base| own.max(base))
}

/// Whole days from one time to another; 0 if it is not earlier.
pub(super) fn days_between(from: i64, to: i64) -> u32 {
    u32::try_from((to.saturating_sub(from) / DAY).max(0)).unwrap_or(u32::MAX)
}
