//! How well the words of a task fit the fields of files, by BM25 and by shares; and how scores are compared.
//!
//! Okapi BM25 is of Robertson and others (1994). `proem-score` has its formula.

use super::task::{ContextTask, QueryTerm};

/// BM25's parameters.
const K1: f32 = 1.2;
const B: f32 = 0.75;

#[expect(clippy::cast_precision_loss, reason = "counts of files and words are far below 2²⁴")]
pub(super) fn count_to_f32(count: usize) -> f32 {
    count as f32
}

#[expect(clippy::cast_precision_loss, reason = "a source has far fewer than 2²⁴ words or lines")]
pub(super) fn real_count(count: u32) -> f32 {
    count as f32
}

/// `ln(1 + count)`.
pub(super) fn log_of_next(count: u32) -> f32 {
    libm::logf(1.0 + real_count(count))
}

/// How telling a word is that `with` of `all` have.
pub(super) fn word_rarity(all: usize, with: usize) -> f32 {
    libm::logf(1.0 + (count_to_f32(all.saturating_sub(with)) + 0.5) / (count_to_f32(with) + 0.5))
}

fn saturated_count(count: f32, length: f32, mean: f32) -> f32 {
    if count <= 0.0 { 0.0 } else { count / (count + K1 * (1.0 - B + B * length / mean.max(1.0))) }
}

/// Each value as a part of the greatest.
pub(super) fn scale_to_greatest(values: &mut [f32]) {
    let most = values.iter().copied().fold(0.0_f32, f32::max);
    if most > 0.0 {
        values.iter_mut().for_each(|value| *value /= most);
    }
}

/// 1 for the best, 1/2 for the next; 0 for what has nothing.
pub(super) fn reciprocal_ranks(values: &[f32]) -> Vec<f32> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |at: usize| values.get(at).copied().unwrap_or(0.0);
    order.retain(|at| value(*at) > 0.0);
    order.sort_by(|a, b| value(*b).total_cmp(&value(*a)).then(a.cmp(b)));
    let mut ranks = vec![0.0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        if let Some(slot) = ranks.get_mut(at) {
            *slot = 1.0 / count_to_f32(rank.saturating_add(1));
        }
    }
    ranks
}

/// One word of the task in one field of all files.
struct FieldCounts {
    counts: Vec<f32>,
    with: usize,
}

/// The BM25 scores of one field. `counts` says how often a term is in a file, by their places.
pub(super) fn field_scores(terms: &[QueryTerm], lengths: &[f32], counts: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    let mean = lengths.iter().sum::<f32>() / count_to_f32(lengths.len().max(1));
    let mut scores = vec![0.0_f32; lengths.len()];
    for (number, query) in terms.iter().enumerate().filter(|(_, query)| query.weight > 0.0) {
        let column: Vec<f32> = (0..lengths.len()).map(|file| counts(file, number)).collect();
        let with = column.iter().filter(|count| **count > 0.0).count();
        let field = FieldCounts { counts: column, with };
        let weight = query.weight * word_rarity(lengths.len(), field.with);
        for ((score, count), length) in scores.iter_mut().zip(&field.counts).zip(lengths) {
            *score += weight * saturated_count(*count, *length, mean);
        }
    }
    scores
}

/// The share of the task's telling words that each file has.
pub(super) fn shares(
    task: &ContextTask,
    files: usize,
    counts: impl Fn(&QueryTerm) -> bool,
    has: impl Fn(usize, usize) -> bool,
) -> Vec<f32> {
    let (mut sums, mut whole) = (vec![0.0_f32; files], 0.0_f32);
    for (number, query) in task.terms.iter().enumerate().filter(|(_, query)| counts(query)) {
        let with: Vec<usize> = (0..files).filter(|file| has(*file, number)).collect();
        // A word that no file has says nothing of any.
        if with.is_empty() {
            continue;
        }
        let weight = query.weight * word_rarity(files, with.len());
        whole += weight;
        for file in with {
            if let Some(slot) = sums.get_mut(file) {
                *slot += weight;
            }
        }
    }
    if whole > 0.0 {
        sums.iter_mut().for_each(|sum| *sum /= whole);
    }
    sums
}
