//! Takes values out of an object, so that what is left is what nobody asked for.

use serde_json::{Map, Value as Json};

/// Takes the text of a name out. A number becomes its digits. Other values stay.
pub(super) fn take_text(fields: &mut Map<String, Json>, name: &str) -> Option<String> {
    let text = text_or_digits(fields.get(name)?)?;
    fields.remove(name);
    Some(text)
}

/// The text at a place, which stays there.
pub(crate) fn text_at(value: &Json, pointer: &str) -> Option<String> {
    text_or_digits(value.pointer(pointer)?).filter(|text| !text.is_empty())
}

/// A text, or the digits of a number.
pub(super) fn text_or_digits(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Takes an object out; what is none stays.
pub(super) fn take_object(fields: &mut Map<String, Json>, name: &str) -> Option<Map<String, Json>> {
    if !fields.get(name)?.is_object() {
        return None;
    }
    match fields.remove(name) {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    }
}

/// Takes a value out.
pub(super) fn take_value(fields: &mut Map<String, Json>, name: &str) -> Json {
    fields.remove(name).unwrap_or_default()
}

/// Whether a value can name something: a text that is not empty, or a number.
pub(super) fn is_identifier(value: &Json) -> bool {
    value.as_str().map_or(value.is_number(), |text| !text.is_empty())
}
