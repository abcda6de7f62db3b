//! The order of a catalogue for a task.

use super::features::entry_features;
use super::index::CatalogueIndex;
use super::intents::{AskedIntents, IntentSet};
use super::kinds::EntryEvidence;
use super::query::{Query, TELLING};
use super::weights::SelectionWeights;
use super::{Selector, TaskEmbedding};
use crate::catalogue::Capability;
use crate::embedding::Vector;
use proem_engine::error::{Error, ErrorKind};

/// The most words named as evidence.
const MAX_WORDS_NAMED: usize = 6;

/// Every entry of a catalogue, the likeliest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// All entries, by probability, then name.
    pub ranked: Vec<RankedEntry>,
    /// The probability below which an entry doesn't fit.
    pub threshold: f32,
    /// Why words alone decided. `None` if meaning did too.
    pub degraded: Option<String>,
    /// Whether only the beginning of the task was looked at.
    pub cut: bool,
}

/// One entry with what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedEntry {
    /// Its place in the catalogue.
    pub entry: usize,
    /// How likely the task, or a sentence of it, needs it: 0 to 1, calibrated.
    pub probability: f32,
    /// The evidence of the part of the task that speaks most for it.
    pub features: EntryEvidence,
    /// The sentence that does, from 1; 0 for the whole task.
    pub part: usize,
}

impl Ranking {
    /// Whether nothing fits.
    #[must_use]
    pub fn abstained(&self) -> bool {
        self.ranked.first().is_none_or(|first| first.probability < self.threshold)
    }
}

