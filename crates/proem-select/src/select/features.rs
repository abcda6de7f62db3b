//! The evidence for each entry, as numbers.
//!
//! Nine kinds of evidence, each brought to about 0 to 1 by what the request could reach at most,
//! so that the same weights serve a catalogue of ten tools and one of four thousand.

use proem_score::{bm25, vector::dot_product};

use super::index::{CatalogueIndex, CatalogueVectors};
use super::kinds::{EntryEvidence, FEATURES, GRAMS, MEANING, NAME, USED, USED_MEANING, USED_WORDS, WORDS};
use super::late::LateInteraction;
use super::query::QueryPart;
use crate::embedding::Vector;

/// The evidence for each entry, from one part of a request, its vector and its pieces.
pub(super) fn entry_features(
    index: &CatalogueIndex,
    part: &QueryPart,
    vector: Option<&Vector>,
    late: Option<&mut LateInteraction<'_>>,
    first_sum: &dyn Fn(&EntryEvidence) -> f32,
) -> Vec<EntryEvidence> {
    let mut all = vec![[0.0_f32; FEATURES]; index.entries];
    let stems = weighted_terms(part, |word| &word.stems);
    let grams = weighted_terms(part, |word| &word.grams);
    put_feature(&mut all, WORDS, &matched_share(&index.words, &stems));
    put_feature(&mut all, GRAMS, &matched_share(&index.grams, &grams));
    let mass = mass(&index.grams, &grams);
    put_feature(&mut all, NAME, &scale_by_mass(index.names.score(&grams), mass));
    put_feature(&mut all, USED_WORDS, &index.used.cover(&stems, &index.words));
    put_feature(&mut all, USED, &index.used.amounts);
    let Some((meaning, vector)) = index.meaning.as_ref().zip(vector) else { return all };
    put_feature(&mut all, MEANING, &meaning.cosines(vector));
    put_feature(&mut all, USED_MEANING, &index.used.near(vector));
    if let Some(late) = late {
        late.add(&mut all, part, first_sum);
    }
    all
}

fn put_feature(all: &mut [EntryEvidence], feature: usize, values: &[f32]) {
    for (features, value) in all.iter_mut().zip(values) {
        if let Some(slot) = features.get_mut(feature) {
            *slot = *value;
        }
    }
}

/// The terms of a request with their weights. A term of several words has the greatest, and the terms of one word share
/// its weight by the root of their number.
fn weighted_terms(part: &QueryPart, terms: impl Fn(&super::query::QueryWord) -> &Vec<u64>) -> Vec<(u64, f32)> {
    let mut weighted: Vec<(u64, f32)> = Vec::new();
    for word in part.words.iter().filter(|word| word.weight > 0.0) {
        let terms = terms(word);
        #[expect(clippy::cast_precision_loss, reason = "a count of terms of one word")]
        let count = terms.len().max(1) as f32;
        let weight = word.weight / count.sqrt();
        weighted.extend(terms.iter().map(|term| (*term, weight)));
    }
    weighted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    weighted.dedup_by_key(|(term, _)| *term);
    weighted
}

/// The most that a request's terms could reach together.
fn mass(index: &bm25::Index, terms: &[(u64, f32)]) -> f32 {
    terms.iter().fold(0.0, |sum, (term, weight)| sum + weight * index.idf(*term))
}

fn matched_share(index: &bm25::Index, terms: &[(u64, f32)]) -> Vec<f32> {
    scale_by_mass(index.score(terms), mass(index, terms))
}

fn scale_by_mass(mut scores: Vec<f32>, mass: f32) -> Vec<f32> {
    if mass > 0.0 {
        scores.iter_mut().for_each(|score| *score /= mass);
    }
    scores
}

impl CatalogueVectors {
    fn cosines(&self, vector: &Vector) -> Vec<f32> {
        self.vectors.chunks_exact(self.dimension.max(1)).map(|row| dot_product(row, vector.values())).collect()
    }
}
