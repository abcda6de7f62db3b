//! Values of JSON that somebody else wrote.

use proem_guard::show;
use serde_json::{Map, Value as Json};

/// The characters of a name that messages show.
const SHOWN: usize = 60;

/// The faults of a file, and the parts that were changed or ignored.
#[derive(Debug, Default)]
pub(super) struct FileRemarks {
    pub(super) problems: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl FileRemarks {
    /// A member that must be a text.
    pub(super) fn text(&mut self, fields: &Map<String, Json>, key: &str, place: &str) -> Option<String> {
        match fields.get(key) {
            Some(Json::String(text)) => Some(text.clone()),
            Some(other) => {
                self.problems.push(format!("{place}: `{key}` is {}, but a string is expected", json_kind_words(other)));
                None
            }
            None => {
                self.problems.push(format!("{place}: there is no `{key}`"));
                None
            }
        }
    }

    /// A list of texts. Null and nothing are none.
    pub(super) fn texts(&mut self, fields: &Map<String, Json>, key: &str, place: &str) -> Option<Vec<String>> {
        let items = match fields.get(key)? {
            Json::Null => return None,
            Json::Array(items) => items,
            other => {
                self.problems
                    .push(format!("{place}: `{key}` is {}, but a list of strings is expected", json_kind_words(other)));
                return None;
            }
        };
        let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        if texts.is_none() {
            self.problems.push(format!("{place}: `{key}` may contain only strings"));
        }
        texts
    }

    /// Names the keys that mean nothing here.
    pub(super) fn unknown_keys(&mut self, fields: &Map<String, Json>, known: &[&str], place: &str) {
        let unknown: Vec<String> =
            fields.keys().filter(|key| !known.contains(&key.as_str())).map(|key| quote_json_name(key)).collect();
        if !unknown.is_empty() {
            self.notes.push(format!("{place}: not used: {}", unknown.join(", ")));
        }
    }
}

/// The kind of a value, in words for messages.
pub(super) const fn json_kind_words(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// A name as messages show it: escaped, and cut after sixty characters.
#[must_use]
pub fn quote_json_name(name: &str) -> String {
    let shown = show::terminal_str(name).into_string();
    let mut short: String = shown.chars().take(SHOWN).collect();
    if short.len() < shown.len() {
        short.push('…');
    }
    format!("`{short}`")
}
