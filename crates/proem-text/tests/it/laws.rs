//! Laws that hold for every input.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use proem_text::{
    Audience, Label, OffsetMap, Secrecy, Source, Span, View, character, character_ngrams, json, normalise_text,
    search_words,
};
use proptest::{collection::vec, prelude::*};
use serde_json::Value;

fn label() -> impl Strategy<Value = Label> {
    let audience = prop_oneof![
        Just(Audience::Public),
        Just(Audience::External),
        Just(Audience::Internal),
        Just(Audience::Restricted)
    ];
    (vec(0..40_u8, 0..36), any::<bool>(), audience).prop_map(|(sources, secret, audience)| {
        let all = sources.iter().fold(Label::trusted(), |label, n| {
            label.join(&Label::from_source(Source::parse(&format!("source/{n}")).unwrap()))
        });
        let all = all.narrowed_to(audience);
        if secret { all.made_secret() } else { all }
    })
}

/// Text with what makes normalising, escaping and splitting hard.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[a-zA-Z0-9 _.\n\t]{1,6}",
        prop::sample::select(vec![
            "e\u{301}",
            "\u{323}",
            "\u{307}",
            "\u{1100}",
            "\u{1161}",
            "\u{11a8}",
            "\u{ac00}",
            "\u{3099}",
            "\u{ff76}",
            "\u{ff9e}",
            "ﬁ",
            "\u{fdfa}",
            "½",
            "\u{a0}",
            "\u{a8}",
            "\u{85}",
            "\u{2028}",
            "\u{3000}",
            "İ",
            "ß",
            "Σ",
            "\u{200b}",
            "\u{202e}",
            "\u{e0041}",
            "\u{344}",
            "\u{1d15e}",
            "\u{9c7}",
            "\u{9be}",
            "👍🏽",
            "漢字",
            "データ",
            "\\",
            "\"",
        ])
        .prop_map(String::from),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// How one step makes a view from an original.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Copy(usize),
    Drop(usize),
    Insert(usize),
    Replace(usize, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (0..6_usize).prop_map(Edit::Copy),
        (0..6_usize).prop_map(Edit::Drop),
        (0..4_usize).prop_map(Edit::Insert),
        (0..4_usize, 0..4_usize).prop_map(|(view, original)| Edit::Replace(view, original)),
    ];
    vec(edit, 0..12)
}

/// Applies the edits to `original`. The second value holds, for each byte of the view, where it came from. Bytes are
/// unique numbers, so that copies can be recognised.
fn apply(original: &[u32], edits: &[Edit], fresh: &mut u32) -> (Vec<u32>, OffsetMap) {
    let mut new = || {
        *fresh += 1;
        *fresh
    };
    let (mut view, mut map, mut at) = (Vec::new(), OffsetMap::new(), 0);
    let take = |at: usize, n: usize| (at + n).min(original.len());
    for edit in edits {
        match *edit {
            Edit::Copy(n) => {
                let end = take(at, n);
                view.extend(&original[at..end]);
                map.push_verbatim(Span::new(at, end));
                at = end;
            }
            Edit::Drop(n) => at = take(at, n),
            Edit::Insert(n) => {
                view.extend((0..n).map(|_| new()));
                map.push(n, Span::new(at, at));
            }
            Edit::Replace(n, m) => {
                let end = take(at, m);
                view.extend((0..n).map(|_| new()));
                map.push(n, Span::new(at, end));
                at = end;
            }
        }
    }
    (view, map)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn join_is_a_least_upper_bound(a in label(), b in label(), c in label()) {
        prop_assert_eq!(a.join(&b), b.join(&a));
        prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
        prop_assert_eq!(a.join(&a), a.clone());
        prop_assert_eq!(a.join(&Label::trusted()), a.clone());
        let both = a.join(&b);
        prop_assert_eq!(both.is_trusted(), a.is_trusted() && b.is_trusted());
        prop_assert_eq!(both.secrecy() == Secrecy::Open, a.secrecy() == Secrecy::Open && b.secrecy() == Secrecy::Open);
        prop_assert!(both.audience() >= a.audience());
    }

    #[test]
    fn a_map_covers_every_copied_byte(edits in edits(), from in 0..40_usize, len in 0..40_usize) {
        let original: Vec<u32> = (0..30).collect();
        let (view, map) = apply(&original, &edits, &mut 1000);
        prop_assert_eq!(map.view_len(), view.len());
        let whole = map.original(Span::new(0, view.len()));
        prop_assert!(whole.end <= original.len());
        let span = Span::new(from.min(view.len()), (from + len).min(view.len()));
        let found = map.original(span);
        let copied: Vec<u32> = view[span.start..span.end].iter().copied().filter(|byte| *byte < 1000).collect();
        prop_assert!(copied.iter().all(|byte| original[found.start..found.end].contains(byte)));
        if copied.len() == span.len() && !copied.is_empty() {
            // Copies only: the cover starts and ends with them.
            prop_assert_eq!(original[found.start], copied[0]);
            prop_assert_eq!(original.get(found.end - 1), copied.last());
        }
    }

    #[test]
    fn stacked_maps_lead_as_far_back_as_one_after_the_other(first in edits(), second in edits(), at in 0..60_usize) {
        let original: Vec<u32> = (0..30).collect();
        let (middle, inner) = apply(&original, &first, &mut 1000);
        let (view, outer) = apply(&middle, &second, &mut 2000);
        let stacked = outer.then(&inner);
        prop_assert_eq!(stacked.view_len(), view.len());
        if at < view.len() {
            let byte = Span::new(at, at + 1);
            prop_assert_eq!(stacked.original(byte), inner.original(outer.original(byte)));
        }
    }

    #[test]
    fn normalising_is_idempotent_and_maps_back(text in text()) {
        let View { text: once, map } = normalise_text(&text);
        prop_assert_eq!(&normalise_text(&once).text, &once);
        prop_assert_eq!(map.view_len(), once.len());
        for (at, c) in once.char_indices() {
            let span = map.original(Span::new(at, at + c.len_utf8()));
            let source = text.get(span.start..span.end);
            prop_assert!(source.is_some_and(|source| normalise_text(source).text.contains(c)), "{:?} {:?}", source, c);
        }
    }

    #[test]
    fn words_hold_letters_and_digits_only(text in text()) {
        for word in search_words(&text) {
            prop_assert!(!word.is_empty());
            prop_assert!(!word.chars().any(|c| c.is_whitespace() || character::is_hidden(c)), "{:?}", word);
        }
        prop_assert_eq!(character_ngrams(&text, 3).count(), match text.chars().count() { 0 => 0, n => n.saturating_sub(2).max(1) });
    }

    #[test]
    fn json_reads_back_as_the_same_text(text in text(), integer in any::<i64>()) {
        let value = serde_json::json!({ "text": text, (text.as_str()): [integer, { "deep": text }] });
        for written in [json::compact(&value), json::pretty(&value)] {
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value.clone());
            prop_assert!(!written.replace('\n', "").chars().any(character::is_hidden));
        }
        prop_assert_eq!(serde_json::from_str::<String>(&json::quote_json(&text)).unwrap(), text);
    }

    #[test]
    fn json_numbers_read_back_as_the_same_number(number in any::<f64>()) {
        // By the standard library: `serde_json` reads floats to the last bit only with a feature.
        prop_assert_eq!(json::compact(&Value::from(number)).parse::<f64>(), Ok(number));
    }
}
