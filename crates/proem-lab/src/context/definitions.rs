//! The definitions of a case's best files, and which of them it changed.

use std::collections::BTreeSet;

use proem_runtime::context::ContextTree;
use proem_select::context::{ContextWeights, Corpus, DefinitionSource, FilePurpose, FileRecord, FileSignals};

use super::cases::{Case, Clone};

/// Of how many of the best files definitions are looked at.
const DEFINING_FILES: usize = 12;

/// The known facts about one case.
#[derive(Clone, Copy)]
pub(super) struct CaseLook<'t> {
    pub(super) case: &'t Case,
    pub(super) tree: &'t ContextTree,
    pub(super) corpus: &'t Corpus<'t>,
    pub(super) signals: &'t [FileSignals],
    pub(super) weights: &'t ContextWeights,
}

/// A file and a definition in it, by their places.
pub(super) type DefinitionPlace = (usize, usize);

pub(super) fn weighted_score(weights: &[f32], signals: &FileSignals) -> f64 {
    weights.iter().zip(signals).map(|(weight, signal)| f64::from(*weight) * f64::from(*signal)).sum()
}

/// The result of `use_them` for the definitions of the best files and the functions that the case changed. `None` if it
/// changed none, or if the clone lacks the data.
pub(super) fn with_definitions<T>(
    clone: &Clone,
    look: &CaseLook<'_>,
    use_them: impl FnOnce(&[DefinitionSource<'_>], &BTreeSet<DefinitionPlace>) -> T,
) -> Result<Option<T>, String> {
    let CaseLook { case, tree, corpus, signals, weights } = *look;
    // A clone may lack a large file; what its lines are is unknown then, and the case counts for its files alone.
    let Ok(changed) = clone.changed_lines(case) else { return Ok(None) };
    let mut wanted: BTreeSet<DefinitionPlace> = BTreeSet::new();
    for (place, file) in corpus.files.iter().enumerate().filter(|(_, file)| case.answers.contains(file.path)) {
        let symbols = file.record.map(FileRecord::symbols).unwrap_or_default();
        for lines in changed.iter().filter(|lines| lines.path == file.path) {
            let symbols = symbols.iter().enumerate();
            let inside = symbols.filter(|(_, symbol)| symbol.kind.runs() && lines.lie_in(symbol.lines));
            wanted.extend(inside.map(|(at, _)| (place, at)));
        }
    }
    if wanted.is_empty() {
        return Ok(None);
    }
    let of = |place: usize| signals.get(place).map_or(0.0, |signals| weighted_score(&weights.all, signals));
    let mut places: Vec<usize> = (0..corpus.files.len())
        .filter(|place| corpus.files.get(*place).is_some_and(|file| file.used_for == FilePurpose::Code))
        .collect();
    places.sort_by(|a, b| of(*b).total_cmp(&of(*a)).then(a.cmp(b)));
    let scores: Vec<f64> = places.iter().map(|place| of(*place)).collect();
    let most = scores.first().copied().unwrap_or(0.0);
    let above = most + scores.iter().map(|score| libm::exp(score - most)).sum::<f64>().ln();
    places.truncate(DEFINING_FILES);
    let contents = clone.reader.contents(tree, &places).map_err(|error| error.to_string())?;
    let sources: Vec<DefinitionSource<'_>> = places
        .iter()
        .filter_map(|place| {
            let probability = weights.probability_above(of(*place) - above);
            let record = corpus.files.get(*place)?.record?;
            Some(DefinitionSource { file: *place, probability, record, content: contents.get(place)?, lines: &[] })
        })
        .collect();
    Ok(Some(use_them(&sources, &wanted)))
}
