//! Whatever a file holds: it is read within its limits, names and gaps are ours, and a field that
//! has a place stands there.
//!
//! The first character says what the rest is read as.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proem_guard::show;
use proem_runtime::readers::{Ask, Kind, Limits, Rest, extract};

fuzz_target!(|bytes: &[u8]| {
    let (kind, bytes) = match bytes.split_first() {
        Some((b'm', rest)) => (Some(Kind::Mail), rest),
        Some((b'h', rest)) => (Some(Kind::Html), rest),
        Some((b'j', rest)) => (Some(Kind::Json), rest),
        Some((b't', rest)) => (Some(Kind::Text), rest),
        Some((_, rest)) => (None, rest),
        None => (None, bytes),
    };
    check(bytes, kind, Limits::default());
    check(bytes, kind, Limits { fields: 2, depth: 2, ..Limits::default() });
});

fn check(bytes: &[u8], kind: Option<Kind>, limits: Limits) {
    let document = extract(bytes, Rest::Nothing, &Ask { kind, limits, ..Ask::default() });
    assert!(document.fields.len() <= limits.fields && document.gaps.len() <= limits.fields.saturating_add(2));
    for field in &document.fields {
        assert!(!field.text.is_empty());
        assert!(field.name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
        if let Some(place) = field.place {
            let text = show::json(&field.text);
            assert!(bytes[place.offset..].starts_with(text.as_str().expect("a text").as_bytes()));
        }
    }
    for gap in &document.gaps {
        assert!(gap.about.is_ascii() && gap.field.is_ascii());
    }
}
