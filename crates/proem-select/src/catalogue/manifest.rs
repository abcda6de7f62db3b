//! The catalogue as it was last looked at, with its vectors: a cache.
//!
//! It holds no approval and no definition, so nothing that somebody writes into it widens anything. Texts in it are
//! untrusted when read. An unreadable file is made anew.

use std::collections::BTreeMap;

use proem_guard::{Untrusted, show};
use proem_text::{Label, Source, json};
use serde_json::{Map, Value as Json, json};

use super::capability::Capability;
use super::entry::CatalogueEntryKind;
use super::hash::Sha256Hash;
use super::modes::Modes;
use super::name::CatalogueName;
use super::{Catalogue, MAX_ENTRIES, MAX_EXAMPLE_BYTES, MAX_EXAMPLES, MAX_TAGS};
use crate::embedding::{ModelId, Vector};
use proem_engine::error::{Error, ErrorKind};

/// The form of the file. Another number is another form.
const VERSION: u64 = 1;

/// The largest manifest that is read, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 128 * 1024 * 1024;
/// The most dimensions of a vector.
pub const MAX_DIMENSION: usize = 4096;
/// The most models that vectors are kept of.
const MAX_MODELS: usize = 16;

/// A vector with one byte for each coordinate, which is `value × scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantisedVector {
    /// The size of one step. Positive and finite.
    pub scale: f32,
    /// The steps, −127 to 127.
    pub values: Vec<i8>,
}

impl QuantisedVector {
    /// The nearest steps. The largest coordinate is 127 of them.
    #[must_use]
    pub fn of(vector: &Vector) -> Self {
        let most = vector.values().iter().fold(0f32, |most, value| most.max(value.abs()));
        // A vector has unit length, so `most` is above zero.
        let scale = most / 127.0;
        let step = |value: &f32| {
            #[expect(clippy::cast_possible_truncation, reason = "clamped to the range of the type")]
            let step = round_half_away(value / scale).clamp(-127.0, 127.0) as i8;
            step
        };
        Self { scale, values: vector.values().iter().map(step).collect() }
    }

    /// The vector's numbers, of the precision they are stored in.
    #[must_use]
    pub fn coordinates(&self) -> Vec<f32> {
        self.values.iter().map(|value| f32::from(*value) * self.scale).collect()
    }
}

/// Half away from zero, the same on every platform: `trunc` is exact.
fn round_half_away(value: f32) -> f32 {
    (value + if value < 0.0 { -0.5 } else { 0.5 }).trunc()
}

/// One entry as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestEntry {
    /// Tool, skill, agent and so on.
    pub kind: CatalogueEntryKind,
    /// The hash of all that its author wrote.
    pub hash: Sha256Hash,
    /// The modes it may be used in.
    pub modes: Modes,
    /// Words that its author filed it under.
    pub tags: Vec<CatalogueName>,
    /// Requests that it is meant for, in its author's words.
    pub examples: Vec<Untrusted<String>>,
    /// The file it was read from.
    pub origin: Untrusted<String>,
}

/// The differences between two looks at a catalogue, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Entries that weren't there.
    pub new: Vec<CatalogueName>,
    /// Entries that say something else.
    pub changed: Vec<CatalogueName>,
    /// Entries that are no longer there.
    pub gone: Vec<CatalogueName>,
}

/// The catalogue as it was last looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifest {
    entries: BTreeMap<CatalogueName, ManifestEntry>,
    vectors: BTreeMap<ModelId, BTreeMap<Sha256Hash, Option<QuantisedVector>>>,
}

impl Manifest {
    /// The entries by name.
    #[must_use]
    pub const fn entries(&self) -> &BTreeMap<CatalogueName, ManifestEntry> {
        &self.entries
    }

    /// The vectors of one model by the hash of the embedded text. `None` for a text that says nothing to the model.
    #[must_use]
    pub fn vectors(&self, model: &ModelId) -> Option<&BTreeMap<Sha256Hash, Option<QuantisedVector>>> {
        self.vectors.get(model)
    }

