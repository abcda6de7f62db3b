//! Java.

use tree_sitter::Node;

use crate::{
    extract::{Visitor, WalkStep, chain, facts::FactsBuilder, field_child},
    source_facts::{Binding, ImportKind},
};

/// The state of the walk.
#[derive(Debug, Default)]
pub(super) struct Java {
    /// The end of the last type at the top of the file.
    inner_end: usize,
}

impl Visitor for Java {
    fn visit(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        match node.kind() {
            "package_declaration" => {
                facts.package = name_in(node, facts);
                return WalkStep::Over;
            }
            "import_declaration" => {
                add_java_import(node, facts);
                return WalkStep::Over;
            }
            "line_comment" | "block_comment" | "string_literal" => return WalkStep::Over,
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration" => self.define(node, facts),
            "type_parameter" => {
                let name = node.named_child(0).and_then(|name| facts.name(name));
                facts.own.extend(name);
            }
            "type_identifier" => note_used_type(Some(node), 0, facts),
            "object_creation_expression" => note_used_type(field_child(node, "type"), 1, facts),
            "method_invocation" => note_used_type(field_child(node, "object"), 1, facts),
            "field_access" => note_used_type(field_child(node, "object"), 0, facts),
            "method_reference" => note_used_type(node.named_child(0), 0, facts),
            "annotation" | "marker_annotation" => note_used_type(field_child(node, "name"), 0, facts),
            _ => {}
        }
        WalkStep::Into
    }
}

impl Java {
    fn define(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        let Some(name) = field_child(node, "name").and_then(|name| facts.name(name)) else { return };
        if node.start_byte() >= self.inner_end {
            facts.definitions.insert(name);
        } else {
            facts.own.insert(name);
        }
        self.inner_end = self.inner_end.max(node.end_byte());
    }
}

/// The qualified name among the children of a declaration.
fn name_in(node: Node<'_>, facts: &mut FactsBuilder<'_>) -> Option<String> {
    let mut cursor = node.walk();
    let name = node.named_children(&mut cursor).find(|c| matches!(c.kind(), "scoped_identifier" | "identifier"))?;
    facts.compact(name)
}

fn add_java_import(node: Node<'_>, facts: &mut FactsBuilder<'_>) {
    let Some(path) = name_in(node, facts) else { return };
    let all = node.named_children(&mut node.walk()).any(|child| child.kind() == "asterisk");
    let binding = if all {
        Binding { name: "*".to_owned(), local: "*".to_owned() }
    } else {
        let local = path.rsplit_once('.').map_or(path.as_str(), |(_, last)| last).to_owned();
        Binding { name: String::new(), local }
    };
    facts.import(path, ImportKind::Static, vec![binding]);
}

/// Notes a type that is named. A value of that name is told apart by its small first letter.
fn note_used_type(node: Option<Node<'_>>, calls: u32, facts: &mut FactsBuilder<'_>) {
    let Some(node) = node else { return };
    let path = match node.kind() {
        "type_identifier" => facts.name(node),
        "generic_type" => node.named_child(0).and_then(|name| facts.compact(name)),
        "scoped_type_identifier" | "scoped_identifier" => facts.compact(node),
        _ => chain(node, "field_access", ["object", "field"], facts),
    };
    if let Some(path) = path {
        facts.use_name(path, calls, false);
    }
}
