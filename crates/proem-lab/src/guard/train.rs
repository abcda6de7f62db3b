//! `proem-lab train guard`: learns the guard's model.
//!
//! Benign texts teach with all their windows of one and two sentences. An attack of at most two sentences teaches as a
//! whole. Of a longer one, first every window does, then the two that the first model finds most like an attack
//! (multiple-instance learning: Andrews et al., *Support Vector Machines for Multiple-Instance Learning*, 2003). The
//! same input gives the same bytes.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proem_guard::sentence_scorer::{ScorerWeights, SentenceScorer, buckets, pack_scorer_file, scored_sentences};
use proem_score::calibrate::Platt;

use super::labelled_texts::{DOCUMENTS, LabelledText, folds, read_labelled_texts, read_own_texts, splice};
use super::stage;
use super::svm::{self, SvmExample};
use crate::selection::public_sets::Dice;

/// Learns the guard's model.
#[derive(Debug, Args)]
pub(crate) struct TrainGuard {
    /// Folder with `guard/train.jsonl` and `guard/dev.jsonl`.
    #[arg(long, value_name = "DIR", default_value = concat!("../", "shared/data"))]
    data: PathBuf,
    /// The workspace's folder: `evals/guard/` is read, the model written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

/// The place of the model, from the workspace's folder.
const MODEL: &str = "crates/proem-guard/data/learned-1.bin";
/// The place of the score's weights, from the workspace's folder.
const STAGE: &str = "crates/proem-guard/data/score.json";
/// The place of the texts that were written for Proem.
const OWN: &str = "evals/guard";

/// The bits of a bucket's number. More of them don't find more.
const BITS: u32 = 18;
/// The windows of a long attack that teach in the second round.
const KEPT: usize = 2;
/// The cost of an error, in squared margins.
const COST: f64 = 1.0;
/// The same for windows of documents, which are many and much alike.
const DOCUMENT_COST: f64 = 0.1;
/// A piece that is in `n` of `N` windows is scaled by `(ln((N + 1) / (n + 1)) / 4)` to this power, so that rare pieces
/// may weigh more (inverse document frequency).
const RARITY: f64 = 1.5;
/// The share of weights that is not clipped when they are rounded to 8 bits.
const UNCLIPPED: f64 = 0.9999;
const FOLDS: usize = 3;
const SEED: u64 = 7;

pub(crate) fn run_train_guard(args: &TrainGuard) -> Result<String, String> {
    let mut training = read_labelled_texts(&args.data.join("guard/train.jsonl"))?;
    training.extend(read_own_texts(&args.to.join(OWN))?);
    let mut trained = train(&training.iter().collect::<Vec<_>>());
    print_progress(&format!("learned from {} windows in {} rounds", trained.examples, trained.rounds));
    let (curve, mut folds) = calibrate(&training)?;
    trained.calibrate(&curve);
    let file = trained.file()?;
    let path = args.to.join(MODEL);
    std::fs::write(&path, &file).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    let model = SentenceScorer::read(&file).map_err(|error| error.to_string())?;
    let dev = args.data.join("guard/dev.jsonl");
    let measured = measure_scorer(&model, &dev)?;
    let (mut seen, mut dice) = (Vec::new(), Dice(SEED));
    for (index, fold) in folds.iter_mut().enumerate() {
        fold.trained.calibrate(&curve);
        let guard = stage::guard_with(&fold.trained.file()?, None)?;
        let held: Vec<&LabelledText> = fold.held.iter().filter_map(|row| training.get(*row)).collect();
        let mails: Vec<&LabelledText> = held.iter().copied().filter(|row| row.is_mail()).collect();
        seen.extend(stage::stage_examples(&guard, &held, &mails, &mut dice));
        print_progress(&format!("scanned fold {} of {FOLDS}", index + 1));
    }
    let dev = read_labelled_texts(&dev)?;
    let dev: Vec<&LabelledText> = dev.iter().collect();
    let mails: Vec<&LabelledText> = dev.iter().copied().filter(|row| row.is_mail()).collect();
    let unseen = stage::stage_examples(&stage::guard_with(&file, None)?, &dev, &mails, &mut dice);
    let (_, report) = stage::fit_and_write_stage(&seen, &unseen, &args.to.join(STAGE))?;
    Ok(format!("{}: {} texts, {} bytes\n{measured}{report}", model.id(), training.len(), file.len()))
}

/// A line about what goes on.
fn print_progress(line: &str) {
    // A closed pipe is the reader's choice.
    _ = writeln!(std::io::stdout(), "{line}");
}

/// A text's sentences as sorted buckets.
struct SentenceBuckets {
    sentences: Vec<Vec<u32>>,
}

impl SentenceBuckets {
    fn of(text: &str) -> Self {
        let pieces = |sentence: &str| {
            let mut pieces = Vec::new();
            buckets(sentence, BITS, |bucket| pieces.push(bucket));
            pieces
        };
        let spans = scored_sentences(text);
        Self { sentences: spans.iter().filter_map(|span| text.get(span.start..span.end)).map(pieces).collect() }
    }