impl Selector {
    /// Ranks a catalogue for a task.
    ///
    /// `meant` is `None` where there is no embedding model, or where it failed: then words decide.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if the index is of another catalogue, as far as its size tells.
    /// [`ErrorKind::InvalidVector`] if the task's vectors are of another model than the index's, of another dimension,
    /// or not one for each text.
    pub fn rank(
        &self,
        capabilities: &[Capability],
        index: &CatalogueIndex,
        query: &Query,
        meant: Option<&TaskEmbedding<'_>>,
    ) -> Result<Ranking, Error> {
        if capabilities.len() != index.entries {
            let problem =
                format!("the index has {} entries, but the catalogue has {}", index.entries, capabilities.len());
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        if let Some(meant) = meant {
            check_vector_fits(index, query, meant)?;
        }
        let calibrated = meant.and_then(|meant| self.calibrations.of(meant.model).map(|found| (meant, found)));
        let degraded = match (meant, calibrated) {
            (_, Some(_)) => None,
            (None, None) => Some("no embedding model: tools are chosen by shared words".to_owned()),
            (Some(meant), None) => {
                Some(format!("`{}` is not calibrated: tools are chosen by shared words", meant.model))
            }
        };
        let calibration = calibrated.map_or(&self.calibrations.lexical, |(_, found)| found);
        let mut late = index.late(calibrated.and_then(|(meant, _)| meant.pieces));
        let mut best: Vec<RankedEntry> = Vec::new();
        for (number, part) in query.parts.iter().enumerate() {
            // `fits` saw to it that there is a place for each part.
            let vector = calibrated.and_then(|(meant, _)| meant.vectors.get(number)).and_then(Option::as_ref);
            let evidence = entry_features(index, part, vector, late.as_mut(), &|features| calibration.sum(features));
            let mut probabilities = probabilities(calibration, &evidence);
            index.weigh_intents(part.intents, &mut probabilities);
            let ranked = (0..).zip(evidence).zip(probabilities);
            let ranked = ranked.map(|((entry, features), probability)| RankedEntry {
                entry,
                probability,
                features,
                part: number,
            });
            if best.is_empty() {
                best = ranked.collect();
                continue;
            }
            // Strictly more, so that of equals the whole task counts, which comes first and whose words are shown.
            for (best, other) in best.iter_mut().zip(ranked) {
                if other.probability > best.probability {
                    *best = other;
                }
            }
        }
        let ranked = rank_order(index, &best);
        Ok(Ranking { ranked, threshold: calibration.threshold, degraded, cut: query.is_cut() })
    }

    /// The words of the task that an entry has too, the most telling first.
    #[must_use]
    pub fn shared_words(&self, index: &CatalogueIndex, query: &Query, ranked: &RankedEntry) -> Vec<String> {
        let Some(part) = query.parts.get(ranked.part) else { return Vec::new() };
        let mut shared: Vec<(f32, &str)> = part
            .words
            .iter()
            .filter(|word| word.weight >= TELLING)
            .filter(|word| word.stems.iter().any(|stem| index.words.documents_of(*stem).any(|d| d == ranked.entry)))
            .map(|word| {
                let rarest = word.stems.iter().map(|stem| index.words.idf(*stem)).fold(0.0, f32::max);
                (word.weight * rarest, word.text.as_str())
            })
            .collect();
        shared.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        shared.into_iter().take(MAX_WORDS_NAMED).map(|(_, word)| word.to_owned()).collect()
    }

    /// The example of an entry that shares most with the task, from 0, if one shares anything.
    #[must_use]
    pub fn nearest_example(&self, capability: &Capability, query: &Query) -> Option<usize> {
        let asked: Vec<u64> = query.parts.first()?.words.iter().flat_map(|word| word.stems.iter().copied()).collect();
        let mut best: Option<(usize, usize)> = None;
        for (number, example) in capability.definition().examples.iter().enumerate() {
            let shared = example.measure(|example| {
                let example = self.query(example);
                let stems = example.parts.first().into_iter().flat_map(|part| &part.words);
                let telling = stems.filter(|word| word.weight >= TELLING);
                telling.filter(|word| word.stems.iter().any(|stem| asked.contains(stem))).count()
            });
            if shared > best.map_or(0, |(_, most)| most) {
                best = Some((number, shared));
            }
        }
        best.map(|(number, _)| number)
    }
}

/// How much of the doubt remains about an entry that does what the task asks for in so many words.
const DOUBT_IF_ASKED: f32 = 0.35;
/// The share of its probability that an entry keeps beside those: the task speaks about it, and does not ask for it.
const SHARE_BESIDE_ASKED: f32 = 0.4;
/// The share that an entry keeps if tasks ask for its intent in known words, and this one has none of them.
const SHARE_IF_UNASKED: f32 = 0.3;
/// The share that an entry keeps if the task forbids its intent.
const SHARE_IF_REFUSED: f32 = 0.2;

/// The share of a catalogue, one in so many entries, that must do something that the table of intents knows: one project's tools do,
/// and of a public collection of thousands too few for the table to say which are beside the matter.
const KNOWN_ONE_IN: usize = 5;

/// The least evidence for an entry, as a share of that for the best one of its intent: of four trackers the named one
/// is meant.
const SHARE_OF_BEST: f32 = 0.6;

impl CatalogueIndex {
    /// Weighs probabilities by what a part of a task asks for in so many words, as far as any entry does that.
    fn weigh_intents(&self, task: AskedIntents, probabilities: &mut [f32]) {
        let known = self.intents.iter().filter(|entry| !entry.is_empty()).count();
        if known.saturating_mul(KNOWN_ONE_IN) < self.intents.len() {
            return;
        }
        let served = self.intents.iter().fold(IntentSet::default(), |all, entry| all.joined_with(*entry));
        let asked = task.asked.shared_with(served);
        let entries = || self.intents.iter().zip(&*probabilities);
        let best: Vec<(IntentSet, f32)> = asked
            .intents()
            .map(|intent| {
                let of_intent = entries().filter(|(entry, _)| !entry.shared_with(intent).is_empty());
                (intent, of_intent.map(|(_, probability)| *probability).fold(0.0, f32::max))
            })
            .collect();
        for (probability, entry) in probabilities.iter_mut().zip(&self.intents) {
            let is_meant = |(intent, best): &(IntentSet, f32)| {
                !entry.shared_with(*intent).is_empty() && *probability >= best * SHARE_OF_BEST
            };
            if best.iter().any(is_meant) {
                *probability = DOUBT_IF_ASKED.mul_add(*probability - 1.0, 1.0);
            } else if !entry.shared_with(task.refused).is_empty() {
                *probability *= SHARE_IF_REFUSED;
            } else if !entry.is_empty() {
                *probability *= SHARE_IF_UNASKED;
            } else if !asked.is_empty() {
                *probability *= SHARE_BESIDE_ASKED;
            }
        }
    }
}

fn check_vector_fits(index: &CatalogueIndex, query: &Query, meant: &TaskEmbedding<'_>) -> Result<(), Error> {
    let invalid = |problem: String| Err(Error::new(ErrorKind::InvalidVector, problem));
    let Some(meaning) = &index.meaning else {
        return invalid("the catalogue has no vectors to compare the task with; refresh them".into());
    };
    if meaning.model != *meant.model || meant.vectors.iter().flatten().any(|v| *v.model() != meaning.model) {
        return invalid(format!(
            "the catalogue has vectors of `{}` and the task of `{}`; refresh them",
            meaning.model, meant.model
        ));
    }
    if meant.vectors.len() != query.parts.len() {
        return invalid(format!("{} vectors for {} parts of the task", meant.vectors.len(), query.parts.len()));
    }
    let wrong = |vector: &&Vector| meaning.dimension > 0 && vector.values().len() != meaning.dimension;
    if let Some(vector) = meant.vectors.iter().flatten().find(wrong) {
        return invalid(format!(
            "model `{}` gave {} dimensions for the task and {} for the catalogue",
            meant.model,
            vector.values().len(),
            meaning.dimension
        ));
    }
    Ok(())
}

fn probabilities(calibration: &SelectionWeights, evidence: &[EntryEvidence]) -> Vec<f32> {
    let sums: Vec<f32> = evidence.iter().map(|features| calibration.sum(features)).collect();
    // Taken out before the exponential and put back behind the logarithm, or large sums would be infinite.
    let most = sums.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let whole = sums.iter().fold(0.0_f32, |whole, sum| whole + libm::expf(sum - most));
    let log_whole = most + libm::logf(whole);
    let curve = calibration.curve();
    sums.into_iter().map(|sum| curve.probability(&[sum, sum - log_whole])).collect()
}

/// By probability, then name. `entries` are in the order of the index.
fn rank_order(index: &CatalogueIndex, entries: &[RankedEntry]) -> Vec<RankedEntry> {
    let key = |(rank, entry): (u64, &u32)| {
        // A probability is never negative, so its bits have the order of its value.
        let bits = entries.get(*entry as usize).map_or(0, |ranked| ranked.probability.to_bits());
        // One integer to sort by, which makes names compare as their places in the sorted list do.
        (u64::from(!bits) << 32) | rank
    };
    let mut keys: Vec<u64> = (0..).zip(&index.by_name).map(key).collect();
    keys.sort_unstable();
    let entry = |key: u64| entries.get(*index.by_name.get(usize::try_from(key & u64::from(u32::MAX)).ok()?)? as usize);
    keys.into_iter().filter_map(entry).cloned().collect()
}
