//! Reading what changes are put before: the history, the files, the sample.

use std::path::PathBuf;

use proem_risk::change::Kind;
use proem_risk::coverage::Coverage;
use proem_risk::history::{History, ObjectId, Past};
use proem_risk::incident::Incident;
use proem_risk::level::Thresholds;
use proem_risk::metrics::kamei::{self, counts};
use proem_risk::path::{Attributes, RepoPath, Role, Rules, classify};
use proem_risk::sample::{MOST, Sample, draw};
use proem_risk::score::Model;
use proem_risk::tree::{Imports, Tree, TreeFile};

use super::{About, Assessor};
use crate::Error;
use crate::change::{Resolved, attributes, drawn};
use crate::git::{GitProgram, Repository};
use crate::history::{HistoryWanted, history};
use crate::structure::{At, Structure, StructureFile, StructureLimits, Unread, structure};

/// The seed of the draw: the sample of a repository is the same for everybody.
const SEED: u64 = 0x7072_6f65_6d00_0001;

/// What an assessor is made for.
#[derive(Debug, Clone)]
pub struct AssessorOptions {
    /// The changes that will be looked at, newest first.
    pub changes: Vec<Resolved>,
    /// Whether merges are followed by their first parent only.
    pub first_parent: bool,
    /// How many days before a change others count as made together.
    pub window_days: u32,
    /// The caller's clock, in seconds since 1970.
    pub now: i64,
    /// A folder of the user's for what is kept between runs.
    pub cache: Option<PathBuf>,
    /// Where signals begin.
    pub thresholds: Thresholds,
    /// Incidents of the caller's.
    pub incidents: Option<Vec<Incident>>,
    /// A report of measured coverage.
    pub coverage: Option<Coverage>,
}

/// How far the reading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many commits were read.
    History(u64),
    /// So many of so many sources were read.
    Sources(usize, usize),
    /// Past commits are looked at.
    Sample(usize),
}

impl Progress {
    /// It in our words.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::History(commits) => format!("reading the history: {commits} commits"),
            Self::Sources(done, all) => format!("reading imports: {done} of {all} sources"),
            Self::Sample(commits) => format!("looking at {commits} past commits"),
        }
    }
}

impl Assessor {
    /// Reads what the changes are put before.
    ///
    /// # Errors
    ///
    /// What [`history`] and [`structure`] report; [`Error::Assessment`] if the shipped data are damaged.
    pub fn open(
        git: &GitProgram,
        repository: &Repository,
        options: AssessorOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<Self, Error> {
        let rules = Rules::shipped().map_err(Error::Assessment)?;
        let model = Model::shipped().map_err(Error::Score)?;
        let reading = Reading { git, repository, options: &options, rules: &rules, progress };
        let mut about = About::default();
        let history = reading.history(&mut about)?;
        let oldest = options.changes.last().and_then(|change| change.base);
        let past = oldest.and_then(|id| history.find(&id)).map_or_else(|| history.nothing(), |at| history.past(at));
        let attributes = match options.changes.first() {
            Some(newest) => attributes(git, repository, newest)?,
            None => Attributes::default(),
        };
        let sample = reading.sample(&past, &attributes, &mut about);
        let tree = reading.tree(&attributes, &mut about);
        drop(past);
        let coverage =
            options.coverage.map(|coverage| tree.as_ref().map_or(coverage.clone(), |tree| coverage.placed(tree)));
        Ok(Self {
            history,
            tree,
            sample,
            rules,
            model,
            thresholds: options.thresholds,
            window_days: options.window_days,
            incidents: options.incidents,
            coverage,
            about,
        })
    }
}

/// What is read, and how.
struct Reading<'r> {
    git: &'r GitProgram,
    repository: &'r Repository,
    options: &'r AssessorOptions,
    rules: &'r Rules,
    progress: &'r dyn Fn(Progress),
}

impl Reading<'_> {
    /// The history that all changes stand in.
    fn history(&self, about: &mut About) -> Result<History, Error> {
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
        let told = |commits| (self.progress)(Progress::History(commits));
        let read = history(self.git, self.repository, &wanted, options.cache.as_deref(), &told)?;
        about.commits = u64::from(read.cached).saturating_add(u64::from(read.new));
        about.cached = u64::from(read.cached);
        about.missing = read.history.missing();
        about.notes.extend(read.notes);
        Ok(read.history)
    }

    fn sample(&self, past: &Past<'_>, attributes: &Attributes, about: &mut About) -> Sample {
        let picked = draw(past, SEED, MOST);
        (self.progress)(Progress::Sample(picked.len()));
        let ids: Vec<ObjectId> =
            picked.iter().filter_map(|&at| past.history().commit(at).map(|commit| commit.id)).collect();
        let drawn = drawn(self.git, self.repository, &ids, self.options.cache.as_deref());
        // Without the sample a change has no percentile, which is unknown; the rest can be known.
        let drawn = drawn.unwrap_or_else(|error| {
            about.notes.push(format!("past commits can't be looked at, so the score has no percentile: {error}"));
            Vec::new()
        });
        let of = u32::try_from(past.commits().count()).unwrap_or(u32::MAX);
        let is_counted = |path: &RepoPath| counts(classify(path, attributes, self.rules).role);
        let sample = kamei::sample(past.history(), &drawn, of, &is_counted);
        about.sampled = sample.commits.len();
        about.sampled_of = sample.of;
        sample
    }

    /// The files of the newest change, with it in them; `None` if they can't be read.
    fn tree(&self, attributes: &Attributes, about: &mut About) -> Option<Tree> {
        let newest = self.options.changes.first()?;
        let commit = newest.id.as_ref().map(ObjectId::to_string);
        let at = match (newest.kind, commit.as_deref()) {
            (Kind::Staged | Kind::WorkTree, _) | (_, None) => At::WorkTree,
            (_, Some(commit)) => At::Commit(commit),
        };
        if self.options.changes.len() > 1 {
            about.notes.push("imports and tests are those of the newest of these changes".to_owned());
        }
        let limits = StructureLimits::default();
        let told = |done, all| (self.progress)(Progress::Sources(done, all));
        let cache = self.options.cache.as_deref();
        match structure(self.git, self.repository, at, (cache, &limits), &told) {
            Ok(structure) => {
                about.files = structure.paths.len();
                Some(as_tree(structure, attributes, self.rules))
            }
            Err(error) => {
                about.notes.push(format!("the files can't be read, so who imports whom is unknown: {error}"));
                None
            }
        }
    }
}

fn as_tree(structure: Structure, attributes: &Attributes, rules: &Rules) -> Tree {
    let files = structure.paths.into_iter().zip(structure.files).map(|(path, file)| {
        let path = RepoPath::new(path);
        let mut class = classify(&path, attributes, rules);
        if file.test_module && class.role == Role::Code {
            class.role = Role::Test;
        }
        let imports = imports(&file, class.role);
        TreeFile { path, class, lines: file.lines, inline_tests: file.inline_test_lines, imports }
    });
    Tree { files: files.collect(), graph: structure.graph, gaps: structure.gaps }
}

fn imports(file: &StructureFile, role: Role) -> Imports {
    match (file.language, file.unread) {
        (Some(_), None) => {
            Imports::Read { resolved: file.resolved, unresolved: file.unresolved, external: file.external }
        }
        (_, Some(Unread::NoParser)) => Imports::NoParser,
        (_, Some(_)) => Imports::Unread,
        (None, None) if matches!(role, Role::Code | Role::Test) => Imports::NoParser,
        (None, None) => Imports::None,
    }
}
