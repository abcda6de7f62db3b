//! `proem-lab train abstention`: learns which tasks are about no code.
//!
//! The training data: the messages of past commits, whole and in few words, tasks in other languages, and tasks of
//! everyday life. Each in whole repositories and in small parts of them, because a young project knows few words.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_score::linear::{Logistic, TrainingOptions, fit_logistic};
use proem_select::context::{
    AbstentionWeights, ContextTask, ContextWeights, Corpus, CorpusCommit, CorpusFile, TASK_SIGNAL_NAMES, TaskSignals,
    signals_of_task,
};
use serde::Deserialize;

use super::assistant::AssistantRequests;
use super::cases::{Asker, Case, Clone, ShortForm};
use super::eval::by_proem;
use super::software::SoftwareTexts;
use super::train::{eprint_line, workspace_weights, write_weights};
use crate::selection::public_sets::{Dice, read_data_file};

/// Learns which tasks are about no code.
#[derive(Debug, Args)]
pub(crate) struct TrainAbstention {
    /// A clone to learn from, in a folder that is or is in `OWNER+NAME`. Give it once for each.
    #[arg(long = "clone", value_name = "DIR", required = true)]
    pub(super) clones: Vec<PathBuf>,
    /// A clone of clinc/oos-eval: what people ask an assistant for.
    #[arg(long, value_name = "DIR")]
    clinc: PathBuf,
    /// The folder with the records of the clones.
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    /// The folder of training data.
    #[arg(long, value_name = "DIR", default_value = concat!("../", "shared/data"))]
    pub(super) data: PathBuf,
    /// How many cases of each clone.
    #[arg(long, value_name = "N", default_value_t = 40)]
    cases: usize,
    /// Among how many of its newest commits.
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(super) window: usize,
    /// The workspace's folder, whose `crates/proem-select/data/context.json` is written anew.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

/// Which part of a set of tasks: what is learned from is never reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TaskPart {
    #[default]
    Train,
    Test,
}

/// A task of everyday life.
#[derive(Debug, Deserialize)]
struct EverydayTask {
    part: TaskPart,
    task: String,
}

/// A task about code that was written for a commit: vague, or in another language than its repository's.
#[derive(Debug, Deserialize)]
pub(super) struct WrittenTask {
    #[serde(default)]
    part: TaskPart,
    pub(super) repo: String,
    pub(super) commit: String,
    pub(super) task: String,
}

/// The everyday tasks of one part.
pub(super) fn everyday(workspace: &Path, part: TaskPart) -> Result<Vec<String>, String> {
    let all: Vec<EverydayTask> = read_json_lines(&workspace.join("evals/context/everyday.jsonl"))?;
    Ok(all.into_iter().filter(|task| task.part == part).map(|task| task.task).collect())
}

/// The tasks in other languages of one part.
pub(super) fn foreign(workspace: &Path, part: TaskPart) -> Result<Vec<WrittenTask>, String> {
    let all: Vec<WrittenTask> = read_json_lines(&workspace.join("evals/context/foreign.jsonl"))?;
    Ok(all.into_iter().filter(|task| task.part == part).collect())
}

pub(super) fn read_json_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, String> {
    read_data_file(path)?
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}")))
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TaskKind {
    Whole,
    Subject,
    Short,
    Foreign,
    Vague,
    /// In a small part of a repository.
    Small,
    Everyday,
    SmallEveryday,
}

impl TaskKind {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Whole, "commits, whole"),
        (Self::Subject, "their subjects"),
        (Self::Short, "in few words"),
        (Self::Foreign, "in other languages"),
        (Self::Vague, "vague"),
        (Self::Small, "in small repositories"),
        (Self::Everyday, "everyday"),
        (Self::SmallEveryday, "everyday, in small repositories"),
    ];

    const fn is_about_code(self) -> bool {
        !matches!(self, Self::Everyday | Self::SmallEveryday)
    }
}

/// A task that is learned from.
#[derive(Debug)]
struct TaskExample {
    kind: TaskKind,
    signals: TaskSignals,
    /// Which share of what it is about is among the first ten.
    hit: f64,
    /// Its clone, and, of everyday tasks, which of them it is: neither is learned from where it is measured.
    folds: (usize, Option<usize>),
}

/// In so many folds clones and everyday tasks are cut for cross-validation.
const FOLDS: usize = 6;

/// Of what is found for tasks, how much may be lost, as shares.
#[derive(Debug, Clone, Copy)]
struct MostLost {
    /// Of commits' messages.
    messages: f64,
    /// Of the same in small parts of repositories.
    small: f64,
    /// Of vague tasks, and of those in other languages.
    written: f64,
}

