//! Settings with the place of each value, from JSON as editors write it and from TOML.
//!
//! Invariants: of a key that comes twice, both values are here, because programs differ in which one they take. A text
//! that is neither syntax gives `None`. Nothing is nested deeper than [`MAX_DEPTH`].

use std::collections::BTreeSet;

use proem_text::{Span, strip_json_comments};
use toml::de::{DeTable, DeValue};

/// The deepest value that is read. Settings of agents have about six levels.
const MAX_DEPTH: usize = 64;

/// A value and its place, in bytes of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SettingsNode {
    pub(super) span: Span,
    pub(super) value: SettingsValue,
}

/// The values of settings. Numbers, dates and `null` decide nothing here.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SettingsValue {
    Text(String),
    Flag(bool),
    List(Vec<SettingsNode>),
    Table(Vec<SettingsEntry>),
    Other,
}

/// A key with its value. The place of the key has its quotes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SettingsEntry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) node: SettingsNode,
}

/// How a file writes its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsSyntax {
    Json,
    Toml,
}

impl SettingsNode {
    /// Reads a file. `None` if it is not of that syntax.
    pub(super) fn parse(text: &str, syntax: SettingsSyntax) -> Option<Self> {
        match syntax {
            SettingsSyntax::Json => {
                let bom = text.len().saturating_sub(text.strip_prefix('\u{feff}').unwrap_or(text).len());
                let plain = strip_json_comments(text);
                let mut cursor = SettingsCursor { text: &plain, at: 0, shift: bom };
                let root = cursor.value(0)?;
                cursor.skip_space();
                (cursor.at == plain.len()).then_some(root)
            }
            SettingsSyntax::Toml => {
                let document = DeTable::parse(text).ok()?;
                let span = Span::new(0, text.len());
                Some(Self { span, value: toml_table(document.get_ref(), 0)? })
            }
        }
    }

    /// The entries of a table. None of anything else.
    pub(super) fn entries(&self) -> &[SettingsEntry] {
        match &self.value {
            SettingsValue::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list. None of anything else.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            SettingsValue::List(items) => items,
            _ => &[],
        }
    }

    /// All values of a key.
    pub(super) fn all<'n>(&'n self, key: &'n str) -> impl Iterator<Item = &'n Self> {
        self.entries().iter().filter(move |entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The first value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let SettingsValue::Text(text) = &self.value { Some(text) } else { None }
    }

    pub(super) const fn is_true(&self) -> bool {
        matches!(self.value, SettingsValue::Flag(true))
    }

    /// A command as programs write it: a text, or a list of words.
    pub(super) fn command_line(&self) -> Option<String> {
        match &self.value {
            SettingsValue::Text(text) => Some(text.clone()),
            SettingsValue::List(items) => {
                let words: Vec<&str> = items.iter().filter_map(Self::text).collect();
                Some(words.join(" "))
            }
            _ => None,
        }
    }

    /// The keys that come twice in one table, wherever it is: the places of the later ones.
    pub(super) fn repeated_keys(&self) -> Vec<Span> {
        let mut repeated = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            let mut known = BTreeSet::new();
            for entry in node.entries() {
                if !known.insert(entry.key.as_str()) {
                    repeated.push(entry.key_span);
                }
                open.push(&entry.node);
            }
            open.extend(node.items());
        }
        repeated.sort();
        repeated
    }
}

/// The way through JSON whose comments are blanks.
struct SettingsCursor<'t> {
    text: &'t str,
    at: usize,
    /// How many bytes the file has before the text.
    shift: usize,
}

