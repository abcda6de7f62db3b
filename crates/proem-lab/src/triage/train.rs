//! `proem-lab train triage`: learns what the words of a signal say together.
//!
//! A multinomial logistic regression over words, pairs of words, starts of words, and what lexicon and system say. Each
//! word has its own weight and a share of the weights of its vector, so that words which no example has speak as those
//! that are near them in meaning do: the mean of vectors through a linear layer is a sum of one number for each word, and
//! that number is what is written. Vectors are those of the static model that ships.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_agents::screen::Screening;
use proem_embed::StaticModel;
use proem_guard::{Guard, Policy};
use proem_score::softmax::{DescentOptions, SparseExample, fit_softmax};
use proem_triage::contract::{SignalCategory, SignalImportance};
use proem_triage::{
    CategoryWeights, ClassificationContext, SignalInBatch, SignalTrait, TriageLexicon, sanitise_signal, traits,
};

use super::eval::{TriagedHalf, counts};
use super::examples::{WRITERS, plain_examples, read_examples};
use super::labelled_signals::{LabelledSignal, SignalLabels, labelled_project, read_half};
use super::left_out::{self, LEFT_OUT, WriterLeftOut};
use crate::selection::public_sets::read_data_file;

/// Learns what the words of signals say, from the labelled ones that may be learned from.
#[derive(Debug, Args)]
pub(crate) struct TrainTriage {
    /// The workspace's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// Says how much is right of the strangers' signals for training where each fifth of them was left out, and writes
    /// down in `evals/triage/left-out.md` how much is of what each writer wrote where all of it was left out.
    #[arg(long)]
    cross_validate: bool,
}

const CATEGORIES: usize = SignalCategory::ALL.len();
const IMPORTANCES: usize = SignalImportance::ALL.len();
pub(super) const WORDS: &str = "crates/proem-triage/data/words.tsv";
/// The sets that are learned from beside the examples.
const SETS: [&str; 7] = ["tune", "held", "fresh", "train", "more-tune", "systems-a", "systems-b"];
const FOLDS: usize = 5;
const DESCENT: DescentOptions = DescentOptions { rounds: 200, momentum: 0.95, l2: 0.5 };
/// How much words and their parts count beside facts, and the vectors of words beside both: chosen by cross-validation.
const WORDS_SHARE: f64 = 2.0;
const VECTORS_SHARE: f64 = 0.02;
/// The written form of a weight of 1.
const UNIT: f64 = 1_000.0;
/// A word that no example has is written if its weight is at least this, in thousandths.
const LEAST: i64 = 700;
/// The smallest weight that is written, in thousandths.
const SMALLEST: i64 = 40;
/// In how many signals a pair of words or the start of a word is at least: chosen by leaving out each writer in turn.
const LEAST_SIGNALS: usize = 3;
const HEAD: &str = "# What words of a signal say together: a trait, a tab, and a weight for each category, in thousandths, in the\n\
# order of `SignalCategory`. Written by `cargo lab train triage` from the labelled signals and examples in\n\
# `crates/proem-triage/tests/it/labelled` (of ours, under the licence of the workspace) and the vectors of the\n\
# static model in `crates/proem-embed/data`.\n";

pub(crate) fn run_train_triage(args: &TrainTriage) -> Result<String, String> {
    if args.cross_validate {
        return Trainer::new(&args.workspace)?.cross_validate(&args.workspace);
    }
    let (file, count) = learn_word_weights(&args.workspace)?;
    let path = args.workspace.join(WORDS);
    std::fs::write(&path, &file).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(format!("learned from {count} signals: {} bytes\n", file.len()))
}

/// The lesson of a workspace's signals, as it is written, and their number.
pub(super) fn learn_word_weights(workspace: &Path) -> Result<(String, usize), String> {
    let trainer = Trainer::new(workspace)?;
    let all: Vec<&Example> = trainer.examples.iter().collect();
    Ok((trainer.learn(&all)?, all.len()))
}

/// A signal with what may be learned of it.
struct Example {
    /// Of which set it is, and its place there.
    set: &'static str,
    place: usize,
    category: usize,
    importance: usize,
    /// Its traits by their places in the list of names, each with how much it counts. Behind them the coordinates of
    /// the vectors of its words.
    traits: Vec<(usize, f64)>,
}

struct Trainer {
    names: Vec<SignalTrait>,
    vectors: BTreeMap<String, Vec<f64>>,
    examples: Vec<Example>,
}

