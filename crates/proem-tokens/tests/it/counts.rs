//! Every text of the corpus has the tokens that another tokeniser gave it.

use proem_tokens::Vocabulary::{Cl100k, O200k};

use crate::corpus::{fingerprint, texts};

/// Kind, index, bytes, both counts and the fingerprint of both encodings, for each text.
const COUNTS: &str = include_str!("corpus/counts.tsv");

#[test]
fn every_text_has_the_expected_tokens() {
    let mut expected = COUNTS.lines();
    let mut seen = 0usize;
    for text in texts() {
        let at = format!("{} {}", text.kind, text.index);
        let line = expected.next().unwrap_or_else(|| panic!("{at} has no expected counts"));
        let head = format!("{}\t{}\t{}\t", text.kind, text.index, text.text.len());
        let numbers = line.strip_prefix(&head);
        let numbers = numbers.unwrap_or_else(|| panic!("{at} is not what was counted: {head:?}, {line:?}"));
        let (o200k, cl100k) = (O200k.encode(&text.text), Cl100k.encode(&text.text));
        let found = format!("{}\t{}\t{:016x}", o200k.len(), cl100k.len(), fingerprint(&o200k, &cl100k));
        assert_eq!(found, numbers, "{at}: {:?}", text.text);
        assert_eq!((O200k.count(&text.text), Cl100k.count(&text.text)), (o200k.len(), cl100k.len()), "{at}");
        seen += 1;
    }
    assert_eq!(expected.next(), None, "more is expected than there is");
    assert!(seen >= 3000, "{seen} texts");
}

#[test]
fn encodings_are_the_texts() {
    for text in texts().step_by(7) {
        for vocabulary in [O200k, Cl100k] {
            let ranks = vocabulary.encode(&text.text);
            let bytes: Vec<u8> = ranks.iter().flat_map(|rank| vocabulary.bytes(*rank).unwrap()).collect();
            assert!(bytes == text.text.as_bytes(), "{vocabulary:?}, {} {}", text.kind, text.index);
        }
    }
}
