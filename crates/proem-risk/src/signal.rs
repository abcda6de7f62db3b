//! Finds the signals that have earned it: how often past changes with each needed a fix.
//!
//! [`Lessons::learn`] walks once through the newest past commits, oldest first, and remembers who wrote each telling
//! line. A commit **needed a fix** if a later fix or revert takes away lines that it wrote. The newest fifth is too
//! young to tell and is only remembered. A signal that a past commit had is found by the same rules as the assessed
//! change's findings ([`crate::finding`]), from what preceded that commit.
//!
//! A signal **has earned it** if the share of its commits that needed a fix is at least [`WORTHY`] times the base rate,
//! and that share's 95 % interval is above the base rate. If fewer than [`ENOUGH`] commits had it here, the clones
//! decide from which the shipped figures were measured.

mod memory;
mod table;

pub use self::memory::{LineMemory, LineOrigin};
use self::table::MeasuredCommit;
pub use self::table::{Base, RowSource, SignalRow, SignalTable, TrainedSignal, Worth};

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::change::FileStatus;
use crate::finding::scene::{Scene, SceneFile};
use crate::history::{CommitIndex, FileId, History, Mends, Past};
use crate::metrics::decides_level;
use crate::patch::LinePrints;
use crate::path::FileRole;
use crate::score::{ChangeFeatures, RiskModel, Scale};

/// The most past commits whose lines are remembered.
pub const REMEMBERED: usize = 1_000;

/// How many times the base rate a signal's share has to be. As `seeds` of the rules have it: a choice, not a measurement.
pub const WORTHY: f64 = 1.5;

/// The fewest commits with a signal for a verdict of this repository's own.
pub const ENOUGH: u64 = 20;

/// A signal: something about a change that may mean that it needs a fix later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalName {
    /// Files that it deletes or renames are imported.
    BrokenImporters,
    /// Functions with another signature are called elsewhere.
    ChangedSignature,
    /// It adds lines that a revert took away.
    RevertedLines,
    /// It takes away lines that a fix or a revert added.
    FixedLines,
    /// It changes lines beside those of a fix or a revert that is younger than a year.
    NearFix,
    /// A file that nearly always changes too didn't.
    MissingPartner,
    /// Tests that nearly always change too didn't.
    WithoutTests,
    /// Tests check less than before.
    WeakerTests,
    /// Fewer errors are handled.
    ErrorPath,
    /// Locks, threads or atomics change.
    Concurrency,
    /// Rights to do something change.
    Permissions,
    /// Stored data or its schema changes.
    StoredData,
    /// Code comes from elsewhere than before: another action, image or registry, or other bytes of the same version.
    OtherSource,
    /// Nobody who knows the file is active.
    Strangers,
    /// A file was fixed three times or more in the last twelve months.
    FixedOften,
    /// A sensitive file changes.
    Sensitive,
    /// The seed's coupling is HIGH.
    HighCoupling,
    /// The seed's co-change is HIGH.
    HighCoChange,
}

impl SignalName {
    /// All, in the order of tables.
    pub const ALL: [Self; 18] = [
        Self::BrokenImporters,
        Self::ChangedSignature,
        Self::RevertedLines,
        Self::FixedLines,
        Self::NearFix,
        Self::MissingPartner,
        Self::WithoutTests,
        Self::WeakerTests,
        Self::ErrorPath,
        Self::Concurrency,
        Self::Permissions,
        Self::StoredData,
        Self::OtherSource,
        Self::Strangers,
        Self::FixedOften,
        Self::Sensitive,
        Self::HighCoupling,
        Self::HighCoChange,
    ];

    /// The word used in reports and data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BrokenImporters => "broken-importers",
            Self::ChangedSignature => "changed-signature",
            Self::RevertedLines => "reverted-lines",
            Self::FixedLines => "fixed-lines",
            Self::NearFix => "near-fix",
            Self::MissingPartner => "missing-partner",
            Self::WithoutTests => "without-tests",
            Self::WeakerTests => "weaker-tests",
            Self::ErrorPath => "error-path",
            Self::Concurrency => "concurrency",
            Self::Permissions => "permissions",
            Self::StoredData => "stored-data",
            Self::OtherSource => "other-source",
            Self::Strangers => "strangers",
            Self::FixedOften => "fixed-often",
            Self::Sensitive => "sensitive",
            Self::HighCoupling => "high-coupling",
            Self::HighCoChange => "high-co-change",
        }
    }

    /// Its meaning, in our words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::BrokenImporters => "deletes or renames what others import",
            Self::ChangedSignature => "changes the signature of what others call",
            Self::RevertedLines => "adds lines again that were reverted",
            Self::FixedLines => "takes away lines of a fix",
            Self::NearFix => "changes lines beside a fix",
            Self::MissingPartner => "misses a usual partner",
            Self::WithoutTests => "comes without the tests that usually change",
            Self::WeakerTests => "weakens or deletes tests",
            Self::ErrorPath => "handles fewer errors",
            Self::Concurrency => "changes locks or threads",
            Self::Permissions => "changes permissions",
            Self::StoredData => "changes stored data",
            Self::OtherSource => "takes code from another source",
            Self::Strangers => "changes a file that nobody active knows",
            Self::FixedOften => "changes a file that was fixed often",
            Self::Sensitive => "changes a sensitive file",
            Self::HighCoupling => "changes a file that more than 10 import",
            Self::HighCoChange => "changes a file with a constant partner",
        }
    }

    /// Whether past commits can be asked for it: those that need the files of each past commit, or the lines around its
    /// changes, can't.
    #[must_use]
    pub const fn is_measured(self) -> bool {
        !matches!(self, Self::BrokenImporters | Self::ChangedSignature | Self::NearFix)
    }
}

