//! The laws of every text: the definition of byte pair encoding, sums over pieces, and an end.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::{collections::BTreeMap, sync::LazyLock};

use proem_tokens::{Rank, Vocabulary};
use proptest::prelude::*;

/// The rank of each token's bytes.
fn ranks(vocabulary: Vocabulary) -> BTreeMap<Vec<u8>, Rank> {
    (0..).map_while(|rank| Some((vocabulary.bytes(rank)?, rank))).collect()
}

static O200K: LazyLock<BTreeMap<Vec<u8>, Rank>> = LazyLock::new(|| ranks(Vocabulary::O200k));
static CL100K: LazyLock<BTreeMap<Vec<u8>, Rank>> = LazyLock::new(|| ranks(Vocabulary::Cl100k));

/// Byte pair encoding as it is defined, for texts that are one piece.
fn by_definition(ranks: &BTreeMap<Vec<u8>, Rank>, piece: &str) -> Vec<Rank> {
    let mut parts: Vec<Vec<u8>> = piece.bytes().map(|byte| vec![byte]).collect();
    loop {
        let joined = parts.iter().zip(parts.iter().skip(1)).enumerate();
        let best = joined.filter_map(|(place, (a, b))| Some((*ranks.get(&[a.as_slice(), b].concat())?, place))).min();
        let Some((_, place)) = best else { break };
        let right = parts.remove(place + 1);
        parts.get_mut(place).unwrap().extend(right);
    }
    parts.iter().map(|part| *ranks.get(part).unwrap()).collect()
}

/// Runs of one kind of character, which both patterns leave in one piece.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,60}",
        "[abc]{1,80}",
        "[-=*]{1,90}",
        "[\u{4e00}-\u{4fff}]{1,30}",
        "[\u{e01}-\u{e2e}]{1,30}",
        "[\u{1400}-\u{1460}]{1,20}",
        "[ ]{1,200}",
        Just("-".repeat(300)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_piece_is_encoded_as_defined(piece in piece()) {
        prop_assert_eq!(Vocabulary::O200k.encode(&piece), by_definition(&O200K, &piece));
        prop_assert_eq!(Vocabulary::Cl100k.encode(&piece), by_definition(&CL100K, &piece));
    }

    #[test]
    fn an_encoding_is_its_text(text in ".{0,120}") {
        for vocabulary in Vocabulary::ALL {
            let ranks = vocabulary.encode(&text);
            let bytes: Vec<u8> = ranks.iter().flat_map(|rank| vocabulary.bytes(*rank).unwrap()).collect();
            prop_assert_eq!(bytes, text.as_bytes());
            prop_assert_eq!(vocabulary.count(&text), ranks.len());
        }
    }

    /// A line break that neither white space nor `/` follows ends a piece.
    #[test]
    fn lines_add_up(lines in prop::collection::vec("([^\\s/].{0,30})?", 1..12)) {
        let lines: Vec<String> = lines.into_iter().map(|line| line + "\n").collect();
        let mut parts: Vec<String> = Vec::new();
        for line in lines {
            match parts.last_mut() {
                Some(last) if line == "\n" => last.push('\n'),
                _ => parts.push(line),
            }
        }
        for vocabulary in Vocabulary::ALL {
            let apart: usize = parts.iter().map(|part| vocabulary.count(part)).sum();
            prop_assert_eq!(apart, vocabulary.count(&parts.concat()));
        }
    }
}

/// Each of these takes a tokeniser that is quadratic, or that follows every way to the end, for ever.
#[test]
fn hostile_texts_are_counted() {
    const UNITS: &[&str] = &[
        "a",
        "A",
        "aA",
        " ",
        "\n",
        " \n",
        "\t ",
        "-",
        "=",
        "ab",
        "mrq",
        "produto",
        "日",
        "日A",
        "e\u{301}",
        "\u{301}",
        "'",
        "'s",
        "1",
        "😀",
        "\0",
        "\u{10FFFF}",
        "ᐁ",
    ];
    for unit in UNITS {
        let text = unit.repeat(1_000_000 / unit.len());
        for vocabulary in Vocabulary::ALL {
            let tokens = vocabulary.count(&text);
            assert!(tokens > 0 && tokens <= text.len(), "{unit:?}");
        }
    }
}

/// The fuzzer's inputs.
#[test]
fn the_corpus_is_encoded_as_it_stands() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tokens");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let input = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&input);
        for vocabulary in Vocabulary::ALL {
            let ranks = vocabulary.encode(&text);
            let bytes: Vec<u8> = ranks.iter().flat_map(|rank| vocabulary.bytes(*rank).unwrap()).collect();
            assert!(bytes == text.as_bytes() && vocabulary.count(&text) == ranks.len(), "{}", path.display());
        }
        seen += 1;
    }
    assert!(seen >= 12, "{seen} inputs");
}
