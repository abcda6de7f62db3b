//! Normalising is idempotent, and its map leads to places in the original.

use proem_text::{Span, normalise::normalise_text};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let view = normalise_text(text);
    assert_eq!(normalise_text(&view.text).text, view.text);
    assert_eq!(view.map.view_len(), view.text.len());
    for (start, c) in view.text.char_indices() {
        let original = view.map.original(Span::new(start, start + c.len_utf8()));
        assert!(text.get(original.start..original.end).is_some(), "{c:?} at {start} maps to {original:?}");
    }
}
