//! YAML as a tree whose every node knows where it is.
//!
//! The parser is the `saphyr-parser` crate. This module bounds it (bytes, nodes, depth), expands aliases within those
//! bounds and keeps the byte span of each node for caret excerpts.

use std::collections::BTreeMap;
use std::sync::Arc;

use proem_text::{OrderedMap, diagnostic::Diagnostic, span::Span};
use saphyr::Scalar;
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Number, Value as Json};

use crate::error::error_at;
use crate::ordered_json::OrderedJson;

const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 20_000;
/// The most bytes of text that aliases may add.
const MAX_ALIASED_BYTES: usize = 256 * 1024;

/// One node and the bytes it is on.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlNode {
    /// The bytes of the source that it was read from.
    pub span: Span,
    /// Its value.
    pub data: YamlValue,
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum YamlValue {
    /// A text, number, boolean or null.
    Scalar(Json),
    /// A sequence.
    List(Vec<YamlNode>),
    /// Keys in file order. A repeated key is an error when the tree is built.
    Map(Vec<(MappingKey, YamlNode)>),
}

/// A mapping's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingKey {
    /// The key without its quotes.
    pub name: String,
    /// The bytes that it is on.
    pub span: Span,
}

impl YamlNode {
    /// The value of a key, if it is a mapping that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match &self.data {
            YamlValue::Map(entries) => entries.iter().find(|(key, _)| key.name == name).map(|(_, node)| node),
            _ => None,
        }
    }

    /// Its text, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            YamlValue::Scalar(Json::String(text)) => Some(text),
            _ => None,
        }
    }

    /// It as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.data {
            YamlValue::Scalar(json) => json.clone(),
            YamlValue::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            YamlValue::Map(entries) => Json::Object(
                entries.iter().map(|(key, node)| (key.name.clone(), node.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// The node's value, its keys in the order of the file.
    #[must_use]
    pub fn to_ordered(&self) -> OrderedJson {
        match &self.data {
            YamlValue::Scalar(json) => json.clone().into(),
            YamlValue::List(items) => OrderedJson::List(Arc::new(items.iter().map(Self::to_ordered).collect())),
            YamlValue::Map(entries) => {
                let fields: OrderedMap<OrderedJson> =
                    entries.iter().map(|(key, node)| (key.name.as_str(), node.to_ordered())).collect();
                fields.into()
            }
        }
    }
}

/// Parses one document. `start` is where `source` is in its file, in bytes.
///
/// # Errors
///
/// Reads YAML. The error gives the problem and its place if the text is no YAML or exceeds the bounds.
pub fn parse_yaml(source: &str, start: usize) -> Result<Option<YamlNode>, Diagnostic> {
    YamlTreeBuilder::new(source, start).build()
}

struct OpenCollection {
    span: Span,
    data: YamlValue,
    anchor: usize,
    key: Option<MappingKey>,
}

struct YamlTreeBuilder<'s> {
    source: &'s str,
    start: usize,
    offsets: Vec<usize>,
    stack: Vec<OpenCollection>,
    anchors: BTreeMap<usize, (YamlNode, AliasSize)>,
    nodes: usize,
    aliased_bytes: usize,
    root: Option<YamlNode>,
}

impl<'s> YamlTreeBuilder<'s> {
    fn new(source: &'s str, start: usize) -> Self {
        let mut offsets: Vec<usize> = source.char_indices().map(|(offset, _)| offset).collect();
        offsets.push(source.len());
        Self {
            source,
            start,
            offsets,
            stack: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            aliased_bytes: 0,
            root: None,
        }
    }

    fn build(mut self) -> Result<Option<YamlNode>, Diagnostic> {
        for event in Parser::new_from_str(self.source) {
            let (event, span) =
                event.map_err(|e| error_at(e.info().to_owned(), self.at(e.marker().index(), e.marker().index())))?;
            let span = self.at(span.start.index(), span.end.index());
            self.event(event, span)?;
        }
        Ok(self.root)
    }

    fn at(&self, from: usize, to: usize) -> Span {
        let byte =
            |index: usize| self.start.saturating_add(self.offsets.get(index).copied().unwrap_or(self.source.len()));
        Span::new(byte(from), byte(to.max(from)))
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar::parse_from_cow_and_metadata(text, style, tag.as_ref())
                    .ok_or_else(|| error_at("unknown YAML tag", span))?;
                self.add(YamlNode { span, data: YamlValue::Scalar(scalar_json(scalar)) }, anchor, 1)
            }
            Event::SequenceStart(anchor, _) => self.open(span, YamlValue::List(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => self.open(span, YamlValue::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(open) => {
                    let span = Span::new(open.span.start, span.end.max(open.span.end));
                    self.add(YamlNode { span, data: open.data }, open.anchor, 0)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some((_, size)) = self.anchors.get(&anchor) else {
                    return Err(error_at("alias without an anchor before it", span));
                };
                // Counted before anything is copied.
                let size = *size;
                self.count(size.nodes, span)?;
                self.aliased_bytes = self.aliased_bytes.saturating_add(size.bytes);
                if self.aliased_bytes > MAX_ALIASED_BYTES {
                    return Err(error_at(format!("aliases add more than {MAX_ALIASED_BYTES} bytes"), span));
                }
                let data =
                    self.anchors.get(&anchor).map_or(YamlValue::Scalar(Json::Null), |(node, _)| node.data.clone());
                self.add(YamlNode { span, data }, 0, 0)
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(error_at("a second YAML document; one is allowed", span))
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, span: Span, data: YamlValue, anchor: usize) -> Result<(), Diagnostic> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(error_at(format!("nested deeper than {MAX_DEPTH} levels"), span));
        }
        self.count(1, span)?;
        self.stack.push(OpenCollection { span, data, anchor, key: None });
        Ok(())
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Diagnostic> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(error_at(format!("more than {MAX_NODES} values"), span));
        }
        Ok(())
    }

    fn add(&mut self, node: YamlNode, anchor: usize, nodes: usize) -> Result<(), Diagnostic> {
        self.count(nodes, node.span)?;
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), AliasSize::of(&node)));
        }
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.data, open.key.take()) {
            (YamlValue::List(items), _) => items.push(node),
            (YamlValue::Map(entries), Some(key)) => entries.push((key, node)),
            (YamlValue::Map(entries), None) => {
                let key = MappingKey { name: key_name(&node)?, span: node.span };
                if entries.iter().any(|(seen, _)| seen.name == key.name) {
                    return Err(error_at(format!("`{}` is given twice", key.name), key.span));
                }
                open.key = Some(key);
            }
            (YamlValue::Scalar(_), _) => {}
        }
        Ok(())
    }
}

