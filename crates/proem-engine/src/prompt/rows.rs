//! Rows of comma-separated values: the inputs of one run or case each, by the names of the first row.
//!
//! A row that isn't well formed, or has another number of fields than the first, is refused. Nothing is guessed.

use proem_guard::show;
use proem_text::OrderedMap;
use serde_json::Value as Json;

use crate::ordered_json::OrderedJson;

/// Looks whether the first row can name inputs.
///
/// # Errors
///
/// In words, if a name is missing or given twice.
pub fn check_column_names(row: &[String]) -> Result<(), String> {
    for (index, name) in row.iter().enumerate() {
        if name.trim().is_empty() {
            return Err(format!("column {} of the first row has no name", index.saturating_add(1)));
        }
        if row.iter().take(index).any(|earlier| earlier == name) {
            return Err(format!("two columns are called `{}`", show::terminal_str(name)));
        }
    }
    Ok(())
}

/// The inputs of a row: a text where the input's schema wants one or none is known, else the JSON that the field holds. An
/// empty field of an input that is no text is left out.
///
/// # Errors
///
/// In words, if the row has another number of fields, or one is not what its input wants.
pub fn row_inputs<'s>(
    names: &[String],
    row: &[String],
    schema_of: impl Fn(&str) -> Option<&'s Json>,
) -> Result<OrderedJson, String> {
    if row.len() != names.len() {
        return Err(format!("it has {} fields, and the first row {}", row.len(), names.len()));
    }
    let mut fields = OrderedMap::default();
    for (name, field) in names.iter().zip(row) {
        let schema = schema_of(name);
        let value = match schema.map(wants) {
            None | Some(Wanted::Text) => OrderedJson::from(field.as_str()),
            Some(Wanted::Json) if field.trim().is_empty() => continue,
            Some(Wanted::Json) => serde_json::from_str(field.trim()).map_err(|_| {
                let name = show::terminal_str(name);
                format!("the field `{name}` is not JSON, as its input wants: write a number, true, false or a list")
            })?,
        };
        fields.insert(name.as_str(), value);
    }
    Ok(fields.into())
}

/// The type of an input.
enum Wanted {
    Text,
    Json,
}

fn wants(schema: &Json) -> Wanted {
    let is_text = |kind: &str| kind == "string";
    let has_text = match schema.get("type") {
        Some(Json::String(kind)) => is_text(kind),
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).any(is_text),
        _ => schema.get("enum").and_then(Json::as_array).is_none_or(|values| values.iter().any(Json::is_string)),
    };
    if has_text { Wanted::Text } else { Wanted::Json }
}
