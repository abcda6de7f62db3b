//! Any file: it is read within its limits, names and gaps are ours, and a field with a place is there.
//!
//! The first character says what the rest is read as.

use proem_guard::show;
use proem_runtime::readers::{DocumentKind, DocumentLimits, DocumentOptions, UnreadTail, extract};

/// Holds one input to the laws.
pub fn feed(bytes: &[u8]) {
    let (kind, bytes) = match bytes.split_first() {
        Some((b'm', rest)) => (Some(DocumentKind::Mail), rest),
        Some((b'h', rest)) => (Some(DocumentKind::Html), rest),
        Some((b'j', rest)) => (Some(DocumentKind::Json), rest),
        Some((b't', rest)) => (Some(DocumentKind::Text), rest),
        Some((_, rest)) => (None, rest),
        None => (None, bytes),
    };
    check(bytes, kind, DocumentLimits::default());
    check(bytes, kind, DocumentLimits { fields: 2, depth: 2, ..DocumentLimits::default() });
}

fn check(bytes: &[u8], kind: Option<DocumentKind>, limits: DocumentLimits) {
    let document = extract(bytes, UnreadTail::Nothing, &DocumentOptions { kind, limits, ..DocumentOptions::default() });
    assert!(document.fields.len() <= limits.fields && document.gaps.len() <= limits.fields.saturating_add(2));
    for field in &document.fields {
        assert!(!field.text.is_empty());
        assert!(field.name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
        if let Some(place) = field.place {
            let text = show::exact_json(&field.text);
            assert!(bytes[place.offset..].starts_with(text.as_str().expect("a text").as_bytes()));
        }
    }
    for gap in &document.gaps {
        assert!(gap.about.is_ascii() && gap.field.is_ascii());
    }
}
