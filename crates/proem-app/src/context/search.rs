//! Reads, ranks and looks into the best files.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proem_embed::StaticModel;
use proem_runtime::AllProcessors;
use proem_runtime::context::{ContextCorpus, ContextPast, shown_text};
use proem_runtime::readers::source_text;
use proem_select::context::{
    ContextTask, ContextWeights, DefinitionSource, FileEvidence, FilePurpose, FileRanking, FileRecord, RankedFile,
    SIGNALS, SubjectModel, is_named_by, rank_definitions, rank_files,
};

use super::candidates::{Contents, ContextCommit, ContextFile, ContextQuery, TaskCandidates, repository_text};
use super::evidence::{EvidenceWords, evidence_words};
use super::general::GeneralTask;
use super::reading::RepositoryReading;
use crate::error::Error;
use crate::project::OpenProject;

/// The most definitions that are named, over all files.
const DEFINITIONS: usize = 10;

/// The names of how many definitions are looked for in tests.
const NAMES_FOR_TESTS: usize = 3;

/// Of how many of the best files definitions are looked at.
const LOOKED_INTO: usize = 12;

/// The most commits that are named.
const COMMITS: usize = 5;

/// A file that is less likely is not worth a line.
const LEAST: f32 = 0.01;

/// How likely the first file is that answers a task that names nothing, how much less each next one, and how often.
const LIKELY: f32 = 0.9;
const STEP: f32 = 0.04;
const MOST_STEPS: usize = 20;

/// Everything that was read for one search.
pub(super) struct Search {
    reading: RepositoryReading,
    weights: ContextWeights,
    /// The person's folder, from the root.
    folder: String,
}

