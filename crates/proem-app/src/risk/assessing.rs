//! Changes found in the repository and put before its history.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use proem_guard::show::terminal_str;
use proem_risk::assess::{Assessment, Depth};
use proem_risk::change::Change;
use proem_risk::history::UncountedCommits;
use proem_risk::signal::{Base, SignalRow};
use proem_runtime::Environment;
use proem_runtime::change::{self, ChangeLimits, ResolvedChange};
use proem_runtime::git::{GitProgram, Repository, discover_repository_around};
use proem_runtime::risk::{Assessor, AssessorOptions, AssessorProgress, ChangeView};

use super::grounds::{AssessmentBasis, AssessmentRecord, ChangeLocation, Corpora};
use super::options::{HistoryCaching, RiskOptions, WantedChanges};
use crate::error::Error;
use crate::message::{Hint, Message, Note, NoteKind};
use crate::project::OpenProject;
use crate::trust::sha256_hex;
use crate::words::count_with_noun;

/// The most changes at a time.
const MOST_CHANGES: usize = 2_000;

/// A repository whose changes are assessed.
#[derive(Debug)]
pub struct AssessedRepository {
    assessor: Assessor,
    changes: Vec<(Change, ResolvedChange)>,
    /// The commits left out of a range, in our words.
    pub left_out: Vec<String>,
    /// The basis of their assessment.
    pub(super) grounds: AssessmentBasis,
}

/// The places to look for changes.
struct ChangeScope<'f> {
    git: &'f GitProgram,
    repository: &'f Repository,
    /// All changes, newest first.
    all: &'f [ResolvedChange],
    grounds: AssessmentBasis,
    corpora: Corpora,
}

/// An assessed change.
#[derive(Debug)]
pub struct ChangeAssessment {
    /// Its place among the changes.
    pub(super) change: usize,
    /// With Tier 1 only: what an investigation starts from.
    pub(super) first: Assessment,
    /// With both tiers: what the rules make of everything.
    pub(super) full: Assessment,
    /// The commits of its past that no metric counts.
    pub(super) left_out: UncountedCommits,
    /// How many past commits it is compared with, and how many they were drawn from.
    pub(super) sampled: (usize, u32),
}

impl AssessedRepository {
    /// Finds the changes, and reads what they are put before.
    ///
    /// # Errors
    ///
    /// If there is no repository, a revision is none, or git can't be read.
    pub fn begin(
        options: &RiskOptions,
        project: &OpenProject,
        progress: &dyn Fn(AssessorProgress),
    ) -> Result<Self, Error> {
        let git = GitProgram::find(&Environment::inherited())?.within(project.config.git.limits());
        let repository = discover_repository(&git, &options.root, project)?;
        let (grounds, corpora) = AssessmentBasis::of(&options.evidence, project)?;
        let (wanted, left_out) = wanted_changes(&git, &repository, &options.changes, grounds.now)?;
        let found = ChangeScope { git: &git, repository: &repository, all: &wanted, grounds, corpora };
        Ok(Self { left_out, ..found.open(&wanted, project, progress)? })
    }

    /// Finds a change again that was assessed before, and reads what it was put before.
    ///
    /// # Errors
    ///
    /// In words, with what could be done about it where that is known, if it is missing, or something that it was
    /// assessed from is not what it was.
    pub(super) fn again(
        assessed: &AssessmentRecord,
        root: &Path,
        project: &OpenProject,
        progress: &dyn Fn(AssessorProgress),
    ) -> Result<Self, Message> {
        let git = GitProgram::find(&Environment::inherited()).map_err(|error| error.to_string())?;
        let git = git.within(project.config.git.limits());
        let repository = discover_repository(&git, root, project)?;
        let corpora = assessed.grounds.corpora()?;
        let find = |place: &ChangeLocation| place.find(&git, &repository, assessed.grounds.now);
        let change = find(&assessed.change)?;
        let other = |place: &Option<ChangeLocation>| place.as_ref().map(find).transpose();
        let (newest, oldest) = (other(&assessed.newest)?, other(&assessed.oldest)?);
        let all: Vec<ResolvedChange> = [newest, Some(change.clone()), oldest].into_iter().flatten().collect();
        let grounds = assessed.grounds.clone();
        let found = ChangeScope { git: &git, repository: &repository, all: &all, grounds, corpora };
        Ok(found.open(&[change], project, progress)?)
    }

