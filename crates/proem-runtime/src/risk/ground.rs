//! The ground of one change's assessment besides its past: the files with it in them, measured coverage by their paths,
//! and the past commits for comparison.
//!
//! Each change has its own, as if it were assessed alone; what several have in common is read once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proem_risk::change::{Change, ChangeKind};
use proem_risk::coverage::Coverage;
use proem_risk::history::{History, ObjectId, Past, Touch};
use proem_risk::metrics::kamei::{counts_in_kamei, sample_features};
use proem_risk::path::{FileRole, Framework, GitAttributes, PathRules, RepoPath};
use proem_risk::sample::{DrawnCommit, DrawnFile, MOST, Sample, SampledCommit, newest_commits};
use proem_risk::signal::{KnownFiles, PatchedCommit, PatchedFile, REMEMBERED};
use proem_risk::tree::{FileTree, Imports, TreeFile};

use crate::Error;
use crate::change::{ANSWER, BaseFacts, BaseFactsMemory, PathClassifier, ResolvedChange};
use crate::git::{GitProgram, Repository, Session};
use crate::process::Deadline;
use crate::structure::{SourceGap, Structure, StructureFile, StructureReader, TreeState};

/// The importers beyond which the seed calls coupling HIGH.
const COUPLED: u32 = 10;

/// How many grounds are held, so that whoever looks at a change again needn't read them again.
const HELD: usize = 8;

/// The place of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangeKey {
    kind: ChangeKind,
    id: Option<ObjectId>,
    pub(super) base: Option<ObjectId>,
}

impl From<&Change> for ChangeKey {
    fn from(change: &Change) -> Self {
        Self { kind: change.kind, id: change.id, base: change.base }
    }
}

impl From<&ResolvedChange> for ChangeKey {
    fn from(resolved: &ResolvedChange) -> Self {
        Self { kind: resolved.kind, id: resolved.id, base: resolved.base }
    }
}

/// The ground of one change's assessment besides its past.
#[derive(Debug, Default)]
pub(super) struct AssessmentGround {
    /// The files with the change in them. `None` if they can't be read.
    pub(super) tree: Option<FileTree>,
    pub(super) coverage: Option<Coverage>,
    pub(super) sample: Sample,
    /// Past commits with their lines, oldest first, for every change of the command.
    pub(super) patched: Arc<Vec<PatchedCommit>>,
    /// The files of those commits, and the coupled ones of the tree.
    pub(super) known: KnownFiles,
    /// The gaps, in our words.
    pub(super) notes: Vec<String>,
}

/// Commits of samples with their features, which depend on the attributes that tell their paths' classes.
#[derive(Debug, Clone)]
struct SampleRows {
    attributes: GitAttributes,
    sampled: Arc<BTreeMap<ObjectId, SampledCommit>>,
    /// Those in which nothing runs differently.
    quiet: Arc<BTreeSet<ObjectId>>,
    patched: Arc<Vec<PatchedCommit>>,
}

/// Reads the grounds of the changes of one repository, and holds the last few.
#[derive(Debug)]
pub(super) struct GroundReader {
    pub(super) git: GitProgram,
    pub(super) repository: Repository,
    pub(super) structures: StructureReader,
    /// The commits that any of the changes is compared with. `None` if they can't be looked at.
    pub(super) drawn: Option<Vec<DrawnCommit>>,
    pub(super) coverage: Option<Coverage>,
    pub(super) memory: GroundMemory,
}

/// Facts that were read for one change and may serve another.
#[derive(Debug, Default)]
pub(super) struct GroundMemory {
    /// The facts of the changes' bases.
    pub(super) bases: BaseFactsMemory,
    rows: Mutex<Vec<SampleRows>>,
    held: Mutex<VecDeque<(ChangeKey, Arc<AssessmentGround>)>>,
}

impl GroundReader {
    pub(super) fn new(
        git: GitProgram,
        repository: Repository,
        structures: StructureReader,
        drawn: Option<Vec<DrawnCommit>>,
        coverage: Option<Coverage>,
    ) -> Self {
        Self { git, repository, structures, drawn, coverage, memory: GroundMemory::default() }
    }

