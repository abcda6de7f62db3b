//! Credentials in JSON, which has to stay JSON without them.

use alloc::{string::String, vec::Vec};
use proem_text::json::compact;
use serde_json::Value as Json;

use super::{find_credentials, redact_credentials, redaction_marker};

/// [`redact_credentials`] for a text that may be JSON: its texts and keys lose their credentials, and it stays the JSON that it is.
///
/// A list of texts is read like lines too, as which many write down private keys. JSON in which a credential was found
/// comes back as canonical JSON.
#[must_use]
pub fn redact_document(text: &str) -> Option<String> {
    if find_credentials(text).is_empty() {
        return None;
    }
    let is_json = text.trim_ascii_start().starts_with(['{', '[', '"']);
    match is_json.then(|| serde_json::from_str(text).ok()).flatten() {
        Some(value) => Some(compact(&clean_value(value))),
        None => redact_credentials(text),
    }
}

fn clean_value(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(redact_text(text)),
        Json::Array(items) => Json::Array(clean_lines(items).into_iter().map(clean_value).collect()),
        Json::Object(fields) => {
            let field = |(key, field): (String, Json)| (redact_text(key), clean_value(field));
            Json::Object(fields.into_iter().map(field).collect())
        }
        other => other,
    }
}

fn redact_text(text: String) -> String {
    redact_credentials(&text).unwrap_or(text)
}

/// The items without the credentials that are across several of them, if all are texts.
fn clean_lines(items: Vec<Json>) -> Vec<Json> {
    let texts: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
    let clean = (texts.len() == items.len()).then(|| redact_across_texts(&texts)).flatten();
    clean.map_or(items, |clean| clean.into_iter().map(Json::String).collect())
}

/// The texts without the credentials that are in them, also across several. `None` if there are none.
fn redact_across_texts(texts: &[&str]) -> Option<Vec<String>> {
    let found = find_credentials(&texts.join("\n"));
    let mut left = found.iter().peekable();
    let mut clean = Vec::with_capacity(texts.len());
    let mut start = 0_usize;
    for text in texts {
        let end = start.saturating_add(text.len());
        let (mut out, mut position) = (String::new(), 0);
        while left.next_if(|one| one.span.end <= start).is_some() {}
        while let Some(one) = left.peek().filter(|one| one.span.start < end) {
            out.push_str(text.get(position..one.span.start.saturating_sub(start)).unwrap_or_default());
            out.push_str(&redaction_marker(one.kind));
            position = one.span.end.min(end).saturating_sub(start);
            if one.span.end > end {
                break;
            }
            left.next();
        }
        out.push_str(text.get(position..).unwrap_or_default());
        clean.push(out);
        start = end.saturating_add(1);
    }
    (!found.is_empty()).then_some(clean)
}
