//! The fuzzer's inputs, as ordinary tests.

use std::path::Path;

use proem_text::{Span, normalise::normalise_text};

#[test]
fn normalising_is_idempotent_and_maps_to_places_in_the_original() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/normalise");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap()) else { continue };
        seen += 1;
        let view = normalise_text(&text);
        assert_eq!(normalise_text(&view.text).text, view.text, "{path:?}");
        assert_eq!(view.map.view_len(), view.text.len(), "{path:?}");
        for (start, c) in view.text.char_indices() {
            let original = view.map.original(Span::new(start, start + c.len_utf8()));
            assert!(
                text.get(original.start..original.end).is_some(),
                "{path:?}: {c:?} at {start} maps to {original:?}"
            );
        }
    }
    assert!(seen >= 10, "{seen} inputs");
}
