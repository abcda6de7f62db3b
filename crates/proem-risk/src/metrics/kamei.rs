//! The fourteen metrics of a change of Kamei et al., *A Large-Scale Empirical Study of Just-in-Time Quality
//! Assurance*, 2013, as the learned score wants them.
//!
//! The score was trained on the data of Zeng et al., *Deep Just-in-Time Defect Prediction: How Far Are We?*, 2021,
//! whose extraction departs from the paper in some definitions. The computation here follows the data, so that numbers
//! mean the same when the score is used. For a change of files f with lines aₖ added and dₖ removed in file k, made by
//! an author at a time, over counted commits strictly before it:
//!
//! | metric | definition |
//! |---|---|
//! | NS, ND, NF | distinct first folders, distinct folders, files |
//! | entropy | −Σ pₖ log₂ pₖ with pₖ = (aₖ + dₖ) / Σ (aⱼ + dⱼ), over log₂ NF; 0 for one file |
//! | LA, LD | Σ aₖ, Σ dₖ |
//! | LT | Σ lines of the files before |
//! | FIX | the message says that it fixes or reverts something |
//! | NDEV | distinct authors of earlier commits of the files, and the author |
//! | AGE | mean over the files of the days since the last commit; 0 for a new file |
//! | NUC | Σ over the files of (earlier commits + 1) |
//! | EXP | the author's earlier changes, each counted once for each file, and those of this change |
//! | REXP | Σ over the same of 1 / (age in days + 1) |
//! | SEXP | distinct files in the touched first folders that the author ever changed, and those of this change |
//!
//! Files that are documentation, generated, vendored, lock files or assets count nowhere, here and in the sample. A
//! binary file counts as a file without lines. If the history doesn't go back to its beginning, NDEV, AGE, NUC, EXP,
//! REXP and SEXP are unknown; if blobs are missing, lines are.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::survey::time_of;
use crate::change::{Change, ChangedFile, FileKind, LineCounts};
use crate::history::{CommitIndex, FileId, History, Mends, Past, PersonId};
use crate::path::{FileRole, RepoPath};
use crate::sample::{DrawnCommit, SampledCommit};
use crate::score::ChangeFeatures;

mod metrics;

pub(crate) use self::metrics::kamei_metrics;

/// A file of a change, as far as these metrics want to know it.
#[derive(Debug, Clone, Copy)]
pub struct KameiFile<'t> {
    /// Its path before the change.
    pub path: &'t RepoPath,
    /// Lines added and removed. `None` for binary files and missing blobs.
    pub lines: Option<LineCounts>,
    /// Lines before. `None` if unknown.
    pub before: Option<u32>,
}

/// The author of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// Somebody who made earlier ones.
    Known(PersonId),
    /// Somebody who never made one.
    New,
    /// Nobody knows.
    Unknown,
}

/// The inputs of a change's metrics.
#[derive(Debug, Clone, Copy)]
pub struct KameiInputs<'m> {
    /// The files that count.
    pub files: &'m [KameiFile<'m>],
    /// The person who made the change.
    pub author: Author,
    /// When, in seconds since 1970.
    pub at: i64,
    /// Whether its message says that it fixes something. `None` without a message.
    pub fix: Option<bool>,
}

/// Whether a file with this role counts in these metrics.
#[must_use]
pub const fn counts_in_kamei(role: FileRole) -> bool {
    matches!(role, FileRole::Code | FileRole::Test | FileRole::Configuration)
}

/// The metrics of a change that is on `past`. Without files that count nothing is known.
#[must_use]
pub fn change_features(past: &Past<'_>, made: &KameiInputs<'_>) -> ChangeFeatures {
    let mut experience = Experience::default();
    if let Author::Known(person) = made.author {
        let commits = past.history().by(person).iter().filter(|commit| past.contains(**commit));
        commits.for_each(|commit| experience.add(past.history(), *commit));
    }
    with_experience(past, made, &experience)
}

/// The metrics of the files of `change` that count.
#[must_use]
pub fn features_of_change(past: &Past<'_>, change: &Change) -> ChangeFeatures {
    let files: Vec<KameiFile<'_>> =
        change.files.iter().filter(|file| counts_in_kamei(file.class.role)).map(kamei_file).collect();
    let author = change
        .author
        .as_ref()
        .map_or(Author::Unknown, |person| past.history().person_with(&person.mail).map_or(Author::New, Author::Known));
    // The messages of a range of commits are not one message.
    let id = change.id.filter(|_| change.commits == 1);
    let commit = id.and_then(|id| past.history().find(&id)).and_then(|index| past.history().commit(index));
    let fix = commit.map(|commit| commit.mends != Mends::Nothing);
    change_features(past, &KameiInputs { files: &files, author, at: time_of(past, change), fix })
}