/// A past commit with its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchedCommit {
    /// Which.
    pub commit: CommitIndex,
    /// The features that it had. `None` if no file of it counts.
    pub features: Option<ChangeFeatures>,
    /// The files that changed together.
    pub files: Vec<PatchedFile>,
}

/// A file of a past commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// Which.
    pub file: FileId,
    /// The role that its path gives it.
    pub role: FileRole,
    /// Whether it is sensitive.
    pub is_sensitive: bool,
    /// How it changed.
    pub status: FileStatus,
    /// Its lines.
    pub prints: LinePrints,
}

impl PatchedCommit {
    /// Whether nothing in it runs differently: tests, documentation and the like, versions or comments alone.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        !self.files.iter().any(|file| !file.prints.is_quiet && (file.is_sensitive || decides_level(file.role)))
    }
}

/// The facts about files that hold for every commit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownFiles {
    /// Their roles.
    pub roles: BTreeMap<FileId, FileRole>,
    /// Those that more than ten others import in the newest tree.
    pub coupled: BTreeSet<FileId>,
}

/// The lessons of the past about a change.
#[derive(Debug, Clone, Default)]
pub struct Lessons {
    /// The author of each line.
    pub memory: LineMemory,
    /// The worth of signals.
    pub table: SignalTable,
    /// The past commits that are old enough, with whether they needed a fix.
    rows: Vec<(ChangeFeatures, bool)>,
}

/// A walked commit.
struct Walked {
    commit: CommitIndex,
    features: Option<ChangeFeatures>,
    signals: BTreeSet<SignalName>,
}

/// The signals of past commits that depend neither on the assessed change nor on where the walk begins, so that several
/// changes have them in common.
#[derive(Debug, Clone, Default)]
pub struct StandingSignals(BTreeMap<CommitIndex, BTreeSet<SignalName>>);

impl StandingSignals {
    /// Finds those of past commits. `known` has the roles of their files.
    #[must_use]
    pub fn find<'p>(
        history: &History,
        patched: impl Iterator<Item = &'p PatchedCommit>,
        known: &KnownFiles,
        window_days: u32,
    ) -> Self {
        let signals = |one: &PatchedCommit| {
            let before = history.before(one.commit);
            let scene = scene_of_past(history, &before, one, (known, window_days))?;
            Some((one.commit, scene.standing_signals()))
        };
        Self(patched.filter(|one| !one.is_quiet()).filter_map(signals).collect())
    }
}

fn scene_of_past<'s>(
    history: &History,
    before: &'s Past<'s>,
    one: &'s PatchedCommit,
    (known, window_days): (&'s KnownFiles, u32),
) -> Option<Scene<'s>> {
    let commit = history.commit(one.commit)?;
    let files = one.files.iter().map(SceneFile::of_past).collect();
    Some(Scene { past: before, at: commit.at, author: Some(commit.author), files, known, window_days })
}

impl Lessons {
    /// Walks through past commits, oldest first.
    #[must_use]
    pub fn learn(past: &Past<'_>, patched: &[&PatchedCommit], known: &KnownFiles, window_days: u32) -> Self {
        let standing = StandingSignals::find(past.history(), patched.iter().copied(), known, window_days);
        Self::learn_with(past, patched, known, &standing)
    }

    /// Walks through past commits, oldest first, whose other signals are found already.
    #[must_use]
    pub fn learn_with(
        past: &Past<'_>,
        patched: &[&PatchedCommit],
        known: &KnownFiles,
        standing: &StandingSignals,
    ) -> Self {
        let history = past.history();
        let mut memory = LineMemory::default();
        let mut needed: BTreeSet<CommitIndex> = BTreeSet::new();
        let mut walked = Vec::with_capacity(patched.len());
        for one in patched {
            let Some(commit) = history.commit(one.commit) else { continue };
            if let Some(signals) = standing.0.get(&one.commit) {
                let before = history.before(one.commit);
                let scene = scene_of_past(history, &before, one, (known, 0));
                let of_lines = scene.map(|scene| scene.line_signals(&memory)).unwrap_or_default();
                walked.push(Walked {
                    commit: one.commit,
                    features: one.features,
                    signals: signals.union(&of_lines).copied().collect(),
                });
            }
            if commit.mends != Mends::Nothing {
                needed.extend(memory.authors_of_removed(&one.files).filter(|author| *author != one.commit));
            }
            memory.remember(one.commit, commit.mends, &one.files);
        }
        walked.truncate(walked.len().saturating_sub(walked.len() / 5));
        let needs_fix = |walked: &Walked| needed.contains(&walked.commit);
        let added = |walked: &Walked| walked.features.and_then(|features| features.la).unwrap_or(0.0);
        let table = SignalTable::of(walked.iter().map(|walked| MeasuredCommit {
            signals: &walked.signals,
            needed_fix: needs_fix(walked),
            added: added(walked),
        }));
        let rows = walked.iter().filter_map(|walked| Some((walked.features?, needs_fix(walked)))).collect();
        Self { memory, table, rows }
    }

    /// How well the score has told here which changes need a fix. `None` with too few of either.
    #[must_use]
    pub fn worth(&self, model: &RiskModel, percentile: Option<f64>) -> Option<Worth> {
        let features: Vec<ChangeFeatures> = self.rows.iter().map(|(features, _)| *features).collect();
        let scale = Scale::of(&features);
        let scored = self.rows.iter().map(|(features, needed)| (model.log_odds(features, &scale), *needed)).collect();
        let added = self.rows.iter().map(|(features, needed)| (features.la.unwrap_or(0.0), *needed)).collect();
        Worth::of(scored, added, percentile)
    }
}

#[cfg(test)]
mod tests;
