//! Late interaction: each piece of a request is compared with each piece of the entries that come
//! first (Khattab and Zaharia, *ColBERT*, 2020).
//!
//! Nearly all the time of a ranking is spent here. So a piece of the catalogue is compared with
//! all pieces of the request at once, and the sentences of a task use what was compared for the
//! whole of it.

use super::documents::DocumentPieces;
use super::kinds::{COVERED, EntryEvidence, NEAR};
use super::query::{MAX_WORDS, QueryPart};
use crate::embedding::PieceVocabulary;

/// Entries whose pieces are compared one by one: those that other evidence puts first.
const CANDIDATES: usize = 256;
/// The most similarities that are held at once, about.
const MAX_SIMILARITIES: usize = 1 << 20;
/// What stands for no column.
const NONE: u32 = u32::MAX;

/// The pieces of a catalogue beside those of a task.
pub(super) struct LateInteraction<'a> {
    documents: &'a DocumentPieces,
    pieces: &'a dyn PieceVocabulary,
    whole: Option<PieceSimilarities>,
}

/// Similarities, sharpened: a row for each column of the vocabulary, a place in it for each piece
/// asked for.
struct PieceSimilarities {
    /// Ascending.
    asked: Vec<u32>,
    columns: VocabularyColumns,
    similarities: Vec<f32>,
}

/// The places of the vocabulary that some entries have, each numbered once.
struct VocabularyColumns {
    /// The number of each place, or [`NONE`].
    of_place: Vec<u32>,
    /// The piece of each column.
    pieces: Vec<u32>,
    /// The place of each column.
    places: Vec<usize>,
}

impl VocabularyColumns {
    fn of(documents: &DocumentPieces, entries: &[usize]) -> Self {
        let (mut of_place, mut pieces, mut places) = (vec![NONE; documents.vocabulary.len()], Vec::new(), Vec::new());
        for (place, _) in entries.iter().flat_map(|entry| documents.entry(*entry)) {
            if let Some((number, known)) = of_place.get_mut(place).zip(documents.vocabulary.get(place))
                && *number == NONE
            {
                *number = u32::try_from(pieces.len()).unwrap_or(NONE);
                pieces.push(known.piece);
                places.push(place);
            }
        }
        Self { of_place, pieces, places }
    }

    fn of_place(&self, place: usize) -> Option<usize> {
        self.of_place.get(place).filter(|number| **number != NONE).map(|number| *number as usize)
    }
}

impl<'a> LateInteraction<'a> {
    pub(super) const fn new(documents: &'a DocumentPieces, pieces: &'a dyn PieceVocabulary) -> Self {
        Self { documents, pieces, whole: None }
    }

    /// Adds how near the request is to the entries that come first, and how much of them it covers.
    ///
    /// The first part must be the whole task.
    pub(super) fn add(
        &mut self,
        all: &mut [EntryEvidence],
        part: &QueryPart,
        first_sum: &dyn Fn(&EntryEvidence) -> f32,
    ) {
        let asked = self.asked(part);
        let candidates = candidates(all, first_sum);
        let columns = VocabularyColumns::of(self.documents, &candidates);
        let mut near = vec![0.0_f32; candidates.len()];
        let mut best = vec![0.0_f32; columns.pieces.len()];
        // A long task times hundreds of entries makes a table of many millions; the sums are the same when a slice
        // of the request at a time is compared.
        let at_once = (MAX_SIMILARITIES / columns.pieces.len().max(1)).max(1);
        let (mut similarities, mut all_weight) = (Vec::new(), 0.0);
        for asked in asked.chunks(at_once) {
            self.compare(asked, &columns, &mut similarities);
            let rows = similarities.chunks_exact(asked.len());
            best.iter_mut().zip(rows).for_each(|(best, row)| *best = row.iter().copied().fold(*best, f32::max));
            let weight = |piece: &u32| self.pieces.weight(*piece) * self.documents.rarity_of(*piece);
            let weights: Vec<f32> = asked.iter().map(weight).collect();
            all_weight = weights.iter().fold(all_weight, |sum, weight| sum + weight);
            let mut most = vec![0.0_f32; asked.len()];
            for (near, entry) in near.iter_mut().zip(&candidates) {
                most.fill(0.0);
                for column in self.documents.entry(*entry).filter_map(|(place, _)| columns.of_place(place)) {
                    let row = row(&similarities, column, asked.len());
                    most.iter_mut().zip(row).for_each(|(most, value)| *most = most.max(*value));
                }
                *near = weights.iter().zip(&most).fold(*near, |near, (weight, most)| near + weight * most);
            }
        }
        for (near, entry) in near.iter().zip(&candidates) {
            let (mut covered, mut whole) = (0.0, 0.0);
            for (place, weight) in self.documents.entry(*entry) {
                whole += weight;
                covered += weight * columns.of_place(place).and_then(|at| best.get(at)).copied().unwrap_or(0.0);
            }
            if let Some(features) = all.get_mut(*entry) {
                put(features, NEAR, *near, all_weight);
                put(features, COVERED, covered, whole);
            }
        }
        // Sentences are made of the whole task's pieces, so that most similarities are known when their turn
        // comes; of a table that was made in slices only the last one is here.
        if self.whole.is_none() && asked.len() <= at_once {
            self.whole = Some(PieceSimilarities { asked, columns, similarities });
        }
    }

