//! Aligns what was read with the schema: scalars of the wrong type, words without quotes, texts that
//! hold JSON.
//!
//! Invariants: only a place that breaks the schema changes. Nothing is added, and nothing left out but the beginning of
//! a longer word where the schema lists the words. Keywords that aren't known here count as met. Whether the result
//! meets the contract is the contract's to say.

mod scalars;
mod schema;

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use self::schema::Types;
use super::RepairKind;
use super::around::trimmed_text_span;
use super::cursor::LenientReader;
use super::repairs::Repairs;
use super::tree::{Coercion, Id, JsonNodeKind, JsonTree, ObjectMember};

pub(super) use self::schema::wants_integers;

/// How many references, branches and levels are followed at most.
const MAX_LEVELS: usize = 400;

/// How many pairs of a place and a schema are looked at, for each node and besides. A byte of a text
/// that holds JSON is a part of one.
const LOOKS_PER_NODE: usize = 64;
const FREE_LOOKS: usize = 20_000;
const BYTES_PER_LOOK: usize = 16;

/// How often a text that holds JSON may itself be in one.
const MAX_ENCODINGS: usize = 2;

/// The cost of a wrong kind of value at the root: more than anything inside it.
const WRONG_ROOT: usize = 1 << 24;

/// The schema's fit to a tree.
#[derive(Debug, Default)]
pub(super) struct Alignment {
    pub(super) edits: BTreeMap<Id, Coercion>,
    /// How many places break the schema all the same.
    pub(super) wrong: usize,
}

/// Aligns `tree`, which was read from `text`, with `schema`.
pub(super) fn align_with_schema(text: &str, tree: &JsonTree, schema: &Json) -> Alignment {
    fit_encoded(text, tree, schema, SchemaResolver { root: schema, encodings: 0 })
}

#[derive(Debug, Clone, Copy)]
struct SchemaResolver<'s> {
    root: &'s Json,
    encodings: usize,
}

fn fit_encoded(text: &str, tree: &JsonTree, schema: &Json, schemas: SchemaResolver<'_>) -> Alignment {
    let looks = tree.nodes.len().saturating_mul(LOOKS_PER_NODE).saturating_add(text.len()).saturating_add(FREE_LOOKS);
    let mut fit = Aligner { text, tree, schemas, edits: BTreeMap::new(), journal: Vec::new(), looks, level: 0 };
    let wrong = fit.place(tree.root, schema);
    Alignment { edits: fit.edits, wrong }
}

struct Aligner<'a> {
    text: &'a str,
    tree: &'a JsonTree,
    schemas: SchemaResolver<'a>,
    edits: BTreeMap<Id, Coercion>,
    /// The places of the edits in the order in which they were made, to take them back.
    journal: Vec<Id>,
    looks: usize,
    level: usize,
}

impl<'a> Aligner<'a> {
    /// Aligns one place with one schema. How many places break it.
    fn place(&mut self, id: Id, schema: &'a Json) -> usize {
        let Json::Object(schema) = schema else { return usize::from(schema == &Json::Bool(false)) };
        // Counted as wrong, not as met: what was not looked at must not win against a branch that was.
        if self.looks == 0 || self.level >= MAX_LEVELS {
            return 1;
        }
        self.looks = self.looks.saturating_sub(1);
        self.level = self.level.saturating_add(1);
        let wrong = self.keywords(id, schema);
        self.level = self.level.saturating_sub(1);
        wrong
    }

    fn keywords(&mut self, id: Id, schema: &'a Map<String, Json>) -> usize {
        let Some(node) = self.tree.node(id) else { return 0 };
        let root = if id == self.tree.root { WRONG_ROOT } else { 1 };
        let types = Types::of(schema);
        // The type first: a text may become a list or an object here, and then its insides have been aligned
        // already.
        let mut wrong = match &node.kind {
            JsonNodeKind::List(_) => usize::from(!types.list).saturating_mul(root),
            JsonNodeKind::Object(_) => usize::from(!types.object).saturating_mul(root),
            kind => {
                if let JsonNodeKind::Text(text) = kind
                    && types.wants_json()
                    && let Some(wrong) = self.encoded(id, text, schema)
                {
                    return wrong;
                }
                usize::from(!self.scalar(id, schema, types)).saturating_mul(root)
            }
        };
        if let Some(Json::String(reference)) = schema.get("$ref") {
            wrong = wrong.saturating_add(
                schema::resolve_reference(self.schemas.root, reference).map_or(0, |target| self.place(id, target)),
            );
        }
        for part in schema_list(schema, "allOf") {
            wrong = wrong.saturating_add(self.place(id, part));
        }
        for keyword in ["anyOf", "oneOf"] {
            wrong = wrong.saturating_add(self.branches(id, schema_list(schema, keyword)));
        }
        let inside = match &node.kind {
            JsonNodeKind::List(elements) => self.elements(elements, schema),
            JsonNodeKind::Object(members) => self.members(members, schema),
            _ => 0,
        };
        wrong.saturating_add(inside)
    }