/// The permitted cost of abstaining.
const MOST_LOST: MostLost = MostLost { messages: 0.003, small: 0.01, written: 0.05 };

/// Of how much that is found doubt may leave the path alone.
const MOST_SHORTENED: MostLost = MostLost { messages: 0.01, small: 0.04, written: 0.15 };

pub(crate) fn run_train_abstention(args: &TrainAbstention) -> Result<String, String> {
    let shipped = workspace_weights(&args.to)?;
    let assistant = AssistantRequests::read(&args.clinc)?;
    let vague: Vec<WrittenTask> = read_json_lines(&args.to.join("evals/context/vague-train.jsonl"))?;
    let texts = SoftwareTexts::read(args, &assistant, &vague)?;
    let telling = |software: &Logistic| ContextWeights {
        abstention: AbstentionWeights {
            signals: vec![0.0; TASK_SIGNAL_NAMES.len()],
            offset: 0.0,
            least: 0.0,
            doubtful: 0.0,
            software: software.weights.iter().map(|weight| round_weight(*weight)).collect(),
            software_offset: round_weight(software.bias),
            ranking: shipped.ranking_id(),
        },
        ..shipped.clone()
    };
    // The words for software were not learned on the clone whose tasks they tell apart, or they would seem to tell more
    // than they do.
    let by_fold = (0..FOLDS).map(|fold| Ok(telling(&texts.learned(|clone| clone % FOLDS == fold)?)));
    let by_fold = by_fold.collect::<Result<Vec<_>, String>>()?;
    let examples = abstention_examples(args, &by_fold, &vague, &assistant)?;
    let scores = cross_validated(&examples)?;
    let [least, doubtful] = [MOST_LOST, MOST_SHORTENED].map(|most| abstention_threshold(&examples, &scores, most));
    let all: Vec<&TaskExample> = examples.iter().collect();
    let model = learn_abstention(&all)?;
    let weights = telling(&texts.learned(|_| false)?);
    let signals = model.weights.iter().map(|weight| round_weight(*weight)).collect();
    let abstention =
        AbstentionWeights { signals, offset: round_weight(model.bias), least, doubtful, ..weights.abstention.clone() };
    let weights = ContextWeights { abstention, ..weights };
    write_weights(&args.to, &weights)?;
    let mut out = String::new();
    let mut line = |text: &str| writeln!(out, "{text}").map_err(|error| error.to_string());
    for (name, weight) in TASK_SIGNAL_NAMES.iter().zip(&weights.abstention.signals) {
        line(&format!("{name:40} {weight:8.3}"))?;
    }
    line(&format!("offset {}, least {least}, doubtful {doubtful}", weights.abstention.offset))?;
    line(
        "cross-validated: tasks, of these held back, and what was found by them in per cent of all that is found; then the",
    )?;
    line("same of all that are held back or doubtful")?;
    for (kind, name) in TaskKind::ALL {
        let (count, held, lost) = held_back(&examples, &scores, least, kind);
        let (_, doubted, shortened) = held_back(&examples, &scores, doubtful, kind);
        line(&format!("{name:40} {count:6} {held:6.1} % {lost:6.2} % {doubted:6.1} % {shortened:6.2} %"))?;
    }
    Ok(out)
}

fn round_weight(weight: f32) -> f32 {
    (weight * 1e3).round() / 1e3
}

/// How many files and commits a small part of a repository has.
const SMALL: [(usize, usize); 6] = [(8, 0), (25, 5), (80, 50), (300, 400), (25, 0), (300, 0)];

