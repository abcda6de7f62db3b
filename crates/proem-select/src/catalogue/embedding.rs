//! Which texts of an entry are embedded, and embedding them.

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::{Untrusted, show};

use super::capability::Capability;
use super::hash::{Sha256Hash, text_hash};
use super::manifest::{Manifest, QuantisedVector};
use super::{Catalogue, MAX_EXAMPLES};
use crate::embedding::{self, Embedder};
use proem_engine::error::{Error, ErrorKind};

/// How many texts are given to an embedder at once.
const BATCH: usize = 256;

/// Which vectors are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingScope {
    /// Those that are missing.
    Missing,
    /// All of them.
    All,
}

/// The tally of embedding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmbeddingTally {
    /// Texts that were embedded.
    pub made: usize,
    /// Texts whose vector was there.
    pub kept: usize,
    /// Among all, texts that say nothing to the model.
    pub silent: usize,
    /// Vectors of texts that are gone.
    pub removed: usize,
}

/// The texts of an entry that are embedded: what it does with its name in words before it, then
/// its examples.
#[must_use]
pub fn embedded_texts(capability: &Capability) -> Vec<Untrusted<String>> {
    let definition = capability.definition();
    let name = capability.own_name().clone().map(|name| name_as_words(&name));
    // Both come from one file, so the label of one is that of both.
    let about = definition.description.clone().map(|description| {
        let name = show::exact_json(&name);
        let name = name.as_str().unwrap_or_default();
        if description.trim().is_empty() { name.to_owned() } else { format!("{name}: {description}") }
    });
    std::iter::once(about).chain(definition.examples.iter().take(MAX_EXAMPLES).cloned()).collect()
}

/// A name as words: `createIssue_v2` is `create issue v2`.
fn name_as_words(name: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            out.push(' ');
        }
        out.push(if matches!(c, '_' | '-' | '.' | '/' | ':') { ' ' } else { c });
        before = c;
    }
    out.to_lowercase()
}

/// Makes the vectors of a catalogue's texts and keeps them in its manifest. Those of other texts under the same model
/// are removed. `progress` is told how many of how many texts are done.
///
/// # Errors
///
/// The embedder's error, or [`ErrorKind::InvalidVector`] if it answers with another number of vectors, another model or
/// two dimensions. The manifest is unchanged then.
pub fn vectorise(
    manifest: &mut Manifest,
    catalogue: &Catalogue,
    embedder: &dyn Embedder,
    embed: EmbeddingScope,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<EmbeddingTally, Error> {
    vectorise_texts(manifest, catalogue.entries().iter().flat_map(embedded_texts), embedder, embed, progress)
}

/// Like [`vectorise`], for any texts.
///
/// # Errors
///
/// As [`vectorise`].
pub fn vectorise_texts(
    manifest: &mut Manifest,
    texts: impl Iterator<Item = Untrusted<String>>,
    embedder: &dyn Embedder,
    embed: EmbeddingScope,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<EmbeddingTally, Error> {
    let wanted: BTreeMap<Sha256Hash, Untrusted<String>> = texts.map(|text| (text_hash(&text), text)).collect();
    let model = embedder.model();
    let mut vectors = match embed {
        EmbeddingScope::Missing => manifest.vectors(model).cloned().unwrap_or_default(),
        EmbeddingScope::All => BTreeMap::new(),
    };
    let all: BTreeSet<Sha256Hash> = wanted.keys().copied().collect();
    let before = manifest.vectors(model).map_or(0, |old| old.keys().filter(|hash| !all.contains(*hash)).count());
    vectors.retain(|hash, _| all.contains(hash));
    let missing: Vec<(Sha256Hash, String)> = wanted
        .into_iter()
        .filter(|(hash, _)| !vectors.contains_key(hash))
        .map(|(hash, text)| (hash, show::exact_json(&text).as_str().unwrap_or_default().to_owned()))
        .collect();
    let kept = vectors.len();
    for (index, batch) in missing.chunks(BATCH).enumerate() {
        progress(index.saturating_mul(BATCH), missing.len());
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        for ((hash, _), vector) in batch.iter().zip(embedding::embed_texts(embedder, &texts)?) {
            vectors.insert(*hash, vector.as_ref().map(QuantisedVector::of));
        }
    }
    same_dimension(embedder, &vectors)?;
    let silent = vectors.values().filter(|vector| vector.is_none()).count();
    manifest.set_vectors(model, vectors);
    Ok(EmbeddingTally { made: missing.len(), kept, silent, removed: before })
}

fn same_dimension(
    embedder: &dyn Embedder,
    vectors: &BTreeMap<Sha256Hash, Option<QuantisedVector>>,
) -> Result<(), Error> {
    let sizes: BTreeSet<usize> = vectors.values().flatten().map(|vector| vector.values.len()).collect();
    let (Some(least), Some(most)) = (sizes.first(), sizes.last()) else { return Ok(()) };
    if least == most && *most <= super::manifest::MAX_DIMENSION {
        return Ok(());
    }
    let problem = format!("model `{}` gave vectors of {least} and of {most} dimensions", embedder.model());
    Err(Error::new(ErrorKind::InvalidVector, problem))
}
