//! Ranks the files of a repository for a task.

use std::collections::BTreeMap;

use proem_engine::workers::{self, Sequential, Workers};

use super::abstain::{LIKELIEST, task_signals};
use super::corpus::{Corpus, FilePurpose};
use super::signals::{BEST, Evidence, FileSignals, OF_SHORT, SIGNALS, Signal};
use super::task::{ContextTask, Naming};
use super::weights::{ContextWeights, TaskSignals};

/// A file in the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// Its place in [`Corpus::files`].
    pub file: usize,
    /// The sum of its weighted signals. Higher is better.
    pub score: f32,
    /// How likely the task is about it, 0 to 1.
    pub probability: f32,
    /// The evidence for its rank, in the order of [`SIGNALS`].
    pub signals: FileSignals,
    /// The evidence for it, strongest first.
    pub evidence: Vec<FileEvidence>,
}

/// Something that speaks for a file.
#[derive(Debug, Clone, PartialEq)]
pub enum FileEvidence {
    /// The task names it, and where in it.
    Named {
        /// The line, if one is named.
        line: Option<u32>,
    },
    /// It defines names that the task writes.
    Defines {
        /// The definitions, by their places in the file's record.
        symbols: Vec<usize>,
    },
    /// The task's words are in its path.
    PathWords,
    /// The task's words are in it.
    Words {
        /// How many of them.
        matched: u32,
        /// Of how many.
        of: u32,
    },
    /// Past commits about the same touched it, by their places in [`Corpus::commits`]: by words, most similar first, then by
    /// meaning.
    Commits {
        /// At most three of them.
        commits: Vec<u32>,
    },
    /// It changed together with a file that fits.
    CoChange {
        /// That file.
        with: usize,
        /// How often.
        together: usize,
        /// How often that file changed.
        of: usize,
    },
    /// It imports a file that fits, or is imported by one.
    Imports,
    /// The asker changed it lately.
    Own {
        /// How many commits ago.
        commits: u32,
    },
    /// It changed lately.
    Recent {
        /// How many commits ago.
        commits: u32,
    },
    /// It is changed in the work tree.
    Changed,
}

/// Files for a task, best first within each use.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRanking {
    /// Files of code, best first.
    pub code: Vec<RankedFile>,
    /// Files of tests, best first.
    pub tests: Vec<RankedFile>,
    /// Documentation and configuration.
    pub documents: Vec<RankedFile>,
    /// How likely the task is about the repository's code at all, 0 to 1; 1 where nothing says that it is not. Below
    /// [`AbstentionWeights::least`](super::AbstentionWeights::least) the lists are better not used.
    pub about_code: f32,
}

impl Default for FileRanking {
    /// No file, and nothing against the task.
    fn default() -> Self {
        Self { code: Vec::new(), tests: Vec::new(), documents: Vec::new(), about_code: 1.0 }
    }
}

/// The signals of every file, in the corpus' order. Empty for a task without words.
#[must_use]
pub fn file_signals(corpus: &Corpus<'_>, task: &ContextTask, weights: &ContextWeights) -> Vec<FileSignals> {
    weigh_files(corpus, task, weights, &Sequential).map_or_else(Vec::new, |weighed| weighed.evidence.signals)
}

/// Evidence with its late signals.
struct Weighed<'c> {
    evidence: Evidence<'c>,
    /// The best code of the first ranking, with how often each file changed together with it.
    best: Vec<(usize, BTreeMap<usize, usize>)>,
    /// Of each file, in the corpus' order.
    scores: Vec<f32>,
}

impl Weighed<'_> {
    fn task_signals(&self, task: &ContextTask, weights: &ContextWeights) -> Option<TaskSignals> {
        let files = &self.evidence.corpus.files;
        let is_code = |file: usize| files.get(file).is_some_and(|file| file.used_for == FilePurpose::Code);
        let likeliest = best_first(&self.scores, is_code, LIKELIEST);
        task_signals(&self.evidence, task, &weights.abstention, &likeliest)
    }
}

/// The signals on whether a task is about the code of a repository at all. `None` if there are none.
#[must_use]
pub fn signals_of_task(corpus: &Corpus<'_>, task: &ContextTask, weights: &ContextWeights) -> Option<TaskSignals> {
    weigh_files(corpus, task, weights, &Sequential)?.task_signals(task, weights)
}

/// The places of all files, likeliest first, by what is known of them. In the corpus' order for a task without words.
#[must_use]
pub fn likeliest_files(
    corpus: &Corpus<'_>,
    task: &ContextTask,
    weights: &ContextWeights,
    workers: &dyn Workers,
) -> Vec<usize> {
    match weigh_files(corpus, task, weights, workers) {
        Some(weighed) => best_first(&weighed.scores, |_| true, usize::MAX),
        None => (0..corpus.files.len()).collect(),
    }
}