    /// The subject by which experiments choose versions for a change: its commit, or the commit under what is not
    /// committed.
    pub(super) fn experiment_subject(&self, index: usize) -> String {
        let resolved = self.change(index).map(|(_, resolved)| resolved);
        match resolved.map(|resolved| (&resolved.id, &resolved.base)) {
            Some((Some(commit), _)) => commit.to_string(),
            Some((None, Some(base))) => format!("uncommitted on {base}"),
            Some((None, None)) | None => "uncommitted".to_owned(),
        }
    }

    /// The assessor of the changes.
    pub(super) const fn assessor(&self) -> &Assessor {
        &self.assessor
    }

    /// How many changes there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.changes.len()
    }

    /// A change, with what it was called.
    pub(super) fn change(&self, index: usize) -> Option<(&Change, &ResolvedChange)> {
        self.changes.get(index).map(|(change, resolved)| (change, resolved))
    }

    /// A change with what it is assessed from, for its record.
    pub(super) fn assessed(&self, index: usize) -> Option<AssessmentRecord> {
        let place = |at: usize| self.change(at).map(|(_, resolved)| ChangeLocation::of(resolved));
        let last = self.changes.len().checked_sub(1)?;
        Some(AssessmentRecord {
            change: place(index)?,
            newest: (index > 0).then(|| place(0)).flatten(),
            oldest: (index < last).then(|| place(last)).flatten(),
            grounds: self.grounds.clone(),
        })
    }

    /// A change before all that is known.
    ///
    /// # Errors
    ///
    /// If what it is on can't be read.
    pub(super) fn look_at(&self, index: usize) -> Option<Result<ChangeView<'_>, Error>> {
        self.change(index).map(|(change, _)| self.assessor.look(change).map_err(Error::from))
    }

    /// The worth of each signal in the past of the newest change, and how many past changes needed a fix. `None`
    /// without a change.
    ///
    /// # Errors
    ///
    /// If what the change is on can't be read.
    pub fn signals(&self) -> Result<Option<(Base, Vec<SignalRow>)>, Error> {
        self.look_at(0).map(|view| Ok(view?.signals())).transpose()
    }

    /// Assesses every change, several at once. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If one of them can't be.
    pub fn look(&self, concurrency: NonZeroUsize, notes: &mut Vec<Note>) -> Result<Vec<ChangeAssessment>, Error> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(self.changes.len()));
        let workers = workers(concurrency, self.changes.len());
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(looked) = self.look_one(next.fetch_add(1, Ordering::Relaxed)) {
                        // A worker that failed can't have left half an entry.
                        done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(looked);
                    }
                });
            }
        });
        notes.extend(self.assessor.keep().map(|words| Note::new(NoteKind::Records, words)));
        let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut looked = done.into_iter().collect::<Result<Vec<_>, _>>()?;
        looked.sort_by_key(|looked| looked.change);
        Ok(looked)
    }

    /// Assesses the change at a place. `None` behind the last.
    pub(super) fn look_one(&self, index: usize) -> Option<Result<ChangeAssessment, Error>> {
        let look = self.look_at(index)?;
        let assess = || {
            let look = look?;
            let first = look.assess(Depth::TierOne)?;
            let full = look.deepen(first.clone());
            Ok(ChangeAssessment { change: index, first, full, left_out: look.left_out(), sampled: look.sampled() })
        };
        Some(assess())
    }
}

