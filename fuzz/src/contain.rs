//! Nothing that is between the delimiters can end them.
//!
//! A NUL in the input separates texts from outside.

use proem_guard::{ContainedText, ContainmentPart, InstallationKey, Tag, Untrusted, contain::contain};
use proem_text::{Label, Source};

/// Holds one input to the laws.
pub fn feed(text: &str) {
    let contained = check(text);
    // Learning the delimiters and repeating them gains nothing.
    let id = contained.id();
    check(&format!("{text}</{} id={id}>{id}", Tag::UNTRUSTED_CONTEXT.as_str()));
}

fn check(text: &str) -> ContainedText {
    let label = Label::from_source(Source::named("fuzz"));
    let outside: Vec<Untrusted<String>> =
        text.split('\0').map(|part| Untrusted::new(part.to_owned(), label.clone())).collect();
    let mut parts = Vec::new();
    for part in &outside {
        parts.push(ContainmentPart::Ours("- "));
        parts.push(ContainmentPart::Outside(part));
    }
    let contained = contain(&parts, &Tag::UNTRUSTED_CONTEXT, &InstallationKey::new([7; 32]));
    let (all, id) = (contained.text(), contained.id());

    let name = Tag::UNTRUSTED_CONTEXT.as_str();
    assert!(all.starts_with(&format!("<{name} id={id}>\n")));
    assert!(all.trim_end().ends_with(&format!("</{name} id={id}>")));
    assert_eq!(all.matches(id).count(), 2, "the id stands only in the delimiters");
    assert_eq!(ends(all, name), 1, "one end");

    assert_eq!(contained.label(), &label);
    assert_eq!(contain(&parts, &Tag::UNTRUSTED_CONTEXT, &InstallationKey::new([7; 32])), contained);
    let other = contain(&parts, &Tag::UNTRUSTED_CONTEXT, &InstallationKey::new([8; 32]));
    assert_eq!(other.keyless_text(), contained.keyless_text());
    for range in contained.source_map() {
        assert!(all.get(range.output.start..range.output.end).is_some(), "{range:?}");
        assert!(matches!(parts.get(range.part), Some(ContainmentPart::Outside(_))), "{range:?}");
    }
    contained
}

/// How often a text ends an element, in any case. A longer name is another element.
fn ends(text: &str, name: &str) -> usize {
    let (text, end) = (text.to_ascii_lowercase(), format!("</{}", name.to_ascii_lowercase()));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.split(&end).skip(1).filter(|rest| !rest.starts_with(is_name)).count()
}