/// `by_fold` are the weights for each fold of clones.
fn abstention_examples(
    args: &TrainAbstention,
    by_fold: &[ContextWeights],
    vague: &[WrittenTask],
    assistant: &AssistantRequests,
) -> Result<Vec<TaskExample>, String> {
    let everyday = [everyday(&args.to, TaskPart::Train)?, assistant.examples()].concat();
    let foreign = foreign(&args.to, TaskPart::Train)?;
    let mut examples = Vec::new();
    for (at, folder) in args.clones.iter().enumerate() {
        let mut clone = Clone::open(folder, &args.cache)?;
        let mut cases: Vec<(Case, TaskKind)> =
            clone.cases(args.window, args.cases)?.into_iter().map(|case| (case, TaskKind::Whole)).collect();
        for (tasks, kind) in [(foreign.as_slice(), TaskKind::Foreign), (vague, TaskKind::Vague)] {
            for task in tasks.iter().filter(|task| task.repo == clone.name) {
                cases.extend(clone.case_of(&task.commit, &task.task)?.map(|case| (case, kind)));
            }
        }
        eprint_line(&format!("{}: {} cases", clone.name, cases.len()));
        let Some(weights) = by_fold.get(at % FOLDS) else { continue };
        let mut dice = Dice(u64::try_from(at).unwrap_or(0));
        for (number, (case, kind)) in cases.iter().enumerate() {
            let Some(tree) = clone.tree(case)? else { continue };
            let corpus = clone.corpus(case, &tree, Asker::Unknown)?;
            let mut collected = Collected { examples: &mut examples, weights, clone: at };
            let small = SMALL.get(number % SMALL.len()).copied().unwrap_or_default();
            let small = smaller(&corpus.corpus, small, &case.answers, &mut dice);
            if *kind != TaskKind::Whole {
                collected.add(&corpus.corpus, *kind, case);
                continue;
            }
            let subject = case.task.lines().next().unwrap_or_default().to_owned();
            let subject = Case { task: subject, ..case.clone() };
            collected.add(&corpus.corpus, TaskKind::Whole, case);
            collected.add(&corpus.corpus, TaskKind::Subject, &subject);
            let forms = [ShortForm::Telling(2), ShortForm::NameOfPart, ShortForm::Telling(4), ShortForm::NameAndWord];
            let form = forms.get(number % forms.len()).copied().unwrap_or(ShortForm::NameOfPart);
            if let Some(short) = form.of(case, &corpus.corpus) {
                collected.add(&corpus.corpus, TaskKind::Short, &short);
            }
            collected.add(&small, TaskKind::Small, if number % 2 == 0 { case } else { &subject });
            let parts: &[(&Corpus<'_>, TaskKind)] = match number {
                0 => &[(&corpus.corpus, TaskKind::Everyday), (&small, TaskKind::SmallEveryday)],
                1..6 => &[(&small, TaskKind::SmallEveryday)],
                _ => &[],
            };
            for (corpus, kind) in parts {
                collected.everyday(corpus, *kind, &everyday);
            }
        }
        if let Some(note) = clone.reader.keep() {
            eprint_line(&note);
        }
    }
    Ok(examples)
}

/// The collection of one clone.
struct Collected<'e> {
    examples: &'e mut Vec<TaskExample>,
    weights: &'e ContextWeights,
    clone: usize,
}

impl Collected<'_> {
    fn add(&mut self, corpus: &Corpus<'_>, kind: TaskKind, case: &Case) {
        let task = ContextTask::new(&case.task);
        let Some(signals) = signals_of_task(corpus, &task, self.weights) else { return };
        let order = by_proem(corpus, &task, self.weights);
        let found = order.iter().take(10).filter(|path| case.answers.contains(**path)).count();
        #[expect(clippy::cast_precision_loss, reason = "at most five")]
        let hit = found as f64 / case.answers.len().max(1) as f64;
        self.examples.push(TaskExample { kind, signals, hit, folds: (self.clone, None) });
    }

    fn everyday(&mut self, corpus: &Corpus<'_>, kind: TaskKind, tasks: &[String]) {
        for (number, text) in tasks.iter().enumerate() {
            let signals = signals_of_task(corpus, &ContextTask::new(text), self.weights);
            let example = |signals| TaskExample { kind, signals, hit: 0.0, folds: (self.clone, Some(number)) };
            self.examples.extend(signals.map(example));
        }
    }
}

/// A part of a corpus with so many files, the answers among them, and so many commits.
fn smaller<'c>(
    corpus: &Corpus<'c>,
    (files, commits): (usize, usize),
    answers: &std::collections::BTreeSet<String>,
    dice: &mut Dice,
) -> Corpus<'c> {
    let mut places: Vec<usize> = (0..corpus.files.len()).collect();
    dice.shuffle(&mut places);
    let is_answer = |place: &usize| corpus.files.get(*place).is_some_and(|file| answers.contains(file.path));
    places.sort_by_key(|place| !is_answer(place));
    places.truncate(files);
    places.sort_unstable();
    let new: BTreeMap<u32, u32> = places.iter().filter_map(|place| u32::try_from(*place).ok()).zip(0_u32..).collect();
    let kept = |commit: &CorpusCommit<'c>| {
        let files: Vec<u32> = commit.files.iter().filter_map(|file| new.get(file).copied()).collect();
        (!files.is_empty()).then(|| CorpusCommit { files, ..commit.clone() })
    };
    let of = |place: &usize| -> Option<CorpusFile<'c>> { corpus.files.get(*place).copied() };
    Corpus {
        files: places.iter().filter_map(of).collect(),
        commits: corpus.commits.iter().filter_map(kept).take(commits).collect(),
        meaning: corpus.meaning,
    }
}

