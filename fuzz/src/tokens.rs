//! Any text is counted, and its tokens' bytes are the text.

use proem_tokens::Vocabulary;

/// Holds one input to the laws.
pub fn feed(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for vocabulary in Vocabulary::ALL {
        let ranks = vocabulary.encode(&text);
        assert_eq!(vocabulary.count(&text), ranks.len());
        let bytes: Vec<u8> = ranks.into_iter().flat_map(|rank| vocabulary.bytes(rank).unwrap()).collect();
        assert_eq!(bytes, text.as_bytes());
        // A line break that neither white space nor `/` follows ends a piece.
        for (end, _) in text.match_indices('\n').take(4) {
            let (head, tail) = text.split_at(end + 1);
            if tail.starts_with(|next: char| !next.is_whitespace() && next != '/') {
                assert_eq!(vocabulary.count(head) + vocabulary.count(tail), vocabulary.count(&text));
            }
        }
    }
}
