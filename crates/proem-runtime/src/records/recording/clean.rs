//! The permitted form of a text in records: no credential, loaded or recognised by its shape, and under
//! [`RecordDepth::Hashes`] nothing but its hash.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering as MemoryOrder};
use std::sync::{Mutex, PoisonError};

use proem_engine::ordered_json::OrderedJson;
use proem_guard::credential;
use proem_llm::secret::{Secret, SecretFinder};
use proem_store::record::HashedContent;
use proem_text::json;
use serde::Serialize;
use serde_json::Value as Json;

use super::RecordDepth;

/// Takes out of texts what must not be written.
#[derive(Debug)]
pub(super) struct Cleaner<'s> {
    finder: SecretFinder<'s>,
    keeping: RecordDepth,
    redacted: AtomicBool,
    /// Long texts that hold no credential: a section's is in the state, in the assembly and in every call.
    known: Mutex<Vec<HashedContent>>,
}

/// The bytes from which on a text is remembered: to read it once more costs more than to find it again.
const LONG: usize = 1 << 10;

impl<'s> Cleaner<'s> {
    pub(super) fn new(secrets: &'s [Secret], keeping: RecordDepth) -> Self {
        Self { finder: SecretFinder::new(secrets), keeping, redacted: AtomicBool::new(false), known: Mutex::default() }
    }

    /// Why the run can't be replayed, as far as its texts go.
    pub(super) fn missing(&self) -> Option<String> {
        match self.keeping {
            RecordDepth::Hashes => Some("only hashes are kept of its texts (`records.keep`)".to_owned()),
            RecordDepth::Content if self.redacted.load(MemoryOrder::Relaxed) => {
                Some("it contained a credential, which was removed".to_owned())
            }
            RecordDepth::Content => None,
        }
    }

    /// Something hidden was left out, so that the run can't be replayed.
    pub(super) fn note_hidden(&self) {
        self.redacted.store(true, MemoryOrder::Relaxed);
    }

    /// A text without credentials.
    pub(super) fn text(&self, text: &str) -> String {
        // Those that were loaded first: they have names, which say more than what a shape is called.
        let loaded = self.finder.redact(text);
        let known = credential::redact_credentials(loaded.as_deref().unwrap_or(text));
        match known.or(loaded) {
            Some(clean) => {
                self.redacted.store(true, MemoryOrder::Relaxed);
                clean
            }
            None => text.to_owned(),
        }
    }

    /// A value without credentials in its texts and keys.
    pub(super) fn json(&self, value: Json) -> Json {
        match self.json_of(&value, json::compact(&value).as_bytes()) {
            Cow::Borrowed(_) => value,
            Cow::Owned(clean) => clean,
        }
    }

    /// The same where the value's canonical JSON is at hand.
    pub(super) fn json_of<'v>(&self, value: &'v Json, text: &[u8]) -> Cow<'v, Json> {
        let has_shape = || core::str::from_utf8(text).is_ok_and(|text| !credential::find_credentials(text).is_empty());
        // Nearly every value is clean, and a copy of it would be the dearest part.
        if self.finder.find(text).is_none() && !has_shape() {
            return Cow::Borrowed(value);
        }
        let clean = self.within(value.clone());
        let text = json::compact(&clean);
        if self.finder.redact(&text).is_some() {
            // One that only the text of the whole shows.
            return Cow::Owned(Json::String(Self::MARKER.to_owned()));
        }
        // One that is across the items of a list, such as the lines of a private key.
        let across = credential::redact_document(&text).and_then(|text| serde_json::from_str(&text).ok());
        Cow::Owned(across.filter(|across| *across != clean).map_or(clean, |across| {
            self.redacted.store(true, MemoryOrder::Relaxed);
            across
        }))
    }

    const MARKER: &'static str = "[redacted]";

    fn within(&self, value: Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.text(&text)),
            Json::Array(items) => items.into_iter().map(|item| self.within(item)).collect(),
            Json::Object(fields) => {
                fields.into_iter().map(|(key, value)| (self.text(&key), self.within(value))).collect()
            }
            other => other,
        }
    }

    /// A text as it is kept.
    pub(super) fn content(&self, text: &str) -> HashedContent {
        if text.len() < LONG {
            return self.kept(HashedContent::new(self.text(text)));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = known.iter().find(|content| content.bytes.as_deref() == Some(text.as_bytes())) {
            return self.kept(content.clone());
        }
        let clean = self.text(text);
        let content = HashedContent::new(&clean);
        if clean == text {
            known.push(content.clone());
        }
        self.kept(content)
    }

    /// A value as it is kept: canonical JSON.
    pub(super) fn json_content(&self, value: &Json) -> HashedContent {
        let text = json::compact(value);
        self.kept(HashedContent::new(match self.json_of(value, text.as_bytes()) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => json::compact(&clean),
        }))
    }

    /// Inputs as they are kept: their objects as written, so that a replay renders the same bytes.
    pub(super) fn inputs(&self, inputs: &OrderedJson) -> HashedContent {
        let text = inputs.compact();
        if self.finder.find(text.as_bytes()).is_some() || !credential::find_credentials(&text).is_empty() {
            return self.json_content(&inputs.to_json());
        }
        self.kept(HashedContent::new(text))
    }

    /// The same for what can be written as JSON. A text of ours represents what can't.
    pub(super) fn serialised(&self, value: &impl Serialize) -> HashedContent {
        self.json_content(&value_as_json(value))
    }

    /// A value that is kept beside texts: nothing where only hashes are.
    pub(super) fn inline(&self, value: Json) -> Json {
        match self.keeping {
            RecordDepth::Content => self.json(value),
            RecordDepth::Hashes => Json::Null,
        }
    }

    pub(super) const fn keeping(&self) -> RecordDepth {
        self.keeping
    }

    fn kept(&self, content: HashedContent) -> HashedContent {
        match self.keeping {
            RecordDepth::Content => content,
            RecordDepth::Hashes => content.forgotten(),
        }
    }
}