impl Trainer {
    fn new(workspace: &Path) -> Result<Self, String> {
        let vectors = whole_word_vectors()?;
        let mut sets: Vec<(&'static str, Vec<LabelledSignal>)> = Vec::new();
        for name in SETS {
            sets.push((name, read_half(workspace, name)?));
        }
        for name in ["examples"].into_iter().chain(WRITERS) {
            sets.push((name, read_examples(workspace, name)?));
        }
        let guard = Guard::shipped(&[]).map_err(|error| error.to_string())?;
        let policy = Policy::shipped().map_err(|error| error.to_string())?;
        let screening = Screening { guard: &guard, policy: &policy };
        let lexicon = TriageLexicon::shipped().map_err(|error| error.to_string())?;
        let project = labelled_project(workspace)?;
        let context = ClassificationContext { lexicon: &lexicon, project: &project };
        let (mut rows, mut known) = (Vec::new(), BTreeMap::<SignalTrait, usize>::new());
        for (set, signals) in &sets {
            for (place, labelled) in signals.iter().enumerate() {
                let sanitised = sanitise_signal(&labelled.signal, screening);
                let found = traits(&SignalInBatch { signal: &labelled.signal, sanitised: &sanitised }, context);
                let found: Vec<(SignalTrait, f64)> =
                    found.each().map(|(of, share)| (of.clone(), unit_share(share))).collect();
                for (of, _) in &found {
                    *known.entry(of.clone()).or_default() += 1;
                }
                rows.push((*set, place, labelled.labels, found));
            }
        }
        // A chance similarity of two signals tells nothing, and there are more such pairs than words.
        let is_kept = |of: &SignalTrait, count: usize| !matches!(of, SignalTrait::Part(_)) || count >= LEAST_SIGNALS;
        let kept = known.into_iter().filter(|(of, count)| is_kept(of, *count));
        let names: Vec<SignalTrait> = kept.map(|(of, _)| of).collect();
        let size = vectors.values().next().map_or(0, Vec::len);
        let example = |(set, place, labels, found): (&'static str, usize, SignalLabels, Vec<(SignalTrait, f64)>)| {
            let (mut vector, mut traits) = (vec![0.0; size], Vec::new());
            for (of, share) in &found {
                let scale = if matches!(of, SignalTrait::Fact(_)) { 1.0 } else { WORDS_SHARE };
                traits.extend(names.binary_search(of).ok().map(|at| (at, share * scale)));
                let SignalTrait::Word(word) = of else { continue };
                let of_word = vectors.get(word).into_iter().flatten();
                vector.iter_mut().zip(of_word).for_each(|(sum, value)| *sum += value * share * VECTORS_SHARE);
            }
            traits.extend((names.len()..).zip(vector));
            let category = SignalCategory::ALL.iter().position(|of| *of == labels.category).unwrap_or(0);
            let importance = SignalImportance::ALL.iter().position(|of| *of == labels.importance).unwrap_or(0);
            Example { set, place, category, importance, traits }
        };
        let examples = rows.into_iter().map(example).collect();
        Ok(Self { names, vectors, examples })
    }

    /// The file that these examples give.
    fn learn(&self, of: &[&Example]) -> Result<String, String> {
        let categories = self.lines(&self.fit::<CATEGORIES>(of, |example| example.category)?);
        let importances = self.lines(&self.fit::<IMPORTANCES>(of, |example| example.importance)?);
        let mut out = HEAD.to_owned();
        let known: BTreeSet<&str> = self.names.iter().map(SignalTrait::name).collect();
        for (name, of_categories) in &categories {
            let of_importances = importances.get(name).copied().unwrap_or_default();
            let least = if known.contains(name) { SMALLEST } else { LEAST };
            if of_categories.iter().chain(&of_importances).any(|weight| weight.abs() >= least) {
                let numbers: Vec<String> = of_categories.iter().chain(&of_importances).map(i64::to_string).collect();
                _ = writeln!(out, "{name}\t{}", numbers.join(" "));
            }
        }
        Ok(out)
    }

    fn fit<const N: usize>(&self, of: &[&Example], label: fn(&Example) -> usize) -> Result<Vec<[f64; N]>, String> {
        let size = self.vectors.values().next().map_or(0, Vec::len);
        let examples: Vec<SparseExample<'_>> = of
            .iter()
            .copied()
            .map(|example| SparseExample { features: &example.traits, class: label(example) })
            .collect();
        let weights = fit_softmax(&examples, self.names.len() + size, N, DESCENT).map_err(|error| error.to_string())?;
        Ok(weights.as_chunks().0.to_vec())
    }

    /// The weights of each trait and each word that has a vector, by name.
    fn lines<const N: usize>(&self, weights: &[[f64; N]]) -> BTreeMap<&str, [i64; N]> {
        let (of_traits, of_vectors) = weights.split_at(self.names.len().min(weights.len()));
        let of_word = |vector: Option<&Vec<f64>>| {
            let mut sums = [0.0; N];
            for (value, weights) in vector.into_iter().flatten().zip(of_vectors) {
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight * VECTORS_SHARE);
            }
            sums
        };
        let mut lines: BTreeMap<&str, [i64; N]> = BTreeMap::new();
        for (name, own) in self.names.iter().zip(of_traits) {
            let sums = match name {
                SignalTrait::Fact(_) => *own,
                SignalTrait::Part(_) => own.map(|weight| weight * WORDS_SHARE),
                SignalTrait::Word(word) => {
                    let mut sums = of_word(self.vectors.get(word));
                    sums.iter_mut().zip(own).for_each(|(sum, weight)| *sum += weight * WORDS_SHARE);
                    sums
                }
            };
            lines.insert(name.name(), sums.map(weight_in_units));
        }
        for (word, vector) in &self.vectors {
            lines.entry(word).or_insert_with(|| of_word(Some(vector)).map(weight_in_units));
        }
        lines
    }

