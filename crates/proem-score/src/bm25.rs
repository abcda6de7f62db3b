//! Okapi BM25 over documents given as term ids.
//!
//! `score(d, q) = Σ weight(t) · idf(t) · w / (w + k1 · (1 − b + b · |d| / avg))` over the query's
//! terms `t`, where `w` is the term's weight in the document, `|d|` the sum of a document's
//! weights and `avg` its mean over all documents (Robertson and Zaragoza, *The Probabilistic
//! Relevance Framework: BM25 and Beyond*, 2009, section 3). The constant factor `k1 + 1` is left
//! out and `bm25_idf(t) = ln(1 + (N − n + 0.5) / (n + 0.5))` never becomes negative, both as Lucene's
//! `BM25Similarity` has it. So one term adds at most its query weight × idf.
//!
//! Invariants: a score is finite and not negative. A query's further term never lowers one.

use alloc::{vec, vec::Vec};

/// The greatest weight of a term in a document or query. A greater one counts as this.
pub const MAX_WEIGHT: f32 = 1.0e6;

/// The two free parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25Parameters {
    /// How slowly repetition saturates, 0 or more: with 0, a term is there or not.
    pub k1: f32,
    /// How much a long document is discounted, 0 to 1.
    pub b: f32,
}

impl Default for Bm25Parameters {
    /// k1 = 1.2 and b = 0.75, the values that Lucene ships.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// One term in one document.
#[derive(Debug, Clone, Copy)]
struct TermOccurrence {
    term: u64,
    document: u32,
    weight: f32,
}

/// Collects documents.
#[derive(Debug, Clone)]
pub struct IndexBuilder {
    parameters: Bm25Parameters,
    entries: Vec<TermOccurrence>,
    lengths: Vec<f64>,
}

impl IndexBuilder {
    /// Starts without documents. A parameter outside its range is brought to the nearest value inside. One that is not
    /// a number becomes the default.
    #[must_use]
    pub fn new(parameters: Bm25Parameters) -> Self {
        let or = |value: f32, default: f32| if value.is_nan() { default } else { value };
        let Bm25Parameters { k1, b } = Bm25Parameters::default();
        let parameters =
            Bm25Parameters { k1: or(parameters.k1, k1).clamp(0.0, MAX_WEIGHT), b: or(parameters.b, b).clamp(0.0, 1.0) };
        Self { parameters, entries: Vec::new(), lengths: Vec::new() }
    }

    /// Adds a document and returns its number, counted from 0.
    ///
    /// A term's weight is its frequency, weighted by where it is. A term that comes twice has the sum of both weights.
    /// A weight that is not a number, or not above 0, is left out. Documents after the first 2³² − 1 are counted, but
    /// never found.
    pub fn add(&mut self, terms: &[(u64, f32)]) -> usize {
        let number = self.lengths.len();
        let mut length = 0.0;
        if let Ok(document) = u32::try_from(number) {
            self.entries.reserve(terms.len());
            for (term, weight) in terms.iter().filter_map(|&(term, weight)| Some((term, usable(weight)?))) {
                length += f64::from(weight);
                self.entries.push(TermOccurrence { term, document, weight });
            }
        }
        self.lengths.push(length);
        number
    }