    /// The pieces of a request that weigh something, ascending.
    fn asked(&self, part: &QueryPart) -> Vec<u32> {
        let mut asked = self.pieces.cut(&part.text);
        asked.retain(|piece| self.pieces.weight(*piece) > 0.0);
        asked.sort_unstable();
        asked.dedup();
        asked.truncate(MAX_WORDS);
        asked
    }

    /// Writes the sharpened similarity of each column to each piece asked for.
    fn compare(&self, asked: &[u32], columns: &VocabularyColumns, similarities: &mut Vec<f32>) {
        let known = self.whole.as_ref().and_then(|whole| {
            let places = asked.iter().map(|piece| whole.asked.binary_search(piece).ok());
            places.collect::<Option<Vec<usize>>>().map(|places| (whole, places))
        });
        let Some((whole, places)) = known else {
            self.pieces.write_similarities(asked, &columns.pieces, similarities);
            similarities.iter_mut().for_each(|value| *value = sharpened(*value));
            return;
        };
        let old = |place: &usize| whole.columns.of_place(*place);
        let new: Vec<u32> = columns
            .pieces
            .iter()
            .zip(&columns.places)
            .filter(|(_, place)| old(place).is_none())
            .map(|(piece, _)| *piece)
            .collect();
        let mut fresh = Vec::new();
        self.pieces.write_similarities(asked, &new, &mut fresh);
        let mut fresh = fresh.chunks_exact(asked.len().max(1));
        similarities.clear();
        for place in &columns.places {
            match old(place) {
                Some(column) => {
                    let row = row(&whole.similarities, column, whole.asked.len());
                    similarities.extend(places.iter().map(|at| row.get(*at).copied().unwrap_or(0.0)));
                }
                None => similarities.extend(fresh.next().into_iter().flatten().map(|value| sharpened(*value))),
            }
        }
    }
}

fn row(similarities: &[f32], column: usize, length: usize) -> &[f32] {
    let start = column.saturating_mul(length);
    similarities.get(start..start.saturating_add(length)).unwrap_or_default()
}

fn put(features: &mut EntryEvidence, feature: usize, part: f32, whole: f32) {
    if let Some(slot) = features.get_mut(feature) {
        *slot = if whole > 0.0 { part / whole } else { 0.0 };
    }
}

/// A cosine to the fourth power: one of 0.5 is worth 1/16 of an equal piece.
fn sharpened(cosine: f32) -> f32 {
    let square = cosine.max(0.0) * cosine;
    square * square
}

/// The entries that come first by the evidence so far, in order of their places.
fn candidates(all: &[EntryEvidence], first_sum: &dyn Fn(&EntryEvidence) -> f32) -> Vec<usize> {
    if all.len() <= CANDIDATES {
        return (0..all.len()).collect();
    }
    let mut sums: Vec<(f32, usize)> = all.iter().map(first_sum).zip(0..).collect();
    let before = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    sums.select_nth_unstable_by(CANDIDATES, before);
    sums.truncate(CANDIDATES);
    let mut places: Vec<usize> = sums.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    places
}
