//! Reads a repository for one task, by work and never by the clock.
//!
//! The index of an earlier run is used if it is all that is needed, or nearly. Otherwise this is a *first look*: the
//! words of the task are counted in every file, in an order that task and history decide, and the likeliest files are
//! read whole. Invariant: the set of files that are read follows from the task, the files, the history, and the
//! completeness of the index. A clock ends only a reading that is far beyond its bounds, and then a gap says so.

use std::collections::BTreeSet;

use proem_embed::StaticModel;
use proem_runtime::context::{
    ContextLimits, ContextPast, ContextReader, ContextTree, PastExtent, ReadingBound, context_history,
};
use proem_runtime::git::{GitProgram, Repository, discover_repository_around};
use proem_runtime::structure::TreeState;
use proem_runtime::{AllProcessors, Environment};
use proem_select::context::words::{Term, distinct_words};
use proem_select::context::{ContextTask, ContextWeights, FilePurpose, SubjectModel, likeliest_files, words_to_count};

use super::candidates::{ContextPatience, ContextQuery};
use crate::error::Error;
use crate::project::{OpenProject, unix_seconds};
use crate::trust::sha256_hex;
use crate::words::count_with_noun;

/// Of the files that a first look reads whole, the shares of tests, and of documentation and configuration.
const OF_TESTS: usize = 6;
const OF_DOCUMENTS: usize = 6;

/// Past so many commits that changed them, files are not looked at first.
const RECENT_COMMITS: usize = 300;

/// The reading of a repository for a task.
pub(super) struct RepositoryReading {
    pub(super) tree: ContextTree,
    pub(super) past: Option<ContextPast>,
    pub(super) reader: ContextReader,
    pub(super) gaps: Vec<String>,
    /// Why what was read could not be kept.
    pub(super) not_kept: Option<String>,
    /// Whether more is to be read and kept.
    pub(super) is_first_look: bool,
}

/// The repository around a folder, with the git that reads it.
pub(super) struct RepositoryAround {
    pub(super) git: GitProgram,
    pub(super) repository: Repository,
}