    /// The ground of a change that is on `past`. `told` hears how many of how many sources were read.
    ///
    /// # Errors
    ///
    /// If git can't tell the attributes of the base.
    pub(super) fn of(
        &self,
        stand: &ChangeKey,
        past: &Past<'_>,
        rules: &PathRules,
        told: &dyn Fn(usize, usize),
    ) -> Result<Arc<AssessmentGround>, Error> {
        if let Some((_, ground)) = lock(&self.memory.held).iter().find(|(held, _)| held == stand) {
            return Ok(Arc::clone(ground));
        }
        let BaseFacts { attributes, .. } = self.base_facts(stand.base.as_ref())?;
        let mut notes = Vec::new();
        let classifier = PathClassifier { attributes: &attributes, rules };
        let (sample, patched) = self.sample(past, classifier, &mut notes);
        let tree = self.tree(stand, classifier, told, &mut notes);
        let known = known_files(past, &patched, tree.as_ref());
        let coverage = self.coverage.as_ref();
        let coverage = coverage.map(|report| tree.as_ref().map_or_else(|| report.clone(), |tree| report.placed(tree)));
        let ground = Arc::new(AssessmentGround { tree, coverage, sample, patched, known, notes });
        let mut held = lock(&self.memory.held);
        held.push_back((stand.clone(), Arc::clone(&ground)));
        if held.len() > HELD {
            held.pop_front();
        }
        Ok(ground)
    }

    fn sample(
        &self,
        past: &Past<'_>,
        classifier: PathClassifier<'_>,
        notes: &mut Vec<String>,
    ) -> (Sample, Arc<Vec<PatchedCommit>>) {
        let of = u32::try_from(past.commits().count()).unwrap_or(u32::MAX);
        let Some(drawn) = &self.drawn else { return (Sample { commits: Vec::new(), of }, Arc::default()) };
        let wanted = picked_commits(past);
        let rows = self.rows(past.history(), drawn, classifier);
        // All or nothing: a part of the draw is a sample of something else.
        let known: BTreeSet<&ObjectId> = drawn.iter().map(|drawn| &drawn.id).collect();
        if !wanted.iter().all(|id| known.contains(id)) {
            notes.push("the change was not compared with past commits, so the score has no percentile".to_owned());
            return (Sample { commits: Vec::new(), of }, Arc::default());
        }
        // Among releases and tests alone most changes of code would stand high.
        let runs = wanted.iter().filter(|id| !rows.quiet.contains(id));
        let sampled: Vec<&SampledCommit> = runs.filter_map(|id| rows.sampled.get(id)).collect();
        let newest = sampled.get(sampled.len().saturating_sub(MOST)..).unwrap_or_default();
        let commits = newest.iter().copied().cloned().collect();
        (Sample { commits, of }, rows.patched)
    }

    fn rows(&self, history: &History, drawn: &[DrawnCommit], classifier: PathClassifier<'_>) -> SampleRows {
        let mut all = lock(&self.memory.rows);
        if let Some(rows) = all.iter().find(|known| known.attributes == *classifier.attributes) {
            return rows.clone();
        }
        let is_counted = |path: &RepoPath| counts_in_kamei(classifier.class(path).role);
        let id = |(index, sampled)| Some((history.commit(index)?.id, sampled));
        let sampled: BTreeMap<ObjectId, SampledCommit> =
            sample_features(history, drawn, &is_counted).into_iter().filter_map(id).collect();
        let patched = drawn.iter().filter_map(|drawn| {
            let features = sampled.get(&drawn.id).map(|sampled| sampled.features);
            Some(PatchedCommit { features, ..patched_commit(history, drawn, classifier)? })
        });
        let mut patched: Vec<PatchedCommit> = patched.collect();
        patched.sort_by_key(|patched| patched.commit);
        let quiet = patched.iter().filter(|patched| patched.is_quiet());
        let quiet = quiet.filter_map(|patched| Some(history.commit(patched.commit)?.id)).collect();
        let rows = SampleRows {
            quiet: Arc::new(quiet),
            attributes: classifier.attributes.clone(),
            sampled: Arc::new(sampled),
            patched: Arc::new(patched),
        };
        all.push(rows.clone());
        rows
    }

    fn tree(
        &self,
        stand: &ChangeKey,
        classifier: PathClassifier<'_>,
        told: &dyn Fn(usize, usize),
        notes: &mut Vec<String>,
    ) -> Option<FileTree> {
        let commit = stand.id.as_ref().map(ObjectId::to_string);
        let at = match (stand.kind, commit.as_deref()) {
            (ChangeKind::Staged, _) => TreeState::Index,
            (ChangeKind::WorkTree, _) | (_, None) => TreeState::WorkTree,
            (_, Some(commit)) => TreeState::Commit(commit),
        };
        self.tree_at(at, classifier, told, notes)
    }

    /// The files before a change.
    ///
    /// # Errors
    ///
    /// If git can't tell the attributes of the base.
    pub(super) fn base_tree(
        &self,
        base: &ObjectId,
        rules: &PathRules,
        notes: &mut Vec<String>,
    ) -> Result<Option<FileTree>, Error> {
        let BaseFacts { attributes, .. } = self.base_facts(Some(base))?;
        let classifier = PathClassifier { attributes: &attributes, rules };
        Ok(self.tree_at(TreeState::Commit(&base.to_string()), classifier, &|_, _| (), notes))
    }

