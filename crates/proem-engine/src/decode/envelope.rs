//! Finds the value in an envelope: a call of a tool, an object with one member, a list with one element, a bare list.
//!
//! An envelope is opened only where the value inside has every field that the contract requires and the envelope lacks
//! one of them, so that nothing is taken out of a value that was meant as it is.

use serde_json::Value as Json;

use proem_text::Span;

use super::RepairKind;
use super::around::is_space_between_values;
use super::tree::{Id, JsonNode, JsonNodeKind, JsonTree, ObjectMember};

/// How many envelopes may be in each other: a list of calls, a call, its arguments.
const MAX_ENVELOPES: usize = 3;

/// Members that may be beside the value in an envelope (the calls of OpenAI, Hermes, Mistral and Llama).
const BESIDE: [&str; 6] = ["name", "type", "id", "function", "tool", "tool_name"];

/// Members that hold a value that is not the answer.
const NOT_MEANT: [&str; 18] = [
    "example",
    "examples",
    "default",
    "error",
    "invalid",
    "wrong",
    "draft",
    "before",
    "old",
    "input",
    "request",
    "schema",
    "format",
    "template",
    "properties",
    "not",
    "if",
    "alternative",
];

/// Takes the value of `tree` out of its envelope, or puts a bare list into the only field of `schema`.
pub(super) fn open_envelope(text: &str, tree: &mut JsonTree, schema: &Json) {
    let outer = tree.span(tree.root);
    let required: Vec<&str> =
        schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    for _ in 0..MAX_ENVELOPES {
        let Some(inner) = inner_value(tree, &required) else { break };
        tree.root = inner;
    }
    if tree.span(tree.root) != outer && has_all(tree, tree.root, &required) {
        tree.repairs.push(RepairKind::Wrapper, outer);
        return;
    }
    if let Some(name) = only_list(schema)
        && is_plain_list(tree)
        && stands_alone(text, outer)
    {
        let member =
            ObjectMember { key: name.to_owned(), key_span: Span::new(outer.start, outer.start), value: tree.root };
        tree.repairs.push(RepairKind::BareList, outer);
        tree.root = tree.nodes.len();
        tree.nodes.push(JsonNode { kind: JsonNodeKind::Object(vec![member]), span: outer });
    }
}

/// Whether the root is a list without words that lack quotes, which may be a mark, and without dots for more.
fn is_plain_list(tree: &JsonTree) -> bool {
    let Some(JsonNodeKind::List(elements)) = tree.node(tree.root).map(|node| &node.kind) else { return false };
    let is_word = |id: &Id| tree.node(*id).is_some_and(|node| matches!(node.kind, JsonNodeKind::Bare));
    !elements.iter().any(is_word) && !tree.repairs.has(|kind| kind == RepairKind::Ellipsis)
}

/// The only list or object that the root holds, if it is an envelope.
fn inner_value(tree: &JsonTree, required: &[&str]) -> Option<Id> {
    let holds =
        |id: Id| tree.node(id).is_some_and(|node| matches!(node.kind, JsonNodeKind::List(_) | JsonNodeKind::Object(_)));
    match &tree.node(tree.root)?.kind {
        JsonNodeKind::List(elements) => match elements.as_slice() {
            [only] if leads_to_value(tree, *only, required, MAX_ENVELOPES) => Some(*only),
            _ => None,
        },
        JsonNodeKind::Object(members) if !has_all(tree, tree.root, required) => {
            let mut inner = members.iter().filter(|member| holds(member.value));
            let found = inner.next().filter(|_| inner.next().is_none())?;
            let is_beside = |member: &ObjectMember| {
                member.value == found.value || BESIDE.contains(&member.key.to_ascii_lowercase().as_str())
            };
            let is_meant = !NOT_MEANT.contains(&found.key.to_ascii_lowercase().as_str());
            (is_meant && members.iter().all(is_beside) && leads_to_value(tree, found.value, required, MAX_ENVELOPES))
                .then_some(found.value)
        }
        _ => None,
    }
}

/// Whether `id` has all fields, or is a list or object that holds one that has.
fn leads_to_value(tree: &JsonTree, id: Id, required: &[&str], levels: usize) -> bool {
    if has_all(tree, id, required) {
        return true;
    }
    let Some(levels) = levels.checked_sub(1) else { return false };
    match tree.node(id).map(|node| &node.kind) {
        Some(JsonNodeKind::List(elements)) => {
            matches!(elements.as_slice(), [only] if leads_to_value(tree, *only, required, levels))
        }
        Some(JsonNodeKind::Object(members)) => {
            members.len() <= BESIDE.len().saturating_add(1)
                && members.iter().any(|member| leads_to_value(tree, member.value, required, levels))
        }
        _ => false,
    }
}

/// Whether `id` is an object with every field in `required`, of which there is one.
fn has_all(tree: &JsonTree, id: Id, required: &[&str]) -> bool {
    let Some(JsonNodeKind::Object(members)) = tree.node(id).map(|node| &node.kind) else { return false };
    !required.is_empty() && required.iter().all(|name| members.iter().any(|member| member.key == *name))
}

/// The name of the only field of `schema`, if that is a list.
fn only_list(schema: &Json) -> Option<&str> {
    let mut fields = schema.get("properties")?.as_object()?.iter();
    let (name, field) = fields.next().filter(|_| fields.next().is_none())?;
    (field.get("type")?.as_str()? == "array").then_some(name)
}

/// Whether nothing is beside `span` in its lines but a label, a fence or a mark: a number in brackets amid a sentence
/// is a footnote.
fn stands_alone(text: &str, span: Span) -> bool {
    let is_mark = |c: char| is_space_between_values(c) || matches!(c, '`' | '*' | '.');
    let before = text.get(..span.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    let before = before.trim_end_matches(is_mark);
    let rest = text.get(span.end..).unwrap_or_default();
    let behind = rest.split('\n').next().unwrap_or_default().trim_start_matches(is_mark);
    let next = rest.trim_start_matches(is_space_between_values);
    if next.starts_with("...") || next.starts_with('…') || next.starts_with("and ") {
        return false;
    }
    let mark = before.strip_suffix(['>', ']']).filter(|mark| mark.contains(['<', '[']));
    // A mark has a name. A line that begins with `>` quotes somebody, and a number in brackets is another list.
    let is_led =
        before.ends_with(':') || mark.is_some_and(|mark| mark.ends_with(|c: char| c.is_alphabetic() || c == '|'));
    (before.is_empty() || is_led) && (behind.is_empty() || behind.starts_with('<'))
}