impl RepositoryAround {
    /// Finds it. `None` if there is no git or no repository.
    pub(super) fn find(query: &ContextQuery<'_>, project: &OpenProject) -> Result<Option<Self>, Error> {
        let answers = query.answers.cloned().unwrap_or_else(|| project.answers.branched());
        let git = match GitProgram::find(&Environment::inherited()) {
            Ok(git) => git.within(project.config.git.limits()).remembering(&answers),
            Err(proem_runtime::Error::GitMissing) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let repository = discover_repository_around(&git, query.root, git.limits().question)?;
        Ok(repository.map(|repository| Self { git, repository }))
    }
}

/// The folder of a project's index.
pub(super) fn cache_folder(project: &OpenProject) -> std::path::PathBuf {
    project.places.cache.join("context").join(sha256_hex(project.key.as_bytes()))
}

impl RepositoryReading {
    /// Reads the repository, or the folder if it is in none.
    pub(super) fn new(
        query: &ContextQuery<'_>,
        project: &OpenProject,
        weights: &ContextWeights,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Self, Error> {
        let limits = ContextLimits::default();
        let Some(RepositoryAround { git, repository }) = RepositoryAround::find(query, project)? else {
            let mut reader = ContextReader::of_folder(&Environment::inherited(), query.root, limits)?;
            let tree = reader.list(TreeState::WorkTree)?;
            let gaps = vec!["the folder is in no git repository, so no history speaks for any file".to_owned()];
            let mut reading = Self { tree, past: None, reader, gaps, not_kept: None, is_first_look: false };
            if reading.read_missing(query.patience, progress)? == Fits::No {
                reading.first_look(query.task, weights, progress)?;
            }
            // There is nothing to keep it by.
            reading.is_first_look = false;
            return Ok(reading);
        };
        let cache = cache_folder(project);
        let extent = match query.patience {
            ContextPatience::Short => PastExtent::Newest,
            ContextPatience::Whole => PastExtent::Whole,
        };
        // Git walks the history while the files are read.
        let (read, past) = std::thread::scope(|scope| {
            let history = scope.spawn(|| {
                let mut notes = Vec::new();
                (context_history(&git, &repository, (Some(&cache), extent), unix_seconds(), &mut notes), notes)
            });
            let read = ContextReader::open(&git, &repository, Some(&cache), limits).map_err(Error::from).and_then(
                |mut reader| {
                    let tree = reader.list(TreeState::WorkTree)?;
                    let gaps = Vec::new();
                    let mut reading = Self { tree, past: None, reader, gaps, not_kept: None, is_first_look: false };
                    let fits = reading.read_missing(query.patience, progress)?;
                    Ok((reading, fits))
                },
            );
            (read, history.join())
        });
        let (mut reading, fits) = read?;
        reading.add_past(past.map_err(|_| Error::bug("reading the history ended early", "a thread panicked"))?);
        match fits {
            Fits::Yes => {
                reading.not_kept = reading.reader.keep();
                reading.gaps.extend(reading.not_kept.clone());
            }
            Fits::No => reading.first_look(query.task, weights, progress)?,
        }
        reading.gaps.extend(reading.clock_gap());
        Ok(reading)
    }

    /// The share of the files that are read at all of which more than the path is known, 0 to 1.
    pub(super) fn known_share(&self) -> f32 {
        let (unread, all) = (self.tree.unread, self.tree.texts());
        if unread == 0 { 1.0 } else { all.saturating_sub(unread) as f32 / all.max(1) as f32 }
    }

    /// A history that can't be read costs some of the evidence, not the answer.
    fn add_past(&mut self, (past, notes): (Result<Option<ContextPast>, proem_runtime::Error>, Vec<String>)) {
        self.gaps.extend(notes);
        self.past = past.unwrap_or_else(|error| {
            self.gaps.push(format!("the history was not read: {error}"));
            None
        });
        self.is_first_look |= self.past.as_ref().is_some_and(|past| past.extent() == PastExtent::Newest);
    }

    /// Reads what isn't kept if that is all that anybody waits for.
    fn read_missing(&mut self, patience: ContextPatience, progress: &dyn Fn(usize, usize)) -> Result<Fits, Error> {
        let bound = match patience {
            ContextPatience::Short => ReadingBound::of_first_look(self.tree.files.len()),
            ContextPatience::Whole => ReadingBound { files: usize::MAX, bytes: u64::MAX },
        };
        if self.tree.missing() > bound.files {
            return Ok(Fits::No);
        }
        self.reader.read_missing(&mut self.tree, bound, progress)?;
        Ok(if self.tree.missing() == 0 || patience == ContextPatience::Whole { Fits::Yes } else { Fits::No })
    }

    /// Counts the task's words everywhere, and reads the likeliest files whole.
    fn first_look(
        &mut self,
        task: &str,
        weights: &ContextWeights,
        progress: &dyn Fn(usize, usize),
    ) -> Result<(), Error> {
        self.is_first_look = true;
        self.tree.read = 0;
        let model = StaticModel::built_in().map_err(proem_engine::Error::from)?;
        let order = self.order(task);
        let mut terms = words_to_count(task);
        self.reader.count_words(&mut self.tree, (&order, &terms), progress)?;
        let mut asked = self.words_of_task(task);
        // Of a task in another language, which words the files have decides which others are looked for.
        if asked.terms.iter().any(|query| terms.binary_search(&query.term).is_err()) {
            terms.extend(asked.terms.iter().map(|query| query.term));
            terms.sort_unstable();
            terms.dedup();
            self.reader.count_words(&mut self.tree, (&order, &terms), progress)?;
            asked = self.words_of_task(task);
        }
        let likeliest = self.likeliest(&asked, weights, &model);
        let bound = ReadingBound::of_first_look(self.tree.files.len());
        self.reader.read_files(&mut self.tree, &likeliest, bound)?;
        self.note_first_look(likeliest.len());
        Ok(())
    }

    fn words_of_task(&self, task: &str) -> ContextTask {
        ContextTask::in_words_of(&self.tree.corpus(None).corpus, task)
    }

    /// All files: first those whose path has a word of the task, then those that changed lately, then the others.
    fn order(&self, task: &str) -> Vec<usize> {
        let words: BTreeSet<Term> = words_to_count(task).into_iter().collect();
        let corpus = self.tree.corpus(self.past.as_ref().map(ContextPast::view)).corpus;
        let recent: BTreeSet<u32> =
            corpus.commits.iter().take(RECENT_COMMITS).flat_map(|commit| commit.files.iter().copied()).collect();
        let rank = |place: usize, path: &str| {
            let is_named = distinct_words(path).iter().any(|word| words.contains(word));
            let is_recent = u32::try_from(place).is_ok_and(|place| recent.contains(&place));
            if is_named { 0 } else { 2 - usize::from(is_recent) }
        };
        let ranks: Vec<usize> = corpus.files.iter().enumerate().map(|(place, file)| rank(place, file.path)).collect();
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by_key(|place| (ranks.get(*place).copied(), *place));
        order
    }

    /// The files that are read whole: code, and fewer tests and documents, each likeliest first.
    fn likeliest(&self, task: &ContextTask, weights: &ContextWeights, model: &StaticModel<'_>) -> Vec<usize> {
        let mut corpus = self.tree.corpus(self.past.as_ref().map(ContextPast::view)).corpus;
        corpus.meaning = Some(SubjectModel(model));
        let most = ReadingBound::of_first_look(corpus.files.len()).files;
        let (tests, documents) = (most / OF_TESTS, most / OF_DOCUMENTS);
        let mut room = [most.saturating_sub(tests).saturating_sub(documents), tests, documents];
        let kind = |place: usize| match corpus.files.get(place)?.used_for {
            FilePurpose::Code => Some(0_usize),
            FilePurpose::Test => Some(1),
            FilePurpose::Documentation | FilePurpose::Configuration => Some(2),
            FilePurpose::Foreign => None,
        };
        let mut order = likeliest_files(&corpus, task, weights, &AllProcessors);
        order.retain(|place| {
            let is_text = corpus.files.get(*place).is_some_and(|file| file.record.is_some());
            let Some(room) = kind(*place).filter(|_| is_text).and_then(|kind| room.get_mut(kind)) else { return false };
            let fits = *room > 0;
            *room = room.saturating_sub(1);
            fits
        });
        order
    }

    fn note_first_look(&mut self, whole: usize) {
        let count = |count: usize, of: &str| count_with_noun(u64::try_from(count).unwrap_or(u64::MAX), of);
        let unread = self.tree.unread;
        let seen = count(self.tree.texts().saturating_sub(unread), "file");
        let rest = if unread > 0 {
            format!("; {} were not looked into at all", count(unread, "other"))
        } else {
            String::new()
        };
        self.gaps.push(format!(
            "this is a first look: the task's words were counted in {seen}, and the {whole} likeliest were read whole{rest}"
        ));
    }

    /// Why the answer may differ from the next one. `None` if the clock ended nothing.
    pub(super) fn clock_gap(&self) -> Option<String> {
        self.tree.is_out_of_time.then(|| {
            let limit = ContextLimits::default().time.as_secs();
            format!(
                "reading the repository was ended after {limit} s, far beyond what it should take, so that what is listed may \
                 differ from the next time; look at the machine's load and disk"
            )
        })
    }
}

/// Whether what isn't kept is read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fits {
    Yes,
    No,
}