/// A value as JSON; what can't be written says so, which is a bug of its type.
pub(super) fn value_as_json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_else(|error| Json::String(format!("not written: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proem_llm::secret::find_secret;
    use proptest::prelude::*;
    use serde_json::json;

    const KEY: &str = "sk-0123456789\"abcdef";

    fn secrets() -> Vec<Secret> {
        vec![Secret::new("KEY", KEY)]
    }

    #[test]
    fn values_stay_values() {
        let secrets = secrets();
        let cleaner = Cleaner::new(&secrets, RecordDepth::Content);
        let clean = cleaner.json(json!({"a": [1, format!("x{KEY}")], (KEY): true}));
        assert_eq!(clean, json!({"a": [1, "x[redacted:KEY]"], "[redacted:KEY]": true}));
        assert_eq!(cleaner.missing().as_deref(), Some("it contained a credential, which was removed"));
    }

    #[test]
    fn what_has_the_shape_of_a_credential_is_taken_out() {
        let cleaner = Cleaner::new(&[], RecordDepth::Content);
        // Put together here, so that no scanner of sources takes it for one.
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let value = json!({ "a": format!("use {token}"), (token.clone()): [1, "sk-…"] });
        let clean = json!({ "a": "use [redacted:github-token]", "[redacted:github-token]": [1, "sk-…"] });
        assert_eq!(cleaner.json(value), clean);
        assert_eq!(cleaner.missing().as_deref(), Some("it contained a credential, which was removed"));
        assert_eq!(cleaner.content(&token), HashedContent::new("[redacted:github-token]"));
    }

    #[test]
    fn a_key_in_the_lines_of_a_list_is_taken_out() {
        let cleaner = Cleaner::new(&[], RecordDepth::Content);
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let lines = ["-----BEGIN PRIVATE KEY-----", line, line, "-----END PRIVATE KEY-----"];
        let clean = ["[redacted:private-key]"; 4];
        assert_eq!(cleaner.json(json!({ "key": lines, "a": 1 })), json!({ "key": clean, "a": 1 }));
        assert_eq!(cleaner.missing().as_deref(), Some("it contained a credential, which was removed"));
    }

    #[test]
    fn what_holds_none_stays_as_it_is() {
        let secrets = secrets();
        let cleaner = Cleaner::new(&secrets, RecordDepth::Content);
        let value = json!({"a": [1, "sk-0123456789"]});
        assert_eq!(cleaner.json(value.clone()), value);
        assert_eq!(cleaner.content("text"), HashedContent::new("text"));
        assert_eq!(cleaner.missing(), None);
    }

    #[test]
    fn inputs_keep_their_order_and_lose_their_credentials() {
        let secrets = secrets();
        let cleaner = Cleaner::new(&secrets, RecordDepth::Content);
        let kept = |text: &str| {
            let inputs: OrderedJson = serde_json::from_str(text).unwrap();
            String::from_utf8(cleaner.inputs(&inputs).bytes.unwrap().to_vec()).unwrap()
        };
        assert_eq!(kept(r#"{"b": {"d": 1.0, "c": "x"}, "a": []}"#), r#"{"b":{"d":1.0,"c":"x"},"a":[]}"#);
        assert_eq!(cleaner.missing(), None);
        let said = kept(&format!(r#"{{"b": {}, "a": 1}}"#, json::quote_json(KEY)));
        assert!(!said.contains("sk-0123456789") && said.contains("[redacted"), "{said}");
        assert!(cleaner.missing().is_some());
    }

    #[test]
    fn hashes_are_all_that_is_left() {
        let cleaner = Cleaner::new(&[], RecordDepth::Hashes);
        assert_eq!(cleaner.content("text"), HashedContent::new("text").forgotten());
        assert_eq!(cleaner.inline(json!({"a": "text"})), Json::Null);
        assert!(cleaner.missing().is_some_and(|why| why.contains("only hashes")));
    }

    proptest! {
        #[test]
        fn nothing_that_is_kept_holds_a_credential(
            key in "[ -~]{16,40}", before in ".{0,20}", after in ".{0,20}", at in 0usize..3,
        ) {
            let text = format!("{before}{key}{after}");
            let value = match at {
                0 => json!([{ "a": text }]),
                1 => json!({ text: "a" }),
                _ => json!({ "a": json!({"b": text}).to_string() }),
            };
            let secrets = [Secret::new("KEY", key)];
            let cleaner = Cleaner::new(&secrets, RecordDepth::Content);
            let bytes = cleaner.json_content(&value).bytes.unwrap();
            prop_assert!(find_secret(&secrets, &bytes).is_none());
            prop_assert!(cleaner.missing().is_some());
        }
    }
}
