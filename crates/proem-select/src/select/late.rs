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
/// The mark of a missing column.
const NONE: u32 = u32::MAX;

/// The pieces of a catalogue beside those of a task.
pub(super) struct LateInteraction<'a> {
    documents: &'a DocumentPieces,
    pieces: &'a dyn PieceVocabulary,
    whole: Option<PieceSimilarities>,
}

/// The similarities of a request's pieces.
struct PieceSimilarities {
    /// The pieces asked for, ascending.
    asked: Vec<u32>,
    columns: VocabularyColumns,
    similarities: SimilarityTable,
}

/// Similarities, sharpened: a row for each column of the vocabulary, a place in it for each piece
/// asked for.
#[derive(Default)]
struct SimilarityTable {
    /// How many pieces were asked for.
    width: usize,
    values: Vec<f32>,
}

impl SimilarityTable {
    /// Whether it has a row for each of so many columns.
    const fn has_rows(&self, columns: usize) -> bool {
        self.values.len() == columns.saturating_mul(self.width)
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.width.max(1))
    }

    #[expect(clippy::indexing_slicing, reason = "no table is read that has no row for each of its columns")]
    fn row(&self, column: usize) -> &[f32] {
        let start = column.saturating_mul(self.width);
        &self.values[start..start.saturating_add(self.width)]
    }
}

/// The places of the vocabulary that some entries have, each numbered once.
struct VocabularyColumns {
    /// The number of each place, or [`NONE`].
    of_place: Vec<u32>,
    all: Vec<VocabularyColumn>,
}

/// A place of the vocabulary that is compared.
struct VocabularyColumn {
    place: usize,
    /// The piece that is there.
    piece: u32,
    /// Its greatest similarity to a piece asked for, so far.
    best: f32,
}

impl VocabularyColumns {
    fn of(documents: &DocumentPieces, candidates: &[Candidate]) -> Self {
        let (mut of_place, mut all) = (vec![NONE; documents.vocabulary.len()], Vec::new());
        for (place, _) in candidates.iter().flat_map(|candidate| documents.entry(candidate.entry)) {
            if let Some((number, known)) = of_place.get_mut(place).zip(documents.vocabulary.get(place))
                && *number == NONE
            {
                *number = u32::try_from(all.len()).unwrap_or(NONE);
                all.push(VocabularyColumn { place, piece: known.piece, best: 0.0 });
            }
        }
        Self { of_place, all }
    }

    /// The number of the column of a place.
    fn of_place(&self, place: usize) -> Option<usize> {
        self.of_place.get(place).filter(|number| **number != NONE).map(|number| *number as usize)
    }

    fn at(&self, place: usize) -> Option<&VocabularyColumn> {
        self.all.get(self.of_place(place)?)
    }
}