    /// Makes the index.
    #[must_use]
    pub fn build(mut self) -> Index {
        // Stable, so that the weights of one term in one document are summed in the order given.
        self.entries.sort_by_key(|entry| (entry.term, entry.document));
        self.entries.dedup_by(|next, first| {
            let same = (next.term, next.document) == (first.term, first.document);
            if same {
                first.weight = (first.weight + next.weight).min(MAX_WEIGHT);
            }
            same
        });
        #[expect(clippy::cast_precision_loss, reason = "a count of documents is far below 2⁵³")]
        let count = self.lengths.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / count.max(1.0);
        let mut index = Index { documents: self.lengths.len(), terms: Vec::new(), postings: Vec::new() };
        index.postings.reserve_exact(self.entries.len());
        for entries in self.entries.chunk_by(|a, b| a.term == b.term) {
            let Some(first) = entries.first() else { continue };
            let start = index.postings.len();
            let idf = bm25_idf(index.documents, entries.len());
            for entry in entries {
                let length = self.lengths.get(entry.document as usize).copied().unwrap_or_default();
                let saturated = saturate(self.parameters, entry.weight, length, average);
                #[expect(clippy::cast_possible_truncation, reason = "idf is at most 45, the other factor at most 1")]
                let impact = (idf * saturated) as f32;
                index.postings.push(Posting { document: entry.document, impact });
            }
            index.terms.push(TermPostings { id: first.term, start, end: index.postings.len() });
        }
        index
    }
}

/// A weight that counts.
fn usable(weight: f32) -> Option<f32> {
    (weight > 0.0).then(|| weight.min(MAX_WEIGHT))
}

/// The part of a term's score that depends on the document, 0 to 1.
fn saturate(parameters: Bm25Parameters, weight: f32, length: f64, average: f64) -> f64 {
    let (k1, b, weight) = (f64::from(parameters.k1), f64::from(parameters.b), f64::from(weight));
    // A document with a term has a length, so the average is above 0 here.
    weight / (weight + k1 * (1.0 - b + b * length / average))
}

/// How much a term says that `containing` of `documents` documents have.
#[expect(clippy::cast_precision_loss, reason = "counts of documents are far below 2⁵³")]
fn bm25_idf(documents: usize, containing: usize) -> f64 {
    let rest = documents.saturating_sub(containing) as f64;
    libm::log(1.0 + (rest + 0.5) / (containing as f64 + 0.5))
}

/// The place of a term's postings.
#[derive(Debug, Clone, Copy)]
struct TermPostings {
    id: u64,
    start: usize,
    end: usize,
}

/// The contribution of one occurrence of a term in a query to a document's score.
#[derive(Debug, Clone, Copy)]
struct Posting {
    document: u32,
    impact: f32,
}

/// Documents, ready to be scored.
#[derive(Debug, Clone)]
pub struct Index {
    documents: usize,
    /// Sorted by id.
    terms: Vec<TermPostings>,
    /// Term by term, sorted by document within each.
    postings: Vec<Posting>,
}

impl Index {
    /// How many documents there are.
    #[must_use]
    pub const fn documents(&self) -> usize {
        self.documents
    }

    /// One score for each document, in their order; 0 where no term of the query occurs.
    ///
    /// A term that comes twice counts twice. A weight that is not a number, or not above 0, is
    /// left out.
    #[must_use]
    pub fn score(&self, query: &[(u64, f32)]) -> Vec<f32> {
        let mut scores = Vec::new();
        self.score_into(query, &mut scores);
        scores
    }

    /// Like [`Self::score`], into a buffer that is emptied first.
    pub fn score_into(&self, query: &[(u64, f32)], scores: &mut Vec<f32>) {
        scores.clear();
        scores.resize(self.documents, 0.0);
        for &(term, weight) in query {
            let Some(weight) = usable(weight) else { continue };
            for posting in self.postings(term) {
                if let Some(score) = scores.get_mut(posting.document as usize) {
                    *score += weight * posting.impact;
                }
            }
        }
    }

    /// The inverse document frequency of a term, above 0. A term of no document has the greatest.
    #[must_use]
    pub fn idf(&self, term: u64) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a count is at most 45")]
        let idf = bm25_idf(self.documents, self.postings(term).len()) as f32;
        idf
    }

    /// How many documents have a term.
    #[must_use]
    pub fn documents_with(&self, term: u64) -> usize {
        self.postings(term).len()
    }

    /// The documents that have a term, ascending.
    pub fn documents_of(&self, term: u64) -> impl Iterator<Item = usize> {
        self.postings(term).iter().map(|posting| posting.document as usize)
    }

    fn postings(&self, term: u64) -> &[Posting] {
        let found = self.terms.binary_search_by_key(&term, |known| known.id).ok();
        let term = found.and_then(|at| self.terms.get(at));
        term.and_then(|term| self.postings.get(term.start..term.end)).unwrap_or_default()
    }
}

