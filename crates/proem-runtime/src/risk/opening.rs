//! Reading what all changes of a command are put before.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use proem_risk::coverage::Coverage;
use proem_risk::history::{CommitIndex, History, ObjectId, Past};
use proem_risk::incident::{Corpus, Incident, MendIncidents};
use proem_risk::level::{LevelRules, Thresholds};
use proem_risk::path::PathRules;
use proem_risk::sample::{DrawnCommit, newest_commits};
use proem_risk::score::RiskModel;
use proem_risk::signal::{REMEMBERED, TrainedSignal};

use super::ground::{ChangeKey, GroundReader};
use super::{Assessor, AssessorAccount};
use crate::Error;
use crate::change::{ResolvedChange, read_drawn_commits};
use crate::git::{GitProgram, Repository};
use crate::history::{HistoryWanted, read_repository_history};
use crate::structure::{StructureLimits, StructureReader, TreeState};

/// The depth of an assessor's look, and the rules of its judgement.
#[derive(Debug, Clone)]
pub struct AssessorOptions {
    /// The changes that will be looked at, newest first.
    pub changes: Vec<ResolvedChange>,
    /// Whether merges are followed by their first parent only.
    pub first_parent: bool,
    /// How many days before a change others count as made together.
    pub window_days: u32,
    /// The caller's clock, in seconds since 1970.
    pub now: i64,
    /// A folder of the user's for what is kept between runs.
    pub cache: Option<PathBuf>,
    /// The values at which metrics become MEDIUM and HIGH.
    pub thresholds: Thresholds,
    /// The thresholds by which scores, rules and gaps become levels.
    pub level_rules: LevelRules,
    /// Incidents of the caller's.
    pub incidents: Option<Vec<Incident>>,
    /// A report of measured coverage.
    pub coverage: Option<Coverage>,
}

/// How far the reading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssessorProgress {
    /// So many commits were read.
    History(u64),
    /// So many of so many sources were read.
    Sources(usize, usize),
    /// Past commits are looked at.
    Sample(usize),
}

impl AssessorProgress {
    /// The line that a person is shown.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::History(commits) => format!("reading the history: {commits} commits"),
            Self::Sources(done, all) => format!("reading imports: {done} of {all} sources"),
            Self::Sample(commits) => format!("scoring {commits} past commits"),
        }
    }
}

impl Assessor {
    /// Reads what the changes are put before.
    ///
    /// # Errors
    ///
    /// The errors of [`read_repository_history`], and of git for the attributes of the newest change's base.
    /// [`Error::Assessment`] and [`Error::Score`] if the shipped data are damaged.
    pub fn open(
        git: &GitProgram,
        repository: &Repository,
        options: AssessorOptions,
        progress: &dyn Fn(AssessorProgress),
    ) -> Result<Self, Error> {
        let rules = PathRules::shipped().map_err(Error::Assessment)?;
        let model = RiskModel::shipped().map_err(Error::Score)?;
        let reading = AssessorReading { git, repository, options: &options, progress };
        let mut about = AssessorAccount::default();
        let cache = options.cache.as_deref();
        let structures = StructureReader::open(git, repository, cache, StructureLimits::default());
        let structures = structures.asking_for(rules.all_packages());
        let commit = options.changes.first().and_then(|change| change.id).map(|id| id.to_string());
        // Imports don't depend on the past, so that both are read side by side. Uncommitted changes are read later.
        let (history, drawn) = std::thread::scope(|scope| {
            if let Some(commit) = &commit {
                scope.spawn(|| structures.read_ahead(TreeState::Commit(commit)));
            }
            let history = reading.history(&mut about)?;
            let drawn = reading.drawn(&history, &mut about);
            Ok::<_, Error>((history, drawn))
        })?;
        let newest = options.changes.first().map(ChangeKey::from);
        let grounds = GroundReader::new(git.clone(), repository.clone(), structures, drawn, options.coverage);
        let mut assessor = Self {
            history,
            grounds,
            rules,
            model,
            thresholds: options.thresholds,
            level_rules: options.level_rules,
            window_days: options.window_days,
            incidents: options.incidents.map(|incidents| Arc::new(Corpus::new(incidents))),
            mended: Mutex::new(MendIncidents::default()),
            standing: Mutex::default(),
            trained: TrainedSignal::shipped().map_err(Error::Assessment)?,
            about,
        };
        // The others have most of their sources in common with it.
        if let Some(newest) = newest {
            assessor.ground(&newest, &|done, all| progress(AssessorProgress::Sources(done, all)))?;
            assessor.about.notes.extend(assessor.keep());
        }
        Ok(assessor)
    }
}

struct AssessorReading<'r> {
    git: &'r GitProgram,
    repository: &'r Repository,
    options: &'r AssessorOptions,
    progress: &'r dyn Fn(AssessorProgress),
}

impl AssessorReading<'_> {
    /// The history that all changes are in.
    fn history(&self, about: &mut AssessorAccount) -> Result<History, Error> {
        let options = self.options;
        let tips: Vec<ObjectId> = options.changes.iter().filter_map(|change| change.id.or(change.base)).collect();
        if tips.is_empty() {
            return Ok(History::of(Vec::new(), options.now));
        }
        let wanted = HistoryWanted {
            tips,
            base: options.changes.last().and_then(|change| change.base),
            first_parent: options.first_parent,
            now: options.now,
            ..HistoryWanted::default()
        };
        let told = |commits| (self.progress)(AssessorProgress::History(commits));
        let read = read_repository_history(self.git, self.repository, &wanted, options.cache.as_deref(), &told)?;
        about.commits = u64::from(read.cached).saturating_add(u64::from(read.new));
        about.cached = u64::from(read.cached);
        about.missing = read.history.missing();
        about.notes.extend(read.notes);
        Ok(read.history)
    }

    /// The commits that any of the changes is compared with. `None` with a note if they can't be looked at: without
    /// them a change has no percentile, which is unknown, and the rest can be known.
    fn drawn(&self, history: &History, about: &mut AssessorAccount) -> Option<Vec<DrawnCommit>> {
        let pasts = self.options.changes.iter().map(|change| past_of(history, change.base.as_ref()));
        let picked: BTreeSet<CommitIndex> = pasts.flat_map(|past| newest_commits(&past, REMEMBERED)).collect();
        let ids = picked.into_iter().filter_map(|at| history.commit(at).map(|commit| commit.id));
        let ids: Vec<ObjectId> = ids.collect();
        (self.progress)(AssessorProgress::Sample(ids.len()));
        let drawn = read_drawn_commits(self.git, self.repository, &ids, self.options.cache.as_deref());
        drawn
            .map_err(|error| {
                let note = format!("past commits can't be scored, so the score has no percentile: {error}");
                about.notes.push(note);
            })
            .ok()
    }
}

/// The past up to a commit. Nothing without one, or if it is unknown.
pub(super) fn past_of<'h>(history: &'h History, base: Option<&ObjectId>) -> Past<'h> {
    let base = base.and_then(|base| history.find(base));
    base.map_or_else(|| history.nothing(), |base| history.past(base))
}
