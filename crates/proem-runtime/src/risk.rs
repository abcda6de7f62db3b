//! How risky changes of a repository are: git and files in, assessments out.
//!
//! An [`Assessor`] reads the history once for all changes of a command. [`Assessor::look`] puts one change before its
//! own past, its own files and its own sample of past commits. [`Measures`] takes the measurements that an
//! investigation asks for, beside the calls of models.
//!
//! Nothing of the repository runs, and none of its files configures how it is judged: rules, thresholds
//! and the model are the caller's, attributes and the mailmap come from the base of a change.

mod before;
mod ground;
mod measures;
mod opening;

pub use self::measures::Measures;
pub use self::opening::{AssessorOptions, AssessorProgress};

use std::sync::{Arc, Mutex, PoisonError};

use proem_agents::risk::evidence::Yardsticks;
use proem_agents::risk::investigation::NeighbourFiles;
use proem_risk::assess::{Assessment, Depth, assess_change, deepen_assessment};
use proem_risk::change::Change;
use proem_risk::finding::FindingFacts;
use proem_risk::graph::NeighbourLimits;
use proem_risk::history::{History, Past, UncountedCommits};
use proem_risk::incident::{Corpus, MOST_INCIDENTS, MendIncidents};
use proem_risk::level::{LevelRules, Thresholds};
use proem_risk::metric::{Metric, MetricName};
use proem_risk::metrics::{AssessmentFacts, measure_metric};
use proem_risk::path::{FileRole, PathRules};
use proem_risk::score::RiskModel;
use proem_risk::signal::{Base, Lessons, PatchedCommit, REMEMBERED, SignalRow, StandingSignals, TrainedSignal};

use self::before::BeforeChange;
use self::ground::{AssessmentGround, ChangeKey, GroundReader};
use self::opening::past_of;
use crate::Error;
use crate::change::{self, ChangeLimits, ResolvedChange};

/// The most fixes and reverts of a history that serve as incidents.
const INCIDENTS: usize = 5_000;
/// The most names of neighbours that are given.
const NEIGHBOURS: usize = 10;

/// The assessor of one repository's changes.
#[derive(Debug)]
pub struct Assessor {
    history: History,
    grounds: GroundReader,
    rules: PathRules,
    model: RiskModel,
    thresholds: Thresholds,
    level_rules: LevelRules,
    window_days: u32,
    /// Incidents of the caller's; without them the past's own fixes and reverts count.
    incidents: Option<Arc<Corpus>>,
    /// The incidents read from those.
    mended: Mutex<MendIncidents>,
    /// The signals of past commits, by those commits.
    standing: Mutex<Vec<StandingOf>>,
    /// The shipped figures of signals.
    trained: Vec<TrainedSignal>,
    about: AssessorAccount,
}

/// Past commits with their signals.
type StandingOf = (Arc<Vec<PatchedCommit>>, Arc<StandingSignals>);

/// The account of an assessor's making.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssessorAccount {
    /// How many commits the history has.
    pub commits: u64,
    /// How many of them came from the cache.
    pub cached: u64,
    /// The gaps of the history.
    pub missing: proem_risk::history::HistoryGaps,
    /// Notes for the caller, in our words.
    pub notes: Vec<String>,
}

/// One change before all that is known.
#[derive(Debug)]
pub struct ChangeView<'a> {
    assessor: &'a Assessor,
    change: &'a Change,
    past: Past<'a>,
    ground: Arc<AssessmentGround>,
    incidents: Arc<Corpus>,
    lessons: Lessons,
    before: BeforeChange,
}

impl Assessor {
    /// The rules by which paths are told apart.
    #[must_use]
    pub const fn rules(&self) -> &PathRules {
        &self.rules
    }

    /// The account of its making.
    #[must_use]
    pub const fn about(&self) -> &AssessorAccount {
        &self.about
    }

    /// Reads changes, each as [`read_change`](crate::change::read_change) does, with one process for what many have in
    /// common.
    ///
    /// # Errors
    ///
    /// If git can't list the changed files of one. Other missing facts are gaps.
    pub fn read_changes(&self, resolved: &[ResolvedChange], limits: &ChangeLimits) -> Result<Vec<Change>, Error> {
        let GroundReader { git, repository, memory, .. } = &self.grounds;
        change::read_changes((git, repository), resolved, &self.rules, limits, &memory.bases)
    }

    /// Puts a change, one of those that it was opened for, before what happened up to its base.
    ///
    /// # Errors
    ///
    /// If git can't tell the attributes of the base.
    pub fn look<'a>(&'a self, change: &'a Change) -> Result<ChangeView<'a>, Error> {
        let past = past_of(&self.history, change.base.as_ref());
        let incidents = match &self.incidents {
            Some(incidents) => incidents.clone(),
            None => {
                let mut mended = self.mended.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::new(mended.corpus(&past, INCIDENTS))
            }
        };
        let ground = self.grounds.of(&ChangeKey::from(change), &past, &self.rules, &|_, _| ())?;
        let patched: Vec<_> = ground.patched.iter().filter(|one| past.contains(one.commit)).collect();
        let newest = patched.get(patched.len().saturating_sub(REMEMBERED)..).unwrap_or_default();
        let lessons = Lessons::learn_with(&past, newest, &ground.known, &self.standing_signals(&ground));
        let before = BeforeChange::read(&self.grounds, change, &self.rules)?;
        Ok(ChangeView { assessor: self, change, past, ground, incidents, lessons, before })
    }

