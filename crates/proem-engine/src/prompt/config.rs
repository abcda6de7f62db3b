//! The keys of dotprompt's front matter that are not Proem's own: what is sent of them, and what is not.
//!
//! Invariant: no key that a person wrote vanishes without a remark. A misspelt one names the nearest that is known.

use proem_text::span::Span;

use super::header::{Diagnostics, StrictHeader};
use super::yaml::{MappingKey, YamlNode, YamlValue};
use crate::call::Sampling;
use crate::error::error_at;
use crate::providers::edit_distance;

/// The keys of `config`, <https://google.github.io/dotprompt/reference/frontmatter/>.
const CONFIG: [&str; 5] = ["maxOutputTokens", "stopSequences", "temperature", "topK", "topP"];

/// The keys beside it that are read or say nothing about a request.
const FRONT: [&str; 11] =
    ["config", "description", "input", "model", "name", "output", "proem", "variant", "version", "raw", "ext"];

/// Known keys whose meaning is not supported, with what to do instead.
const UNSUPPORTED: [(&str, &str); 2] = [
    ("toolDefs", "it is not sent; name the contracts of tools under `proem.tools`"),
    ("tools", "it is not sent; name the contracts of tools under `proem.tools`"),
];

/// The same settings as other tools spell them.
const ALIASES: [(&str, &str); 8] = [
    ("max_completion_tokens", "maxOutputTokens"),
    ("max_new_tokens", "maxOutputTokens"),
    ("max_tokens", "maxOutputTokens"),
    ("maxTokens", "maxOutputTokens"),
    ("num_predict", "maxOutputTokens"),
    ("stop", "stopSequences"),
    ("temp", "temperature"),
    ("top_p", "topP"),
];

/// The most edits between a key and the one that was probably meant.
const MAX_EDITS: usize = 2;

/// The most stop sequences: OpenAI takes four (<https://platform.openai.com/docs/api-reference/chat/create>).
const MAX_STOPS: usize = 4;

/// Something in the front matter that is not used as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderRemark {
    pub(crate) text: String,
    pub(crate) at: Span,
}

/// The values that `config` sets.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ConfigValues {
    pub(crate) sampling: Sampling,
    /// The most tokens of the answer, with its place.
    pub(crate) output_tokens: Option<(usize, Span)>,
}

/// Reads `config`, and remarks on every key of the front matter that changes no request.
pub(crate) fn read_dotprompt_config(
    root: &YamlNode,
    remarks: &mut Vec<HeaderRemark>,
    problems: &mut Diagnostics,
) -> ConfigValues {
    unknown_keys(root, "the front matter", &FRONT, remarks);
    if let Some(output) = root.get("output") {
        unknown_keys(output, "output", &["format", "schema"], remarks);
    }
    if let Some(input) = root.get("input") {
        unknown_keys(input, "input", &["default", "schema"], remarks);
    }
    let mut values = ConfigValues::default();
    let Some(config) = root.get("config") else { return values };
    unknown_keys(config, "config", &CONFIG, remarks);
    let mut wrong = |key: &str, expected: &str, span: Span| {
        problems.push(error_at(format!("config.{key} is not {expected}"), span));
    };
    let mut part = |key: &str, most: u16, parts: u16, expected: &str| {
        let node = config.get(key).filter(|node| !is_null(node))?;
        let part = scaled_decimal(node, most, parts);
        if part.is_none() {
            wrong(key, expected, node.span);
        }
        part
    };
    values.sampling.temperature_percent = part("temperature", 2, 100, "a number from 0 to 2 with at most two decimals");
    values.sampling.top_p_thousandths = part("topP", 1, 1000, "a number from 0 to 1 with at most three decimals");
    let mut count = |key: &str| {
        let node = config.get(key).filter(|node| !is_null(node))?;
        let count = node.to_json().as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        if count.is_none() {
            wrong(key, "a positive whole number", node.span);
        }
        Some((count?, node.span))
    };
    values.sampling.top_k = count("topK").map(|(count, _)| count);
    values.output_tokens = count("maxOutputTokens").and_then(|(count, at)| Some((usize::try_from(count).ok()?, at)));
    if let Some(node) = config.get("stopSequences").filter(|node| !is_null(node)) {
        match stop_sequences(node) {
            Some(stops) => values.sampling.stop = stops,
            None => {
                wrong("stopSequences", &format!("a list of at most {MAX_STOPS} texts that are not blank"), node.span);
            }
        }
    }
    values
}

/// Lets `config.maxOutputTokens` represent a budget that Proem's part doesn't state.
pub(crate) fn set_output_budget(strict: &mut StrictHeader, values: &ConfigValues, problems: &mut Diagnostics) {
    match (strict.output_budget, values.output_tokens) {
        (Some(own), Some((tokens, at))) if own != tokens => {
            let message = format!("config.maxOutputTokens is {tokens} and proem.budget.output {own}; remove one");
            problems.push(error_at(message, at));
        }
        (None, Some((tokens, _))) => strict.output_budget = Some(tokens),
        _ => {}
    }
}

