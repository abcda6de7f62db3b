//! The tree that was read, with its places, before the schema is applied.
//!
//! Nodes are in one list in the order in which they were finished, so that a change of one is a number and a value.

use std::collections::BTreeMap;
use std::mem;

use serde_json::{Map, Number, Value as Json};

use proem_text::Span;

use super::RepairKind;
use super::repairs::Repairs;

/// The place of a node in its tree.
pub(super) type Id = usize;

/// A value and where it is.
#[derive(Debug)]
pub(super) struct JsonNode {
    pub(super) kind: JsonNodeKind,
    pub(super) span: Span,
}

/// The kind of node at a place.
#[derive(Debug, Default)]
pub(super) enum JsonNodeKind {
    Null,
    Bool(bool),
    Number(Number),
    /// A text between quotes.
    Text(String),
    /// A text whose closing quote is behind the end.
    OpenText(String),
    /// A word without quotes: a text where the schema says so.
    Bare,
    List(Vec<Id>),
    Object(Vec<ObjectMember>),
    /// Text with more than one reading.
    #[default]
    Unread,
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct ObjectMember {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Id,
}

/// A value that was read and what was repaired on the way.
#[derive(Debug)]
pub(super) struct JsonTree {
    pub(super) nodes: Vec<JsonNode>,
    pub(super) root: Id,
    pub(super) repairs: Repairs,
    /// Whether the text ended inside of it.
    pub(super) cut: bool,
    /// Whether its parts can be put together in more than one way.
    pub(super) torn: bool,
    /// How many words are before it that may open somebody else's turn.
    pub(super) turn: usize,
    /// The start of the words that may lead to it: behind the last mark of a turn or of reasoning.
    pub(super) lead: usize,
}

/// The schema's coercion of a place; without a value, the place is left out.
#[derive(Debug)]
pub(super) struct Coercion {
    pub(super) kind: RepairKind,
    pub(super) value: Option<Json>,
    /// The repairs inside a text that holds JSON.
    pub(super) inner: Repairs,
}

impl JsonTree {
    pub(super) fn node(&self, id: Id) -> Option<&JsonNode> {
        self.nodes.get(id)
    }

    pub(super) fn span(&self, id: Id) -> Span {
        self.node(id).map_or(Span::default(), |node| node.span)
    }

    /// The value with its edits, and all repairs. No value if the root is unreadable.
    pub(super) fn into_value(mut self, mut edits: BTreeMap<Id, Coercion>) -> (Option<Json>, Repairs) {
        let value = self.take(self.root, &mut edits);
        (value, self.repairs)
    }

    fn take(&mut self, id: Id, edits: &mut BTreeMap<Id, Coercion>) -> Option<Json> {
        let span = self.span(id);
        if let Some(edit) = edits.remove(&id) {
            self.repairs.extend(edit.inner);
            if edit.value.is_some() {
                self.repairs.push(edit.kind, span);
            }
            return edit.value;
        }
        match mem::take(&mut self.nodes.get_mut(id)?.kind) {
            JsonNodeKind::Null => Some(Json::Null),
            JsonNodeKind::Bool(value) => Some(Json::Bool(value)),
            JsonNodeKind::Number(number) => Some(Json::Number(number)),
            JsonNodeKind::Text(text) | JsonNodeKind::OpenText(text) => Some(Json::String(text)),
            // A word that is none makes the list unreadable. The end of a cut list is left out.
            JsonNodeKind::List(mut elements) => {
                let cut = elements.last().and_then(|last| edits.get(last)).is_some_and(|edit| edit.value.is_none());
                if let Some(last) = elements.last().copied().filter(|_| cut) {
                    self.repairs.push(RepairKind::CutOff, self.span(last));
                    elements.pop();
                }
                elements.into_iter().map(|element| self.take(element, edits)).collect()
            }
            JsonNodeKind::Object(members) => {
                let mut object = Map::new();
                for ObjectMember { key, key_span, value } in members {
                    let span = Span::new(key_span.start, self.span(value).end);
                    match self.take(value, edits) {
                        Some(value) => _ = object.insert(key, value),
                        None => self.repairs.push(RepairKind::LeftOut, span),
                    }
                }
                Some(Json::Object(object))
            }
            JsonNodeKind::Bare | JsonNodeKind::Unread => None,
        }
    }
}
