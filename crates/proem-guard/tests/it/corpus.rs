//! The fuzzer's inputs, as ordinary tests.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::path::Path;

use proem_guard::{
    ContainedText, ContainmentPart, InstallationKey, LabelTree, Tag, Untrusted,
    contain::contain,
    tree_differences,
    view::{DecodingLimits, all_readings, clean_view, folded_view},
};
use proem_text::{Label, Source, Span};

/// The inputs of one target by name.
fn corpus(target: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inputs: Vec<(String, String)> = paths
        .filter_map(|path| Some((path.display().to_string(), String::from_utf8(std::fs::read(&path).ok()?).ok()?)))
        .collect();
    assert!(inputs.len() >= 10, "{target}: {} inputs", inputs.len());
    inputs
}

#[test]
fn cleaning_is_idempotent_and_lists_what_it_took_out() {
    for (name, text) in corpus("clean") {
        let view = clean_view(&text);
        let again = clean_view(&view.text);
        assert_eq!((again.text.as_str(), again.removed.len()), (view.text.as_str(), 0), "{name}");
        for (start, c) in view.text.char_indices() {
            let end = start + c.len_utf8();
            let original = view.map.original(Span::new(start, end));
            assert_eq!(text.get(original.start..original.end), view.text.get(start..end), "{name}");
        }
        let removed: usize = view.removed.iter().map(|(_, span)| span.len()).sum();
        assert_eq!(removed + view.text.len(), text.len(), "{name}");
    }
}

#[test]
fn every_reading_leads_back() {
    for (name, text) in corpus("views") {
        let limits = DecodingLimits::for_text(text.len());
        let readings = all_readings(&text, &limits);
        assert!(readings.all.len() > 1, "{name} is read in one way only");
        for reading in &readings.all {
            let mut last = Span::new(0, 0);
            for (start, c) in reading.view.text.char_indices() {
                let place = reading.view.map.original(Span::new(start, start + c.len_utf8()));
                assert!(text.get(place.start..place.end).is_some(), "{name}: {place:?}");
                assert!(place.start >= last.start && place.end >= last.end, "{name}: {place:?} after {last:?}");
                last = place;
            }
        }
        let once = folded_view(&text);
        assert_eq!(folded_view(&once.text).text, once.text, "{name}");
    }
}

#[test]
fn what_a_tree_is_read_of_is_what_is_written_of_it() {
    let mut read = 0;
    for (name, text) in corpus("label_tree") {
        match LabelTree::read(&text) {
            Ok(tree) => {
                let written = tree.write().unwrap();
                assert_eq!(LabelTree::read(&written).as_ref(), Ok(&tree), "{name}");
                // The older form is written as the newer one.
                assert_eq!(written == text, !text.ends_with("\"version\":1}"), "{name}");
                assert!(tree_differences(&tree, &tree.clone()).is_empty(), "{name}");
                read += 1;
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{name}: {error}"),
        }
    }
    assert_eq!(read, 8);
}

#[test]
fn nothing_between_the_delimiters_ends_them() {
    for (name, text) in corpus("contain") {
        let contained = check(&name, &text);
        let id = contained.id();
        // Learning the delimiters and repeating them gains nothing.
        check(&name, &format!("{text}</{} id={id}>{id}", Tag::UNTRUSTED_CONTEXT.as_str()));
    }
}

/// Contains texts that a NUL separates.
fn check(name: &str, text: &str) -> ContainedText {
    let label = Label::from_source(Source::named("fuzz"));
    let outside: Vec<Untrusted<String>> =
        text.split('\0').map(|part| Untrusted::new(part.to_owned(), label.clone())).collect();
    let parts: Vec<ContainmentPart<'_>> =
        outside.iter().flat_map(|part| [ContainmentPart::Ours("- "), ContainmentPart::Outside(part)]).collect();
    let contained = contain(&parts, &Tag::UNTRUSTED_CONTEXT, &InstallationKey::new([7; 32]));
    let tag = Tag::UNTRUSTED_CONTEXT;
    let (all, id) = (contained.text(), contained.id());
    assert!(all.starts_with(&format!("<{} id={id}>\n", tag.as_str())), "{name}");
    assert!(all.trim_end().ends_with(&format!("</{} id={id}>", tag.as_str())), "{name}");
    assert_eq!(all.matches(id).count(), 2, "{name}");
    assert_eq!(contained.label(), &label, "{name}");
    let other = contain(&parts, &tag, &InstallationKey::new([8; 32]));
    assert_eq!(other.keyless_text(), contained.keyless_text(), "{name}");
    for range in contained.source_map() {
        assert!(all.get(range.output.start..range.output.end).is_some(), "{name}: {range:?}");
        assert!(matches!(parts.get(range.part), Some(ContainmentPart::Outside(_))), "{name}: {range:?}");
    }
    contained
}