fn weigh_files<'c>(
    corpus: &'c Corpus<'c>,
    task: &ContextTask,
    weights: &ContextWeights,
    workers: &dyn Workers,
) -> Option<Weighed<'c>> {
    if task.is_empty() || corpus.files.is_empty() {
        return None;
    }
    let mut evidence = Evidence::new(corpus, task, workers);
    let is_code = |file: usize| corpus.files.get(file).is_some_and(|file| file.used_for == FilePurpose::Code);
    let first = workers::map_with_workers(workers, &evidence.signals, |signals| weights.first_score(signals));
    let best = best_first(&first, is_code, BEST);
    let best: Vec<_> = best.into_iter().map(|file| (file, evidence.together(file))).collect();
    evidence.late(&first, &best);
    let mut scores = workers::map_with_workers(workers, &evidence.signals, |signals| weights.score(signals));
    raise_named(&evidence, &mut scores);
    Some(Weighed { evidence, best, scores })
}

/// Puts files that the task names with their path before all others, in their own order. Somebody who writes a path means
/// it, and a sum of learned weights promises nothing.
fn raise_named(evidence: &Evidence<'_>, scores: &mut [f32]) {
    let is_named = |signals: &FileSignals| signals.get(Signal::PathNamed as usize).is_some_and(|value| *value > 0.0);
    let named: Vec<bool> = evidence.signals.iter().map(is_named).collect();
    let of =
        |wanted: bool| scores.iter().zip(&named).filter(move |(_, named)| **named == wanted).map(|(score, _)| *score);
    let (least, best_other) = (of(true).fold(f32::INFINITY, f32::min), of(false).fold(f32::NEG_INFINITY, f32::max));
    if least > best_other {
        return;
    }
    let raise = best_other - least + ABOVE;
    for (score, named) in scores.iter_mut().zip(named) {
        *score += if named { raise } else { 0.0 };
    }
}

/// Ranks all files. At most `most` of each use are returned. Foreign files are code that comes last.
#[must_use]
pub fn rank_files(
    corpus: &Corpus<'_>,
    task: &ContextTask,
    weights: &ContextWeights,
    most: usize,
    workers: &dyn Workers,
) -> FileRanking {
    let Some(weighed) = weigh_files(corpus, task, weights, workers) else {
        return FileRanking::default();
    };
    let Weighed { evidence, best, scores } = &weighed;
    let is =
        |file: usize, uses: &[FilePurpose]| corpus.files.get(file).is_some_and(|file| uses.contains(&file.used_for));
    let ranked = |uses: &[FilePurpose]| {
        let order = best_first(scores, |file| is(file, uses), usize::MAX);
        let of = |file: &usize| scores.get(*file).copied().unwrap_or(f32::MIN);
        let above = log_sum(order.iter().map(of));
        let file = |file: usize| RankedFile {
            file,
            score: of(&file),
            probability: weights.probability(of(&file) - above),
            signals: evidence.signals.get(file).copied().unwrap_or([0.0; SIGNALS]),
            evidence: file_evidence(evidence, task, weights, file, best),
        };
        order.iter().take(most).map(|at| file(*at)).collect::<Vec<_>>()
    };
    FileRanking {
        code: ranked(&[FilePurpose::Code]),
        tests: ranked(&[FilePurpose::Test]),
        documents: ranked(&[FilePurpose::Documentation, FilePurpose::Configuration]),
        about_code: weighed.task_signals(task, weights).map_or(1.0, |signals| weights.abstention.probability(&signals)),
    }
}

/// The files that count, best first. Equal ones in the order of their paths.
fn best_first(scores: &[f32], counts: impl Fn(usize) -> bool, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|file| counts(*file)).collect();
    let of = |file: usize| scores.get(file).copied().unwrap_or(f32::MIN);
    order.sort_by(|a, b| of(*b).total_cmp(&of(*a)).then(a.cmp(b)));
    order.truncate(most);
    order
}

/// The distance of the last named file from the first other one, in units of the score.
const ABOVE: f32 = 0.01;

/// `ln Σ exp(x)`.
fn log_sum(values: impl Iterator<Item = f32> + Clone) -> f32 {
    let most = values.clone().fold(f32::MIN, f32::max);
    most + libm::logf(values.map(|value| libm::expf(value - most)).sum::<f32>().max(f32::MIN_POSITIVE))
}

/// The number of commits within which a change is recent.
const LATELY: u32 = 50;

/// Whether whoever asks wrote a commit.
fn is_own(evidence: &Evidence<'_>, commit: u32) -> bool {
    let commit = usize::try_from(commit).ok().and_then(|at| evidence.corpus.commits.get(at));
    commit.is_some_and(|commit| commit.is_own)
}

/// The commits that touched a file and are about the same, at most three: by words, and then by meaning.
fn about_the_same(evidence: &Evidence<'_>, touched: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let similar = evidence.similar.iter().map(|(commit, _)| *commit);
    for commit in similar.chain(evidence.alike.iter().copied()) {
        if found.len() < 3 && touched.binary_search(&commit).is_ok() && !found.contains(&commit) {
            found.push(commit);
        }
    }
    found
}