impl Default for Index {
    /// An index without documents.
    fn default() -> Self {
        Self { documents: 0, terms: vec![], postings: vec![] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(documents: &[&[(u64, f32)]]) -> Index {
        let mut builder = IndexBuilder::new(Bm25Parameters::default());
        for (number, document) in documents.iter().enumerate() {
            assert_eq!(builder.add(document), number);
        }
        builder.build()
    }

    fn check(documents: &[&[(u64, f32)]], query: &[(u64, f32)], expected: &[f32]) {
        let scores = index(documents).score(query);
        assert_eq!(scores.len(), expected.len());
        for (score, expected) in scores.iter().zip(expected) {
            assert!((score - expected).abs() < 1e-6, "{documents:?} {query:?}: {scores:?}");
        }
    }

    #[test]
    fn scores_as_the_formula_says() {
        // Two documents of lengths 1 and 3, average 2, so K is 1.2 × (0.25 + 0.75 × length / 2).
        let documents: &[&[(u64, f32)]] = &[&[(1, 1.0)], &[(1, 2.0), (2, 1.0)]];
        let (both, one) = (1.2_f32.ln(), 2.0_f32.ln());
        check(documents, &[(1, 1.0)], &[both / (1.0 + 0.75), both * 2.0 / (2.0 + 1.65)]);
        check(documents, &[(2, 1.0)], &[0.0, one / (1.0 + 1.65)]);
        check(documents, &[(2, 3.0)], &[0.0, 3.0 * one / (1.0 + 1.65)]);
        check(documents, &[(2, 1.0), (2, 1.0)], &[0.0, 2.0 * one / (1.0 + 1.65)]);
        check(documents, &[(9, 1.0)], &[0.0, 0.0]);
        check(documents, &[], &[0.0, 0.0]);
    }

    #[test]
    fn a_term_that_comes_twice_in_a_document_is_one_of_their_sum() {
        check(
            &[&[(7, 1.0), (7, 1.0)], &[(8, 1.0)]],
            &[(7, 1.0)],
            &index(&[&[(7, 2.0)], &[(8, 1.0)]]).score(&[(7, 1.0)]),
        );
        assert_eq!(index(&[&[(7, 1.0), (7, 1.0)]]).documents_with(7), 1);
    }

    #[test]
    fn nothing_to_find_is_no_error() {
        check(&[], &[(1, 1.0)], &[]);
        check(&[&[], &[]], &[(1, 1.0)], &[0.0, 0.0]);
        assert_eq!(Index::default().score(&[(1, 1.0)]), Vec::<f32>::new());
        assert_eq!(Index::default().documents(), 0);
    }

    #[test]
    fn a_weight_that_is_no_number_or_not_positive_is_left_out() {
        let bad = [f32::NAN, f32::NEG_INFINITY, -1.0, 0.0, -0.0];
        for weight in bad {
            check(&[&[(1, weight), (2, 1.0)]], &[(1, 1.0)], &[0.0]);
            check(&[&[(1, 1.0)]], &[(1, weight)], &[0.0]);
        }
        for weight in [f32::INFINITY, f32::MAX] {
            let scores = index(&[&[(1, weight)], &[(1, 1.0)]]).score(&[(1, weight)]);
            assert!(scores.iter().all(|score| score.is_finite() && *score > 0.0), "{scores:?}");
        }
    }

    #[test]
    fn a_strange_parameter_is_brought_into_its_range() {
        let score = |k1: f32, b: f32| {
            let mut builder = IndexBuilder::new(Bm25Parameters { k1, b });
            builder.add(&[(1, 2.0)]);
            builder.add(&[(1, 1.0), (2, 5.0)]);
            builder.build().score(&[(1, 1.0)])
        };
        assert_eq!(score(-1.0, -1.0), score(0.0, 0.0));
        assert_eq!(score(f32::NAN, f32::NAN), score(1.2, 0.75));
        assert_eq!(score(1.0, 9.0), score(1.0, 1.0));
        assert!(score(f32::INFINITY, 1.0).iter().all(|score| score.is_finite()));
    }

    #[test]
    fn a_rarer_term_says_more_and_an_unknown_one_most() {
        let index = index(&[&[(1, 1.0), (2, 1.0)], &[(1, 1.0)], &[(1, 1.0)]]);
        assert!(index.idf(1) > 0.0 && index.idf(2) > index.idf(1) && index.idf(3) > index.idf(2));
        assert!((index.idf(3) - 8.0_f32.ln()).abs() < 1e-6);
    }
}
