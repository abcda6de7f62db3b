//! Which capabilities a task needs.
//!
//! [`CatalogueIndex`] prepares a catalogue, [`Query`] a task. [`Selector::rank`] gives every entry a probability with
//! its evidence, and [`choose_capabilities`] applies modes, caps and thresholds. A ranking may abstain:
//! nothing fits. If vectors are missing or of no use, words alone decide, by weights of their own, and the ranking says
//! so.
//!
//! Invariants: nothing is left out without a reason. Vectors of two models never meet. The order is by probability,
//! then name. No word of a description reaches an output.

mod arithmetic;
mod choose;
mod documents;
mod features;
mod index;
mod intents;
mod kinds;
mod late;
mod lexicon;
mod query;
mod rank;
mod terms;
mod usage;
mod usage_index;
mod weights;

pub use choose::{BaseNames, Caps, RejectedEntry, RejectionReason, SelectedEntry, Selection, choose_capabilities};
pub use index::CatalogueIndex;
use intents::IntentTable;
pub use kinds::{EntryEvidence, FEATURE_NAMES, FEATURES};
pub use lexicon::TranslationLexicon;
pub use query::{MAX_BYTES, MAX_PARTS, MAX_WORDS, Query};
pub use rank::{RankedEntry, Ranking};
pub(crate) use terms::word_stem;
pub use usage::{CapabilityUsage, UsageHistory, usage_key};
pub use weights::{SelectionWeightSet, SelectionWeights, WordWeights, rarity};

use crate::embedding::{self, Embedder, ModelId, PieceVocabulary, Vector};
use proem_engine::Error;

/// The knowledge of selection: languages, words and weights.
#[derive(Debug, Clone)]
pub struct Selector {
    lexicon: TranslationLexicon,
    words: WordWeights,
    calibrations: SelectionWeightSet,
    intents: IntentTable,
}

impl Selector {
    /// Puts a selector together, which knows no intents.
    #[must_use]
    pub const fn new(lexicon: TranslationLexicon, words: WordWeights, calibrations: SelectionWeightSet) -> Self {
        Self { lexicon, words, calibrations, intents: IntentTable::empty() }
    }

    /// The shipped selector.
    ///
    /// # Errors
    ///
    /// [`proem_engine::ErrorKind::InvalidFile`] if a shipped file is broken.
    pub fn shipped() -> Result<Self, Error> {
        Ok(Self {
            lexicon: TranslationLexicon::of_index(include_str!("../data/lexicon-index.txt"))?,
            words: WordWeights::parse(include_str!("../data/select-words.tsv"))?,
            calibrations: SelectionWeightSet::parse(include_str!("../data/select-weights.json"))?,
            intents: IntentTable::parse(include_str!("../data/intents.tsv"))?,
        })
    }

    /// The usage that ships with Proem: what requests of a public set used which public tools.
    ///
    /// # Errors
    ///
    /// [`proem_engine::ErrorKind::InvalidFile`] if the shipped file is broken.
    pub fn shipped_usage() -> Result<UsageHistory, Error> {
        UsageHistory::parse(include_str!("../data/select-usage.tsv"))
    }

    /// The words of other languages.
    #[must_use]
    pub const fn lexicon(&self) -> &TranslationLexicon {
        &self.lexicon
    }

    /// How telling words are.
    #[must_use]
    pub const fn words(&self) -> &WordWeights {
        &self.words
    }

    /// The weights by embedding model.
    #[must_use]
    pub const fn calibrations(&self) -> &SelectionWeightSet {
        &self.calibrations
    }

    /// Prepares a task.
    #[must_use]
    pub fn query(&self, task: &str) -> Query {
        Query::with_intents(task, &self.lexicon, &self.words, &self.intents)
    }

    /// Embeds a task and its sentences in one call.
    ///
    /// # Errors
    ///
    /// The embedder's error, or [`proem_engine::ErrorKind::InvalidVector`] if its answer is of no use.
    pub fn embed(&self, query: &Query, embedder: &dyn Embedder) -> Result<Vec<Option<Vector>>, Error> {
        embedding::embed_texts(embedder, &query.texts())
    }

    /// The evidence for each entry by the whole task: what training learns from.
    #[must_use]
    pub fn evidence(
        &self,
        index: &CatalogueIndex,
        query: &Query,
        meant: Option<&TaskEmbedding<'_>>,
    ) -> Vec<EntryEvidence> {
        let vector = meant.and_then(|meant| meant.vectors.first()).and_then(Option::as_ref);
        let mut late = index.late(meant.and_then(|meant| meant.pieces));
        // Without weights each kind of evidence counts alike.
        let sum = |features: &EntryEvidence| features.iter().sum::<f32>();
        query
            .parts
            .first()
            .map(|part| features::entry_features(index, part, vector, late.as_mut(), &sum))
            .unwrap_or_default()
    }
}

/// An embedding model's view of a task.
#[derive(Clone, Copy)]
pub struct TaskEmbedding<'a> {
    /// The model that made the vectors. Only those of one model can be compared.
    pub model: &'a ModelId,
    /// The vectors of [`Query::texts`], in their order.
    pub vectors: &'a [Option<Vector>],
    /// The model's pieces, if it shows them.
    pub pieces: Option<&'a dyn PieceVocabulary>,
}

impl std::fmt::Debug for TaskEmbedding<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meant").field("model", self.model).field("vectors", &self.vectors.len()).finish_non_exhaustive()
    }
}
