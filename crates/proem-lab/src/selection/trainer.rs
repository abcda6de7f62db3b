//! Learns the weights of evidence and their calibration, in episodes.

use std::collections::{BTreeMap, BTreeSet};

use proem_score::linear;
use proem_select::catalogue::manifest::QuantisedVector;
use proem_select::catalogue::{EmbeddingScope, Manifest, Sha256Hash, vectorise};
use proem_select::embedding::{Embedder, Vector, embed_texts};
use proem_select::select::{
    CapabilityUsage, CatalogueIndex, FEATURES, Query, SelectionWeightSet, SelectionWeights, Selector, TaskEmbedding,
    UsageHistory, usage_key,
};

use super::fit::{ChoiceExample, fit_evidence_weights};
use super::public_sets::{Dice, SelectionRequest, ToolCatalogue};

/// How many times tools lose their usage at random.
const EPISODES: u64 = 15;
/// Of a hundred tools, how many lose their usage, and how many leave the catalogue, in an episode.
const WITHOUT_USAGE: usize = 30;
const ABSENT: usize = 15;
/// In every third episode most tools leave, as if the catalogue were about something else: there
/// nothing serves most requests, and the threshold is learned.
const ABSENT_FROM_SMALL: usize = 85;
/// Of a hundred requests, how many are ranked and not learned from, in an episode.
const RANKED: usize = 15;
/// The stems kept for each tool in the usage table.
const STEMS: usize = 150;
/// Candidates of each request that calibration looks at.
const LOOKED_AT: usize = 15;

