//! The fuzzer's inputs, as ordinary tests.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop at what it didn't expect, and reads the corpus"
)]

use std::collections::BTreeMap;
use std::path::Path;

use proem_select::catalogue::{Approvals, Catalogue, parse_lines};
use proem_select::select::{
    CatalogueIndex, SelectionWeightSet, Selector, TranslationLexicon, UsageHistory, WordWeights,
};

/// The inputs of one target by name. The fuzzer's may be no text.
fn corpus(target: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inputs: BTreeMap<String, String> = entries
        .filter_map(|path| Some((path.display().to_string(), String::from_utf8(std::fs::read(path).ok()?).ok()?)))
        .collect();
    assert!(inputs.len() >= 12, "{target}: {} inputs", inputs.len());
    inputs
}

#[test]
fn what_selection_reads_is_read_or_refused_and_any_task_is_ranked() {
    let shipped = Selector::shipped().unwrap();
    let mut read = BTreeMap::<char, usize>::new();
    for (name, text) in corpus("select") {
        let mut chars = text.chars();
        let kind = chars.next().unwrap_or('q');
        let rest = chars.as_str();
        let (words, calibrations) = (shipped.words().clone(), shipped.calibrations().clone());
        let (mut selector, mut usage) = (shipped.clone(), UsageHistory::default());
        let accepted = match kind {
            'u' => UsageHistory::parse(rest).map(|table| usage = table),
            'l' => {
                TranslationLexicon::parse(rest).map(|lexicon| selector = Selector::new(lexicon, words, calibrations))
            }
            'w' => WordWeights::parse(rest)
                .map(|words| selector = Selector::new(shipped.lexicon().clone(), words, calibrations)),
            'c' => SelectionWeightSet::parse(rest)
                .map(|read| selector = Selector::new(shipped.lexicon().clone(), words, read)),
            _ => Ok(()),
        };
        *read.entry(kind).or_default() += usize::from(accepted.is_ok());
        let once = UsageHistory::parse(&usage.write()).unwrap();
        assert_eq!(UsageHistory::parse(&once.write()).unwrap().write(), once.write(), "{name}");
        let tools = parse_lines("f", "{\"name\":\"play\",\"description\":\"Plays a song.\"}\n{\"name\":\"weather\"}\n");
        let all = Catalogue::new(tools, &Approvals::default());
        let query = selector.query(rest);
        let index = CatalogueIndex::new(all.entries(), &usage, &selector);
        let ranking = selector.rank(all.entries(), &index, &query, None).unwrap();
        assert_eq!(ranking.ranked.len(), 2, "{name}");
        assert!(ranking.ranked.iter().all(|ranked| (0.0..=1.0).contains(&ranked.probability)), "{name}: {ranking:?}");
    }
    assert!(read.len() == 5 && read.values().all(|accepted| *accepted > 0), "{read:?}");
}