fn kamei_file(file: &ChangedFile) -> KameiFile<'_> {
    let is_file = file.kind == FileKind::Regular;
    KameiFile {
        path: file.base_path(),
        lines: if is_file { file.lines } else { Some(LineCounts::default()) },
        before: if is_file { file.lines_before } else { Some(0) },
    }
}

/// Drawn commits with the metrics that they had when they were made, each against what was before it, in the order of
/// the history. `is_counted` says which paths count, by their roles as in [`counts_in_kamei`]. A commit that the
/// history doesn't know, and one without a file that counts, is left out.
#[must_use]
pub fn sample_features(
    history: &History,
    drawn: &[DrawnCommit],
    is_counted: &dyn Fn(&RepoPath) -> bool,
) -> Vec<(CommitIndex, SampledCommit)> {
    let known = drawn.iter().filter_map(|drawn| {
        let index = history.find(&drawn.id)?;
        Some((history.commit(index)?.author, index, drawn))
    });
    let mut known: Vec<(PersonId, CommitIndex, &DrawnCommit)> = known.collect();
    known.sort_by_key(|(author, index, _)| (*author, *index));
    let mut sampled: Vec<(CommitIndex, SampledCommit)> = Vec::new();
    for of_one in known.chunk_by(|(one, ..), (other, ..)| one == other) {
        // One walk over an author's commits serves all that were drawn of them.
        let mut experience = Experience::default();
        let mut commits = of_one.first().map_or(&[][..], |(author, ..)| history.by(*author)).iter().peekable();
        for (_, index, drawn) in of_one {
            while let Some(earlier) = commits.next_if(|commit| **commit < *index) {
                experience.add(history, *earlier);
            }
            if let Some(features) = at_its_time(history, *index, drawn, &experience, is_counted) {
                sampled.push((*index, SampledCommit { features }));
            }
        }
    }
    sampled.sort_by_key(|(index, _)| *index);
    sampled
}

/// The metrics of a commit with what its author had done by then. `None` if no file of it counts.
fn at_its_time(
    history: &History,
    index: CommitIndex,
    drawn: &DrawnCommit,
    experience: &Experience<'_>,
    is_counted: &dyn Fn(&RepoPath) -> bool,
) -> Option<ChangeFeatures> {
    let commit = history.commit(index)?;
    let files = drawn.files.iter().filter(|file| is_counted(&file.path));
    let files: Vec<KameiFile<'_>> =
        files.map(|file| KameiFile { path: &file.path, lines: file.lines, before: file.before }).collect();
    let fix = Some(commit.mends != Mends::Nothing);
    let made = KameiInputs { files: &files, author: Author::Known(commit.author), at: commit.at, fix };
    (!files.is_empty()).then(|| with_experience(&history.before(index), &made, experience))
}

/// An author's experience.
#[derive(Debug, Default)]
struct Experience<'h> {
    /// When, and how many files.
    changes: Vec<(i64, u32)>,
    /// Which files, by first folder.
    files: BTreeMap<&'h [u8], BTreeSet<FileId>>,
}