/// An entry whose pieces are compared.
struct Candidate {
    /// Its place in the catalogue.
    entry: usize,
    /// How near the request is to it, so far.
    near: f32,
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
        let mut candidates = candidates(all, first_sum);
        let mut columns = VocabularyColumns::of(self.documents, &candidates);
        // A long task times hundreds of entries makes a table of many millions. The sums are the same when a slice of
        // the request at a time is compared.
        let at_once = (MAX_SIMILARITIES / columns.all.len().max(1)).max(1);
        let (mut similarities, mut all_weight) = (SimilarityTable::default(), 0.0);
        for asked in asked.chunks(at_once) {
            self.compare(asked, &columns, &mut similarities);
            // Numbers that don't fill the table can't be told apart, so none of them counts.
            if !similarities.has_rows(columns.all.len()) {
                return;
            }
            for (column, row) in columns.all.iter_mut().zip(similarities.rows()) {
                column.best = row.iter().copied().fold(column.best, f32::max);
            }
            let weight = |piece: &u32| self.pieces.weight(*piece) * self.documents.rarity_of(*piece);
            let weights: Vec<f32> = asked.iter().map(weight).collect();
            all_weight = weights.iter().fold(all_weight, |sum, weight| sum + weight);
            let mut most = vec![0.0_f32; asked.len()];
            for candidate in &mut candidates {
                most.fill(0.0);
                for column in self.documents.entry(candidate.entry).filter_map(|(place, _)| columns.of_place(place)) {
                    most.iter_mut().zip(similarities.row(column)).for_each(|(most, value)| *most = most.max(*value));
                }
                candidate.near =
                    weights.iter().zip(&most).fold(candidate.near, |near, (weight, most)| near + weight * most);
            }
        }
        for candidate in &candidates {
            let (mut covered, mut whole) = (0.0, 0.0);
            for (place, weight) in self.documents.entry(candidate.entry) {
                whole += weight;
                covered += weight * columns.at(place).map_or(0.0, |column| column.best);
            }
            if let Some(features) = all.get_mut(candidate.entry) {
                put_share(features, NEAR, candidate.near, all_weight);
                put_share(features, COVERED, covered, whole);
            }
        }
        // Sentences are made of the whole task's pieces, so that most similarities are known when their turn comes. Of
        // a table that was made in slices only the last one is here.
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
    #[expect(
        clippy::indexing_slicing,
        reason = "the places are those of `whole.asked`, which has one for each of a row"
    )]
    fn compare(&self, asked: &[u32], columns: &VocabularyColumns, similarities: &mut SimilarityTable) {
        similarities.width = asked.len();
        let values = &mut similarities.values;
        let known = self.whole.as_ref().and_then(|whole| {
            let places = asked.iter().map(|piece| whole.asked.binary_search(piece).ok());
            places.collect::<Option<Vec<usize>>>().map(|places| (whole, places))
        });
        let Some((whole, places)) = known else {
            let pieces: Vec<u32> = columns.all.iter().map(|column| column.piece).collect();
            self.pieces.write_similarities(asked, &pieces, values);
            values.iter_mut().for_each(|value| *value = sharpen_cosine(*value));
            return;
        };
        let new = columns.all.iter().filter(|column| whole.columns.of_place(column.place).is_none());
        let new: Vec<u32> = new.map(|column| column.piece).collect();
        let mut fresh = Vec::new();
        self.pieces.write_similarities(asked, &new, &mut fresh);
        let mut fresh = fresh.chunks_exact(asked.len().max(1));
        values.clear();
        for column in &columns.all {
            match whole.columns.of_place(column.place) {
                Some(known) => {
                    let row = whole.similarities.row(known);
                    values.extend(places.iter().map(|at| row[*at]));
                }
                None => values.extend(fresh.next().into_iter().flatten().map(|value| sharpen_cosine(*value))),
            }
        }
    }
}

fn put_share(features: &mut EntryEvidence, feature: usize, part: f32, whole: f32) {
    if let Some(slot) = features.get_mut(feature) {
        *slot = if whole > 0.0 { part / whole } else { 0.0 };
    }
}

/// A cosine to the fourth power: one of 0.5 is worth 1/16 of an equal piece.
fn sharpen_cosine(cosine: f32) -> f32 {
    let square = cosine.max(0.0) * cosine;
    square * square
}

/// The entries that come first by the evidence so far, in order of their places.
fn candidates(all: &[EntryEvidence], first_sum: &dyn Fn(&EntryEvidence) -> f32) -> Vec<Candidate> {
    let candidate = |entry: usize| Candidate { entry, near: 0.0 };
    if all.len() <= CANDIDATES {
        return (0..all.len()).map(candidate).collect();
    }
    let mut sums: Vec<(f32, usize)> = all.iter().map(first_sum).zip(0..).collect();
    let before = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    sums.select_nth_unstable_by(CANDIDATES, before);
    sums.truncate(CANDIDATES);
    let mut places: Vec<usize> = sums.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    places.into_iter().map(candidate).collect()
}