    /// How much is right of what each writer wrote where nothing of it was learned from, or nothing of any writer.
    fn writers(&self, workspace: &Path, are_all_out: bool) -> Result<Vec<WriterLeftOut>, String> {
        let mut out = Vec::new();
        for name in WRITERS {
            let is_out = |set| if are_all_out { WRITERS.contains(&set) } else { set == name };
            let of: Vec<&Example> = self.examples.iter().filter(|example| !is_out(example.set)).collect();
            let lexicon = self.lexicon(&of)?;
            let told = TriagedHalf::of_signals(workspace, plain_examples(workspace, name)?, &lexicon)?;
            out.push(WriterLeftOut::new(name, &told));
        }
        Ok(out)
    }

    fn lexicon(&self, of: &[&Example]) -> Result<TriageLexicon, String> {
        let file: &'static str = Box::leak(self.learn(of)?.into_boxed_str());
        let words = CategoryWeights::parse(file).map_err(|error| error.to_string())?;
        Ok(TriageLexicon::shipped().map_err(|error| error.to_string())?.with(words))
    }

    fn cross_validate(&self, workspace: &Path) -> Result<String, String> {
        let (mut right, mut all, mut wrong) = ([0; 4], 0, String::new());
        for fold in 0..FOLDS {
            let is_out = |example: &&Example| example.set == "train" && example.place % FOLDS == fold;
            let of: Vec<&Example> = self.examples.iter().filter(|example| !is_out(example)).collect();
            let lexicon = self.lexicon(&of)?;
            let mut out = TriagedHalf::with(workspace, "train", &lexicon)?;
            out.keep(|place| place % FOLDS == fold);
            let of_fold = counts(&out.signals, &out.ours());
            for (labelled, told) in out.signals.iter().zip(&out.told) {
                if labelled.labels.category != told.answer.category {
                    let (meant, said) = (labelled.labels.category.as_str(), told.answer.category.as_str());
                    _ = writeln!(wrong, "  {}: {said} for {meant}, by {:?}", labelled.id, told.basis);
                }
            }
            right.iter_mut().zip(of_fold).for_each(|(sum, count)| *sum += count);
            all += out.signals.len();
        }
        let words = read_data_file(&workspace.join(WORDS))?;
        let report =
            left_out::left_out_report(&words, &self.writers(workspace, false)?, &self.writers(workspace, true)?);
        let path = workspace.join(LEFT_OUT);
        std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
        let [category, importance, action, time] = right;
        Ok(format!(
            "strangers' signals, each fifth left out: of {all}: type {category}, importance {importance}, action \
             {action}, time {time}\n{wrong}\n{report}"
        ))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "weights are small")]
fn weight_in_units(weight: f64) -> i64 {
    (weight * UNIT).round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "shares are small")]
fn unit_share(share: i64) -> f64 {
    share as f64 / UNIT
}

fn whole_word_vectors() -> Result<BTreeMap<String, Vec<f64>>, String> {
    let model = StaticModel::built_in().map_err(|error| error.to_string())?;
    let mut out = BTreeMap::new();
    for row in 0..u32::try_from(model.rows()).unwrap_or(u32::MAX) {
        let Some((token, vector)) = model.token(row).zip(model.row(row)) else { continue };
        if token.chars().all(char::is_alphabetic) && !token.is_empty() {
            let scale = f64::from(vector.scale());
            out.insert(token.to_owned(), vector.integers().map(|value| f64::from(value) * scale).collect());
        }
    }
    Ok(out)
}
