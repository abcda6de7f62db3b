//! Answers that are no objects: an enumeration, a text, a number, a list.
//!
//! Providers hold a model to an object, so such an answer is asked for as the one field of one, and taken out of it again:
//! nobody but the model sees the object.

use serde_json::{Value as Json, json};

use super::ends::{SchemaDefectKind, endless_parts};
use super::tools::move_references;

/// The field that holds the answer.
pub(super) const FIELD: &str = "value";

/// Whether a schema describes something else than objects alone.
pub(super) fn is_bare(schema: &Json) -> bool {
    let found = endless_parts(schema);
    !found.iter().any(super::ends::SchemaDefect::is_broken)
        && found.iter().any(|defect| matches!(defect.lack, SchemaDefectKind::Root))
}

/// The schema of the object whose one field has this schema.
pub(super) fn wrap_schema(mut schema: Json) -> Json {
    move_references(&mut schema, &format!("#/properties/{FIELD}"));
    json!({
        "type": "object",
        "properties": { FIELD: schema },
        "required": [FIELD],
        "additionalProperties": false,
    })
}

/// Words about the object's schema as words about the bare one.
pub(super) fn unwrap_words(words: &str) -> String {
    words.replace("`/properties/value`", "the root").replace("`/properties/value/", "`/")
}

/// The bare answers that a text may be which is no object: JSON, or the text as it is.
///
/// A text that begins like JSON, or like a block of it, was meant as that and is not taken as words.
pub(super) fn candidates(text: &str) -> Vec<Json> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str::<Json>(text) {
        return if value.is_object() { Vec::new() } else { vec![value, Json::from(text)] };
    }
    if text.starts_with(['{', '[', '"', '`', '<']) { Vec::new() } else { vec![Json::from(text)] }
}
