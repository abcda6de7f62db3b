//! A change before what preceded it, as far as a past commit can be asked the same.
//!
//! The same functions find the signals of past commits, whose worth is measured, and the findings of the assessed
//! change.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::change::FileStatus;
use crate::history::{CommitIndex, FileId, Mends, Past, PersonId};
use crate::metric::Fraction;
use crate::metrics::{WIDE, decides_level};
use crate::patch::{LinePrints, Operation, UnchangedLine};
use crate::path::FileRole;
use crate::signal::{KnownFiles, LineMemory, LineOrigin, PatchedFile, SignalName};

/// How many of a file's newest commits say what usually goes along. Older habits say less.
const LATEST: usize = 20;
/// The fewest commits of a file for a habit, and the lower bound of its share from which it is one.
const FEWEST: u64 = 5;
const USUAL: f64 = 0.5;
/// The fewest commits of a file for a habit of tests.
const FEWEST_WITH_TESTS: u64 = 8;
/// The lower bound of co-change from which the seed calls it HIGH.
const CONSTANT: f64 = 0.7;
/// The fixes of a file in a year from which it was fixed often.
const OFTEN: usize = 3;
/// The fewest lines that are a piece of reverted code.
const REVERTED: usize = 3;
/// The fewest commits of a file that has people who know it.
const KNOWN: usize = 3;
/// Seconds of a day, and the days after which nobody who knew a file counts as active.
const DAY: i64 = 86_400;
const AWAY: i64 = 365;

/// A change before its past.
#[derive(Debug)]
pub(crate) struct Scene<'s> {
    pub(crate) past: &'s Past<'s>,
    /// When it was made, in seconds since 1970.
    pub(crate) at: i64,
    /// Its author. `None` for one without an earlier commit, or unknown.
    pub(crate) author: Option<PersonId>,
    pub(crate) files: Vec<SceneFile<'s>>,
    pub(crate) known: &'s KnownFiles,
    pub(crate) window_days: u32,
}

/// A changed file with its past and its lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SceneFile<'s> {
    /// Its place in the change.
    pub(crate) index: u32,
    /// Its place in the history, if it has a past.
    pub(crate) file: Option<FileId>,
    pub(crate) role: FileRole,
    pub(crate) is_sensitive: bool,
    pub(crate) status: FileStatus,
    pub(crate) prints: &'s LinePrints,
}

/// A habit that a change breaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habit {
    /// The file that usually goes along.
    pub(crate) other: FileId,
    /// In how many of the newest commits.
    pub(crate) together: Fraction,
    pub(crate) low: f64,
}

/// A file that nobody active knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unknown {
    pub(crate) commits: usize,
    /// When the last of those who wrote it committed anything.
    pub(crate) last_seen: i64,
}

/// Lines that an earlier commit has to do with.
#[derive(Debug, Clone)]
pub(crate) struct EarlierLines {
    pub(crate) origin: LineOrigin,
    pub(crate) prints: Vec<u64>,
}

impl<'s> SceneFile<'s> {
    pub(crate) fn of_past(file: &'s PatchedFile) -> Self {
        let PatchedFile { file, role, is_sensitive, status, prints } = file;
        Self { index: 0, file: Some(*file), role: *role, is_sensitive: *is_sensitive, status: *status, prints }
    }

    fn does(&self, operation: Operation) -> bool {
        self.prints.operations & operation.bit() != 0
    }
}

