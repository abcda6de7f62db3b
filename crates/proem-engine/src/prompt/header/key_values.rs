//! The expected form of a key's value, with the problem if it has another.

use proem_text::diagnostic::{Diagnostic, DiagnosticSeverity};

use super::{Diagnostics, push_error};
use crate::prompt::config::nearest_key;
use crate::prompt::yaml::{MappingKey, YamlNode, YamlValue};

pub(crate) fn expect_map<'n>(
    node: &'n YamlNode,
    what: &str,
    problems: &mut Diagnostics,
) -> Option<&'n [(MappingKey, YamlNode)]> {
    match &node.data {
        YamlValue::Map(entries) => Some(entries),
        _ => {
            push_error(problems, format!("{what} is not a mapping of keys to values"), node.span);
            None
        }
    }
}

pub(crate) fn expect_string(node: &YamlNode, what: &str, problems: &mut Diagnostics) -> Option<String> {
    let text = node.as_str().map(str::to_owned);
    if text.is_none() {
        push_error(problems, format!("{what} is not a string; put it in quotes"), node.span);
    }
    text
}

pub(crate) fn expect_word<T: Copy>(
    node: &YamlNode,
    what: &str,
    words: &[(&str, T)],
    problems: &mut Diagnostics,
) -> Option<T> {
    let text = node.as_str();
    let found = words.iter().find(|(word, _)| Some(*word) == text).map(|(_, value)| *value);
    if found.is_none() {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let shown = text.map_or_else(|| node.to_json().to_string(), str::to_owned);
        push_error(problems, format!("{what} is `{shown}`; expected one of {}", known.join(", ")), node.span);
    }
    found
}

pub(crate) fn known_keys(entries: &[(MappingKey, YamlNode)], known: &[&str], what: &str, problems: &mut Diagnostics) {
    for (key, _) in entries {
        if !known.contains(&key.name.as_str()) {
            let meant = nearest_key(&key.name, known).map(|key| format!("did you mean `{key}`? "));
            problems.push(Diagnostic {
                severity: DiagnosticSeverity::Error,
                message: format!("{what} has no key `{}`", key.name),
                span: Some(key.span),
                help: Some(format!("{}known keys: {}", meant.unwrap_or_default(), known.join(", "))),
            });
        }
    }
}