/// How much an example counts: a task for which nothing is found loses little, and of those that were written there are few.
fn example_weight(example: &TaskExample) -> f64 {
    match example.kind {
        TaskKind::Foreign | TaskKind::Vague => 30.0,
        kind if example.hit > 0.0 || !kind.is_about_code() => 1.0,
        _ => 0.2,
    }
}

/// Their weights, so that both labels count the same in whole repositories, and in small ones.
fn weights(examples: &[&TaskExample], labels: &[bool]) -> Vec<f32> {
    let is_small = |example: &TaskExample| matches!(example.kind, TaskKind::Small | TaskKind::SmallEveryday);
    let sum = |small: bool, label: bool| -> f64 {
        let counts = |(example, of): &(&&TaskExample, &bool)| is_small(example) == small && **of == label;
        examples.iter().zip(labels).filter(counts).map(|(example, _)| example_weight(example)).sum()
    };
    let scale = |small: bool| sum(small, true) / sum(small, false).max(f64::MIN_POSITIVE);
    let (scale, scale_small) = (scale(false), scale(true));
    #[expect(clippy::cast_possible_truncation, reason = "a weight of moderate size")]
    let of = |(example, label): (&&TaskExample, &bool)| {
        let of_size = if is_small(example) { scale_small } else { scale };
        (example_weight(example) * if *label { 1.0 } else { of_size }) as f32
    };
    examples.iter().zip(labels).map(of).collect()
}

fn learn_abstention(examples: &[&TaskExample]) -> Result<Logistic, String> {
    let rows: Vec<TaskSignals> = examples.iter().map(|example| example.signals).collect();
    let labels: Vec<bool> = examples.iter().map(|example| example.kind.is_about_code()).collect();
    let trained = fit_logistic(&rows, &labels, &weights(examples, &labels), TrainingOptions::default());
    trained.map(|trained| trained.model).map_err(|error| error.to_string())
}

/// The probability of each example, by what was learned on other clones and, of an everyday task, on other tasks.
fn cross_validated(examples: &[TaskExample]) -> Result<Vec<f32>, String> {
    let mut scores = vec![0.0_f32; examples.len()];
    for clone in 0..FOLDS {
        for task in [None].into_iter().chain((0..FOLDS).map(Some)) {
            let is_measured = |example: &TaskExample| {
                example.folds.0 % FOLDS == clone && example.folds.1.map(|number| number % FOLDS) == task
            };
            let is_learned = |example: &TaskExample| {
                let number = example.folds.1.map(|number| number % FOLDS);
                example.folds.0 % FOLDS != clone && (task.is_none() || number != task)
            };
            let lessons: Vec<&TaskExample> = examples.iter().filter(|example| is_learned(example)).collect();
            let model = learn_abstention(&lessons)?;
            for (score, example) in scores.iter_mut().zip(examples).filter(|(_, example)| is_measured(example)) {
                *score = model.probability(&example.signals);
            }
        }
    }
    Ok(scores)
}

/// The probability below which so little of what is found is lost.
fn abstention_threshold(examples: &[TaskExample], scores: &[f32], most: MostLost) -> f32 {
    let below = |most: f64, kinds: &[TaskKind]| {
        let of_kind = examples.iter().zip(scores).filter(|(example, _)| kinds.contains(&example.kind));
        let mut found: Vec<(f32, f64)> = of_kind.map(|(example, score)| (*score, example.hit)).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let most = most * found.iter().map(|(_, hit)| hit).sum::<f64>();
        let mut lost = 0.0;
        let is_too_much = |(_, hit): &&(f32, f64)| {
            lost += hit;
            lost > most
        };
        found.iter().find(is_too_much).map_or(0.0, |(score, _)| (score * 1e3).floor() / 1e3)
    };
    let of_messages = below(most.messages, &[TaskKind::Whole, TaskKind::Subject, TaskKind::Short]);
    let of_small = below(most.small, &[TaskKind::Small]);
    let of_written = [TaskKind::Vague, TaskKind::Foreign].map(|kind| below(most.written, &[kind]));
    of_written.into_iter().fold(of_messages.min(of_small), f32::min)
}

/// How many tasks there are of a kind, and in per cent how many are held back and what was found by these.
fn held_back(examples: &[TaskExample], scores: &[f32], least: f32, kind: TaskKind) -> (usize, f64, f64) {
    let of_kind = || examples.iter().zip(scores).filter(|(example, _)| example.kind == kind);
    let held = || of_kind().filter(|(_, score)| **score < least);
    let (count, found) = (of_kind().count(), of_kind().map(|(example, _)| example.hit).sum::<f64>());
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let share = 100.0 * held().count() as f64 / count.max(1) as f64;
    let lost = held().map(|(example, _)| example.hit).sum::<f64>();
    (count, share, if found > 0.0 { 100.0 * lost / found } else { 0.0 })
}
