//! Any bytes are a picture or document, or refused; what is one keeps its bytes, and counts no more than its bound.

use std::sync::LazyLock;

use proem_engine::media::{MediaFacts, MediaSource, data_address};
use proem_engine::providers::Providers;

static PROVIDERS: LazyLock<Providers> =
    LazyLock::new(|| Providers::load().unwrap_or_else(|error| panic!("the shipped models are read: {error}")));

/// Holds one input to the laws.
pub fn feed(bytes: &[u8]) {
    let Ok(facts) = MediaFacts::of(bytes) else {
        assert!(data_address(bytes).is_err());
        return;
    };
    assert_eq!(facts.bytes, bytes.len());
    assert_eq!(facts.kind.is_image(), facts.width.is_some() && facts.height.is_some());
    assert!(facts.width != Some(0) && facts.height != Some(0) && facts.pages != Some(0));
    let address = data_address(bytes).unwrap_or_default();
    assert!(address.starts_with("data:") && address.contains(facts.kind.as_str()));
    let source = MediaSource::Inline(facts);
    for model in PROVIDERS.models() {
        assert!(model.media.tokens(&source) <= model.media.most_tokens(&source));
    }
}
