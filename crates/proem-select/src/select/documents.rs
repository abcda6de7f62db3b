//! The pieces of a catalogue's texts, for late interaction.

use std::collections::BTreeMap;

use proem_guard::Untrusted;

use super::arithmetic::inverse_document_frequency;
use crate::embedding::PieceVocabulary;

/// The pieces of each entry's text.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentPieces {
    /// All pieces that occur, ascending.
    pub(super) vocabulary: Vec<Known>,
    /// Entry by entry.
    held: Vec<Held>,
    /// The end of each entry's pieces.
    ends: Vec<usize>,
    /// The rarity of a piece that doesn't occur.
    rarest: f32,
}

/// A piece that occurs in a catalogue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) piece: u32,
    /// How rare it is in the catalogue (idf).
    rarity: f32,
}

/// A piece of one entry's text.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Its position in the vocabulary.
    place: u32,
    /// Its weight × rarity.
    weight: f32,
}

impl DocumentPieces {
    pub(super) fn of(texts: &[Untrusted<String>], pieces: &dyn PieceVocabulary) -> Self {
        let mut entries: Vec<Vec<u32>> = Vec::with_capacity(texts.len());
        for text in texts {
            let mut cut = Vec::new();
            text.measure(|text| cut = pieces.cut(text));
            cut.retain(|piece| pieces.weight(*piece) > 0.0);
            cut.sort_unstable();
            cut.dedup();
            entries.push(cut);
        }
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for piece in entries.iter().flatten() {
            let count = counts.entry(*piece).or_default();
            *count = count.saturating_add(1);
        }
        let known =
            |(piece, count): (u32, usize)| Known { piece, rarity: inverse_document_frequency(entries.len(), count) };
        let vocabulary: Vec<Known> = counts.into_iter().map(known).collect();
        let (mut held, mut ends) = (Vec::new(), Vec::with_capacity(entries.len()));
        for entry in &entries {
            held.extend(entry.iter().filter_map(|piece| {
                let place = vocabulary.binary_search_by_key(piece, |known| known.piece).ok()?;
                let weight = pieces.weight(*piece) * vocabulary.get(place)?.rarity;
                Some(Held { place: u32::try_from(place).ok()?, weight })
            }));
            ends.push(held.len());
        }
        Self { rarest: inverse_document_frequency(entries.len(), 0), vocabulary, held, ends }
    }

    /// How rare a piece is in the catalogue.
    pub(super) fn rarity_of(&self, piece: u32) -> f32 {
        let place = self.vocabulary.binary_search_by_key(&piece, |known| known.piece).ok();
        place.and_then(|place| self.vocabulary.get(place)).map_or(self.rarest, |known| known.rarity)
    }

    /// The places of an entry's pieces in the vocabulary, with their weights.
    pub(super) fn entry(&self, entry: usize) -> impl Iterator<Item = (usize, f32)> {
        let start = entry.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        let end = self.ends.get(entry).copied().unwrap_or(start);
        let held = self.held.get(start..end).unwrap_or_default();
        held.iter().map(|held| (held.place as usize, held.weight))
    }
}