/// The least that a selector needs to give evidence. The numbers count for nothing.
pub(super) fn untrained_weights() -> SelectionWeightSet {
    let none = SelectionWeights { weights: [0.0; FEATURES], slope: [0.0; 2], offset: 0.0, threshold: 0.5 };
    SelectionWeightSet {
        version: SelectionWeightSet::VERSION,
        lexical: none,
        models: BTreeMap::new(),
        related: BTreeMap::new(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EpisodeKnowledge {
    Words,
    Meaning,
}

pub(super) struct Trainer<'a> {
    tools: &'a ToolCatalogue,
    selector: &'a Selector,
    embedder: &'a dyn Embedder,
    /// The knowledge of earlier requests.
    usage_knows: EpisodeKnowledge,
    /// The vectors of the tools, so that they are made once for all episodes.
    stored: BTreeMap<Sha256Hash, Option<QuantisedVector>>,
    queries: Vec<Query>,
    vectors: Vec<Option<Vector>>,
    served: Vec<usize>,
}

/// One request ranked in an episode.
struct RankedCase {
    evidence: Vec<[f32; FEATURES]>,
    /// The place of the tool that served it. `None` if it is absent.
    chosen: Option<usize>,
    weight: f64,
    /// Whether most tools are absent.
    small: bool,
}

const fn is_small(episode: u64) -> bool {
    episode % 3 == 2
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        training: &[SelectionRequest],
        tools: &'a ToolCatalogue,
        selector: &'a Selector,
        embedder: &'a dyn Embedder,
        usage_knows: EpisodeKnowledge,
    ) -> Result<Self, String> {
        let queries: Vec<Query> = training.iter().map(|request| selector.query(&request.query)).collect();
        let texts = |query: &'_ Query| query.texts().first().map_or_else(String::new, |text| (*text).to_owned());
        let texts: Vec<String> = queries.iter().map(texts).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embed_texts(embedder, &texts).map_err(|error| error.to_string())?;
        let mut manifest = Manifest::default();
        vectorise(&mut manifest, &tools.catalogue, embedder, EmbeddingScope::All, &mut |_, _| {})
            .map_err(|error| error.to_string())?;
        let stored = manifest.vectors(embedder.model()).cloned().unwrap_or_default();
        let one = |request: &SelectionRequest| {
            let wanted = tools.wanted(request)?;
            wanted.first().copied().ok_or_else(|| format!("no tool serves `{}`", request.query))
        };
        let served = training.iter().map(one).collect::<Result<_, String>>()?;
        Ok(Self { tools, selector, embedder, usage_knows, stored, queries, vectors, served })
    }

    /// The usage that these requests give. `caps` limits how many of each tool count.
    pub(super) fn usage_of(
        &self,
        requests: &[usize],
        without: &BTreeSet<usize>,
        caps: Option<&BTreeMap<usize, u32>>,
    ) -> UsageHistory {
        let mut used: BTreeMap<usize, CapabilityUsage> = BTreeMap::new();
        for request in requests {
            let (Some(tool), Some(query)) = (self.served.get(*request), self.queries.get(*request)) else { continue };
            let entry = used.entry(*tool).or_default();
            let full = caps.and_then(|caps| caps.get(tool)).is_some_and(|cap| entry.requests >= *cap);
            if !without.contains(tool) && !full {
                let vector = self.vectors.get(*request).and_then(Option::as_ref);
                entry.add(query, vector.filter(|_| self.usage_knows == EpisodeKnowledge::Meaning));
            }
        }
        let mut usage = UsageHistory::default();
        for (tool, mut used) in used.into_iter().filter(|(_, used)| used.requests > 0) {
            used.keep(STEMS, self.selector.words());
            if let Some(capability) = self.tools.entries().get(tool) {
                usage.add(usage_key(capability), &used);
            }
        }
        usage
    }

    fn episode(&self, seed: u64, knows: EpisodeKnowledge) -> Result<Vec<RankedCase>, String> {
        let mut dice = Dice(seed);
        let used: BTreeSet<usize> = self.served.iter().copied().collect();
        let share = |dice: &mut Dice, percent: usize| -> BTreeSet<usize> {
            used.iter().copied().filter(|_| dice.below(100) < percent).collect()
        };
        let absent = if is_small(seed) { ABSENT_FROM_SMALL } else { ABSENT };
        let (without, absent) = (share(&mut dice, WITHOUT_USAGE), share(&mut dice, absent));
        let mut order: Vec<usize> = (0..self.queries.len()).collect();
        dice.shuffle(&mut order);
        let (ranked, learned) = order.split_at(order.len() * RANKED / 100);
        // In every other episode each tool has been used a random number of times, 1 to 256.
        let caps = (seed % 2 == 1).then(|| used.iter().map(|tool| (*tool, 1 << dice.below(9))).collect());
        let usage = self.usage_of(learned, &without, caps.as_ref());
        let present: Vec<usize> = (0..self.tools.entries().len()).filter(|place| !absent.contains(place)).collect();
        let entries: Vec<_> = present.iter().filter_map(|place| self.tools.entries().get(*place).cloned()).collect();
        let mut index = CatalogueIndex::new(&entries, &usage, self.selector);
        if knows == EpisodeKnowledge::Meaning {
            index.embed(&entries, self.embedder, Some(&self.stored)).map_err(|error| error.to_string())?;
        }
        let mut of_tool: BTreeMap<usize, f64> = BTreeMap::new();
        for tool in ranked.iter().filter_map(|request| self.served.get(*request)) {
            *of_tool.entry(*tool).or_default() += 1.0;
        }
        let case = |request: &usize| {
            let (query, tool) = (self.queries.get(*request)?, self.served.get(*request)?);
            let vectors = [self.vectors.get(*request)?.clone()];
            let meant =
                TaskEmbedding { model: self.embedder.model(), vectors: &vectors, pieces: self.embedder.pieces() };
            let evidence =
                self.selector.evidence(&index, query, (knows == EpisodeKnowledge::Meaning).then_some(&meant));
            // Tools with many requests don't outweigh the others.
            let weight = 1.0 / of_tool.get(tool)?.sqrt();
            let chosen = present.iter().position(|place| place == tool);
            Some(RankedCase { evidence, chosen, weight, small: is_small(seed) })
        };
        Ok(ranked.iter().filter_map(case).collect())
    }

    pub(super) fn calibrate(&mut self, used: &[usize], knows: EpisodeKnowledge) -> Result<SelectionWeights, String> {
        let mut cases = Vec::new();
        for seed in 0..EPISODES {
            cases.extend(self.episode(seed, knows)?);
        }
        let chosen = |case: &RankedCase| {
            let evidence = case.evidence.clone();
            Some(ChoiceExample { evidence, chosen: case.chosen?, weight: case.weight })
        };
        // Most requests have nothing to choose in a small catalogue, and the rest are easy.
        let choices: Vec<ChoiceExample> = cases.iter().filter(|case| !case.small).filter_map(chosen).collect();
        let weights = fit_evidence_weights(&choices, used)?;
        drop(choices);
        let (mut rows, mut labels, mut row_weights) = (Vec::new(), Vec::new(), Vec::new());
        for case in &cases {
            for (entry, row) in entry_sums(&weights, &case.evidence).into_iter().take(LOOKED_AT) {
                labels.push(case.chosen == Some(entry));
                rows.push(row);
                #[expect(clippy::cast_possible_truncation, reason = "a weight between 0 and 1")]
                row_weights.push(case.weight as f32);
            }
        }
        let fitted = linear::fit_logistic(
            &rows,
            &labels,
            &row_weights,
            linear::TrainingOptions { l2: 1e-3, ..Default::default() },
        );
        let model = fitted.map_err(|error| error.to_string())?.model;
        let [sum, share] = model.weights.as_slice() else { return Err("calibration has two slopes".into()) };
        let mut calibration = SelectionWeights {
            weights,
            slope: [round_to_four(*sum), round_to_four(*share)],
            offset: round_to_four(model.bias),
            threshold: 0.5,
        };
        calibration.threshold = selection_threshold(&calibration, &cases);
        Ok(calibration)
    }

    /// The cosine between requests of one tool and others that best parts related from unrelated.
    pub(super) fn related(&self) -> Result<f32, String> {
        let mut dice = Dice(7);
        let mut cosines: Vec<(f32, bool)> = Vec::new();
        for _ in 0..40_000 {
            let (a, b) = (dice.below(self.served.len()), dice.below(self.served.len()));
            let pair = self.vectors.get(a).and_then(Option::as_ref).zip(self.vectors.get(b).and_then(Option::as_ref));
            if let Some((x, y)) = pair.filter(|_| a != b) {
                let cosine = x.cosine(y).map_err(|error| error.to_string())?;
                cosines.push((cosine, self.served.get(a) == self.served.get(b)));
            }
        }
        Ok(round_to_four(best_cut(&cosines)))
    }
}

/// Each entry's sum and its logarithmic share, the greatest first.
fn entry_sums(weights: &[f32; FEATURES], evidence: &[[f32; FEATURES]]) -> Vec<(usize, [f32; 2])> {
    let sum = |features: &[f32; FEATURES]| weights.iter().zip(features).fold(0.0_f32, |sum, (w, f)| sum + w * f);
    let all: Vec<f32> = evidence.iter().map(sum).collect();
    let most = all.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let whole = most + libm::logf(all.iter().map(|sum| libm::expf(sum - most)).sum());
    let mut ranked: Vec<(usize, [f32; 2])> = (0..).zip(all.into_iter().map(|sum| [sum, sum - whole])).collect();
    ranked.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]).then(a.0.cmp(&b.0)));
    ranked
}