impl Scene<'_> {
    /// The signals that can be told of a past commit too.
    pub(crate) fn signals(&self, memory: &LineMemory) -> BTreeSet<SignalName> {
        let mut signals = self.standing_signals();
        signals.extend(self.line_signals(memory));
        signals
    }

    /// Those that follow from its past and its lines alone.
    pub(crate) fn standing_signals(&self) -> BTreeSet<SignalName> {
        let any = |found: bool, signal: SignalName| found.then_some(signal);
        let mut signals = BTreeSet::new();
        for file in &self.files {
            let is_weaker = self.weakens_tests(file);
            signals.extend(any(is_weaker, SignalName::WeakerTests));
            signals.extend(any(file.is_sensitive, SignalName::Sensitive));
            if !decides_level(file.role) {
                continue;
            }
            let (habit, is_constant) = self.missing_partner(file);
            let found = [
                any(habit.is_some(), SignalName::MissingPartner),
                any(is_constant, SignalName::HighCoChange),
                any(self.missing_tests(file).is_some(), SignalName::WithoutTests),
                any(self.nobody_knows(file).is_some(), SignalName::Strangers),
                any(self.frequent_fixes(file).is_some(), SignalName::FixedOften),
                any(self.handles_fewer_errors(file), SignalName::ErrorPath),
                any(file.does(Operation::Concurrency), SignalName::Concurrency),
                any(file.does(Operation::Permissions), SignalName::Permissions),
                any(file.does(Operation::StoredData), SignalName::StoredData),
                any(file.does(Operation::OtherSource), SignalName::OtherSource),
            ];
            signals.extend(found.into_iter().flatten());
        }
        signals
    }

    /// Those that depend on who wrote the lines, and on the files of the assessed change.
    pub(crate) fn line_signals(&self, memory: &LineMemory) -> BTreeSet<SignalName> {
        let any = |found: bool, signal: SignalName| found.then_some(signal);
        let deciding = self.files.iter().filter(|file| decides_level(file.role));
        let found = deciding.flat_map(|file| {
            let is_coupled = file.file.is_some_and(|file| self.known.coupled.contains(&file));
            [
                any(fixed_lines(file, memory).is_some(), SignalName::FixedLines),
                any(reverted_lines(file, memory).is_some(), SignalName::RevertedLines),
                any(is_coupled, SignalName::HighCoupling),
            ]
        });
        found.flatten().collect()
    }

    fn role(&self, file: FileId) -> Option<FileRole> {
        self.known.roles.get(&file).copied()
    }

    fn changes(&self, file: FileId) -> bool {
        self.files.iter().any(|changed| changed.file == Some(file))
    }

    /// The newest narrow commits of a file in the window.
    fn latest(&self, file: FileId) -> impl Iterator<Item = CommitIndex> {
        let from = self.at.saturating_sub(i64::from(self.window_days).saturating_mul(DAY));
        let is_narrow = |index: &CommitIndex| self.past.history().touches(*index).len() <= WIDE;
        let within = self.past.touching(file).filter(move |(_, commit)| commit.at >= from);
        within.map(|(index, _)| index).filter(is_narrow).take(LATEST)
    }

    /// The most usual partner of a file of code that is code or configuration, is there and doesn't change, and whether
    /// any partner is constant.
    pub(crate) fn missing_partner(&self, changed: &SceneFile<'_>) -> (Option<Habit>, bool) {
        let Some(file) = changed.file.filter(|_| changed.role == FileRole::Code) else { return (None, false) };
        let mut counts: BTreeMap<FileId, u64> = BTreeMap::new();
        let mut commits = 0_u64;
        for index in self.latest(file) {
            commits = commits.saturating_add(1);
            let others: BTreeSet<FileId> = self.past.history().touches(index).iter().map(|touch| touch.file).collect();
            for other in others.into_iter().filter(|other| *other != file) {
                let count = counts.entry(other).or_default();
                *count = count.saturating_add(1);
            }
        }
        let partners = counts.into_iter().filter(|(other, _)| self.role(*other).is_some_and(decides_level));
        let habits: Vec<Habit> = partners.filter_map(|(other, count)| habit(other, count, commits)).collect();
        let is_constant = habits.iter().any(|habit| habit.low > CONSTANT);
        let missing = habits.into_iter().filter(|habit| !self.changes(habit.other) && self.is_there(habit.other));
        (missing.max_by(|one, other| one.low.total_cmp(&other.low)), is_constant)
    }

    /// The habit of tests to change along with a file, if none changes here: with the test that did most often.
    pub(crate) fn missing_tests(&self, changed: &SceneFile<'_>) -> Option<Habit> {
        let file = changed.file.filter(|_| changed.role == FileRole::Code)?;
        let is_tested = |file: &SceneFile<'_>| file.role == FileRole::Test || file.does(Operation::AddedTest);
        if self.files.iter().any(is_tested) {
            return None;
        }
        let (mut commits, mut with) = (0_u64, 0_u64);
        let mut counts: BTreeMap<FileId, u64> = BTreeMap::new();
        for index in self.latest(file) {
            commits = commits.saturating_add(1);
            let files = self.past.history().touches(index).iter().map(|touch| touch.file);
            let tests: BTreeSet<FileId> = files.filter(|file| self.role(*file) == Some(FileRole::Test)).collect();
            with = with.saturating_add(u64::from(!tests.is_empty()));
            tests.into_iter().for_each(|test| *counts.entry(test).or_default() += 1);
        }
        // One test that is usual itself: what changes everywhere says nothing of this file.
        let usual = |(_, count): &(FileId, u64)| count.saturating_mul(2) >= commits;
        let most = counts.into_iter().filter(usual).filter(|(test, _)| self.is_there(*test));
        habit(most.max_by_key(|(_, count)| *count)?.0, with, commits).filter(|_| commits >= FEWEST_WITH_TESTS)
    }

    /// Whether a file was there when the past ended.
    fn is_there(&self, file: FileId) -> bool {
        let history = self.past.history();
        let last = self.past.touching(file).next();
        let touches = last.map(|(index, _)| history.touches(index)).unwrap_or_default();
        touches.iter().rev().find(|touch| touch.file == file).is_some_and(|touch| touch.status != FileStatus::Deleted)
    }

    /// Whether the file has a past, its author has no part in it, and everybody else who has is away.
    pub(crate) fn nobody_knows(&self, changed: &SceneFile<'_>) -> Option<Unknown> {
        let file = changed.file.filter(|_| changed.role == FileRole::Code)?;
        let history = self.past.history();
        let authors: Vec<PersonId> = self.past.touching(file).map(|(_, commit)| commit.author).collect();
        let is_own = |person: &PersonId| self.author.is_some_and(|author| history.is_namesake(author, *person));
        if authors.len() < KNOWN || authors.iter().any(is_own) {
            return None;
        }
        let distinct: BTreeSet<PersonId> = authors.iter().copied().collect();
        let seen = |person: &PersonId| {
            let last = history.by_name_of(*person).iter().rev().find(|index| self.past.contains(**index));
            last.and_then(|index| history.commit(*index)).map(|commit| commit.at)
        };
        let last_seen = distinct.iter().filter_map(seen).max()?;
        let is_away = self.at.saturating_sub(last_seen) > AWAY.saturating_mul(DAY);
        is_away.then_some(Unknown { commits: authors.len(), last_seen })
    }

    /// Whether a file is a test in code that skips a test, or checks less or is gone while all tests of the change
    /// together check less: what moves to another file is not lost, nor is what a rewriting of the same length puts
    /// otherwise.
    pub(crate) fn weakens_tests(&self, file: &SceneFile<'_>) -> bool {
        let is_less = self.balance(|role| role == FileRole::Test, |prints| prints.checks) < 0;
        let is_shorter = file.prints.added.len() < file.prints.removed.len();
        let is_lost = is_less && is_shorter && file.prints.checks < 0;
        file.role == FileRole::Test && (is_lost || file.does(Operation::SkippedTest))
    }

    /// Whether a file handles fewer errors, and so does the whole change: what moves to another file is not lost.
    pub(crate) fn handles_fewer_errors(&self, file: &SceneFile<'_>) -> bool {
        let is_left = file.status != FileStatus::Deleted && file.prints.errors < 0;
        is_left && self.lost_error_paths() > 0
    }

    /// How many lines that handle an error the whole change loses.
    pub(crate) fn lost_error_paths(&self) -> u32 {
        self.balance(decides_level, |prints| prints.errors).min(0).unsigned_abs()
    }

    /// Lines added less those taken away, over the files of some roles.
    fn balance(&self, is_counted: impl Fn(FileRole) -> bool, of: impl Fn(&LinePrints) -> i32) -> i32 {
        let files = self.files.iter().filter(|file| is_counted(file.role));
        files.fold(0, |sum, file| sum.saturating_add(of(file.prints)))
    }

    /// The fixes of a file in the year before, newest first, if they are many.
    pub(crate) fn frequent_fixes(&self, changed: &SceneFile<'_>) -> Option<Vec<CommitIndex>> {
        let from = self.at.saturating_sub(AWAY.saturating_mul(DAY));
        let commits = changed.file.into_iter().flat_map(|file| self.past.touching(file));
        let recent = commits.take_while(|(_, commit)| commit.at >= from);
        let fixes = recent.filter(|(_, commit)| commit.mends != Mends::Nothing).map(|(index, _)| index);
        Some(fixes.collect()).filter(|fixes: &Vec<CommitIndex>| fixes.len() >= OFTEN)
    }
}