    fn base_facts(&self, base: Option<&ObjectId>) -> Result<BaseFacts, Error> {
        let deadline = Deadline::after(self.git.limits().history);
        self.memory.bases.of(&Session::new(&self.git, self.repository.folder(), deadline, ANSWER), base)
    }

    fn tree_at(
        &self,
        at: TreeState<'_>,
        classifier: PathClassifier<'_>,
        told: &dyn Fn(usize, usize),
        notes: &mut Vec<String>,
    ) -> Option<FileTree> {
        match self.structures.read(at, told) {
            Ok(structure) => Some(as_tree(structure, classifier)),
            Err(error) => {
                notes.push(format!("the files can't be read, so who imports whom is unknown: {error}"));
                None
            }
        }
    }
}

/// The past commits that a change on `past` is compared with, oldest first.
fn picked_commits(past: &Past<'_>) -> Vec<ObjectId> {
    let id = |at| past.history().commit(at).map(|commit| commit.id);
    newest_commits(past, REMEMBERED).into_iter().filter_map(id).collect()
}

/// A drawn commit with its files as the history knows them.
fn patched_commit(history: &History, drawn: &DrawnCommit, classifier: PathClassifier<'_>) -> Option<PatchedCommit> {
    let commit = history.find(&drawn.id)?;
    let touches = history.touches(commit);
    let file = |drawn: &DrawnFile| {
        let is_it = |touch: &&Touch| {
            *history.path(touch.path) == drawn.path || touch.from.is_some_and(|from| *history.path(from) == drawn.path)
        };
        let touch = touches.iter().find(is_it)?;
        let class = classifier.class(history.path(touch.path));
        Some(PatchedFile {
            file: touch.file,
            role: class.role,
            is_sensitive: class.sensitive.is_some(),
            status: touch.status,
            prints: drawn.prints.clone(),
        })
    };
    Some(PatchedCommit { commit, features: None, files: drawn.files.iter().filter_map(file).collect() })
}

/// The roles of the files of past commits, and the files of the tree that the seed's threshold calls coupled.
fn known_files(past: &Past<'_>, patched: &[PatchedCommit], tree: Option<&FileTree>) -> KnownFiles {
    let roles = patched.iter().flat_map(|patched| &patched.files).map(|file| (file.file, file.role)).collect();
    let coupled = tree.into_iter().flat_map(|tree| {
        let is_product = |index: u32| {
            let file = usize::try_from(index).ok().and_then(|index| tree.files.get(index));
            file.is_some_and(|file| matches!(file.class.role, FileRole::Code | FileRole::Configuration))
        };
        let numbered = (0_u32..).zip(&tree.files);
        let many = numbered.filter(move |(index, _)| tree.graph.fan_in(*index, is_product).weighted() > COUPLED);
        many.filter_map(|(_, file)| past.file(&file.path))
    });
    KnownFiles { roles, coupled: coupled.collect() }
}

/// A value behind a lock is whole whenever a thread ends.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn as_tree(structure: Structure, classifier: PathClassifier<'_>) -> FileTree {
    let packages = structure.packages;
    // A name alone proves no framework.
    let is_imported = |framework: &Framework| {
        let needed = classifier.rules.packages(framework);
        needed.is_empty() || needed.iter().any(|package| packages.contains(package))
    };
    let files = structure.files.into_iter().map(|mut file| {
        let path = RepoPath::new(std::mem::take(&mut file.path));
        let mut class = classifier.class(&path);
        class.framework = class.framework.filter(is_imported);
        if file.test_module && class.role == FileRole::Code {
            class.role = FileRole::Test;
        }
        let imports = imports(&file, class.role);
        TreeFile { path, class, lines: file.lines, inline_tests: file.inline_test_lines, imports }
    });
    FileTree { files: files.collect(), graph: structure.graph, gaps: structure.gaps }
}

fn imports(file: &StructureFile, role: FileRole) -> Imports {
    match (file.language, file.unread) {
        (Some(_), None) => {
            Imports::Read { resolved: file.resolved, unresolved: file.unresolved, external: file.external }
        }
        (_, Some(SourceGap::NoParser)) => Imports::NoParser,
        (_, Some(_)) => Imports::Unread,
        (None, None) if matches!(role, FileRole::Code | FileRole::Test) => Imports::NoParser,
        (None, None) => Imports::None,
    }
}