impl<'h> Experience<'h> {
    fn add(&mut self, history: &'h History, commit: CommitIndex) {
        let touches = history.touches(commit);
        let Some(at) = history.commit(commit).filter(|_| !touches.is_empty()).map(|commit| commit.at) else { return };
        self.changes.push((at, u32::try_from(touches.len()).unwrap_or(u32::MAX)));
        for touch in touches {
            self.files.entry(history.path(touch.path).subsystem()).or_default().insert(touch.file);
        }
    }
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Days between two times, with fractions; 0 if the first is not earlier.
fn days_between(from: i64, to: i64) -> f64 {
    f64::from(u32::try_from(to.saturating_sub(from).max(0)).unwrap_or(u32::MAX)) / DAY
}

fn count_as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Whether a history goes back to its beginning.
pub(super) fn is_whole_history(past: &Past<'_>) -> bool {
    let missing = past.history().missing();
    !missing.shallow && !missing.capped && missing.since.is_none()
}

fn with_experience(past: &Past<'_>, made: &KameiInputs<'_>, experience: &Experience<'_>) -> ChangeFeatures {
    if made.files.is_empty() {
        return ChangeFeatures::default();
    }
    let paths = || made.files.iter().map(|file| file.path);
    let subsystems: BTreeSet<&[u8]> = paths().map(RepoPath::subsystem).collect();
    let size = ChangeFeatures {
        ns: Some(count_as_f64(subsystems.len())),
        nd: Some(count_as_f64(paths().map(RepoPath::folder).collect::<BTreeSet<_>>().len())),
        nf: Some(count_as_f64(made.files.len())),
        fix: made.fix,
        ..line_features(past, made)
    };
    if !is_whole_history(past) {
        return size;
    }
    let files: Vec<Option<FileId>> = paths().map(|path| past.file(path)).collect();
    let history = of_files(past, made, &files);
    if made.author == Author::Unknown {
        return ChangeFeatures { ndev: history.ndev, age: history.age, nuc: history.nuc, ..size };
    }
    let own = count_as_f64(made.files.len());
    let earlier = || experience.changes.iter().map(|(at, files)| (*at, f64::from(*files)));
    let seen = subsystems.iter().filter_map(|subsystem| experience.files.get(subsystem));
    let here = made.files.iter().zip(&files).filter(|(touched, file)| {
        let seen = experience.files.get(touched.path.subsystem());
        !file.is_some_and(|file| seen.is_some_and(|seen| seen.contains(&file)))
    });
    ChangeFeatures {
        ndev: history.ndev,
        age: history.age,
        nuc: history.nuc,
        exp: Some(own + earlier().map(|(_, files)| files).sum::<f64>()),
        rexp: Some(own + earlier().map(|(at, files)| files / (days_between(at, made.at) + 1.0)).sum::<f64>()),
        sexp: Some(count_as_f64(here.count()) + seen.map(|files| count_as_f64(files.len())).sum::<f64>()),
        ..size
    }
}

/// LA, LD, LT and entropy. A file without lines is a binary one, unless blobs are missing: then nobody knows.
fn line_features(past: &Past<'_>, made: &KameiInputs<'_>) -> ChangeFeatures {
    let is_partial = past.history().missing().partial;
    let of = |file: &KameiFile<'_>| file.lines.or_else(|| (!is_partial).then(LineCounts::default));
    let Some(lines) = made.files.iter().map(of).collect::<Option<Vec<LineCounts>>>() else {
        return ChangeFeatures::default();
    };
    let before = |file: &KameiFile<'_>| if file.lines.is_none() { Some(0) } else { file.before };
    let before = made.files.iter().map(before).collect::<Option<Vec<u32>>>();
    let changed: Vec<f64> = lines.iter().map(|lines| f64::from(lines.added) + f64::from(lines.removed)).collect();
    ChangeFeatures {
        entropy: Some(entropy(&changed)),
        la: Some(lines.iter().map(|lines| f64::from(lines.added)).sum()),
        ld: Some(lines.iter().map(|lines| f64::from(lines.removed)).sum()),
        lt: before.map(|before| before.into_iter().map(f64::from).sum()),
        ..ChangeFeatures::default()
    }
}

/// The entropy of the shares over its maximum, 0 to 1; 0 for one file, and where no line changed.
fn entropy(changed: &[f64]) -> f64 {
    let total: f64 = changed.iter().sum();
    if changed.len() < 2 || total <= 0.0 {
        return 0.0;
    }
    let bits = changed.iter().filter(|lines| **lines > 0.0).map(|lines| {
        let share = lines / total;
        -share * libm::log2(share)
    });
    // All lines in one file are no spread, which a sum of floats would call −0.
    (bits.sum::<f64>() / libm::log2(count_as_f64(changed.len())) + 0.0).clamp(0.0, 1.0)
}

/// NDEV, AGE and NUC.
fn of_files(past: &Past<'_>, made: &KameiInputs<'_>, files: &[Option<FileId>]) -> ChangeFeatures {
    let mut persons: BTreeSet<PersonId> = BTreeSet::new();
    let (mut age, mut changes) = (0.0, 0.0);
    for file in files {
        changes += 1.0;
        let mut newest: Option<i64> = None;
        for (_, commit) in file.iter().flat_map(|file| past.touching(*file)) {
            persons.insert(commit.author);
            changes += 1.0;
            newest = newest.max(Some(commit.at));
        }
        age += newest.map_or(0.0, |at| days_between(at, made.at));
    }
    if let Author::Known(author) = made.author {
        persons.insert(author);
    }
    let unnamed = f64::from(u8::from(!matches!(made.author, Author::Known(_))));
    ChangeFeatures {
        ndev: Some(count_as_f64(persons.len()) + unnamed),
        age: Some(age / count_as_f64(files.len())),
        nuc: Some(changes),
        ..ChangeFeatures::default()
    }
}