    pub(super) fn set_vectors(&mut self, model: &ModelId, vectors: BTreeMap<Sha256Hash, Option<QuantisedVector>>) {
        self.vectors.insert(model.clone(), vectors);
        // Nothing tells which is the oldest, so the first by id go.
        while self.vectors.len() > MAX_MODELS {
            let other = self.vectors.keys().find(|id| *id != model).cloned();
            let Some(other) = other else { break };
            self.vectors.remove(&other);
        }
    }

    /// Takes the entries of a catalogue, keeps the vectors, and says what differs.
    pub fn update(&mut self, catalogue: &Catalogue) -> Changes {
        let entries: BTreeMap<CatalogueName, ManifestEntry> =
            catalogue.entries().iter().map(|entry| (entry.name().clone(), manifest_entry(entry))).collect();
        let mut changes = Changes::default();
        for (name, entry) in &entries {
            match self.entries.get(name) {
                None => changes.new.push(name.clone()),
                Some(old) if old.hash != entry.hash => changes.changed.push(name.clone()),
                Some(_) => {}
            }
        }
        changes.gone = self.entries.keys().filter(|name| !entries.contains_key(*name)).cloned().collect();
        self.entries = entries;
        changes
    }

    /// The file's text.
    #[must_use]
    pub fn write(&self) -> String {
        let entries: Map<String, Json> =
            self.entries.iter().map(|(name, entry)| (name.as_str().to_owned(), entry_json(entry))).collect();
        let vectors: Map<String, Json> = self
            .vectors
            .iter()
            .map(|(model, vectors)| {
                let texts: Map<String, Json> =
                    vectors.iter().map(|(hash, vector)| (hash.to_string(), vector_json(vector.as_ref()))).collect();
                (model.as_str().to_owned(), Json::Object(texts))
            })
            .collect();
        let all = json!({ "version": VERSION, "entries": entries, "vectors": vectors });
        format!("{}\n", json::compact(&all))
    }

    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if another version wrote it or it is not of this form. It is to be rebuilt then.
    pub fn read(text: &str) -> Result<Self, Error> {
        let wrong =
            |why: &str| Error::new(ErrorKind::InvalidFile, format!("the stored catalogue {why}; it is rebuilt"));
        if text.len() > MAX_MANIFEST_BYTES {
            return Err(wrong("is too large"));
        }
        let root: Json = serde_json::from_str(text).map_err(|_| wrong("is not valid JSON"))?;
        if root.get("version").and_then(Json::as_u64) != Some(VERSION) {
            return Err(wrong("was written by another version of Proem"));
        }
        let table = |key: &str| root.get(key).and_then(Json::as_object).ok_or_else(|| wrong("is damaged"));
        let (entries, vectors) = (table("entries")?, table("vectors")?);
        if entries.len() > MAX_ENTRIES || vectors.len() > MAX_MODELS {
            return Err(wrong("has too many entries"));
        }
        let mut manifest = Self::default();
        for (name, entry) in entries {
            let pair = CatalogueName::new(name).zip(read_entry(entry));
            let (name, entry) = pair.ok_or_else(|| wrong("is damaged"))?;
            manifest.entries.insert(name, entry);
        }
        for (model, texts) in vectors {
            let model = ModelId::new(model).map_err(|_| wrong("is damaged"))?;
            manifest.vectors.insert(model, read_vectors(texts).ok_or_else(|| wrong("is damaged"))?);
        }
        Ok(manifest)
    }
}

/// Everything in a cache is from outside, whoever said it first.
fn manifest_entry(capability: &Capability) -> ManifestEntry {
    let definition = capability.definition();
    let plain = |text: &Untrusted<String>| show::exact_json(text).as_str().unwrap_or_default().to_owned();
    ManifestEntry {
        kind: capability.kind(),
        hash: *capability.hash(),
        modes: definition.modes,
        tags: definition.tags.clone(),
        examples: definition.examples.iter().map(|text| Untrusted::new(plain(text), manifest_label())).collect(),
        origin: Untrusted::new(capability.origin().file.clone(), manifest_label()),
    }
}

