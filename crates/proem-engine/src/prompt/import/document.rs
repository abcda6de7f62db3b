//! YAML and JSON sources as trees with places.

use proem_text::{OrderedMap, span::Span};
use serde_json::Value as Json;

use super::source::SourceFile;
use crate::error::error_at;
use crate::ordered_json::OrderedJson;
use crate::prompt::split::split_front_matter;
use crate::prompt::yaml::{self, MappingKey, YamlNode, YamlValue};

/// Reads a YAML or JSON file. The error is the problem with its place.
///
/// JSON is read as YAML, which keeps places. A JSON file that YAML reads in another way has its places at the
/// beginning instead.
pub(super) fn parse_document(file: SourceFile<'_>) -> Result<YamlNode, String> {
    let is_json = file.name.ends_with(".json") || file.text.trim_start().starts_with(['{', '[']);
    let empty = || file.problem(0, "the file is empty", "");
    if !is_json {
        let root = yaml::parse_yaml(file.text, 0).map_err(|problem| problem.render(file.name, file.text))?;
        return root.ok_or_else(empty);
    }
    let value: OrderedJson = serde_json::from_str(file.text).map_err(|error| {
        let before: usize = file.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = before.saturating_add(error.column().saturating_sub(1));
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or_default();
        error_at(format!("not JSON: {message}"), Span::new(at, at.saturating_add(1))).render(file.name, file.text)
    })?;
    match yaml::parse_yaml(file.text, 0) {
        Ok(Some(root)) if root.to_ordered() == value => Ok(root),
        _ => Ok(node_of(&value)),
    }
}

/// A value as a tree without places.
fn node_of(value: &OrderedJson) -> YamlNode {
    let span = Span::new(0, 0);
    let data = match value {
        OrderedJson::List(items) => YamlValue::List(items.iter().map(node_of).collect()),
        OrderedJson::Map(fields) => {
            let key = |name: &str| MappingKey { name: name.to_owned(), span };
            YamlValue::Map(fields.iter().map(|(name, value)| (key(name), node_of(value))).collect())
        }
        other => YamlValue::Scalar(other.to_json()),
    };
    YamlNode { span, data }
}

/// The front matter of a Markdown file, and its body with the byte it begins at.
pub(super) struct FrontMatter<'s> {
    /// The front matter's tree. `None` if there is none.
    pub(super) root: Option<YamlNode>,
    /// The text after it.
    pub(super) body: &'s str,
    /// The beginning of that text.
    pub(super) body_start: usize,
}

/// Cuts a file into front matter and body. The error is the problem with its place.
pub(super) fn parse_front_matter(file: SourceFile<'_>) -> Result<FrontMatter<'_>, String> {
    let cut = split_front_matter(file.text);
    let Some((start, front)) = cut.front else {
        if file.text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.trim_end() == "---") {
            return Err(file.problem(0, "the front matter has no end; a second `---` closes it", ""));
        }
        return Ok(FrontMatter { root: None, body: file.text, body_start: 0 });
    };
    let root = yaml::parse_yaml(front, start).map_err(|problem| problem.render(file.name, file.text))?;
    let root = root.filter(|root| root.data != YamlValue::Scalar(Json::Null));
    if let Some(root) = root.as_ref().filter(|root| !matches!(root.data, YamlValue::Map(_))) {
        return Err(file.problem(root.span.start, "front matter is not a mapping of keys to values", ""));
    }
    Ok(FrontMatter { root, body: cut.body, body_start: cut.body_start })
}

/// The same for tools that read front matter line by line, such as `argument-hint: [repository] [issue]`, which is no YAML:
/// where YAML can't be read, each line is a key with a text.
pub(super) fn parse_lenient_front_matter(file: SourceFile<'_>) -> Result<FrontMatter<'_>, String> {
    let problem = match parse_front_matter(file) {
        Ok(front) => return Ok(front),
        Err(problem) => problem,
    };
    let cut = split_front_matter(file.text);
    let Some((start, front)) = cut.front else { return Err(problem) };
    let mut entries = Vec::new();
    let mut offset = start;
    for line in front.split_inclusive('\n') {
        let span = Span::new(offset, offset.saturating_add(line.trim_end().len()));
        offset = offset.saturating_add(line.len());
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let is_key =
            |key: &str| !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) else { return Err(problem) };
        if entries.iter().any(|(other, _): &(MappingKey, YamlNode)| other.name == key) {
            return Err(problem);
        }
        let value = YamlNode { span, data: YamlValue::Scalar(value.trim().into()) };
        entries.push((MappingKey { name: key.to_owned(), span }, value));
    }
    let root = YamlNode { span: Span::new(start, offset), data: YamlValue::Map(entries) };
    Ok(FrontMatter { root: Some(root), body: cut.body, body_start: cut.body_start })
}

/// The entries of a mapping. None of anything else.
pub(super) fn mapping_entries(node: Option<&YamlNode>) -> &[(MappingKey, YamlNode)] {
    match node.map(|node| &node.data) {
        Some(YamlValue::Map(entries)) => entries,
        _ => &[],
    }
}

/// The items of a list. None of anything else.
pub(super) fn items(node: Option<&YamlNode>) -> &[YamlNode] {
    match node.map(|node| &node.data) {
        Some(YamlValue::List(items)) => items,
        _ => &[],
    }
}

/// A scalar as the text that a template prints of it. `None` for lists, mappings and nothing.
pub(super) fn scalar_text(node: &YamlNode) -> Option<String> {
    match &node.data {
        YamlValue::Scalar(Json::String(text)) => Some(text.clone()),
        YamlValue::Scalar(Json::Null) | YamlValue::List(_) | YamlValue::Map(_) => None,
        YamlValue::Scalar(other) => Some(other.to_string()),
    }
}

/// A mapping of texts, empty where a value is none.
pub(super) fn text_values(node: Option<&YamlNode>) -> OrderedMap<OrderedJson> {
    let values = mapping_entries(node).iter().filter_map(|(key, node)| Some((key.name.as_str(), scalar_text(node)?)));
    values.map(|(name, text)| (name, OrderedJson::Text(text.into()))).collect()
}