/// The evidence for a file, by its signals' contributions to its score.
fn file_evidence(
    evidence: &Evidence<'_>,
    task: &ContextTask,
    weights: &ContextWeights,
    file: usize,
    best: &[(usize, BTreeMap<usize, usize>)],
) -> Vec<FileEvidence> {
    let Some(signals) = evidence.signals.get(file) else { return Vec::new() };
    let Some(about) = evidence.corpus.files.get(file) else { return Vec::new() };
    let alone = |signal: Signal| {
        let at = signal as usize;
        weights.all.get(at).copied().unwrap_or(0.0) * signals.get(at).copied().unwrap_or(0.0)
    };
    let adds = |signal: Signal| {
        let of_short = OF_SHORT.iter().filter(|(of, _)| *of == signal);
        alone(signal) + of_short.map(|(_, short)| alone(*short)).sum::<f32>()
    };
    let has = |signal: Signal| signals.get(signal as usize).is_some_and(|value| *value > 0.0);
    let mut found: Vec<(f32, FileEvidence)> = Vec::new();
    if [Signal::PathNamed, Signal::NameNamed, Signal::LineNamed].into_iter().any(has) {
        let places = task.places.iter().filter(|place| super::place::is_named_by(about.path, place));
        let line = places.filter_map(|place| place.line).next();
        found.push((f32::MAX, FileEvidence::Named { line }));
    }
    let symbols = named_definitions(task, about.record);
    if !symbols.is_empty() {
        found.push((1.0 + adds(Signal::Defines) + adds(Signal::Definitions), FileEvidence::Defines { symbols }));
    }
    if has(Signal::Path) {
        let value = adds(Signal::Path) + adds(Signal::Name) + adds(Signal::PathCoverage) + adds(Signal::NameShare);
        let value = value + adds(Signal::PathNeighbours);
        found.push((value, FileEvidence::PathWords));
    }
    let matched = evidence.matched(file);
    if matched > 0 {
        let words = [
            Signal::Words,
            Signal::WordsRank,
            Signal::FirstLine,
            Signal::Code,
            Signal::Prose,
            Signal::Coverage,
            Signal::WholeNames,
        ];
        let of = u32::try_from(task.terms.len()).unwrap_or(u32::MAX);
        found.push((words.into_iter().map(adds).sum(), FileEvidence::Words { matched, of }));
    }
    let touched = evidence.touched_by.get(file).map(Vec::as_slice).unwrap_or_default();
    let commits = about_the_same(evidence, touched);
    if !commits.is_empty() {
        let by_words = adds(Signal::Commits) + adds(Signal::CommitsRank) + adds(Signal::BestCommit);
        let value = by_words + adds(Signal::AlikeCommit);
        found.push((value, FileEvidence::Commits { commits }));
    }
    if has(Signal::CoChange)
        && let Some((with, together, of)) = best_partner(evidence, file, best)
    {
        found.push((adds(Signal::CoChange), FileEvidence::CoChange { with, together, of }));
    }
    if has(Signal::Imports) {
        found.push((adds(Signal::Imports), FileEvidence::Imports));
    }
    if about.changed {
        found.push((adds(Signal::Changed).max(0.5), FileEvidence::Changed));
    }
    let own = |commit: &u32| is_own(evidence, *commit);
    if let Some(commits) = touched.iter().take_while(|commits| **commits < LATELY).copied().find(own) {
        let value = adds(Signal::OwnFiles) + adds(Signal::OwnFolders) + adds(Signal::OwnRecency);
        found.push((value, FileEvidence::Own { commits }));
    }
    if let Some(commits) = touched.first().copied().filter(|commits| *commits < LATELY && !own(commits)) {
        found.push((adds(Signal::Recency), FileEvidence::Recent { commits }));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, evidence)| evidence).collect()
}

/// The definitions whose names the task writes, by their places.
pub(super) fn named_definitions(task: &ContextTask, record: Option<&super::record::FileRecord>) -> Vec<usize> {
    let Some(record) = record else { return Vec::new() };
    let symbols = record.symbols();
    let symbols = symbols.iter().enumerate();
    symbols.filter(|(_, symbol)| task.naming(symbol) == Naming::Exact).map(|(at, _)| at).take(8).collect()
}

/// The best file that a file changed with most often.
fn best_partner(
    evidence: &Evidence<'_>,
    file: usize,
    best: &[(usize, BTreeMap<usize, usize>)],
) -> Option<(usize, usize, usize)> {
    let with = |(top, counts): &(usize, BTreeMap<usize, usize>)| {
        let together = counts.get(&file).copied().filter(|_| *top != file)?;
        Some((*top, together, evidence.touched_by.get(*top).map_or(0, Vec::len)))
    };
    best.iter().filter_map(with).max_by_key(|(_, together, _)| *together)
}
