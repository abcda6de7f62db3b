//! Any table of usage, lexicon, file of weights or task: it is read or refused, and any task is ranked.
//!
//! The first character says what the rest is.

use std::sync::LazyLock;

use proem_select::catalogue::{Approvals, Catalogue, parse_lines};
use proem_select::select::{
    CatalogueIndex, MAX_PARTS, SelectionWeightSet, Selector, TranslationLexicon, UsageHistory, WordWeights,
};

static SELECTOR: LazyLock<Selector> = LazyLock::new(|| Selector::shipped().expect("as shipped"));

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let mut chars = text.chars();
    let kind = chars.next().unwrap_or('q');
    let rest = chars.as_str();
    match kind {
        'u' => {
            if let Ok(usage) = UsageHistory::parse(rest) {
                let once = UsageHistory::parse(&usage.write()).expect("as written");
                assert_eq!(UsageHistory::parse(&once.write()).expect("as written").write(), once.write());
                rank(&SELECTOR, &usage, "play a song");
            }
        }
        'l' => {
            if let Ok(lexicon) = TranslationLexicon::parse(rest) {
                let selector = Selector::new(lexicon, SELECTOR.words().clone(), SELECTOR.calibrations().clone());
                rank(&selector, &UsageHistory::default(), rest);
            }
        }
        'w' => {
            if let Ok(words) = WordWeights::parse(rest) {
                let selector = Selector::new(SELECTOR.lexicon().clone(), words, SELECTOR.calibrations().clone());
                rank(&selector, &UsageHistory::default(), rest);
            }
        }
        'c' => {
            if let Ok(calibrations) = SelectionWeightSet::parse(rest) {
                let selector = Selector::new(SELECTOR.lexicon().clone(), SELECTOR.words().clone(), calibrations);
                rank(&selector, &UsageHistory::default(), "play a song");
            }
        }
        _ => rank(&SELECTOR, &UsageHistory::default(), rest),
    }
}

fn rank(selector: &Selector, usage: &UsageHistory, task: &str) {
    let tools = "{\"name\":\"play\",\"description\":\"Plays a song.\"}\n{\"name\":\"weather\"}\n";
    let all = Catalogue::new(parse_lines("f", tools), &Approvals::default());
    let query = selector.query(task);
    assert!((1..=MAX_PARTS).contains(&query.texts().len()));
    let ranking = selector
        .rank(all.entries(), &CatalogueIndex::new(all.entries(), usage, selector), &query, None)
        .expect("by words");
    assert_eq!(ranking.ranked.len(), 2);
    assert!(ranking.ranked.iter().all(|ranked| (0.0..=1.0).contains(&ranked.probability)), "{:?}", ranking.ranked);
}