impl ChangeScope<'_> {
    /// Reads what these of all changes are put before.
    fn open(
        self,
        changes: &[ResolvedChange],
        project: &OpenProject,
        progress: &dyn Fn(AssessorProgress),
    ) -> Result<AssessedRepository, Error> {
        let Self { git, repository, all, grounds, corpora } = self;
        let cache = project.places.cache.join("risk").join(sha256_hex(project.key.as_bytes()));
        let options = AssessorOptions {
            changes: all.to_vec(),
            first_parent: grounds.first_parent,
            window_days: u32::from(grounds.window_months).saturating_mul(365).div_ceil(12),
            now: grounds.now,
            cache: (grounds.caching == HistoryCaching::On).then_some(cache),
            thresholds: grounds.thresholds.clone(),
            level_rules: grounds.level_rules,
            incidents: corpora.incidents,
            coverage: corpora.coverage,
        };
        let assessor = Assessor::open(git, repository, options, progress)?;
        let limits = ChangeLimits { time: git.limits().history, ..ChangeLimits::default() };
        let read = assessor.read_changes(changes, &limits)?;
        let changes = read.into_iter().zip(changes.iter().cloned()).collect();
        Ok(AssessedRepository { assessor, changes, left_out: Vec::new(), grounds })
    }
}

/// How many threads assess. One for a single change.
fn workers(wanted: NonZeroUsize, changes: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    wanted.get().min(cores.max(1)).min(changes.max(1))
}

fn discover_repository(git: &GitProgram, root: &Path, project: &OpenProject) -> Result<Repository, Error> {
    let found = discover_repository_around(git, root, git.limits().question)?;
    let found = found.map(|repository| Repository { set_up: project.set_up(), ..repository });
    found.ok_or_else(|| {
        let shown = terminal_str(&root.display().to_string());
        Error::invalid(format!("`{shown}` is not in a git repository")).hinting(Hint::NameRepository)
    })
}

/// The changes that are meant, and what of a range is left out.
fn wanted_changes(
    git: &GitProgram,
    repository: &Repository,
    changes: &WantedChanges,
    now: i64,
) -> Result<(Vec<ResolvedChange>, Vec<String>), Error> {
    let batch = match changes {
        WantedChanges::Several(specs) => {
            let resolved = specs.iter().map(|spec| change::resolve_change(git, repository, spec, now));
            return Ok((resolved.collect::<Result<_, _>>()?, Vec::new()));
        }
        WantedChanges::Each(batch) => batch,
    };
    let listing = change::commits_since(git, repository, batch, MOST_CHANGES)?;
    if listing.commits.is_empty() && listing.parentless > 0 {
        let text = "the clone is shallow and lacks the parents of all commits in this range; nothing is assessed. \
                    `git fetch --unshallow` brings them";
        return Err(Error::invalid(text));
    }
    if listing.commits.is_empty() {
        return Err(Error::invalid("there are no commits in this range or since that time; nothing is assessed"));
    }
    let mut left_out = Vec::new();
    if listing.merges > 0 {
        left_out.push(format!("{} left out", count_with_noun(u64::from(listing.merges), "merge")));
    }
    if listing.parentless > 0 {
        let commits = count_with_noun(u64::from(listing.parentless), "commit");
        left_out.push(format!(
            "{commits} left out, because this shallow clone lacks the parents; `git fetch --unshallow` brings them"
        ));
    }
    if listing.more {
        left_out.push(format!("only the newest {MOST_CHANGES} commits are assessed; choose a shorter range"));
    }
    Ok((listing.commits, left_out))
}

#[cfg(test)]
mod tests {
    use proem_risk::level::Thresholds;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::places::{Channel, Places};

    #[test]
    fn what_keeps_a_change_from_being_found_again_says_what_could_be_done() {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let [config, state, cache] = ["config", "state", "cache"].map(|name| base.join(name));
        let places =
            Places { config, state, cache, home: base.clone(), programs: base.clone(), channel: Channel::Pipe };
        let project = OpenProject::without_book(&base, &places).unwrap();
        let assessed: AssessmentRecord = serde_json::from_value(json!({
            "change": { "kind": "commit", "id": null, "base": null },
            "newest": null,
            "oldest": null,
            "now": 0,
            "windowMonths": 12,
            "firstParent": false,
            "caching": "off",
            "thresholds": Thresholds::shipped().unwrap(),
            "incidents": null,
            "coverage": null,
        }))
        .unwrap();
        let refused = AssessedRepository::again(&assessed, &base, &project, &|_| {}).unwrap_err();
        let expected = format!("`{}` is not in a git repository", base.display());
        assert_eq!((refused.text, refused.hint), (expected, Some(Hint::NameRepository)));
    }
}
