//! Usage of a whole catalogue, ready to be matched.

use std::collections::{BTreeMap, BTreeSet};

use proem_score::{bm25, vector::dot_product};

use super::arithmetic::inverse_document_frequency;
use super::usage::CapabilityUsage;
use crate::embedding::{ModelId, Vector};

/// BM25's saturation and discount of length, as for descriptions.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The usage of each entry.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageIndex {
    entries: usize,
    /// Sorted by stem, then entry: what a stem adds to an entry.
    postings: Vec<(u64, u32, f32)>,
    /// Entries with each stem, in their usage or their own words.
    with: BTreeMap<u64, usize>,
    /// How much is known about each entry, 0 to below 1.
    pub(super) amounts: Vec<f32>,
    /// Unit directions, for the model they are of.
    directions: Vec<Option<(ModelId, Vec<f32>)>>,
}

impl UsageIndex {
    pub(super) fn new(used: &[CapabilityUsage], words: &bm25::Index) -> Self {
        let length = |used: &CapabilityUsage| used.stems.values().map(|count| f64::from(*count)).sum::<f64>();
        let lengths: Vec<f64> = used.iter().map(length).collect();
        let known = lengths.iter().filter(|length| **length > 0.0).count();
        #[expect(clippy::cast_precision_loss, reason = "a count of entries")]
        let mean = if known > 0 { lengths.iter().sum::<f64>() / known as f64 } else { 1.0 };
        let mut postings = Vec::new();
        for ((entry, used), length) in (0_u32..).zip(used).zip(&lengths) {
            #[expect(clippy::cast_possible_truncation, reason = "a quotient of sums of counts")]
            let discount = K1 * (1.0 - B + B * (*length / mean) as f32);
            for (stem, count) in &used.stems {
                #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
                let count = *count as f32;
                postings.push((*stem, entry, count * (K1 + 1.0) / (count + discount)));
            }
        }
        postings.sort_unstable_by_key(|(stem, entry, _)| (*stem, *entry));
        let mut with: BTreeMap<u64, usize> = BTreeMap::new();
        for group in postings.chunk_by(|a, b| a.0 == b.0) {
            let Some((stem, ..)) = group.first() else { continue };
            let mut entries: BTreeSet<usize> = group.iter().map(|(_, entry, _)| *entry as usize).collect();
            entries.extend(words.documents_of(*stem));
            with.insert(*stem, entries.len());
        }
        Self {
            entries: used.len(),
            postings,
            with,
            amounts: used.iter().map(CapabilityUsage::amount).collect(),
            directions: used.iter().map(unit_direction).collect(),
        }
    }

    /// Whether anything is known about any entry.
    pub(super) fn is_empty(&self) -> bool {
        self.postings.is_empty()
    }

    /// How much of a request's weight each entry's usage covers, 0 to about 2.
    pub(super) fn cover(&self, request: &[(u64, f32)], words: &bm25::Index) -> Vec<f32> {
        let mut cover = vec![0.0_f32; self.entries];
        if self.is_empty() {
            return cover;
        }
        let mut all = 0.0;
        for (stem, weight) in request {
            let with = self.with.get(stem).copied().unwrap_or_else(|| words.documents_with(*stem));
            let weight = weight * inverse_document_frequency(self.entries, with);
            all += weight;
            let start = self.postings.partition_point(|posting| posting.0 < *stem);
            let postings = self.postings.get(start..).unwrap_or_default();
            for (_, entry, share) in postings.iter().take_while(|posting| posting.0 == *stem) {
                if let Some(cover) = cover.get_mut(*entry as usize) {
                    *cover += weight * share;
                }
            }
        }
        if all > 0.0 {
            cover.iter_mut().for_each(|cover| *cover /= all);
        }
        cover
    }

    /// The dimensions of the directions that are of a model.
    pub(super) fn dimensions(&self, model: &ModelId) -> impl Iterator<Item = usize> {
        self.directions.iter().flatten().filter(move |(own, _)| own == model).map(|(_, values)| values.len())
    }

    /// The cosine of a request to the mean direction of each entry's; 0 where nothing is known.
    pub(super) fn near(&self, vector: &Vector) -> Vec<f32> {
        let near = |direction: &Option<(ModelId, Vec<f32>)>| match direction {
            Some((model, values)) if model == vector.model() => dot_product(values, vector.values()),
            _ => 0.0,
        };
        self.directions.iter().map(near).collect()
    }
}

fn unit_direction(used: &CapabilityUsage) -> Option<(ModelId, Vec<f32>)> {
    let (model, sum) = used.direction.as_ref()?;
    let vector = Vector::new(model, sum.clone()).ok()?;
    Some((model.clone(), vector.values().to_vec()))
}