/// How much an alias adds.
#[derive(Debug, Clone, Copy, Default)]
struct AliasSize {
    nodes: usize,
    bytes: usize,
}

impl AliasSize {
    fn of(node: &YamlNode) -> Self {
        match &node.data {
            YamlValue::Scalar(Json::String(text)) => Self { nodes: 1, bytes: text.len() },
            YamlValue::Scalar(_) => Self { nodes: 1, bytes: 0 },
            YamlValue::List(items) => {
                items.iter().fold(Self { nodes: 1, bytes: 0 }, |sum, item| sum.and(Self::of(item)))
            }
            YamlValue::Map(entries) => entries.iter().fold(Self { nodes: 1, bytes: 0 }, |sum, (key, item)| {
                sum.and(Self { nodes: 0, bytes: key.name.len() }).and(Self::of(item))
            }),
        }
    }

    const fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes.saturating_add(other.nodes), bytes: self.bytes.saturating_add(other.bytes) }
    }
}

fn key_name(node: &YamlNode) -> Result<String, Diagnostic> {
    match &node.data {
        YamlValue::Scalar(Json::String(text)) => Ok(text.clone()),
        YamlValue::Scalar(other) => Ok(other.to_string()),
        _ => Err(error_at("a key must be a plain word", node.span)),
    }
}

fn scalar_json(scalar: Scalar<'_>) -> Json {
    match scalar {
        Scalar::Null => Json::Null,
        Scalar::Boolean(value) => Json::Bool(value),
        Scalar::Integer(value) => Json::Number(value.into()),
        Scalar::FloatingPoint(value) => Number::from_f64(*value).map_or(Json::Null, Json::Number),
        Scalar::String(text) => Json::String(text.into_owned()),
    }
}
