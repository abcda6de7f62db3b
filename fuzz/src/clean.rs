//! Cleaning is idempotent, adds nothing, and lists what it took out.

use proem_guard::view::clean_view;
use proem_text::Span;

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let view = clean_view(text);
    let again = clean_view(&view.text);
    assert_eq!(again.text, view.text);
    assert_eq!(again.removed, []);
    for (start, c) in view.text.char_indices() {
        let original = view.map.original(Span::new(start, start + c.len_utf8()));
        assert_eq!(text.get(original.start..original.end), view.text.get(start..start + c.len_utf8()));
    }
    let removed: usize = view.removed.iter().map(|(_, span)| span.len()).sum();
    assert_eq!(removed + view.text.len(), text.len());
}
