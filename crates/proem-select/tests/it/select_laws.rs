//! Laws of selection: what holds for any task and any catalogue.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use std::collections::BTreeMap;

use crate::hashed::{Hashed, catalogue, rank, ranking_lines, selector};
use proem_select::catalogue::{Catalogue, EmbeddingScope, Manifest, vectorise};
use proem_select::embedding::Embedder as _;
use proem_select::select::{CapabilityUsage, CatalogueIndex, RankedEntry, Ranking, Selector, UsageHistory, usage_key};
use proptest::prelude::*;

/// Words that meet often, in several languages, and anything else.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        12 => prop::sample::select(vec!["weather", "rain", "invoice", "fatura", "Rechnung", "the", "o", "der", "send", "flight", "a.b", "\n", "."]).prop_map(str::to_owned),
        2 => any::<String>(),
        1 => "[a-z]{1,12}",
    ];
    prop::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
}

fn tools() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map("[a-e]{1,3}", text(), 0..8).prop_map(|tools| tools.into_iter().collect())
}

fn catalogue_of_tools(tools: &[(String, String)]) -> Catalogue {
    catalogue(tools.iter().map(|(name, description)| (name.as_str(), description.as_str())))
}

fn model() -> Hashed {
    Hashed::new("m", 16)
}

/// Names and the bits of probabilities, in order.
fn ranking_bits(catalogue: &Catalogue, ranking: &Ranking) -> Vec<(String, u32)> {
    let name = |entry: usize| catalogue.entries()[entry].name().as_str().to_owned();
    ranking.ranked.iter().map(|ranked| (name(ranked.entry), ranked.probability.to_bits())).collect()
}

fn used_for(selector: &Selector, catalogue: &Catalogue, place: usize, requests: &[String]) -> UsageHistory {
    let mut usage = UsageHistory::default();
    let mut used = CapabilityUsage::default();
    for request in requests {
        let query = selector.query(request);
        let vector = selector.embed(&query, &model()).unwrap().swap_remove(0);
        used.add(&query, vector.as_ref());
    }
    usage.add(usage_key(&catalogue.entries()[place]), &used);
    usage
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_entry_is_ranked_once_by_probability_then_name(tools in tools(), task in text(), meaning in any::<bool>()) {
        let (selector, all, model) = (selector(&["m"]), catalogue_of_tools(&tools), model());
        let ranking = rank(&selector, &all, &UsageHistory::default(), meaning.then_some(&model), &task);
        let mut entries: Vec<usize> = ranking.ranked.iter().map(|ranked| ranked.entry).collect();
        entries.sort_unstable();
        prop_assert_eq!(entries, (0..all.entries().len()).collect::<Vec<_>>());
        for ranked in &ranking.ranked {
            prop_assert!((0.0..=1.0).contains(&ranked.probability), "{:?}", ranked);
            prop_assert!(ranked.features.iter().all(|feature| feature.is_finite()), "{:?}", ranked);
        }
        let name = |entry: usize| all.entries()[entry].name();
        let order = |a: &RankedEntry, b: &RankedEntry| {
            b.probability.total_cmp(&a.probability).then_with(|| name(a.entry).cmp(name(b.entry))).is_lt()
        };
        prop_assert!(ranking.ranked.is_sorted_by(order));
        prop_assert_eq!(ranking.degraded.is_none(), meaning);
        let again = rank(&selector, &all, &UsageHistory::default(), meaning.then_some(&model), &task);
        prop_assert_eq!(ranking, again);
    }

    #[test]
    fn the_order_in_which_entries_are_written_does_not_matter(tools in tools(), task in text(), by in any::<prop::sample::Index>()) {
        let (selector, model) = (selector(&["m"]), model());
        let mut turned = tools.clone();
        turned.rotate_left(by.index(tools.len().max(1)).min(tools.len()));
        turned.reverse();
        let (a, b) = (catalogue_of_tools(&tools), catalogue_of_tools(&turned));
        let ranking = |all: &Catalogue| rank(&selector, all, &UsageHistory::default(), Some(&model), &task);
        prop_assert_eq!(ranking_bits(&a, &ranking(&a)), ranking_bits(&b, &ranking(&b)));
    }

    #[test]
    fn a_stored_vector_ranks_as_a_fresh_one(tools in tools(), task in text()) {
        let (selector, all, model) = (selector(&["m"]), catalogue_of_tools(&tools), model());
        let mut manifest = Manifest::default();
        manifest.update(&all);
        vectorise(&mut manifest, &all, &model, EmbeddingScope::Missing, &mut |_, _| {}).unwrap();
        let manifest = Manifest::read(&manifest.write()).unwrap();
        let mut index = CatalogueIndex::new(all.entries(), &UsageHistory::default(), &selector);
        // An embedder that fails shows that no vector is made again.
        let asleep = Hashed::asleep("m");
        let none = BTreeMap::new();
        let stored = manifest.vectors(model.model()).unwrap_or(&none);
        index.embed(all.entries(), &asleep, Some(stored)).unwrap();
        let cached = ranking_lines(&selector, &all, &index, &model, &selector.query(&task)).unwrap();
        prop_assert_eq!(cached, rank(&selector, &all, &UsageHistory::default(), Some(&model), &task));
    }

    #[test]
    fn usage_of_one_tool_leaves_the_text_evidence_of_all(tools in tools(), task in text(), requests in prop::collection::vec(text(), 1..5)) {
        let (selector, all, model) = (selector(&["m"]), catalogue_of_tools(&tools), model());
        prop_assume!(!all.entries().is_empty());
        let usage = used_for(&selector, &all, 0, &requests);
        let query = selector.query(&task);
        let evidence = |usage: &UsageHistory| selector.evidence(&CatalogueIndex::new(all.entries(), usage, &selector), &query, None);
        for (place, (without, with)) in evidence(&UsageHistory::default()).iter().zip(evidence(&usage)).enumerate() {
            prop_assert_eq!(&without[..6], &with[..6]);
            if place > 0 {
                prop_assert_eq!(without[8].to_bits(), with[8].to_bits());
                prop_assert_eq!(with[6], 0.0);
            }
        }
        // With meaning too, the tools without usage have no evidence of usage.
        let ranking = rank(&selector, &all, &usage, Some(&model), &task);
        for ranked in ranking.ranked.iter().filter(|ranked| ranked.entry > 0) {
            prop_assert_eq!(&ranked.features[6..], [0.0; 3].as_slice());
        }
    }

    #[test]
    fn usage_is_read_as_it_was_written(tools in tools(), requests in prop::collection::vec(text(), 1..5)) {
        let (selector, all) = (selector(&["m"]), catalogue_of_tools(&tools));
        prop_assume!(!all.entries().is_empty());
        let once = UsageHistory::parse(&used_for(&selector, &all, 0, &requests).write()).unwrap();
        // Directions are coarse after the first time, so the bytes are the same from then on.
        prop_assert_eq!(UsageHistory::parse(&once.write()).unwrap().write(), once.write());
    }
}

#[test]
fn usage_for_something_else_does_not_crowd_out_a_tool_without_any() {
    let selector = selector(&["m"]);
    let all = catalogue([("a_music", "Plays a song."), ("weather", "The weather forecast for a city.")]);
    let requests: Vec<String> = (0..60).map(|n| format!("play the song number {n} of this playlist")).collect();
    for embedder in [None, Some(&model())] {
        let ranking =
            rank(&selector, &all, &used_for(&selector, &all, 0, &requests), embedder, "the weather forecast for Porto");
        assert_eq!(all.entries()[ranking.ranked[0].entry].name().as_str(), "weather");
    }
}
