//! Whether a task is about the code of a repository at all: "order more coffee beans" is not, though some source has the
//! word `order`.
//!
//! Selective classification calls it to abstain (Chow, *On Optimum Recognition Error and Reject Tradeoff*, 1970). Two
//! things tell: how many of the task's words the repository has ever used, and whether such words are said of software
//! or in everyday life. Both are joined by logistic regression. `cargo lab train abstention` learns it.

use super::corpus::Corpus;
use super::place::is_named_by;
use super::rank::named_definitions;
use super::scores::{count_to_f32, log_of_next, word_rarity};
use super::signals::{Evidence, SHORT};
use super::task::ContextTask;
use super::weights::{AbstentionWeights, FEW_FILES, TASK_SIGNALS, TaskSignals};
use super::words::WordForm;
use crate::embedding::embed_texts;

/// Their names, in their order.
pub const TASK_SIGNAL_NAMES: [&str; TASK_SIGNALS] = [
    "words",
    "few words",
    "share that files have",
    "words that no file has",
    "share that commits have",
    "share in one source",
    "words in a definition",
    "words in a path",
    "words of software",
    "files",
    "commits",
    "common among files",
    "common among commits",
];

/// How many of the likeliest sources are looked at.
pub(super) const LIKELIEST: usize = 12;

/// Of fewer words nothing is said: who asks in two words means what they say.
const FEWEST_WORDS: usize = 3;

/// So many words, and so many that no file has, say all that such numbers can say.
const MOST_WORDS: usize = 16;
const MOST_UNKNOWN: usize = 8;

/// How telling the words of the task are that are in one source, in its path and in the names that it defines.
#[derive(Debug, Clone, Copy, Default)]
struct SourceWords {
    telling: f32,
    in_path: f32,
    defined: f32,
}

/// The signals on whether a task is about code. `None` if that can't be decided, because it names a file or a
/// definition, has too few words or one that a small repository is about, or there is no model for the meaning of its
/// words. `best` are the [`LIKELIEST`] sources.
pub(super) fn task_signals(
    evidence: &Evidence<'_>,
    task: &ContextTask,
    weights: &AbstentionWeights,
    best: &[usize],
) -> Option<TaskSignals> {
    let corpus = evidence.corpus;
    if names_best_files(evidence, task, best) {
        return None;
    }
    let words: Vec<usize> = task
        .terms
        .iter()
        .enumerate()
        .filter(|(_, query)| query.form == WordForm::Part)
        .map(|(number, _)| number)
        .collect();
    if words.len() < FEWEST_WORDS {
        return None;
    }
    let of_software = of_software(corpus, task, weights)?;
    let has = |bits: u64, word: usize| bits >> word & 1 == 1;
    let share = |part: f32, whole: f32| if whole > 0.0 { part / whole } else { 0.0 };
    let files_with = |word: usize| evidence.words_in.iter().filter(|words| has(words.anywhere(), word)).count();
    let commits_with = |word: usize| evidence.said.iter().filter(|bits| has(**bits, word)).count();
    let (files, commits) = (corpus.files.len(), corpus.commits.len());
    let count = |count: usize| log_of_next(u32::try_from(count).unwrap_or(u32::MAX));
    let mut known = 0;
    // How many files and commits have a word, as a share of the way from none to all that is the same for each doubling: a
    // large repository has nearly every word somewhere.
    let (mut common, mut common_said) = (0.0_f32, 0.0_f32);
    // How telling the words are among files and among commits, and of that what commits say.
    let (mut whole, mut whole_said, mut said) = (0.0_f32, 0.0_f32, 0.0_f32);
    let mut sources = vec![SourceWords::default(); best.len()];
    for word in words.iter().copied() {
        let (with, by) = (files_with(word), commits_with(word));
        let (telling, telling_said) = (word_rarity(files, with), word_rarity(commits, by));
        known += usize::from(with > 0);
        common += share(count(with), count(files));
        common_said += share(count(by), count(commits));
        whole += telling;
        whole_said += telling_said;
        said += if by > 0 { telling_said } else { 0.0 };
        for (source, file) in sources.iter_mut().zip(best) {
            let words = evidence.words_in.get(*file).copied().unwrap_or_default();
            let of = |bits: u64| if has(bits, word) { telling } else { 0.0 };
            source.telling += of(words.anywhere());
            source.in_path += of(words.path);
            source.defined += of(words.defined);
        }
    }
    let most = |of: fn(&SourceWords) -> f32| sources.iter().map(of).fold(0.0, f32::max);
    if files < FEW_FILES && (most(|source| source.defined) > 0.0 || most(|source| source.in_path) > 0.0) {
        return None;
    }
    Some([
        count_to_f32(words.len().min(MOST_WORDS)),
        1.0 / (1.0 + count_to_f32(words.len()) / SHORT),
        share(count_to_f32(known), count_to_f32(words.len())),
        count_to_f32(words.len().saturating_sub(known).min(MOST_UNKNOWN)),
        share(said, whole_said),
        share(most(|source| source.telling), whole),
        most(|source| source.defined),
        most(|source| source.in_path),
        of_software,
        count(files),
        count(commits),
        share(common, count_to_f32(words.len())),
        share(common_said, count_to_f32(words.len())),
    ])
}

/// Whether the task names one of the files, or something that the best of them define.
fn names_best_files(evidence: &Evidence<'_>, task: &ContextTask, best: &[usize]) -> bool {
    let files = &evidence.corpus.files;
    let names = |path: &str| task.places.iter().any(|place| is_named_by(path, place));
    let record = |file: &usize| files.get(*file).and_then(|file| file.record);
    files.iter().any(|file| names(file.path))
        || best.iter().any(|file| !named_definitions(task, record(file)).is_empty())
}

/// How much the task's words are those of software, as the logarithm of the odds.
fn of_software(corpus: &Corpus<'_>, task: &ContextTask, weights: &AbstentionWeights) -> Option<f32> {
    let model = corpus.meaning?;
    // A model that fails says nothing, and then nothing is held back.
    let vector = embed_texts(model.0, &[&task.content]).ok()?.pop()??;
    Some(weights.of_software(vector.values()))
}
