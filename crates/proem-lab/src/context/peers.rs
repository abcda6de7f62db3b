//! The alternatives of a user: plain BM25, counting lines, and a ranking of the graph of definitions and references.

use std::collections::BTreeMap;

use proem_select::context::words::term_of_name;
use proem_select::context::{ContextTask, Corpus, FilePurpose};

/// How much of a file's rank it hands on (Page, Brin, Motwani and Winograd, 1999).
const DAMPING: f64 = 0.85;
const ROUNDS: usize = 25;

/// A name that more files define is a word of the language.
const MOST_DEFINERS: usize = 5;

/// Ranks files as aider's map of a repository does: files refer to the definers of the names that they use, names of the
/// task weigh ten times as much, and rank starts at files whose path has a word of the task.
pub(super) fn page_rank(corpus: &Corpus<'_>, task: &ContextTask) -> Vec<f64> {
    let files = corpus.files.len();
    let mut definers: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, file) in corpus.files.iter().enumerate().filter(|(_, file)| file.used_for == FilePurpose::Code) {
        for symbol in file.record.iter().flat_map(|record| record.symbols()) {
            if let Some(term) = term_of_name(&symbol.name) {
                let list = definers.entry(term).or_default();
                if list.last() != Some(&place) {
                    list.push(place);
                }
            }
        }
    }
    definers.retain(|_, list| list.len() <= MOST_DEFINERS);
    let asked = |term: u32| task.terms.binary_search_by_key(&term, |query| query.term).is_ok();
    let mut edges: Vec<Vec<(usize, f64)>> = vec![Vec::new(); files];
    for (list, file) in edges.iter_mut().zip(&corpus.files) {
        for count in file.record.iter().flat_map(|record| record.terms()).filter(|count| count.code > 0) {
            let Some(to) = definers.get(&count.term) else { continue };
            let weight = f64::from(count.code).sqrt() * if asked(count.term) { 10.0 } else { 1.0 };
            list.extend(to.iter().map(|to| (*to, weight)));
        }
        let sum: f64 = list.iter().map(|(_, weight)| weight).sum();
        list.iter_mut().for_each(|(_, weight)| *weight /= sum.max(1e-9));
    }
    let start = start_distribution(corpus, task);
    let mut rank = start.clone();
    for _ in 0..ROUNDS {
        let mut next: Vec<f64> = start.iter().map(|start| start * (1.0 - DAMPING)).collect();
        for (list, rank) in edges.iter().zip(&rank) {
            for (to, weight) in list {
                if let Some(slot) = next.get_mut(*to) {
                    *slot += DAMPING * rank * weight;
                }
            }
        }
        rank = next;
    }
    rank
}

fn start_distribution(corpus: &Corpus<'_>, task: &ContextTask) -> Vec<f64> {
    let mut start: Vec<f64> = corpus
        .files
        .iter()
        .map(|file| {
            let mut hits = 0_u32;
            proem_select::context::words::each_word(file.path.as_bytes(), &mut |term, _| {
                hits += u32::from(task.terms.binary_search_by_key(&term, |query| query.term).is_ok());
            });
            0.01 + f64::from(hits)
        })
        .collect();
    let sum: f64 = start.iter().sum();
    start.iter_mut().for_each(|value| *value /= sum.max(1e-9));
    start
}