impl SettingsCursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at = self.at.saturating_add(1);
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.at = self.at.saturating_add(1);
        }
        is_next
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start.saturating_add(self.shift), self.at.saturating_add(self.shift))
    }

    fn value(&mut self, depth: usize) -> Option<SettingsNode> {
        self.skip_space();
        let start = self.at;
        if depth > MAX_DEPTH {
            return None;
        }
        let value = match self.peek()? {
            b'{' => SettingsValue::Table(self.table(depth)?),
            b'[' => SettingsValue::List(self.list(depth)?),
            b'"' => SettingsValue::Text(self.string()?),
            _ => self.scalar()?,
        };
        Some(SettingsNode { span: self.span_from(start), value })
    }

    fn table(&mut self, depth: usize) -> Option<Vec<SettingsEntry>> {
        let mut entries = Vec::new();
        self.takes(b'{');
        if self.takes(b'}') {
            return Some(entries);
        }
        loop {
            self.skip_space();
            let start = self.at;
            let key = self.string()?;
            let key_span = self.span_from(start);
            if !self.takes(b':') {
                return None;
            }
            let node = self.value(depth.saturating_add(1))?;
            entries.push(SettingsEntry { key, key_span, node });
            if !self.takes(b',') {
                return self.takes(b'}').then_some(entries);
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Vec<SettingsNode>> {
        let mut items = Vec::new();
        self.takes(b'[');
        if self.takes(b']') {
            return Some(items);
        }
        loop {
            items.push(self.value(depth.saturating_add(1))?);
            if !self.takes(b',') {
                return self.takes(b']').then_some(items);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.text.get(self.at..)?;
        let mut is_escaped = false;
        let end = rest.bytes().enumerate().skip(1).find_map(|(offset, byte)| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends.then_some(offset.saturating_add(1))
        })?;
        let literal = rest.get(..end).filter(|literal| literal.starts_with('"'))?;
        self.at = self.at.saturating_add(end);
        serde_json::from_str(literal).ok()
    }

    fn scalar(&mut self) -> Option<SettingsValue> {
        let rest = self.text.get(self.at..)?;
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':')).unwrap_or(rest.len());
        let literal = rest.get(..end)?;
        self.at = self.at.saturating_add(end);
        match serde_json::from_str(literal).ok()? {
            serde_json::Value::Bool(flag) => Some(SettingsValue::Flag(flag)),
            _ => Some(SettingsValue::Other),
        }
    }
}

fn toml_table(table: &DeTable<'_>, depth: usize) -> Option<SettingsValue> {
    let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let key_span = Span::new(key.span().start, key.span().end);
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        Some(SettingsEntry { key: name.to_string(), key_span, node: toml_node(value, depth.saturating_add(1))? })
    };
    table.iter().map(entry).collect::<Option<_>>().map(SettingsValue::Table)
}

fn toml_node(value: &toml::Spanned<DeValue<'_>>, depth: usize) -> Option<SettingsNode> {
    if depth > MAX_DEPTH {
        return None;
    }
    let span = Span::new(value.span().start, value.span().end);
    let value = match value.get_ref() {
        DeValue::String(text) => SettingsValue::Text(text.to_string()),
        DeValue::Boolean(flag) => SettingsValue::Flag(*flag),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| toml_node(item, depth.saturating_add(1)));
            SettingsValue::List(items.collect::<Option<_>>()?)
        }
        DeValue::Table(table) => toml_table(table, depth)?,
        _ => SettingsValue::Other,
    };
    Some(SettingsNode { span, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Option<SettingsNode> {
        SettingsNode::parse(text, SettingsSyntax::Json)
    }

    #[test]
    fn values_have_their_places() {
        let text = "\u{feff}{ // a comment\n \"a\": {\"b\": [\"é\", true, null, 1,]}, }";
        let root = node(text).unwrap();
        let list = root.get("a").unwrap().get("b").unwrap();
        assert_eq!(text.get(list.span.start..list.span.end).unwrap(), "[\"é\", true, null, 1,]");
        assert_eq!(list.items()[0].text(), Some("é"));
        assert!(list.items()[1].is_true() && list.items()[2].value == SettingsValue::Other);
        let toml = SettingsNode::parse("[a.b]\nc = ['d']\n", SettingsSyntax::Toml).unwrap();
        let words = toml.get("a").unwrap().get("b").unwrap().get("c").unwrap();
        assert_eq!((words.command_line().unwrap().as_str(), words.span), ("d", Span::new(10, 15)));
    }

    #[test]
    fn a_key_that_comes_twice_has_both_values() {
        let root = node(r#"{"a": "one", "a": "two", "b": {"c": 1, "c": 2}}"#).unwrap();
        assert_eq!(root.all("a").filter_map(SettingsNode::text).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(root.repeated_keys().len(), 2);
    }

    #[test]
    fn what_is_no_settings_is_none() {
        for text in ["", "{", "{\"a\" 1}", "{\"a\": nope}", "{} x", "[1", "\"a", "{a: 1}", "{\"a\": \"\\x\"}"] {
            assert_eq!(node(text), None, "{text}");
        }
        assert_eq!(node(&format!("{}1{}", "[".repeat(200), "]".repeat(200))), None);
        assert_eq!(SettingsNode::parse("a = ", SettingsSyntax::Toml), None);
    }
}
