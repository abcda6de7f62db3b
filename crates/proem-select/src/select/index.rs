//! A catalogue, prepared for ranking.
//!
//! Holds numbers only: hashes of terms, vectors and pieces. No word of a description can leave it.

use std::collections::BTreeMap;

use proem_guard::Untrusted;
use proem_score::bm25;
use serde_json::Value as Json;

use super::Selector;
use super::documents::DocumentPieces;
use super::intents::IntentSet;
use super::late::LateInteraction;
use super::query::Query;
use super::terms::{bare_words, gram_ids, stem_id};
use super::usage::{CapabilityUsage, UsageHistory};
use super::usage_index::UsageIndex;
use crate::catalogue::manifest::QuantisedVector;
use crate::catalogue::{Capability, Sha256Hash, embedded_texts, text_hash};
use crate::embedding::{Embedder, ModelId, PieceVocabulary, Vector, embed_texts};
use proem_engine::error::{Error, ErrorKind};

/// The weight of a parameter's word beside one of the description.
const PARAMETER_WEIGHT: f32 = 0.3;
/// The most words of one definition that are looked at.
const MAX_WORDS: usize = 2000;
/// How many texts are given to an embedder at once.
const BATCH: usize = 256;

/// A catalogue, ready to be ranked.
#[derive(Debug, Clone)]
pub struct CatalogueIndex {
    pub(super) entries: usize,
    /// The entries in the order of their names.
    pub(super) by_name: Vec<u32>,
    pub(super) words: bm25::Index,
    pub(super) grams: bm25::Index,
    pub(super) names: bm25::Index,
    pub(super) used: UsageIndex,
    /// The intents of each entry.
    pub(super) intents: Vec<IntentSet>,
    pub(super) meaning: Option<CatalogueVectors>,
}

/// The vectors of a catalogue.
#[derive(Debug, Clone)]
pub(super) struct CatalogueVectors {
    pub(super) model: ModelId,
    pub(super) dimension: usize,
    /// One row after the other. Zeros for an entry that says nothing to the model.
    pub(super) vectors: Vec<f32>,
    pub(super) pieces: Option<DocumentPieces>,
}

impl CatalogueIndex {
    /// Prepares a catalogue for ranking by words. [`Self::embed`] adds meaning.
    #[must_use]
    pub fn new(capabilities: &[Capability], usage: &UsageHistory, selector: &Selector) -> Self {
        let mut words = bm25::IndexBuilder::new(bm25::Bm25Parameters::default());
        let mut grams = bm25::IndexBuilder::new(bm25::Bm25Parameters::default());
        let mut names = bm25::IndexBuilder::new(bm25::Bm25Parameters::default());
        let (mut used, mut intents) = (Vec::new(), Vec::new());
        for capability in capabilities {
            let terms = EntryTerms::of(capability);
            words.add(&terms.stems);
            grams.add(&terms.grams);
            names.add(&terms.name);
            used.push(used_by(capability, usage, selector));
            intents.push(intents_of(capability, selector));
        }
        let words = words.build();
        let used = UsageIndex::new(&used, &words);
        let name = |entry: &u32| capabilities.get(*entry as usize).map(|capability| capability.name().as_str());
        let mut by_name: Vec<u32> = (0..).take(capabilities.len()).collect();
        by_name.sort_by(|a, b| name(a).cmp(&name(b)));
        let (grams, names) = (grams.build(), names.build());
        Self { entries: capabilities.len(), by_name, words, grams, names, used, intents, meaning: None }
    }