    /// The signals that the past commits of a ground have for every change.
    fn standing_signals(&self, ground: &AssessmentGround) -> Arc<StandingSignals> {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = standing.iter().find(|(patched, _)| Arc::ptr_eq(patched, &ground.patched)) {
            return Arc::clone(known);
        }
        let found = StandingSignals::find(&self.history, ground.patched.iter(), &ground.known, self.window_days);
        let found = Arc::new(found);
        standing.push((Arc::clone(&ground.patched), Arc::clone(&found)));
        found
    }

    fn ground(&self, stand: &ChangeKey, told: &dyn Fn(usize, usize)) -> Result<Arc<AssessmentGround>, Error> {
        self.grounds.of(stand, &past_of(&self.history, stand.base.as_ref()), &self.rules, told)
    }

    /// Keeps what was read of the changes' files for the next time. Why that was not possible, in our words.
    #[must_use]
    pub fn keep(&self) -> Option<String> {
        self.grounds.structures.keep()
    }
}

impl ChangeView<'_> {
    /// The files and lines of the change.
    #[must_use]
    pub const fn change(&self) -> &Change {
        self.change
    }

    /// The commits of its past that no metric counts.
    #[must_use]
    pub fn left_out(&self) -> UncountedCommits {
        self.past.left_out()
    }

    /// How many past commits it is compared with, and how many they were drawn from.
    #[must_use]
    pub fn sampled(&self) -> (usize, u32) {
        (self.ground.sample.commits.len(), self.ground.sample.of)
    }

    /// Assesses the change by the assessor's rules, as deep as `depth` says.
    ///
    /// # Errors
    ///
    /// [`Error::Assessment`] if the score's model refuses the change's features.
    pub fn assess(&self, depth: Depth) -> Result<Assessment, Error> {
        self.assess_by(self.assessor.level_rules, depth)
    }

    /// Assesses the change by other rules than the assessor's.
    ///
    /// # Errors
    ///
    /// As for [`Self::assess`].
    pub fn assess_by(&self, rules: LevelRules, depth: Depth) -> Result<Assessment, Error> {
        let facts = AssessmentFacts { rules, ..self.facts() };
        let mut assessment = assess_change(&facts, &self.assessor.model, depth).map_err(Error::Assessment)?;
        let notes = [&self.assessor.about.notes, &self.ground.notes, &self.before.notes];
        assessment.gaps.extend(notes.into_iter().flatten().cloned());
        let cut = self.incidents.cut();
        if cut.incidents > 0 {
            assessment
                .gaps
                .push(format!("{} incidents beyond the first {MOST_INCIDENTS} were not read", cut.incidents));
        }
        Ok(assessment)
    }

    /// An assessment of Tier 1 with everything that [`Depth::TierTwo`] measures.
    #[must_use]
    pub fn deepen(&self, first: Assessment) -> Assessment {
        deepen_assessment(&AssessmentFacts { rules: first.rules, ..self.facts() }, first)
    }

    /// Measures one metric of a file of the change, by its place in it.
    #[must_use]
    pub fn measure(&self, file: u32, name: MetricName) -> Option<Metric> {
        measure_metric(&self.facts(), file, name)
    }

    /// The files within two imports of a file of the change. `None` if they are not known.
    #[must_use]
    pub fn neighbours(&self, file: u32) -> Option<NeighbourFiles> {
        let tree = self.ground.tree.as_ref()?;
        let path = &self.change.files.get(usize::try_from(file).ok()?)?.path;
        let role =
            |index: u32| usize::try_from(index).ok().and_then(|at| tree.files.get(at)).map(|file| file.class.role);
        let is_product = |index: u32| matches!(role(index), Some(FileRole::Code | FileRole::Configuration));
        let limits = NeighbourLimits { hops: 2, named: NEIGHBOURS };
        let found = tree.graph.neighbours(tree.find(path)?, limits, is_product);
        let name = |index: &u32| tree.files.get(usize::try_from(*index).ok()?).map(|file| file.path.to_text());
        Some(NeighbourFiles {
            direct: found.direct,
            transitive: found.transitive,
            mean_distance: found.mean_distance,
            names: found.nearest.iter().filter_map(name).collect(),
        })
    }

    /// The worth of each signal in the past of the change, and the base rate.
    #[must_use]
    pub fn signals(&self) -> (Base, Vec<SignalRow>) {
        let table = &self.lessons.table;
        (table.base, table.rows(&self.assessor.trained))
    }

    /// The thresholds and figures that a model reads the change's signals by.
    #[must_use]
    pub fn yardsticks(&self) -> Yardsticks {
        let (base, signals) = self.signals();
        Yardsticks { thresholds: self.assessor.thresholds.clone(), base, signals }
    }

    fn facts(&self) -> AssessmentFacts<'_> {
        AssessmentFacts {
            change: self.change,
            past: &self.past,
            tree: self.ground.tree.as_ref(),
            coverage: self.ground.coverage.as_ref(),
            incidents: &self.incidents,
            sample: &self.ground.sample,
            thresholds: &self.assessor.thresholds,
            rules: self.assessor.level_rules,
            window_days: self.assessor.window_days,
            finding: FindingFacts {
                lessons: Some(&self.lessons),
                known: Some(&self.ground.known),
                base: self.before.tree.as_ref(),
                called: &self.before.called,
                trained: &self.assessor.trained,
            },
        }
    }
}
