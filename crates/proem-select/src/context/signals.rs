//! The evidence for each file: weak signals, each from 0 to about 1 within one task.
//!
//! Words are scored by BM25 (`proem-score` has its formula) by their field. Only the task's words are looked up, in
//! each file's sorted list, so that no inverted index has to be loaded. A commit's message counts for the files that it
//! touched. Signals that need a first ranking are made in `late`.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::workers::{self, Workers};

use super::corpus::{Corpus, CorpusCommit, CorpusFile, FilePurpose, PathWords};
use super::place::is_named_by;
use super::record::FileRecord;
use super::scores::{
    count_to_f32, field_scores, log_of_next, real_count, reciprocal_ranks, scale_to_greatest, shares, word_rarity,
};
use super::task::{ContextTask, MOST_TERMS, QueryTerm};
use super::words::{Term, WordForm, term_of_name};

/// How many signals there are.
pub const SIGNALS: usize = 44;

/// Their names, in their order.
pub const SIGNAL_NAMES: [&str; SIGNALS] = [
    "words",
    "words rank",
    "words of code",
    "words of comments and texts",
    "words of definitions",
    "words of the path",
    "words of the name",
    "coverage",
    "coverage of the path",
    "whole names",
    "names that it defines",
    "similar commits",
    "similar commits rank",
    "most similar commit",
    "recency",
    "frequency",
    "decayed frequency",
    "ending",
    "size",
    "path in the task",
    "name in the task",
    "line in the task",
    "changed in the work tree",
    "words of its tests",
    "part of the project",
    "share of the name",
    "words, of a short task",
    "words of definitions, of a short task",
    "words of the path, of a short task",
    "words of the name, of a short task",
    "share of the name, of a short task",
    "similar commits, of a short task",
    "recency, of a short task",
    "size, of a short task",
    "folder recency",
    "words of the first line",
    "own files",
    "own folders",
    "own recency",
    "commit alike in meaning",
    "neighbours in the path",
    "folder",
    "co-change",
    "imports",
];

/// The first of those that need a first ranking.
pub const FIRST_LATE: usize = 41;

/// The signals of one file.
pub type FileSignals = [f32; SIGNALS];

/// Places in [`FileSignals`], by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Signal {
    Words,
    WordsRank,
    Code,
    Prose,
    Definitions,
    Path,
    Name,
    Coverage,
    PathCoverage,
    WholeNames,
    Defines,
    Commits,
    CommitsRank,
    BestCommit,
    Recency,
    Frequency,
    DecayedFrequency,
    Ending,
    Size,
    PathNamed,
    NameNamed,
    LineNamed,
    Changed,
    Tests,
    Scope,
    NameShare,
    ShortWords,
    ShortDefinitions,
    ShortPath,
    ShortName,
    ShortNameShare,
    ShortCommits,
    ShortRecency,
    ShortSize,
    FolderRecency,
    FirstLine,
    OwnFiles,
    OwnFolders,
    OwnRecency,
    AlikeCommit,
    PathNeighbours,
    Folder,
    CoChange,
    Imports,
}

/// Signals that count differently where a task says little, each with what it adds for a short one. Twenty words say
/// together what a file is about, and what was changed lately settles what they leave open. Of two words one may be the
/// file's name, and then nothing else matters.
pub(super) const OF_SHORT: [(Signal, Signal); 8] = [
    (Signal::Words, Signal::ShortWords),
    (Signal::Definitions, Signal::ShortDefinitions),
    (Signal::Path, Signal::ShortPath),
    (Signal::Name, Signal::ShortName),
    (Signal::NameShare, Signal::ShortNameShare),
    (Signal::Commits, Signal::ShortCommits),
    (Signal::Recency, Signal::ShortRecency),
    (Signal::Size, Signal::ShortSize),
];

/// A task of so many words is half short.
pub(super) const SHORT: f32 = 4.0;

// The words of a task in a file, and its neighbours' words in a path, are bits of one number.
const _: () = assert!(MOST_TERMS <= 64);

/// How many of the most similar commits count.
const SIMILAR: usize = 150;

/// How many of the best files of the first ranking the late signals look at.
pub(super) const BEST: usize = 6;

/// How much less a commit counts that has so many newer ones.
const HALF_LIFE: f32 = 250.0;

/// The function that makes one signal of all files.
type Column<'c> = &'c (dyn Fn() -> Vec<f32> + Sync);

