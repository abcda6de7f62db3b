//! A small embedding model without data: each word has a direction made of its hash.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::collections::BTreeMap;

use proem_engine::error::{Error, ErrorKind};
use proem_select::catalogue::{Approvals, Catalogue, parse_lines};
use proem_select::embedding::{Embedder, ModelId, PieceVocabulary, Vector};
use proem_select::select::{CatalogueIndex, Query, Ranking, SelectionWeightSet, Selector, TaskEmbedding, UsageHistory};
use serde_json::json;

/// The change of its answer.
pub(crate) type Spoil = fn(&ModelId, Vec<Option<Vector>>) -> Result<Vec<Option<Vector>>, Error>;

#[derive(Debug)]
pub(crate) struct Hashed {
    model: ModelId,
    dimension: usize,
    spoil: Spoil,
}

impl Hashed {
    pub(crate) fn new(model: &str, dimension: usize) -> Self {
        Self { model: ModelId::new(model).unwrap(), dimension, spoil: |_, vectors| Ok(vectors) }
    }

    pub(crate) fn spoiled(model: &str, spoil: Spoil) -> Self {
        Self { spoil, ..Self::new(model, 16) }
    }

    /// An embedder that can't be asked.
    pub(crate) fn asleep(model: &str) -> Self {
        Self::spoiled(model, |_, _| Err(Error::new(ErrorKind::Embedding, "the model is asleep")))
    }

    fn direction(&self, piece: u32) -> Vec<f32> {
        let bit = |place: usize| piece.wrapping_mul(0x9e37_79b9).rotate_left(u32::try_from(place).unwrap()) & 1;
        (0..self.dimension).map(|place| if bit(place) == 1 { 1.0 } else { -1.0 }).collect()
    }

    fn vector(&self, text: &str) -> Option<Vector> {
        let mut sum = vec![0.0; self.dimension];
        for piece in self.cut(text) {
            sum.iter_mut().zip(self.direction(piece)).for_each(|(sum, value)| *sum += value);
        }
        Vector::new(&self.model, sum).ok()
    }
}

impl Embedder for Hashed {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        (self.spoil)(&self.model, texts.iter().map(|text| self.vector(text)).collect())
    }

    fn pieces(&self) -> Option<&dyn PieceVocabulary> {
        Some(self)
    }
}

impl PieceVocabulary for Hashed {
    fn cut(&self, text: &str) -> Vec<u32> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let number = |word: &str| {
            word.to_lowercase().bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte) % 31)
        };
        words.map(number).collect()
    }

    fn weight(&self, _: u32) -> f32 {
        1.0
    }

    fn write_similarities(&self, pieces: &[u32], others: &[u32], similarities: &mut Vec<f32>) {
        similarities.clear();
        for other in others {
            let other = Vector::new(&self.model, self.direction(*other)).unwrap();
            let cosine =
                |piece: &u32| Vector::new(&self.model, self.direction(*piece)).unwrap().cosine(&other).unwrap();
            similarities.extend(pieces.iter().map(cosine));
        }
    }
}

/// The shipped selector with the built-in model's weights for the models named.
pub(crate) fn selector(models: &[&str]) -> Selector {
    let shipped = Selector::shipped().unwrap();
    let weights = shipped.calibrations().models.values().next().unwrap();
    let models: BTreeMap<String, _> = models.iter().map(|model| ((*model).to_owned(), weights.clone())).collect();
    let calibrations = SelectionWeightSet { models, ..shipped.calibrations().clone() };
    Selector::new(shipped.lexicon().clone(), shipped.words().clone(), calibrations)
}

/// A catalogue of names and descriptions.
pub(crate) fn catalogue<'t>(tools: impl IntoIterator<Item = (&'t str, &'t str)>) -> Catalogue {
    let line = |(name, description)| format!("{}\n", json!({ "name": name, "description": description }));
    Catalogue::new(parse_lines("tools.jsonl", &tools.into_iter().map(line).collect::<String>()), &Approvals::default())
}

/// Ranks with meaning, or by words where there is no embedder.
pub(crate) fn rank(
    selector: &Selector,
    catalogue: &Catalogue,
    usage: &UsageHistory,
    embedder: Option<&Hashed>,
    task: &str,
) -> Ranking {
    let mut index = CatalogueIndex::new(catalogue.entries(), usage, selector);
    let query = selector.query(task);
    let Some(embedder) = embedder else { return selector.rank(catalogue.entries(), &index, &query, None).unwrap() };
    index.embed(catalogue.entries(), embedder, None).unwrap();
    ranking_lines(selector, catalogue, &index, embedder, &query).unwrap()
}

pub(crate) fn ranking_lines(
    selector: &Selector,
    catalogue: &Catalogue,
    index: &CatalogueIndex,
    embedder: &Hashed,
    query: &Query,
) -> Result<Ranking, Error> {
    let vectors = selector.embed(query, embedder)?;
    let meant = TaskEmbedding { model: embedder.model(), vectors: &vectors, pieces: embedder.pieces() };
    selector.rank(catalogue.entries(), index, query, Some(&meant))
}