    /// How many entries it has.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.entries
    }

    /// The model of its vectors. `None` if it ranks by words only.
    #[must_use]
    pub fn model(&self) -> Option<&ModelId> {
        self.meaning.as_ref().map(|meaning| &meaning.model)
    }

    /// The comparison of pieces with those of the entries, if both are known.
    pub(super) fn late<'a>(&'a self, pieces: Option<&'a dyn PieceVocabulary>) -> Option<LateInteraction<'a>> {
        let documents = self.meaning.as_ref()?.pieces.as_ref()?;
        Some(LateInteraction::new(documents, pieces?))
    }

    /// Adds the vectors of all entries. Those in `stored` are not made again.
    ///
    /// # Errors
    ///
    /// The embedder's error, or [`ErrorKind::InvalidVector`] if its answer is of no use. The index ranks by words as
    /// before then.
    pub fn embed(
        &mut self,
        capabilities: &[Capability],
        embedder: &dyn Embedder,
        stored: Option<&BTreeMap<Sha256Hash, Option<QuantisedVector>>>,
    ) -> Result<(), Error> {
        let texts: Vec<Untrusted<String>> =
            capabilities.iter().filter_map(|c| embedded_texts(c).into_iter().next()).collect();
        let mut rows: Vec<Option<Vec<f32>>> = Vec::with_capacity(texts.len());
        let mut missing: Vec<usize> = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            let known = stored.and_then(|stored| stored.get(&text_hash(text)));
            if known.is_none() {
                missing.push(place);
            }
            rows.push(known.and_then(|known| known.as_ref().map(QuantisedVector::coordinates)));
        }
        for batch in missing.chunks(BATCH) {
            let texts: Vec<&Untrusted<String>> = batch.iter().filter_map(|place| texts.get(*place)).collect();
            for (place, vector) in batch.iter().zip(embed_all(embedder, &texts)?) {
                if let Some(row) = rows.get_mut(*place) {
                    // Coarse like stored ones, so that a cache changes no score.
                    *row = vector.map(|vector| QuantisedVector::of(&vector).coordinates());
                }
            }
        }
        let model = embedder.model();
        let dimension = rows.iter().flatten().map(Vec::len).next().unwrap_or(0);
        if rows.iter().flatten().any(|row| row.len() != dimension) {
            let problem = format!("vectors of `{model}` in this catalogue differ in dimension; refresh them");
            return Err(Error::new(ErrorKind::InvalidVector, problem));
        }
        if let Some(size) = self.used.dimensions(model).find(|size| dimension > 0 && *size != dimension) {
            let problem =
                format!("model `{model}` gave {size} dimensions for requests and {dimension} for the catalogue");
            return Err(Error::new(ErrorKind::InvalidVector, problem));
        }
        let mut vectors = Vec::with_capacity(rows.len().saturating_mul(dimension));
        for row in rows {
            vectors.extend(row.unwrap_or_else(|| vec![0.0; dimension]));
        }
        let pieces = embedder.pieces().map(|pieces| DocumentPieces::of(&texts, pieces));
        self.meaning = Some(CatalogueVectors { model: model.clone(), dimension, vectors, pieces });
        Ok(())
    }
}

fn embed_all(embedder: &dyn Embedder, texts: &[&Untrusted<String>]) -> Result<Vec<Option<Vector>>, Error> {
    // An embedder reads the exact text, as a model would read it in a prompt: it can't act on it.
    let exact: Vec<String> = texts.iter().map(|text| indexed_text(text)).collect();
    let exact: Vec<&str> = exact.iter().map(String::as_str).collect();
    embed_texts(embedder, &exact)
}

fn indexed_text(text: &Untrusted<String>) -> String {
    proem_guard::show::exact_json(text).as_str().unwrap_or_default().to_owned()
}

fn used_by(capability: &Capability, usage: &UsageHistory, selector: &Selector) -> CapabilityUsage {
    let mut used = usage.of(capability);
    for example in &capability.definition().examples {
        example.measure(|example| used.add(&Query::new(example, selector.lexicon(), selector.words()), None));
    }
    used
}

/// The intents of an entry, by the words of its name and of the first sentences about it.
fn intents_of(capability: &Capability, selector: &Selector) -> IntentSet {
    let server = capability.server().map(|server| server.as_str().to_owned()).unwrap_or_default();
    let mut name: Vec<String> = bare_words(&server).collect();
    capability.own_name().measure(|own| name.extend(bare_words(own).take(MAX_WORDS)));
    let mut served = IntentSet::default();
    capability.definition().description.measure(|text| served = selector.intents.of_entry(&name, text));
    served
}

/// The terms of one entry.
#[derive(Default)]
struct EntryTerms {
    stems: Vec<(u64, f32)>,
    grams: Vec<(u64, f32)>,
    name: Vec<(u64, f32)>,
}

impl EntryTerms {
    fn of(capability: &Capability) -> Self {
        let mut terms = Self::default();
        let definition = capability.definition();
        if let Some(server) = capability.server() {
            terms.add_name(server.as_str());
        }
        capability.own_name().measure(|name| terms.add_name(name));
        definition.description.measure(|text| terms.add(text, 1.0));
        for tag in &definition.tags {
            terms.add(tag.as_str(), 1.0);
        }
        if let Some(parameters) = &definition.parameters {
            parameters.measure(|schema| terms.add_schema(schema));
        }
        terms
    }

    fn add_name(&mut self, name: &str) {
        for word in bare_words(name).take(MAX_WORDS) {
            self.name.extend(gram_ids(&word).into_iter().map(|gram| (gram, 1.0)));
        }
        self.add(name, 1.0);
    }

    fn add(&mut self, text: &str, weight: f32) {
        for word in bare_words(text).take(MAX_WORDS) {
            self.stems.push((stem_id(&word), weight));
            self.grams.extend(gram_ids(&word).into_iter().map(|gram| (gram, weight)));
        }
    }

    /// The names of parameters and what is said about them. Nothing nested.
    fn add_schema(&mut self, schema: &Json) {
        let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
        for (name, property) in properties.take(MAX_WORDS) {
            self.add(name, PARAMETER_WEIGHT);
            if let Some(description) = property.get("description").and_then(Json::as_str) {
                self.add(description, PARAMETER_WEIGHT);
            }
        }
    }
}