fn manifest_label() -> Label {
    Label::from_source(Source::named("catalogue/manifest"))
}

fn entry_json(entry: &ManifestEntry) -> Json {
    let examples: Vec<Json> = entry.examples.iter().map(show::exact_json).collect();
    let modes: Vec<&str> = entry.modes.iter().map(crate::mode::Mode::as_str).collect();
    let tags: Vec<&str> = entry.tags.iter().map(CatalogueName::as_str).collect();
    json!({
        "kind": entry.kind.as_str(),
        "hash": entry.hash.to_string(),
        "modes": modes,
        "tags": tags,
        "examples": examples,
        "origin": show::exact_json(&entry.origin),
    })
}

fn read_entry(entry: &Json) -> Option<ManifestEntry> {
    let text = |key: &str| entry.get(key)?.as_str();
    let list = |key: &str| -> Option<Vec<&str>> { entry.get(key)?.as_array()?.iter().map(Json::as_str).collect() };
    let modes: Vec<_> = list("modes")?.into_iter().map(Modes::named).collect::<Option<_>>()?;
    let tags: Vec<CatalogueName> = list("tags")?.into_iter().map(CatalogueName::new).collect::<Option<_>>()?;
    let examples = list("examples")?;
    let bounded = tags.len() <= MAX_TAGS
        && examples.len() <= MAX_EXAMPLES
        && examples.iter().all(|e| e.len() <= MAX_EXAMPLE_BYTES);
    bounded.then_some(())?;
    Some(ManifestEntry {
        kind: match text("kind")? {
            "tool" => CatalogueEntryKind::Tool,
            "skill" => CatalogueEntryKind::Skill,
            _ => return None,
        },
        hash: Sha256Hash::parse(text("hash")?)?,
        modes: if modes.is_empty() { Modes::NONE } else { Modes::of(&modes) },
        tags,
        examples: examples.into_iter().map(|text| Untrusted::new(text.to_owned(), manifest_label())).collect(),
        origin: Untrusted::new(text("origin")?.to_owned(), manifest_label()),
    })
}

/// Four bytes of scale, then one for each coordinate, in hexadecimal.
fn vector_json(vector: Option<&QuantisedVector>) -> Json {
    let Some(vector) = vector else { return Json::Null };
    let values = vector.values.iter().flat_map(|value| value.to_le_bytes());
    let bytes: Vec<u8> = vector.scale.to_le_bytes().into_iter().chain(values).collect();
    Json::String(proem_text::hex::encode_hex(&bytes))
}

fn read_vectors(texts: &Json) -> Option<BTreeMap<Sha256Hash, Option<QuantisedVector>>> {
    let texts = texts.as_object()?;
    let most = MAX_ENTRIES.saturating_mul(MAX_EXAMPLES.saturating_add(1));
    if texts.len() > most {
        return None;
    }
    let mut vectors = BTreeMap::new();
    let mut dimension = None;
    for (hash, vector) in texts {
        let vector = match vector {
            Json::Null => None,
            Json::String(digits) => Some(read_vector(digits)?),
            _ => return None,
        };
        if let Some(vector) = &vector
            && *dimension.get_or_insert(vector.values.len()) != vector.values.len()
        {
            return None;
        }
        vectors.insert(Sha256Hash::parse(hash)?, vector);
    }
    Some(vectors)
}

fn read_vector(digits: &str) -> Option<QuantisedVector> {
    let bytes = proem_text::hex::decode_hex(digits)?;
    let (scale, values) = bytes.split_first_chunk::<4>()?;
    let scale = f32::from_le_bytes(*scale);
    let fits = scale.is_finite() && scale > 0.0 && (1..=MAX_DIMENSION).contains(&values.len());
    fits.then(|| QuantisedVector { scale, values: values.iter().map(|byte| i8::from_le_bytes([*byte])).collect() })
}
