//! The state of a run as it is sealed, and what it waits for.

use std::collections::BTreeMap;

use proem_engine::run::{Effect, EffectId, Question, Time};
use proem_store::body::{fold_body, unfold};
use proem_store::record::HashedContent;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The pending effects of a machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waits<'w> {
    pub(super) effects: &'w [(EffectId, Effect)],
    pub(super) questions: &'w [Question],
    pub(super) until: Option<Time>,
}

impl Waits<'_> {
    /// The JSON of the [`SnapshotState`] of a machine that waits for this. The machine's own is not copied, for every
    /// text of a request is in it.
    pub(super) fn of(self, machine: Json) -> serde_json::Result<Json> {
        let fields = [
            ("machine", machine),
            ("effects", serde_json::to_value(self.effects)?),
            ("questions", serde_json::to_value(self.questions)?),
            ("until", serde_json::to_value(self.until)?),
        ];
        Ok(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// A state as it is sealed: the texts of its requests are kept beside it, once each, and only their
/// hashes are sealed. They bind the texts as firmly as the texts themselves would.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FoldedState {
    /// The state's JSON, as `fold` takes it apart.
    pieces: Json,
    /// Texts that are not kept elsewhere, by hash.
    texts: BTreeMap<String, String>,
    /// The hashes of texts that are sealed apart, each for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    apart: Vec<String>,
}

/// The bytes from which on a text of a state is sealed apart, so that it is not sealed again with every other change.
const APART: usize = 16 << 10;

/// The policy that a part of a state is bound to: it opens as no whole state.
pub(super) fn part_policy(policy: &str) -> String {
    format!("part of a state under {policy}")
}

impl FoldedState {
    /// Takes a state apart along texts that are kept, given as text and hash.
    pub(super) fn new(state: &Json, kept: &[(&str, &str)]) -> Self {
        let folded = fold_body(state, kept);
        let text = |content: HashedContent| {
            // Folding makes contents with their bytes.
            let bytes = content.bytes.unwrap_or_default();
            (content.hash, String::from_utf8_lossy(&bytes).into_owned())
        };
        Self { pieces: folded.pieces, texts: folded.texts.into_iter().map(text).collect(), apart: Vec::new() }
    }

    /// Takes the large texts out, which are then sealed apart: each with its hash.
    pub(super) fn take_parts(&mut self) -> Vec<(String, String)> {
        let (parts, texts) = std::mem::take(&mut self.texts).into_iter().partition(|(_, text)| text.len() >= APART);
        let parts: BTreeMap<String, String> = parts;
        self.texts = texts;
        self.apart = parts.keys().cloned().collect();
        parts.into_iter().collect()
    }

    /// Puts the parts back that were sealed apart.
    pub(super) fn restore_parts(&mut self, part: impl Fn(&str) -> Option<String>) {
        for hash in &self.apart {
            self.texts.extend(part(hash).map(|text| (hash.clone(), text)));
        }
    }

    /// The state. `None` if one of its texts is gone or changed.
    pub(super) fn state(&self, kept: &BTreeMap<String, Vec<u8>>) -> Option<Json> {
        let text = |hash: &str| {
            let text = match self.texts.get(hash) {
                Some(text) => text.clone(),
                None => String::from_utf8(kept.get(hash)?.clone()).ok()?,
            };
            (HashedContent::new(text.as_str()).hash == hash).then_some(text)
        };
        unfold(&self.pieces, &text)
    }
}