/// The probability of the first entry that best parts requests whose tool is there from others,
/// in small catalogues.
fn selection_threshold(calibration: &SelectionWeights, cases: &[RankedCase]) -> f32 {
    let first = |case: &RankedCase| {
        let ranked = entry_sums(&calibration.weights, &case.evidence);
        let logistic = linear::Logistic { weights: calibration.slope.to_vec(), bias: calibration.offset };
        ranked.first().map(|(_, row)| (logistic.probability(row), case.chosen.is_some()))
    };
    round_to_four(best_cut(&cases.iter().filter(|case| case.small).filter_map(first).collect::<Vec<_>>()))
}

/// How much of the best sum of rates is given up for a lower cut.
const FLAT: f64 = 0.02;

/// The lowest score at which the sum of both rates of right answers (Youden 1950) is nearly the
/// best. Around its optimum the sum is flat, so the optimum itself would follow chance, and of two
/// errors a missing tool is worse than one too many.
fn best_cut(scores: &[(f32, bool)]) -> f32 {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    let count = |label: bool| sorted.iter().filter(|(_, l)| *l == label).count().max(1) as f64;
    let (yes, no) = (count(true), count(false));
    let mut rate = 0.0_f64;
    let mut rates = Vec::with_capacity(sorted.len());
    for (score, label) in sorted {
        rates.push((rate, score));
        rate += if label { -1.0 / yes } else { 1.0 / no };
    }
    let best = rates.iter().fold(f64::NEG_INFINITY, |best, (rate, _)| best.max(*rate));
    rates.iter().find(|(rate, _)| *rate >= best - FLAT).map_or(0.0, |(_, score)| *score)
}

/// Writes each number with the four digits that it has, not with those of its binary form.
pub(super) fn shorten_numbers(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Array(items) => items.iter_mut().for_each(shorten_numbers),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(shorten_numbers),
        serde_json::Value::Number(number) if number.is_f64() => {
            *json = number.as_f64().map_or(serde_json::Value::Null, |number| ((number * 1e4).round() / 1e4).into());
        }
        _ => {}
    }
}

fn round_to_four(number: f32) -> f32 {
    (number * 1e4).round() / 1e4
}