fn habit(other: FileId, together: u64, commits: u64) -> Option<Habit> {
    let together = Fraction { numerator: together, denominator: commits };
    let low = together.between().filter(|_| commits >= FEWEST)?.low;
    (low >= USUAL).then_some(Habit { other, together, low })
}

/// The lines of a fix or revert that a file loses, of the commit that wrote most of them.
pub(crate) fn fixed_lines(changed: &SceneFile<'_>, memory: &LineMemory) -> Option<EarlierLines> {
    let file = changed.file.filter(|_| changed.role == FileRole::Code)?;
    let authors = changed.prints.removed.iter().filter_map(|print| Some((*print, memory.author(file, *print)?)));
    most_lines(authors.filter(|(_, origin)| origin.mends != Mends::Nothing))
}

/// The lines around a file's changes that a fix or revert of the last year wrote, of the commit that wrote most of them.
pub(crate) fn lines_beside_fix(
    scene: &Scene<'_>,
    changed: &SceneFile<'_>,
    around: &[UnchangedLine],
    memory: &LineMemory,
) -> Option<EarlierLines> {
    let file = changed.file.filter(|_| changed.role == FileRole::Code)?;
    let from = scene.at.saturating_sub(AWAY.saturating_mul(DAY));
    let is_young = |origin: &LineOrigin| scene.past.history().commit(origin.commit).is_some_and(|one| one.at >= from);
    let authors = around.iter().filter_map(|kept| Some((kept.print, memory.author(file, kept.print)?)));
    most_lines(authors.filter(|(_, origin)| origin.mends != Mends::Nothing && is_young(origin)))
}

/// The lines that a revert took away and that are back.
pub(crate) fn reverted_lines(changed: &SceneFile<'_>, memory: &LineMemory) -> Option<EarlierLines> {
    let file = changed.file?;
    let reverts = changed.prints.added.iter().filter_map(|print| Some((*print, memory.reverted(file, *print)?)));
    most_lines(reverts).filter(|lines| lines.prints.len() >= REVERTED)
}

/// Of the commit with most lines, the newest of several.
fn most_lines(lines: impl Iterator<Item = (u64, LineOrigin)>) -> Option<EarlierLines> {
    let mut by_commit: BTreeMap<CommitIndex, EarlierLines> = BTreeMap::new();
    for (print, origin) in lines {
        by_commit
            .entry(origin.commit)
            .or_insert_with(|| EarlierLines { origin, prints: Vec::new() })
            .prints
            .push(print);
    }
    by_commit.into_values().max_by_key(|lines| lines.prints.len())
}
