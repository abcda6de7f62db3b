//! Says where in a value a repair was made: by the path of the place and by the line of the text.

use std::collections::BTreeSet;

use proem_text::Span;
use serde_json::Value as Json;

use super::cursor::LenientReader;
use super::repairs::SpannedRepair;
use super::tree::{JsonNodeKind, JsonTree};
use super::{Repair, RepairKind};
use crate::schema::{declared_names, escape_pointer_segment};

/// The repairs with their places. `value` is where the value that they belong to was read from.
pub(super) fn place_repairs(text: &str, value: Span, schema: &Json, repairs: Vec<SpannedRepair>) -> Vec<Repair> {
    let is_inside = |repair: &SpannedRepair| repair.span.start > value.start;
    // Reading once more costs nothing where nothing inside was repaired.
    let tree = if repairs.iter().any(is_inside) { LenientReader::new(text, value).tree().ok() } else { None };
    let mut declared = BTreeSet::new();
    declared_names(schema, &mut declared);
    let mut lines = LineCounter { text, at: 0, line: 1 };
    let place = |SpannedRepair { kind, span }| {
        let path = match &tree {
            Some(tree) if !matches!(kind, RepairKind::Candidates | RepairKind::CandidatesUnread | RepairKind::More) => {
                path_at(tree, span.start, &declared)
            }
            _ => String::new(),
        };
        Repair { kind, span, path, line: lines.line_at(span.start) }
    };
    repairs.into_iter().map(place).collect()
}

/// The path of the innermost member or element around `offset`. Names that the schema doesn't declare are `*`.
fn path_at(tree: &JsonTree, offset: usize, declared: &BTreeSet<String>) -> String {
    let mut path = String::new();
    let mut id = tree.root;
    if !span_holds(tree.span(id), offset) {
        return path;
    }
    loop {
        let next = match tree.node(id).map(|node| &node.kind) {
            Some(JsonNodeKind::List(elements)) => {
                let at = elements.partition_point(|element| tree.span(*element).start <= offset);
                let index = at.saturating_sub(1);
                elements.get(index).filter(|element| span_holds(tree.span(**element), offset)).map(|element| {
                    path.push_str(&format!("/{index}"));
                    *element
                })
            }
            Some(JsonNodeKind::Object(members)) => {
                let at = members.partition_point(|member| member.key_span.start <= offset);
                let member = at.checked_sub(1).and_then(|at| members.get(at));
                let within = |start: usize, end: usize| span_holds(Span::new(start, end), offset);
                member.filter(|member| within(member.key_span.start, tree.span(member.value).end)).map(|member| {
                    let name = if declared.contains(&member.key) {
                        escape_pointer_segment(&member.key)
                    } else {
                        "*".to_owned()
                    };
                    path.push_str(&format!("/{name}"));
                    member.value
                })
            }
            _ => None,
        };
        match next {
            Some(next) => id = next,
            None => return path,
        }
    }
}

/// Whether something at `offset` belongs to `span`; what was cut is at its end.
const fn span_holds(span: Span, offset: usize) -> bool {
    span.start <= offset && offset < span.end || span.end == offset && span.start == offset
}

/// Counts lines. Asking for places in order costs one look at the text.
struct LineCounter<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_at(&mut self, offset: usize) -> usize {
        if offset < self.at {
            (self.at, self.line) = (0, 1);
        }
        let between = self.text.get(self.at..offset).unwrap_or_default();
        self.line = self.line.saturating_add(between.bytes().filter(|byte| *byte == b'\n').count());
        self.at = offset;
        self.line
    }
}