    /// Each sentence, then each pair of neighbours.
    fn windows(&self) -> Vec<Vec<(u32, f32)>> {
        let singles = self.sentences.chunks(1);
        singles.chain(self.sentences.windows(2)).map(bucket_features).collect()
    }
}

/// How often each bucket occurs in some sentences, over the root of the number of pieces.
fn bucket_features(sentences: &[Vec<u32>]) -> Vec<(u32, f32)> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for bucket in sentences.iter().flatten() {
        *counts.entry(*bucket).or_default() += 1;
    }
    let total: u32 = counts.values().sum();
    #[expect(clippy::cast_possible_truncation, reason = "a value from 0 to some tens")]
    let value = |count: u32| (f64::from(count) / f64::from(total.max(1)).sqrt()) as f32;
    counts.into_iter().map(|(bucket, count)| (bucket, value(count))).collect()
}

/// A model before it is a file.
struct Trained {
    /// −127 to 127 each.
    weights: Vec<i8>,
    /// The factor of a weight.
    scale: f64,
    bias: f64,
    slope: f64,
    offset: f64,
    examples: usize,
    rounds: usize,
}

impl Trained {
    fn calibrate(&mut self, curve: &Platt) {
        (self.slope, self.offset) = (-curve.slope, -curve.offset);
    }

    #[expect(clippy::cast_possible_truncation, reason = "a model's numbers are kept in single precision")]
    fn file(&self) -> Result<Vec<u8>, String> {
        let weights: Vec<u8> = self.weights.iter().map(|weight| weight.cast_unsigned()).collect();
        let slope = (self.slope * self.scale) as f32;
        let bias = (self.slope * self.bias + self.offset) as f32;
        pack_scorer_file(&ScorerWeights { slope, bias, weights: &weights }).map_err(|error| error.to_string())
    }
}

/// The file of a model learned from these rows and calibrated on them.
pub(crate) fn train_scorer(rows: &[&LabelledText]) -> Result<Vec<u8>, String> {
    let owned: Vec<LabelledText> = rows.iter().map(|row| (*row).clone()).collect();
    let (curve, _) = calibrate(&owned)?;
    let mut trained = train(rows);
    trained.calibrate(&curve);
    trained.file()
}

/// Learns twice: see above.
fn train(rows: &[&LabelledText]) -> Trained {
    let of = |row: &&LabelledText| {
        (SentenceBuckets::of(&row.text), row.is_attack(), if row.source == DOCUMENTS { DOCUMENT_COST } else { COST })
    };
    let texts: Vec<(SentenceBuckets, bool, f64)> = rows.iter().map(of).collect();
    let mut first: Vec<SvmExample> = Vec::new();
    for (text, is_attack, cost) in &texts {
        first.extend(window_lessons(text, *is_attack, *cost, &|windows| windows));
    }
    let (learned, rarity) = fit_rarity_weighted(first);
    let mut second: Vec<SvmExample> = Vec::new();
    for (text, is_attack, cost) in &texts {
        second.extend(window_lessons(text, *is_attack, *cost, &|windows| {
            let score = |window: &Vec<(u32, f32)>| learned.score(&scale_window(window.clone(), &rarity));
            let mut scored: Vec<(f64, Vec<(u32, f32)>)> = windows.into_iter().map(|w| (score(&w), w)).collect();
            scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            scored.into_iter().take(KEPT).map(|(_, window)| window).collect()
        }));
    }
    let examples = second.len();
    let (learned, rarity) = fit_rarity_weighted(second);
    let weights: Vec<f64> = learned.weights.iter().zip(&rarity).map(|(weight, rarity)| weight * rarity).collect();
    let (weights, scale) = quantise_weights(&weights);
    Trained { weights, scale, bias: learned.bias, slope: 1.0, offset: 0.0, examples, rounds: learned.rounds }
}

type Window = Vec<(u32, f32)>;

/// The lesson of one text. `choose` picks among the windows of a long attack.
fn window_lessons(
    text: &SentenceBuckets,
    is_attack: bool,
    cost: f64,
    choose: &dyn Fn(Vec<Window>) -> Vec<Window>,
) -> Vec<SvmExample> {
    let windows = match (is_attack, text.sentences.len()) {
        (_, 0) => Vec::new(),
        (false, _) => text.windows(),
        (true, 1 | 2) => vec![bucket_features(&text.sentences)],
        (true, _) => choose(text.windows()),
    };
    #[expect(clippy::cast_precision_loss, reason = "a text has few windows")]
    let cost = if is_attack { cost / windows.len().max(1) as f64 } else { cost };
    windows.into_iter().map(|features| SvmExample { features, is_attack, cost }).collect()
}

