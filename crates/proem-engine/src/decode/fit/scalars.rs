//! Scalars of the wrong type.

use serde_json::{Map, Number, Value as Json};

use super::super::RepairKind;
use super::super::scalar::is_beyond_64_bits;
use super::super::tree::{Id, JsonNodeKind};
use super::Aligner;
use super::schema::{Types, members};

/// Above this a float may represent more than one integer: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

impl Aligner<'_> {
    /// Whether the scalar at a place meets the schema, by itself or after an edit.
    pub(super) fn scalar(&mut self, id: Id, schema: &Map<String, Json>, types: Types) -> bool {
        let (tree, text) = (self.tree, self.text);
        let Some(node) = tree.node(id) else { return true };
        let members = members(schema);
        if let Some(edit) = self.edits.get(&id) {
            return edit.value.as_ref().is_none_or(|value| accepts(value, types, members));
        }
        let spelling = text.get(node.span.start..node.span.end).unwrap_or_default();
        let edit = match &node.kind {
            JsonNodeKind::Null => return accepts(&Json::Null, types, members),
            JsonNodeKind::Bool(value) => return accepts(&Json::Bool(*value), types, members),
            JsonNodeKind::Number(number) => {
                if accepts(&Json::Number(number.clone()), types, members) {
                    return true;
                }
                from_number(number, spelling, types)
            }
            JsonNodeKind::Text(value) => {
                if types.text
                    && members.is_none_or(|members| members.iter().any(|member| member.as_str() == Some(value)))
                {
                    return true;
                }
                scalar_from_text(value, types, members)
            }
            // The beginning of one permitted word may be the beginning of another.
            JsonNodeKind::OpenText(_) if members.is_some() => {
                self.edit(id, RepairKind::LeftOut, None);
                return true;
            }
            JsonNodeKind::OpenText(_) => return types.text,
            JsonNodeKind::Bare if is_ellipsis(spelling) => return !types.declared,
            JsonNodeKind::Bare if types.text && types.declared => from_word(spelling, members),
            JsonNodeKind::Bare => return !types.declared,
            _ => return false,
        };
        let Some((kind, value)) = edit.filter(|(_, value)| accepts(value, types, members)) else { return false };
        self.edit(id, kind, Some(value));
        true
    }
}

/// Whether the schema's types and members permit a scalar. A float is no integer here, whatever its
/// value: Rust's integers don't take it.
fn accepts(value: &Json, types: Types, members: Option<&[Json]>) -> bool {
    let type_fits = match value {
        Json::Null => types.null,
        Json::Bool(_) => types.boolean,
        Json::Number(number) => types.number || (types.integer && !number.is_f64()),
        Json::String(_) => types.text,
        Json::Array(_) | Json::Object(_) => true,
    };
    type_fits && members.is_none_or(|members| members.contains(value))
}

fn from_number(number: &Number, spelling: &str, types: Types) -> Option<(RepairKind, Json)> {
    if types.integer
        && let Some(whole) = whole_number(number)
    {
        return Some((RepairKind::WholeNumber, Json::Number(whole)));
    }
    types.text.then(|| (RepairKind::TextFromNumber, Json::String(spelling.to_owned())))
}

fn scalar_from_text(text: &str, types: Types, members: Option<&[Json]>) -> Option<(RepairKind, Json)> {
    if let Some(member) = members.and_then(|members| matching_member(text, members)) {
        return Some((RepairKind::EnumSpelling, Json::String(member.to_owned())));
    }
    let text = text.trim();
    if (types.number || types.integer)
        && !is_beyond_64_bits(text)
        && let Ok(number) = text.parse::<Number>()
    {
        let number = if types.number { Some(number) } else { whole_number(&number) };
        return number.map(|number| (RepairKind::NumberFromText, Json::Number(number)));
    }
    if types.boolean && (text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")) {
        return Some((RepairKind::BooleanFromText, Json::Bool(text.eq_ignore_ascii_case("true"))));
    }
    let nothing = text.is_empty() || text.eq_ignore_ascii_case("null") || text == "None";
    (types.null && !types.text && nothing).then_some((RepairKind::NullFromText, Json::Null))
}

/// Whether a word begins with the dots that represent more.
fn is_ellipsis(word: &str) -> bool {
    word.starts_with("...") || word.starts_with('…')
}

fn from_word(word: &str, members: Option<&[Json]>) -> Option<(RepairKind, Json)> {
    let word = match members {
        Some(members) => matching_member(word, members)?,
        None => word,
    };
    Some((RepairKind::UnquotedText, Json::String(word.to_owned())))
}

/// The one member that equals `text` but for ASCII case and white space around it.
fn matching_member<'m>(text: &str, members: &'m [Json]) -> Option<&'m str> {
    let text = text.trim();
    let mut equal = members.iter().filter_map(Json::as_str).filter(|member| member.trim().eq_ignore_ascii_case(text));
    match (equal.next(), equal.next()) {
        (Some(member), None) => Some(member),
        _ => None,
    }
}

/// The integer that has the value of `number`.
fn whole_number(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return Some(number.clone());
    }
    let value = number.as_f64().filter(|value| value % 1.0 == 0.0 && libm::fabs(*value) < MAX_EXACT)?;
    // Whole and small: its spelling without a fraction is that of the integer.
    format!("{value:.0}").parse::<i64>().ok().map(Number::from)
}
