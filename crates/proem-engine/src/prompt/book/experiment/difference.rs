//! The first difference of two JSON values, in words.

use serde_json::Value as Json;

/// The most characters of a value that a message repeats.
const SHOWN: usize = 60;

/// The first place at which two values differ, with both values. `None` if they are the same.
pub(super) fn first_json_difference(first: &Json, second: &Json) -> Option<String> {
    let (place, first, second) = difference_below(String::new(), first, second)?;
    let place = if place.is_empty() { String::new() } else { format!("`{place}` is ") };
    Some(format!("{place}{} instead of {}", value_in_words(second), value_in_words(first)))
}

type Difference<'v> = (String, Option<&'v Json>, Option<&'v Json>);

fn difference_below<'v>(place: String, first: &'v Json, second: &'v Json) -> Option<Difference<'v>> {
    if first == second {
        return None;
    }
    let (Json::Object(one), Json::Object(other)) = (first, second) else {
        return Some((place, Some(first), Some(second)));
    };
    one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))).find_map(|key| {
        let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        match (one.get(key), other.get(key)) {
            (Some(one), Some(other)) => difference_below(place, one, other),
            (one, other) => Some((place, one, other)),
        }
    })
}

fn value_in_words(value: Option<&Json>) -> String {
    let Some(value) = value else { return "missing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("`{}…`", text.get(..cut).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}