/// Learns from examples whose features are scaled by their rarity, which is given too.
fn fit_rarity_weighted(mut examples: Vec<SvmExample>) -> (svm::LinearWeights, Vec<f64>) {
    let mut with = vec![0_u32; 1 << BITS];
    for (bucket, _) in examples.iter().flat_map(|example| &example.features) {
        if let Some(count) = with.get_mut(*bucket as usize) {
            *count += 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "some thousands of examples")]
    let all = examples.len() as f64 + 1.0;
    let rarity = |count: &u32| libm::pow(libm::log(all / (f64::from(*count) + 1.0)) / 4.0, RARITY);
    let rarity: Vec<f64> = with.iter().map(rarity).collect();
    for example in &mut examples {
        example.features = scale_window(std::mem::take(&mut example.features), &rarity);
    }
    (svm::fit_svm(&examples, 1 << BITS), rarity)
}

fn scale_window(mut window: Window, rarity: &[f64]) -> Window {
    for (bucket, value) in &mut window {
        #[expect(clippy::cast_possible_truncation, reason = "a value from 0 to some tens")]
        let scaled = (f64::from(*value) * rarity.get(*bucket as usize).copied().unwrap_or(0.0)) as f32;
        *value = scaled;
    }
    window
}

/// Weights as integers of 8 bits, and what they are multiplied by.
fn quantise_weights(weights: &[f64]) -> (Vec<i8>, f64) {
    let mut sizes: Vec<f64> = weights.iter().map(|weight| weight.abs()).filter(|size| *size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let largest = sizes.get((sizes.len().saturating_sub(1) as f64 * UNCLIPPED) as usize).copied().unwrap_or(1.0);
    let scale = largest / 127.0;
    #[expect(clippy::cast_possible_truncation, reason = "clamped to -127 to 127")]
    let round = |weight: &f64| (weight / scale).round().clamp(-127.0, 127.0) as i8;
    (weights.iter().map(round).collect(), scale)
}

/// The curve from the best window's score to a probability, from texts that each model hasn't seen.
fn calibrate(rows: &[LabelledText]) -> Result<(Platt, Vec<Fold>), String> {
    let of_row = folds(rows, FOLDS, SEED);
    let (mut scores, mut labels, mut models) = (Vec::new(), Vec::new(), Vec::new());
    for fold in 0..FOLDS {
        let (held, rest): (Vec<_>, Vec<_>) = rows.iter().zip(&of_row).partition(|(_, other)| **other == fold);
        let trained = train(&rest.into_iter().map(|(row, _)| row).collect::<Vec<_>>());
        let file = trained.file()?;
        let model = SentenceScorer::read(&file).map_err(|error| error.to_string())?;
        for (row, _) in held {
            if let Some(best) = best_window_score(&model, &row.text) {
                scores.push(best);
                labels.push(row.is_attack());
            }
        }
        let held = (0..).zip(&of_row).filter(|(_, other)| **other == fold).map(|(row, _)| row).collect();
        models.push(Fold { trained, held });
        print_progress(&format!("calibrated on fold {} of {FOLDS}", fold + 1));
    }
    Ok((Platt::fit(&scores, &labels).map_err(|error| error.to_string())?, models))
}

/// A model and the rows that it hasn't seen.
struct Fold {
    trained: Trained,
    held: Vec<usize>,
}

/// The highest score of a window. `None` for a blank text.
fn best_window_score(model: &SentenceScorer<'_>, text: &str) -> Option<f32> {
    model.windows(text).iter().map(|window| window.score).max_by(f32::total_cmp)
}

/// The findings of the model alone on texts that it hasn't seen, at 1 % false positives there.
fn measure_scorer(model: &SentenceScorer<'_>, path: &Path) -> Result<String, String> {
    let rows = read_labelled_texts(path)?;
    let scores = |keep: &dyn Fn(&LabelledText) -> bool| -> Vec<f32> {
        rows.iter().filter(|row| keep(row)).filter_map(|row| best_window_score(model, &row.text)).collect()
    };
    let mut benign = scores(&|row| !row.is_attack());
    benign.sort_by(|a, b| b.total_cmp(a));
    let threshold = benign.get(benign.len() / 100).copied().unwrap_or(f32::INFINITY);
    let mails: Vec<&LabelledText> = rows.iter().filter(|row| row.is_mail()).collect();
    let mut dice = Dice(SEED);
    let spliceable =
        |row: &&LabelledText| row.is_attack() && (row.source.starts_with("cyberseceval") || row.source == "deepset");
    let spliced = rows.iter().filter(spliceable).filter_map(|row| {
        let mail = mails.get(dice.below(mails.len()))?;
        best_window_score(model, &splice(&row.text, &mail.text, &mut dice))
    });
    let spliced: Vec<f32> = spliced.collect();
    let above = |scores: &[f32]| {
        let found = scores.iter().filter(|score| **score > threshold).count();
        #[expect(clippy::cast_precision_loss, reason = "some hundred texts")]
        let share = 100.0 * found as f64 / scores.len().max(1) as f64;
        format!("{share:.1} % of {}", scores.len())
    };
    Ok(format!(
        "unseen texts, above {threshold:.3} (1 % of {} benign):\n  attacks {}\n  spliced into mails {}\n  NotInject {}\n",
        benign.len(),
        above(&scores(&LabelledText::is_attack)),
        above(&spliced),
        above(&scores(&|row| row.source == "notinject")),
    ))
}