/// The evidence before the late signals.
#[derive(Debug)]
pub(super) struct Evidence<'c> {
    pub(super) corpus: &'c Corpus<'c>,
    pub(super) paths: Vec<PathWords>,
    /// The signals of each file, in the corpus' order.
    pub(super) signals: Vec<FileSignals>,
    /// The commits that touched each file, newest first.
    pub(super) touched_by: Vec<Vec<u32>>,
    /// The most similar commits, best first, with their scores.
    pub(super) similar: Vec<(u32, f32)>,
    /// The commits that are most alike in meaning, best first.
    pub(super) alike: Vec<u32>,
    /// The words of the task in each file.
    pub(super) words_in: Vec<TaskWords>,
    /// The words in the subject of each commit, a bit for each, by their places.
    pub(super) said: Vec<u64>,
}

/// The words of the task in a file, in its path and in the names that it defines: a bit for each, by their places in
/// [`ContextTask::terms`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TaskWords {
    pub(super) text: u64,
    pub(super) path: u64,
    pub(super) defined: u64,
}

impl TaskWords {
    /// In its text or in its path.
    pub(super) const fn anywhere(self) -> u64 {
        self.text | self.path
    }
}

/// The bit of a word of the task, by its place.
fn word_bit(number: usize) -> u64 {
    1_u64.checked_shl(u32::try_from(number).unwrap_or(u32::MAX)).unwrap_or(0)
}

fn words_signal(signals: &FileSignals) -> f32 {
    signals.get(Signal::Words as usize).copied().unwrap_or(0.0)
}

fn set_signal(signals: &mut [FileSignals], file: usize, signal: Signal, value: f32) {
    if let Some(slot) = signals.get_mut(file).and_then(|row| row.get_mut(signal as usize)) {
        *slot = value;
    }
}

/// The folder that a file is in. Empty for the root.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The places of one word of the task in one file.
#[derive(Debug, Clone, Copy, Default)]
struct TermPlaces {
    /// How often in code, and in prose.
    code: u8,
    prose: u8,
    is_in_path: bool,
    is_in_name: bool,
    is_defined: bool,
}

impl TermPlaces {
    fn of(term: Term, record: Option<&FileRecord>, path: &PathWords) -> Self {
        let count = record.and_then(|record| record.count(term));
        Self {
            code: count.map_or(0, |count| count.code),
            prose: count.map_or(0, |count| count.prose),
            is_in_path: path.all.binary_search(&term).is_ok(),
            is_in_name: path.name.binary_search(&term).is_ok(),
            is_defined: record.is_some_and(|record| record.is_defined(term)),
        }
    }

    const fn is_in_text(self) -> bool {
        self.code > 0 || self.prose > 0
    }
}

impl<'c> Evidence<'c> {
    pub(super) fn new(corpus: &'c Corpus<'c>, task: &ContextTask, workers: &dyn Workers) -> Self {
        let files = corpus.files.len();
        let paths = workers::map_with_workers(workers, &corpus.files, |file| PathWords::new(file.path));
        let mut touched_by: Vec<Vec<u32>> = vec![Vec::new(); files];
        for (commit, touched) in (0_u32..).zip(&corpus.commits) {
            for file in &touched.files {
                if let Some(list) = touched_by.get_mut(usize::try_from(*file).unwrap_or(usize::MAX)) {
                    list.push(commit);
                }
            }
        }
        let signals = vec![[0.0; SIGNALS]; files];
        let mut evidence = Self {
            corpus,
            paths,
            signals,
            touched_by,
            similar: Vec::new(),
            alike: Vec::new(),
            words_in: vec![TaskWords::default(); files],
            said: Vec::new(),
        };
        evidence.words(task, workers);
        evidence.commits(task, workers);
        evidence.habits();
        evidence.own();
        evidence.neighbours(task);
        evidence.places(task);
        evidence.tests();
        evidence.scope(task);
        evidence.short(task);
        evidence
    }

    pub(super) fn fill(&mut self, signal: Signal, values: &[f32]) {
        for (file, value) in values.iter().enumerate() {
            set_signal(&mut self.signals, file, signal, *value);
        }
    }

    /// How many words of the task are in a file.
    pub(super) fn matched(&self, file: usize) -> u32 {
        self.words_in.get(file).map_or(0, |words| words.text.count_ones())
    }