    /// Takes the first of the branches that needs the fewest edits; if none fits, makes none.
    fn branches(&mut self, id: Id, branches: &'a [Json]) -> usize {
        let mut best: Option<(usize, usize, &Json)> = None;
        for branch in branches {
            let mark = self.journal.len();
            let wrong = self.place(id, branch);
            let edits = self.journal.len().saturating_sub(mark);
            self.take_back(mark);
            if best.is_none_or(|(least, fewest, _)| (wrong, edits) < (least, fewest)) {
                best = Some((wrong, edits, branch));
            }
            // Nothing can be better, and the first of equals counts. A union of many branches would cost a look at
            // each.
            if (wrong, edits) == (0, 0) {
                return 0;
            }
        }
        match best {
            // The branch is applied once more, because its edits were taken back so that the others started from the
            // same place. If no branch fits, taking one would be a guess.
            Some((0, _, branch)) => self.place(id, branch),
            Some((wrong, ..)) => wrong,
            None => 0,
        }
    }

    fn take_back(&mut self, mark: usize) {
        for id in self.journal.split_off(mark.min(self.journal.len())) {
            self.edits.remove(&id);
        }
    }

    fn edit(&mut self, id: Id, kind: RepairKind, value: Option<Json>) {
        self.journal.push(id);
        self.edits.insert(id, Coercion { kind, value, inner: Repairs::default() });
    }

    fn elements(&mut self, elements: &'a [Id], schema: &'a Map<String, Json>) -> usize {
        let first = schema_list(schema, "prefixItems");
        let others = schema.get("items");
        let mut wrong = 0_usize;
        for (at, element) in elements.iter().enumerate() {
            if let Some(schema) = first.get(at).or(others) {
                wrong = wrong.saturating_add(self.place(*element, schema));
            }
        }
        wrong
    }

    fn members(&mut self, members: &'a [ObjectMember], schema: &'a Map<String, Json>) -> usize {
        let declared = schema.get("properties").and_then(Json::as_object);
        // The members that a pattern names are unknown here.
        let others = schema.get("additionalProperties").filter(|_| !schema.contains_key("patternProperties"));
        let mut wrong = 0_usize;
        for member in members {
            if let Some(schema) = declared.and_then(|declared| declared.get(&member.key)).or(others) {
                let places = self.place(member.value, schema);
                // A member that is left out breaks only the rule that it must be there.
                wrong = wrong.saturating_add(if self.is_absent(member.value) { 0 } else { places });
            }
        }
        let stands = |name: &str| members.iter().any(|member| member.key == name && !self.is_absent(member.value));
        let missing =
            schema_list(schema, "required").iter().filter_map(Json::as_str).filter(|name| !stands(name)).count();
        wrong.saturating_add(missing)
    }

    /// Whether a place is left out of the value.
    fn is_absent(&self, id: Id) -> bool {
        match self.tree.node(id).map(|node| &node.kind) {
            Some(JsonNodeKind::Unread) | None => true,
            Some(JsonNodeKind::Bare) => !self.edits.contains_key(&id),
            Some(_) => self.edits.get(&id).is_some_and(|edit| edit.value.is_none()),
        }
    }

    /// Reads a text as the list or object that it holds. How many places of it break the schema, `None` if it holds
    /// none of the right kind.
    fn encoded(&mut self, id: Id, text: &str, schema: &'a Map<String, Json>) -> Option<usize> {
        let span = trimmed_text_span(text);
        let starts = text.get(span.start..span.end)?.starts_with(['{', '[']);
        if !starts || self.schemas.encodings >= MAX_ENCODINGS || self.looks == 0 || self.edits.contains_key(&id) {
            return None;
        }
        self.looks = self.looks.saturating_sub(text.len() / BYTES_PER_LOOK);
        let mut reader = LenientReader::new(text, span);
        // A text that was closed is whole. One that holds half a value holds something else.
        let tree = reader.tree().ok().filter(|tree| !tree.cut && !tree.torn && reader.is_at_end())?;
        // The looks are those of the whole answer: texts in texts would otherwise multiply them.
        let mut inner = Aligner {
            text,
            tree: &tree,
            schemas: SchemaResolver { encodings: self.schemas.encodings.saturating_add(1), ..self.schemas },
            edits: BTreeMap::new(),
            journal: Vec::new(),
            looks: self.looks,
            level: self.level,
        };
        let wrong = inner.keywords(tree.root, schema);
        let edits = inner.edits;
        self.looks = inner.looks;
        let (value, repairs) = tree.into_value(edits);
        // A text that holds a list where an object is wanted is just a text.
        if wrong >= WRONG_ROOT || value.is_none() {
            return None;
        }
        self.journal.push(id);
        let inner = repairs.all_at(self.tree.span(id));
        self.edits.insert(id, Coercion { kind: RepairKind::Encoded, value, inner });
        Some(wrong)
    }
}

/// The schemas or names under a keyword.
fn schema_list<'a>(schema: &'a Map<String, Json>, keyword: &str) -> &'a [Json] {
    schema.get(keyword).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}