fn is_null(node: &YamlNode) -> bool {
    node.data == YamlValue::Scalar(serde_json::Value::Null)
}

/// The key of `config` that a setting is called, however another tool spells it.
pub(crate) fn config_key(name: &str) -> Option<&'static str> {
    const ALSO: [(&str, &str); 5] = [
        ("max_output_tokens", "maxOutputTokens"),
        ("stop_sequences", "stopSequences"),
        ("top_k", "topK"),
        ("max_tokens_to_sample", "maxOutputTokens"),
        ("stops", "stopSequences"),
    ];
    let own = CONFIG.iter().find(|key| **key == name).copied();
    own.or_else(|| ALIASES.iter().chain(&ALSO).find(|(other, _)| *other == name).map(|(_, key)| *key))
}

/// Whether `config` takes this value for a key of its own. A single text is a list of one.
pub(crate) fn is_config_value(key: &str, value: &YamlNode) -> bool {
    let value = match value.as_str() {
        Some(_) => YamlNode { span: value.span, data: YamlValue::List(vec![value.clone()]) },
        None => value.clone(),
    };
    let entry = |name: &str, value: YamlNode| {
        let key = MappingKey { name: name.to_owned(), span: value.span };
        YamlNode { span: value.span, data: YamlValue::Map(vec![(key, value)]) }
    };
    let mut problems = Diagnostics::new();
    read_dotprompt_config(&entry("config", entry(key, value)), &mut Vec::new(), &mut problems);
    problems.is_empty()
}

/// A number from 0 to `most` in so many parts of one. `None` for anything else, such as a number that would be rounded.
fn scaled_decimal(node: &YamlNode, most: u16, parts: u16) -> Option<u16> {
    let whole = node.to_json().as_f64()? * f64::from(parts);
    (0..=most.saturating_mul(parts)).find(|part| (f64::from(*part) - whole).abs() < 1e-9)
}

fn stop_sequences(node: &YamlNode) -> Option<Vec<String>> {
    let YamlValue::List(items) = &node.data else { return None };
    let texts: Vec<String> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>()?;
    let are_texts = texts.iter().all(|text| !text.trim().is_empty());
    (are_texts && texts.len() <= MAX_STOPS).then_some(texts)
}

/// Remarks on the keys of a mapping that are not known. A key with a dot is another program's extension.
fn unknown_keys(node: &YamlNode, what: &str, known: &[&str], remarks: &mut Vec<HeaderRemark>) {
    let YamlValue::Map(entries) = &node.data else { return };
    for (key, _) in entries.iter().filter(|(key, _)| !key.name.contains('.') && !known.contains(&key.name.as_str())) {
        let unsupported = UNSUPPORTED.iter().find(|(name, _)| what == "the front matter" && *name == key.name);
        let text = match (unsupported, nearest_key(&key.name, known)) {
            (Some((name, why)), _) => format!("`{name}` has no effect: {why}"),
            (None, Some(near)) => {
                format!("{what} has no key `{}`, so it has no effect; did you mean `{near}`?", key.name)
            }
            (None, None) => {
                format!("{what} has no key `{}`, so it has no effect; known keys: {}", key.name, known.join(", "))
            }
        };
        remarks.push(HeaderRemark { text, at: key.span });
    }
}

/// The known key that was probably meant.
pub(crate) fn nearest_key<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let alias = ALIASES.iter().find(|(other, _)| *other == key);
    if let Some(meant) = alias.and_then(|(_, meant)| known.iter().find(|known| *known == meant)) {
        return Some(meant);
    }
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    let key = plain(key);
    let near = known.iter().map(|known| (edit_distance(&key, &plain(known)), *known)).min()?;
    (near.0 <= MAX_EDITS && near.0 < key.len()).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        for (key, expected) in [
            ("temprature", Some("temperature")),
            ("Temperature", Some("temperature")),
            ("top_p", Some("topP")),
            ("top_k", Some("topK")),
            ("max_tokens", Some("maxOutputTokens")),
            ("max_output_tokens", Some("maxOutputTokens")),
            ("stop", Some("stopSequences")),
            ("seed", None),
            ("x", None),
        ] {
            assert_eq!(nearest_key(key, &CONFIG), expected, "{key}");
        }
    }

    #[test]
    fn numbers_are_taken_exactly_or_not_at_all() {
        let read = |text: &str, most, parts| {
            scaled_decimal(&super::super::yaml::parse_yaml(text, 0).unwrap().unwrap(), most, parts)
        };
        for (text, expected) in
            [("0", Some(0)), ("0.7", Some(70)), ("2", Some(200)), ("2.01", None), ("0.123", None), ("-0.1", None)]
        {
            assert_eq!(read(text, 2, 100), expected, "{text}");
        }
        assert_eq!(read("0.995", 1, 1000), Some(995));
    }
}