impl Search {
    pub(super) fn open(
        query: &ContextQuery<'_>,
        project: &OpenProject,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Self, Error> {
        let weights = ContextWeights::shipped()?;
        let reading = RepositoryReading::new(query, project, &weights, progress)?;
        Ok(Self { reading, weights, folder: standing_folder(query.root, project) })
    }

    /// Whether more is to be read and kept.
    pub(super) const fn is_first_look(&self) -> bool {
        self.reading.is_first_look
    }

    pub(super) fn candidates(self, query: &ContextQuery<'_>) -> Result<TaskCandidates, Error> {
        let mut corpus = self.reading.tree.corpus(self.reading.past.as_ref().map(ContextPast::view));
        let task = ContextTask::in_words_of(&corpus.corpus, query.task);
        // Always the one that ships: the weights are for it, and nothing is sent anywhere.
        let model = StaticModel::built_in().map_err(proem_engine::Error::from)?;
        corpus.corpus.meaning = Some(SubjectModel(&model));
        let few = query.most.div_ceil(4);
        let chosen = self.chosen(query)?;
        let general = GeneralTask::of(query.task).filter(|_| chosen.is_empty());
        if let Some(found) = general.map(|general| self.general(general, query, (&task, &corpus))).transpose()? {
            return Ok(found);
        }
        let ranked = if query.choice.excludes_any() { usize::MAX } else { query.most };
        let FileRanking { code, tests, documents, about_code } =
            rank_files(&corpus.corpus, &task, &self.weights, ranked, &AllProcessors);
        // A file that was not looked into may be the one that the task is about.
        let known = self.reading.known_share();
        let worth = |files: Vec<RankedFile>, most: usize| {
            let files = files.into_iter().map(|file| RankedFile { probability: file.probability * known, ..file });
            let fits = files.filter(|file| file.probability >= LEAST && !file.evidence.is_empty());
            let fits = fits.filter(|file| self.is_about(file, &task) && self.is_open(file, query, &chosen));
            fits.take(most).collect::<Vec<_>>()
        };
        let (mut code, mut tests, mut documents) = (worth(code, query.most), worth(tests, few), worth(documents, few));
        let is_found = !(code.is_empty() && documents.is_empty());
        let abstention = &self.weights.abstention;
        if is_found && self.knows_all() && about_code < abstention.least {
            if chosen.is_empty() {
                return Ok(self.nothing(about_code, &task));
            }
            code.clear();
            documents.clear();
        }
        code.splice(0..0, chosen.iter().map(|file| by_person(*file)));
        let has_code = self.reading.tree.files.iter().any(|file| file.used_for == FilePurpose::Code);
        let weak = language_gap(&task).filter(|_| has_code && chosen.is_empty());
        let is_doubtful = is_found
            && chosen.is_empty()
            && self.knows_all()
            && abstention.is_doubtful(if weak.is_some() { 0.0 } else { about_code }, self.reading.tree.files.len());
        if code.is_empty() {
            // Tests of nothing are no answer.
            tests.clear();
        }
        let places: Vec<usize> = [&code, &tests, &documents].into_iter().flatten().map(|file| file.file).collect();
        let contents = self.contents(&places)?;
        // A first look knows some likely files by a few words alone. They are read now.
        let late = self.late_records(&contents);
        let contents = self.as_shown(contents);
        let read = ReadFiles { contents: &contents, late: &late };
        let mut ranked = self.definitions(&task, &code, read);
        let fitting = fitting(&ranked);
        // Tests of what the task changes name it.
        let about = self.with_names((query.task, &corpus), &fitting, read);
        ranked.extend(self.definitions(&about, &tests, read));
        let looked = Looked { search: &self, corpus: &corpus, task: &task, read, fitting: &fitting, ranked: &ranked };
        let mut found = TaskCandidates {
            code: code.iter().map(|file| looked.file(file)).collect(),
            tests: tests.iter().map(|file| looked.file(file)).collect(),
            documents: documents.iter().map(|file| looked.file(file)).collect(),
            commits: self.commits(&corpus, &code),
            is_doubtful,
            gaps: self.reading.gaps.clone(),
            files: self.reading.tree.files.len(),
            read: self.reading.tree.read,
            ..TaskCandidates::default()
        };
        found.gaps.extend(self.reading.tree.gaps.iter().cloned());
        let doubt = is_doubtful.then(|| {
            let percent = f64::from(about_code) * 100.0;
            format!(
                "by its words it is doubtful whether the task is about the code here ({percent:.0} % likely that it is); a task \
                 that names a file or a definition is never doubted"
            )
        });
        let weak = weak.or(doubt);
        found.gaps.extend(weak.clone());
        found.weak_evidence = self.reading.clock_gap().or(weak);
        Ok(found)
    }

    /// The answer to a task that names nothing: files by their kind, or for a wish the files that change most often.
    fn general(
        &self,
        general: GeneralTask,
        query: &ContextQuery<'_>,
        (task, corpus): (&ContextTask, &ContextCorpus<'_>),
    ) -> Result<TaskCandidates, Error> {
        let mut found: Vec<(usize, usize, String)> = if general == GeneralTask::Wish {
            let files =
                self.reading.tree.files.iter().enumerate().filter(|(_, file)| file.used_for == FilePurpose::Code);
            let commits = commits_per_file(corpus, self.reading.tree.files.len());
            files
                .filter_map(|(place, _)| Some((place, *commits.get(place)?)))
                .filter(|(_, count)| *count > 0)
                .map(|(place, count)| (usize::MAX.saturating_sub(count), place, format!("changed by {count} commits")))
                .collect()
        } else {
            let files = self.reading.tree.files.iter().enumerate();
            let ranked = files.filter_map(|(place, file)| {
                let (order, why) = general.rank(&file.path, file.used_for)?;
                Some((order, place, why.to_owned()))
            });
            ranked.collect()
        };
        found.retain(|(_, place, _)| {
            self.reading.tree.files.get(*place).is_some_and(|file| !query.choice.excludes(&file.path))
        });
        found.sort_unstable();
        found.truncate(query.most);
        let places: Vec<usize> = found.iter().map(|(_, place, _)| *place).collect();
        let contents = self.contents(&places)?;
        let late = self.late_records(&contents);
        let contents = self.as_shown(contents);
        let read = ReadFiles { contents: &contents, late: &late };
        let looked = Looked { search: self, corpus, task, read, fitting: &[], ranked: &[] };
        let code = found.into_iter().enumerate().map(|(rank, (_, place, why))| ContextFile {
            probability: LIKELY - STEP * rank.min(MOST_STEPS) as f32,
            evidence: vec![repository_text(why)],
            ..looked.file(&by_person(place))
        });
        let mut gaps = self.reading.gaps.clone();
        gaps.extend(self.reading.tree.gaps.iter().cloned());
        if general == GeneralTask::Wish {
            gaps.push(
                "the task names no place, so the code that changes most often is listed; say what is to be better"
                    .to_owned(),
            );
        }
        let (files, read) = (self.reading.tree.files.len(), self.reading.tree.read);
        Ok(TaskCandidates { code: code.collect(), gaps, files, read, ..TaskCandidates::default() })
    }

    /// The places of the files that a person named.
    fn chosen(&self, query: &ContextQuery<'_>) -> Result<Vec<usize>, Error> {
        let paths: Vec<&str> = self.reading.tree.files.iter().map(|file| file.path.as_str()).collect();
        query.choice.places(&paths, &self.folder)
    }

    /// Whether a file is neither left out nor in the list already.
    fn is_open(&self, file: &RankedFile, query: &ContextQuery<'_>, chosen: &[usize]) -> bool {
        let path = self.reading.tree.files.get(file.file).map_or("", |file| file.path.as_str());
        !chosen.contains(&file.file) && !query.choice.excludes(path)
    }

    /// Whether all that was to be read was: what is in the rest may be what the task is about.
    fn knows_all(&self) -> bool {
        let tree = &self.reading.tree;
        tree.unread == 0
            && !tree.is_out_of_time
            && (self.reading.past.is_some() || !self.reading.reader.is_of_repository())
    }

    /// The answer to a task that is about no code, whose words some file has all the same.
    fn nothing(&self, about_code: f32, task: &ContextTask) -> TaskCandidates {
        let percent = f64::from(about_code) * 100.0;
        let why = format!(
            "by its words the task is not about the code here ({percent:.0} % likely that it is), so nothing is listed that \
             shares a word with it by chance; a file or a definition that the task names is always looked for"
        );
        let weak = language_gap(task).unwrap_or(why);
        let gaps = self.reading.gaps.iter().chain(&self.reading.tree.gaps).chain([&weak]).cloned().collect();
        let (files, read) = (self.reading.tree.files.len(), self.reading.tree.read);
        TaskCandidates { gaps, weak_evidence: Some(weak), files, read, ..TaskCandidates::default() }
    }

    /// Whether anything but habit speaks for a file: what changes often is no answer to a task about no code.
    fn is_about(&self, file: &RankedFile, task: &ContextTask) -> bool {
        use proem_select::context::FileEvidence as Said;
        let path = self.reading.tree.files.get(file.file).map_or("", |file| file.path.as_str());
        // The set-up of Proem and its tools is never a task's subject.
        if path.starts_with(".proem/") || matches!(path, "proem.toml" | ".mcp.json") {
            return false;
        }
        let is_setting =
            self.reading.tree.files.get(file.file).is_some_and(|file| file.used_for == FilePurpose::Configuration);
        let telling = |said: &Said| match said {
            // A word or a commit in common is found in any manifest.
            Said::Words { matched, .. } => !is_setting || *matched >= 3,
            Said::Commits { .. } => !is_setting,
            Said::Named { .. } | Said::Defines { .. } | Said::PathWords => true,
            Said::Recent { .. } | Said::Own { .. } | Said::Imports | Said::CoChange { .. } | Said::Changed => false,
        };
        file.evidence.iter().any(telling) || task.places.iter().any(|place| is_named_by(path, place))
    }

    fn contents(&self, places: &[usize]) -> Result<Contents, Error> {
        Ok(self.reading.reader.contents(&self.reading.tree, places)?)
    }

    /// The whole records of files that a first look knows by some words alone.
    fn late_records(&self, contents: &Contents) -> BTreeMap<usize, FileRecord> {
        let late =
            |(place, content): (&usize, &Vec<u8>)| Some((*place, self.reading.tree.late_record(*place, content)?));
        contents.iter().filter_map(late).collect()
    }

    /// Contents as they are shown, in which places are looked for: a notebook's cells represent it.
    fn as_shown(&self, contents: Contents) -> Contents {
        let path = |place: &usize| {
            self.reading.tree.files.get(*place).map(|file| file.raw_path.as_slice()).unwrap_or_default()
        };
        let shown = contents.into_iter().map(|(place, bytes)| match shown_text(path(&place), &bytes) {
            Some(Cow::Owned(text)) => (place, text.into_bytes()),
            Some(Cow::Borrowed(_)) | None => (place, bytes),
        });
        shown.collect()
    }

    /// The task with the names of the best definitions.
    fn with_names(
        &self,
        (task, corpus): (&str, &ContextCorpus<'_>),
        fitting: &[(usize, usize)],
        read: ReadFiles<'_>,
    ) -> ContextTask {
        let name = |(file, symbol): &(usize, usize)| {
            self.record(*file, read)?.symbols().get(*symbol).map(|symbol| symbol.name.clone())
        };
        let names = fitting.iter().take(NAMES_FOR_TESTS).filter_map(name);
        let text = [task.to_owned()].into_iter().chain(names).collect::<Vec<_>>().join(" ");
        ContextTask::in_words_of(&corpus.corpus, &text)
    }

    /// The definitions of files, best first: file and place in it.
    fn definitions(&self, task: &ContextTask, code: &[RankedFile], read: ReadFiles<'_>) -> Vec<(usize, usize)> {
        let lines: Vec<Vec<u32>> = code.iter().map(|file| self.named_lines(file.file, task)).collect();
        let sources: Vec<DefinitionSource<'_>> = code
            .iter()
            .zip(&lines)
            .take(LOOKED_INTO)
            .filter_map(|(file, lines)| {
                let record = self.record(file.file, read)?;
                let content = read.contents.get(&file.file)?;
                Some(DefinitionSource { file: file.file, probability: file.probability, record, content, lines })
            })
            .collect();
        let ranked = rank_definitions(&sources, task, &self.weights, usize::MAX, &AllProcessors);
        ranked.into_iter().map(|ranked| (ranked.file, ranked.symbol)).collect()
    }

    /// The record of a file. One that was read since has more.
    fn record<'r>(&'r self, file: usize, read: ReadFiles<'r>) -> Option<&'r FileRecord> {
        read.late.get(&file).or(self.reading.tree.files.get(file)?.record.as_ref())
    }

    fn named_lines(&self, file: usize, task: &ContextTask) -> Vec<u32> {
        let path = self.reading.tree.files.get(file).map_or("", |file| file.path.as_str());
        task.places.iter().filter(|place| is_named_by(path, place)).filter_map(|place| place.line).collect()
    }

    /// The commits that speak for the best files.
    fn commits(&self, corpus: &ContextCorpus<'_>, code: &[RankedFile]) -> Vec<ContextCommit> {
        use proem_select::context::FileEvidence as Said;
        let Some(history) = self.reading.past.as_ref().map(ContextPast::history) else { return Vec::new() };
        let mut seen = BTreeSet::new();
        let named = code.iter().take(5).flat_map(|file| &file.evidence).filter_map(|said| match said {
            Said::Commits { commits } => Some(commits),
            _ => None,
        });
        let ids = named.flatten().filter(|commit| seen.insert(**commit)).take(COMMITS);
        let commit = |at: &u32| {
            let index = *usize::try_from(*at).ok().and_then(|at| corpus.ids.get(at))?;
            let id = history.commit(index)?.id.to_string();
            Some(ContextCommit { id, subject: repository_text(history.subject(index).to_owned()) })
        };
        ids.filter_map(commit).collect()
    }
}

/// Says that a task in another language was understood too little to rely on the files that it finds.
fn language_gap(task: &ContextTask) -> Option<String> {
    let is_weak = task.is_hardly_understood && task.places.is_empty() && task.names.is_empty();
    let language = task.language.filter(|_| is_weak)?.name();
    Some(format!(
        "the task seems to be in {language}, and hardly a word of it is in the code or among the programming terms that are \
         known in that language, so the evidence is weak; name a file or a definition, or write it in English"
    ))
}

/// How many commits touched each file.
fn commits_per_file(corpus: &ContextCorpus<'_>, files: usize) -> Vec<usize> {
    let mut touches = vec![0_usize; files];
    for file in corpus.corpus.commits.iter().flat_map(|commit| &commit.files) {
        if let Some(count) = usize::try_from(*file).ok().and_then(|file| touches.get_mut(file)) {
            *count = count.saturating_add(1);
        }
    }
    touches
}

/// The person's folder, from the root. The root itself if that is unknown.
fn standing_folder(from: &Path, project: &OpenProject) -> String {
    let root = project.root.as_ref().and_then(|root| root.canonicalize().ok());
    let here = from.canonicalize().ok();
    let below = root.zip(here).and_then(|(root, here)| Some(here.strip_prefix(root).ok()?.to_str()?.to_owned()));
    below.unwrap_or_default()
}

/// A file that a person named: certain, whatever else speaks for it.
fn by_person(file: usize) -> RankedFile {
    let evidence = vec![FileEvidence::Named { line: None }];
    RankedFile { file, score: f32::MAX, probability: 1.0, signals: [0.0; SIGNALS], evidence }
}

/// The places of a file's definitions, in their order.
fn file_definitions(definitions: &[(usize, usize)], file: usize) -> Vec<usize> {
    definitions.iter().filter(|(of, _)| *of == file).map(|(_, symbol)| *symbol).collect()
}

/// Of definitions, best first, those that are named: the best of all, and of each other file its best, so that there is a
/// line to begin with.
fn fitting(ranked: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut seen = BTreeSet::new();
    let places = ranked.iter().enumerate();
    let named = places.filter(|(rank, (file, _))| seen.insert(*file) || *rank < DEFINITIONS);
    named.map(|(_, place)| *place).collect()
}

/// The contents of the best files.
#[derive(Clone, Copy)]
struct ReadFiles<'r> {
    contents: &'r Contents,
    /// The records of those that were not read whole before.
    late: &'r BTreeMap<usize, FileRecord>,
}

/// The sources of a file of the result.
struct Looked<'s, 't> {
    search: &'s Search,
    corpus: &'s ContextCorpus<'t>,
    task: &'s ContextTask,
    read: ReadFiles<'s>,
    fitting: &'s [(usize, usize)],
    ranked: &'s [(usize, usize)],
}

impl Looked<'_, '_> {
    fn file(&self, ranked: &RankedFile) -> ContextFile {
        let Self { search, corpus, task, read, fitting, ranked: definitions } = self;
        let file = search.reading.tree.files.get(ranked.file);
        let record = search.record(ranked.file, *read);
        let words = EvidenceWords { corpus, history: search.reading.past.as_ref().map(ContextPast::history), record };
        let text = read.contents.get(&ranked.file).and_then(|bytes| source_text(bytes)).map(Cow::into_owned);
        ContextFile {
            path: repository_text(file.map_or_else(String::new, |file| file.path.clone())),
            used_for: file.map_or(FilePurpose::Foreign, |file| file.used_for),
            probability: ranked.probability,
            evidence: ranked.evidence.iter().map(|said| repository_text(evidence_words(said, &words))).collect(),
            symbols: record.map(FileRecord::symbols).unwrap_or_default(),
            fitting: file_definitions(fitting, ranked.file),
            ranked: file_definitions(definitions, ranked.file),
            named_lines: search.named_lines(ranked.file, task),
            content: text.map(repository_text),
        }
    }
}