    fn words(&mut self, task: &ContextTask, workers: &dyn Workers) {
        let files = &self.corpus.files;
        // Each word in each file, file by file.
        let of: Vec<(&CorpusFile<'_>, &PathWords)> = files.iter().zip(&self.paths).collect();
        let table: Vec<Vec<TermPlaces>> = workers::map_with_workers(workers, &of, |(file, path)| {
            task.terms.iter().map(|query| TermPlaces::of(query.term, file.record, path)).collect()
        });
        let mut defined_lengths: Vec<f32> = Vec::with_capacity(files.len());
        let (mut code, mut prose) = (Vec::with_capacity(files.len()), Vec::with_capacity(files.len()));
        for (file, (row, words_in)) in files.iter().zip(table.iter().zip(&mut self.words_in)) {
            let (words, text) = file.record.map_or((0, 0), FileRecord::length);
            code.push(real_count(words));
            prose.push(real_count(text));
            defined_lengths.push(count_to_f32(file.record.map_or(0, FileRecord::defined)));
            for (number, places) in row.iter().enumerate() {
                words_in.text |= if places.is_in_text() { word_bit(number) } else { 0 };
                words_in.path |= if places.is_in_path { word_bit(number) } else { 0 };
                words_in.defined |= if places.is_defined { word_bit(number) } else { 0 };
            }
        }
        let places =
            |file: usize, number: usize| table.get(file).and_then(|row| row.get(number)).copied().unwrap_or_default();
        let at = |file: usize, number: usize| {
            let TermPlaces { code, prose, .. } = places(file, number);
            (f32::from(code), f32::from(prose))
        };
        let path = |file: usize, number: usize| f32::from(u8::from(places(file, number).is_in_path));
        let name = |file: usize, number: usize| f32::from(u8::from(places(file, number).is_in_name));
        let defines = |file: usize, number: usize| f32::from(u8::from(places(file, number).is_defined));
        let lengths: Vec<f32> = code.iter().zip(&prose).map(|(code, prose)| code + prose + 4.0).collect();
        let path_lengths: Vec<f32> = self.paths.iter().map(|path| count_to_f32(path.all.len())).collect();
        let name_lengths: Vec<f32> = self.paths.iter().map(|path| count_to_f32(path.name.len())).collect();
        let anywhere = |file: usize, number: usize| {
            let (code, prose) = at(file, number);
            // A word of the path counts as if it was in the file a few times more.
            code + prose + 4.0 * path(file, number)
        };
        let first_line = |query: &QueryTerm| {
            let weight = if task.first_line.binary_search(&query.term).is_ok() { query.weight } else { 0.0 };
            QueryTerm { weight, ..*query }
        };
        let first_line: Vec<QueryTerm> = task.terms.iter().map(first_line).collect();
        let scores: [(Signal, Column<'_>); 7] = [
            (Signal::Words, &|| field_scores(&task.terms, &lengths, anywhere)),
            (Signal::Code, &|| field_scores(&task.terms, &code, |file, number| at(file, number).0)),
            (Signal::Prose, &|| field_scores(&task.terms, &prose, |file, number| at(file, number).1)),
            (Signal::Definitions, &|| field_scores(&task.terms, &defined_lengths, defines)),
            (Signal::Path, &|| field_scores(&task.terms, &path_lengths, path)),
            (Signal::Name, &|| field_scores(&task.terms, &name_lengths, name)),
            (Signal::FirstLine, &|| field_scores(&first_line, &lengths, anywhere)),
        ];
        let is_there = |file: usize, number: usize| places(file, number).is_in_text();
        let is_whole = |query: &QueryTerm| query.form == WordForm::Whole;
        let names: BTreeSet<Term> = task.names.iter().filter_map(|name| term_of_name(name)).collect();
        let is_named = |query: &QueryTerm| query.form == WordForm::Whole || names.contains(&query.term);
        let all = |_: &QueryTerm| true;
        let is_anywhere = |file: usize, number: usize| is_there(file, number) || path(file, number) > 0.0;
        let parts: [(Signal, Column<'_>); 4] = [
            (Signal::Coverage, &|| shares(task, files.len(), all, is_anywhere)),
            (Signal::PathCoverage, &|| shares(task, files.len(), all, |file, number| path(file, number) > 0.0)),
            (Signal::WholeNames, &|| shares(task, files.len(), is_whole, is_there)),
            (Signal::Defines, &|| shares(task, files.len(), is_named, |file, number| defines(file, number) > 0.0)),
        ];
        // Each of them goes through all files.
        let scored = workers::map_with_workers(workers, &scores, |(signal, column)| (*signal, column()));
        let shared = workers::map_with_workers(workers, &parts, |(signal, column)| (*signal, column()));
        drop(table);
        for (signal, mut values) in scored {
            if signal == Signal::Words {
                self.fill(Signal::WordsRank, &reciprocal_ranks(&values));
            }
            scale_to_greatest(&mut values);
            self.fill(signal, &values);
        }
        shared.iter().for_each(|(signal, values)| self.fill(*signal, values));
    }

    /// Past commits about the same words speak for the files that they touched.
    fn commits(&mut self, task: &ContextTask, workers: &dyn Workers) {
        let commits = &self.corpus.commits;
        let lengths: Vec<f32> = commits.iter().map(|commit| count_to_f32(commit.terms.len())).collect();
        let terms: Vec<Term> = task.terms.iter().map(|query| query.term).collect();
        let says = |commit: &CorpusCommit<'_>| {
            let said = terms.iter().enumerate().filter(|(_, term)| commit.terms.binary_search(term).is_ok());
            said.fold(0, |bits, (number, _)| bits | word_bit(number))
        };
        self.said = commits.iter().map(says).collect();
        let scores = field_scores(&task.terms, &lengths, |commit, number| {
            let has = self.said.get(commit).is_some_and(|bits| bits & word_bit(number) != 0);
            f32::from(u8::from(has))
        });
        let mut order: Vec<(u32, f32)> = (0_u32..).zip(scores).filter(|(_, score)| *score > 0.0).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.alike(task, &order, workers);
        order.truncate(SIMILAR);
        let files = self.corpus.files.len();
        let (mut sums, mut best) = (vec![0.0_f32; files], vec![0.0_f32; files]);
        let top = order.first().map_or(1.0, |(_, score)| *score);
        for (commit, score) in &order {
            let Some(commit) = commits.get(usize::try_from(*commit).unwrap_or(usize::MAX)) else { continue };
            let relative = score / top;
            let share = relative * relative / libm::sqrtf(count_to_f32(commit.files.len().max(1)));
            for file in &commit.files {
                let file = usize::try_from(*file).unwrap_or(usize::MAX);
                if let (Some(sum), Some(best)) = (sums.get_mut(file), best.get_mut(file)) {
                    *sum += share;
                    *best = best.max(share);
                }
            }
        }
        self.similar = order;
        let ranks = reciprocal_ranks(&sums);
        scale_to_greatest(&mut sums);
        scale_to_greatest(&mut best);
        self.fill(Signal::Commits, &sums);
        self.fill(Signal::CommitsRank, &ranks);
        self.fill(Signal::BestCommit, &best);
    }

    /// Recently and often changed files are changed again.
    fn habits(&mut self) {
        let all = count_to_f32(self.corpus.commits.len().max(2));
        let most = self.touched_by.iter().map(Vec::len).max().unwrap_or(0);
        let mut decayed: Vec<f32> = Vec::with_capacity(self.touched_by.len());
        let recency = |newest: Option<&u32>| newest.map_or(0.0, |age| 1.0 - log_of_next(*age) / libm::logf(1.0 + all));
        let mut folders: BTreeMap<&str, u32> = BTreeMap::new();
        for (commits, file) in self.touched_by.iter().zip(&self.corpus.files) {
            if let Some(newest) = commits.first() {
                let slot = folders.entry(folder_of(file.path)).or_insert(*newest);
                *slot = (*slot).min(*newest);
            }
        }
        for (file, commits) in self.touched_by.iter().enumerate() {
            set_signal(&mut self.signals, file, Signal::Recency, recency(commits.first()));
            let frequency = libm::logf(1.0 + count_to_f32(commits.len())) / libm::logf(2.0 + count_to_f32(most));
            set_signal(&mut self.signals, file, Signal::Frequency, frequency);
            let weight = |commit: &u32| libm::exp2f(-count_to_f32(usize::try_from(*commit).unwrap_or(0)) / HALF_LIFE);
            decayed.push(libm::sqrtf(commits.iter().map(weight).sum::<f32>()));
        }
        scale_to_greatest(&mut decayed);
        self.fill(Signal::DecayedFrequency, &decayed);
        let mut endings: BTreeMap<&str, f32> = BTreeMap::new();
        let ending = |path: &'c str| path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let touched = self.touched_by.iter().zip(&self.corpus.files);
        for (commits, file) in touched.filter(|(_, file)| file.used_for == FilePurpose::Code) {
            *endings.entry(ending(file.path)).or_default() += count_to_f32(commits.len());
        }
        let sum: f32 = endings.values().sum::<f32>().max(1.0);
        for (number, file) in self.corpus.files.iter().enumerate() {
            let share = endings.get(ending(file.path)).copied().unwrap_or(0.0) / sum;
            set_signal(&mut self.signals, number, Signal::Ending, libm::sqrtf(share));
            let lines = file.record.map_or(0, FileRecord::lines);
            let size = libm::logf(1.0 + real_count(lines)) / 10.0;
            set_signal(&mut self.signals, number, Signal::Size, size);
            set_signal(&mut self.signals, number, Signal::FolderRecency, recency(folders.get(folder_of(file.path))));
            set_signal(&mut self.signals, number, Signal::Changed, f32::from(u8::from(file.changed)));
        }
    }

    /// Files that the task names.
    fn places(&mut self, task: &ContextTask) {
        for (number, file) in self.corpus.files.iter().enumerate() {
            for place in task.places.iter().filter(|place| is_named_by(file.path, place)) {
                let is_path = place.path.contains('/') && file.path.contains('/');
                set_signal(&mut self.signals, number, if is_path { Signal::PathNamed } else { Signal::NameNamed }, 1.0);
                if place.line.is_some() {
                    set_signal(&mut self.signals, number, Signal::LineNamed, 1.0);
                }
            }
        }
    }

    /// Files below the part of the project that the task names in front, as far as its words are words of paths at all.
    fn scope(&mut self, task: &ContextTask) {
        let has = |path: &PathWords, term: Term| path.all.binary_search(&term).is_ok();
        let of_paths = |term: &&Term| self.paths.iter().any(|path| has(path, **term));
        let scope: Vec<Term> = task.scope.iter().filter(of_paths).copied().collect();
        let share = |path: &PathWords| count_to_f32(scope.iter().filter(|term| has(path, **term)).count());
        let values: Vec<f32> = self.paths.iter().map(|path| share(path) / count_to_f32(scope.len().max(1))).collect();
        self.fill(Signal::Scope, &values);
    }

    /// Words that follow each other in the task and stand side by side in a path, in either order, by how few paths have
    /// them so.
    pub(super) fn neighbours(&mut self, task: &ContextTask) {
        let pairs = &task.neighbours;
        let in_path = |path: &PathWords| -> u64 {
            let beside = path.ordered.iter().zip(path.ordered.iter().skip(1));
            let place = |pair: (Term, Term)| pairs.binary_search(&pair).ok();
            let found = beside.flat_map(|(a, b)| [place((*a, *b)), place((*b, *a))]).flatten();
            found.fold(0, |bits, place| bits | word_bit(place))
        };
        let found: Vec<u64> = self.paths.iter().map(in_path).collect();
        let mut values = vec![0.0_f32; found.len()];
        for place in 0..pairs.len() {
            let has = |bits: &u64| bits >> place & 1 == 1;
            let weight = word_rarity(found.len(), found.iter().filter(|bits| has(bits)).count());
            for (value, _) in values.iter_mut().zip(&found).filter(|(_, bits)| has(bits)) {
                *value += weight;
            }
        }
        scale_to_greatest(&mut values);
        self.fill(Signal::PathNeighbours, &values);
    }

    /// How much of a file's name the task says, and what counts differently in a short one.
    fn short(&mut self, task: &ContextTask) {
        let is_asked = |term: &&Term| task.terms.binary_search_by_key(*term, |query| query.term).is_ok();
        let said = |path: &PathWords| count_to_f32(path.name.iter().filter(is_asked).count());
        let values: Vec<f32> =
            self.paths.iter().map(|path| said(path) / count_to_f32(path.name.len().max(1))).collect();
        self.fill(Signal::NameShare, &values);
        let words = count_to_f32(task.terms.iter().filter(|query| query.form == WordForm::Part).count());
        let short = 1.0 / (1.0 + words / SHORT);
        for row in &mut self.signals {
            for (of, to) in OF_SHORT {
                let value = row.get(of as usize).copied().unwrap_or(0.0);
                if let Some(slot) = row.get_mut(to as usize) {
                    *slot = short * value;
                }
            }
        }
    }

    /// The words of a file's tests say what it does.
    fn tests(&mut self) {
        let words = |file: usize| self.signals.get(file).map_or(0.0, words_signal);
        let mut best: BTreeMap<Term, f32> = BTreeMap::new();
        let tests = self.corpus.files.iter().enumerate().filter(|(_, file)| file.used_for == FilePurpose::Test);
        for (number, _) in tests {
            let Some(subject) = self.paths.get(number).and_then(|path| path.subject) else { continue };
            let slot = best.entry(subject).or_default();
            *slot = slot.max(words(number));
        }
        let values: Vec<f32> = self
            .paths
            .iter()
            .map(|path| path.subject.and_then(|subject| best.get(&subject)).copied().unwrap_or(0.0))
            .collect();
        self.fill(Signal::Tests, &values);
    }
}
