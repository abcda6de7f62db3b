//! The slots of a template and what fills them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use url::Url;

use super::template::RequestRefusal;

/// The most characters of a slot's name.
const MAX_NAME: usize = 32;

/// A piece of a template.
#[derive(Debug, PartialEq, Eq)]
enum SlotPiece<'t> {
    Text(&'t str),
    Slot(&'t str),
}

fn template_pieces(template: &str) -> Result<Vec<SlotPiece<'_>>, RequestRefusal> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at_checked(at).unwrap_or((rest, ""));
        pieces.push(SlotPiece::Text(before));
        if let Some(behind) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
            pieces.push(SlotPiece::Text(brace.get(..1).unwrap_or_default()));
            rest = behind;
            continue;
        }
        let slot = brace.strip_prefix('{').and_then(|slot| slot.split_once('}')).filter(|(name, _)| is_slot_name(name));
        let Some((name, behind)) = slot else {
            return Err(RequestRefusal::SlotForm(
                brace.chars().take(MAX_NAME).collect::<String>().escape_debug().to_string(),
            ));
        };
        pieces.push(SlotPiece::Slot(name));
        rest = behind;
    }
    pieces.push(SlotPiece::Text(rest));
    Ok(pieces)
}

fn is_slot_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The names of a template's slots.
pub(crate) fn slot_names(template: &str) -> Result<BTreeSet<String>, RequestRefusal> {
    let name = |piece: SlotPiece<'_>| match piece {
        SlotPiece::Slot(name) => Some(name.to_owned()),
        SlotPiece::Text(_) => None,
    };
    Ok(template_pieces(template)?.into_iter().filter_map(name).collect())
}

/// The names of the slots in all texts of a body.
pub(super) fn names_of_body(body: &Json) -> Result<BTreeSet<String>, RequestRefusal> {
    let mut found = BTreeSet::new();
    match body {
        Json::String(text) => found = slot_names(text)?,
        Json::Array(items) => {
            for item in items {
                found.extend(names_of_body(item)?);
            }
        }
        Json::Object(fields) => {
            for item in fields.values() {
                found.extend(names_of_body(item)?);
            }
        }
        _ => {}
    }
    Ok(found)
}

/// Whether the slots of an address are where they change neither whom it reaches nor what it is about.
pub(crate) fn check_places(url: &str) -> Result<(), RequestRefusal> {
    let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
    let (host, path) = rest.find(['/', '?', '#']).and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if scheme.contains('{') {
        return Err(RequestRefusal::SlotPlace("scheme"));
    }
    if host.contains('{') {
        return Err(RequestRefusal::SlotPlace("host or port"));
    }
    let names = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    if names.into_iter().any(|name| name.contains('{')) {
        return Err(RequestRefusal::SlotPlace("name of a parameter"));
    }
    // A brace for itself is nothing that an address may have.
    if path.contains("{{") || query.contains("{{") {
        return Err(RequestRefusal::SlotPlace("text"));
    }
    Ok(())
}

/// A template with its slots filled, each value as `encode` writes it.
pub(super) fn fill_slots(
    template: &str,
    values: &BTreeMap<String, String>,
    encode: &dyn Fn(&str) -> String,
) -> Result<String, RequestRefusal> {
    let mut filled = String::with_capacity(template.len());
    for piece in template_pieces(template)? {
        match piece {
            SlotPiece::Text(text) => filled.push_str(text),
            SlotPiece::Slot(name) => {
                let value = values.get(name).ok_or_else(|| RequestRefusal::Missing(name.to_owned()))?;
                filled.push_str(&encode(value));
            }
        }
    }
    Ok(filled)
}

/// An address with its slots filled.
///
/// An address that a parser would read otherwise than it is written is refused: a segment `..` that a value makes, even
/// with its dots encoded, takes away the one before it.
pub(crate) fn fill_url(template: &str, values: &BTreeMap<String, String>) -> Result<String, RequestRefusal> {
    for name in slot_names(template)? {
        let value = values.get(&name).ok_or_else(|| RequestRefusal::Missing(name.clone()))?;
        if value.is_empty() || value.chars().any(char::is_control) {
            return Err(RequestRefusal::Value(name));
        }
    }
    let url = fill_slots(template, values, &percent_encode)?;
    match Url::parse(&url) {
        Ok(parsed) if parsed.as_str() == url => Ok(url),
        _ => Err(RequestRefusal::Value(slot_names(template)?.into_iter().collect::<Vec<_>>().join("`, `"))),
    }
}

/// A body with the slots of its texts filled.
pub(super) fn fill_body(body: &Json, values: &BTreeMap<String, String>) -> Result<Json, RequestRefusal> {
    Ok(match body {
        Json::String(text) => Json::String(fill_slots(text, values, &str::to_owned)?),
        Json::Array(items) => Json::Array(items.iter().map(|item| fill_body(item, values)).collect::<Result<_, _>>()?),
        Json::Object(fields) => {
            let field = |(name, value): (&String, &Json)| Ok((name.clone(), fill_body(value, values)?));
            Json::Object(fields.iter().map(field).collect::<Result<_, RequestRefusal>>()?)
        }
        other => other.clone(),
    })
}

/// A value with everything encoded but what RFC 3986 leaves unreserved (2.3).
fn percent_encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
