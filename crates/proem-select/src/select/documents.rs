//! The pieces of a catalogue's texts, for late interaction.

use std::collections::BTreeSet;

use proem_guard::Untrusted;

use super::arithmetic::idf;
use crate::embedding::Pieces;

/// The pieces of each entry's text.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentPieces {
    /// All pieces that occur, ascending.
    pub(super) vocabulary: Vec<u32>,
    /// How rare each is in the catalogue (idf).
    pub(super) rarity: Vec<f32>,
    /// Positions in the vocabulary, entry by entry.
    pub(super) places: Vec<u32>,
    /// Weight × rarity of each place.
    pub(super) weights: Vec<f32>,
    /// Where each entry's places end.
    pub(super) ends: Vec<usize>,
    /// The rarity of a piece that doesn't occur.
    pub(super) rarest: f32,
}

impl DocumentPieces {
    pub(super) fn of(texts: &[Untrusted<String>], pieces: &dyn Pieces) -> Self {
        let mut entries: Vec<Vec<u32>> = Vec::with_capacity(texts.len());
        for text in texts {
            let mut cut = Vec::new();
            text.measure(|text| cut = pieces.cut(text));
            cut.retain(|piece| pieces.weight(*piece) > 0.0);
            cut.sort_unstable();
            cut.dedup();
            entries.push(cut);
        }
        let vocabulary: Vec<u32> = entries.iter().flatten().copied().collect::<BTreeSet<u32>>().into_iter().collect();
        let mut counts = vec![0_usize; vocabulary.len()];
        let (mut places, mut ends) = (Vec::new(), Vec::with_capacity(entries.len()));
        for entry in &entries {
            for place in entry.iter().filter_map(|piece| vocabulary.binary_search(piece).ok()) {
                if let Some(count) = counts.get_mut(place) {
                    *count = count.saturating_add(1);
                }
                places.push(u32::try_from(place).unwrap_or(u32::MAX));
            }
            ends.push(places.len());
        }
        let rarity: Vec<f32> = counts.iter().map(|count| idf(entries.len(), *count)).collect();
        let weight = |place: &u32| {
            let piece = vocabulary.get(*place as usize).map_or(0.0, |piece| pieces.weight(*piece));
            piece * rarity.get(*place as usize).copied().unwrap_or(0.0)
        };
        let weights = places.iter().map(weight).collect();
        Self { rarest: idf(entries.len(), 0), vocabulary, rarity, places, weights, ends }
    }

    /// How rare a piece is in the catalogue.
    pub(super) fn rarity_of(&self, piece: u32) -> f32 {
        let place = self.vocabulary.binary_search(&piece).ok();
        place.and_then(|place| self.rarity.get(place)).copied().unwrap_or(self.rarest)
    }

    /// The places of an entry, with their weights.
    pub(super) fn entry(&self, entry: usize) -> impl Iterator<Item = (usize, f32)> {
        let start = entry.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        let end = self.ends.get(entry).copied().unwrap_or(start);
        let places = self.places.get(start..end).unwrap_or_default().iter().map(|place| *place as usize);
        places.zip(self.weights.get(start..end).unwrap_or_default().iter().copied())
    }
}
