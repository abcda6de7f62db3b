//! Go.

use tree_sitter::Node;

use crate::{
    extract::{Visitor, WalkStep, chain, facts::FactsBuilder, field_child, named_children},
    source_facts::{Binding, ImportKind},
};

/// Go's declarations are at the top of its files. Nothing needs to be remembered.
#[derive(Debug)]
pub(super) struct Go;

impl Visitor for Go {
    fn visit(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        match node.kind() {
            "package_clause" => {
                facts.package = node.named_child(0).and_then(|name| facts.name(name));
                WalkStep::Over
            }
            "import_spec" => {
                add_go_import(node, facts);
                WalkStep::Over
            }
            "source_file" => {
                for child in named_children(node) {
                    define(child, facts);
                }
                WalkStep::Into
            }
            "call_expression" => {
                let function = field_child(node, "function");
                let path = function.and_then(|f| chain(f, "selector_expression", ["operand", "field"], facts));
                if let Some(path) = path {
                    facts.use_name(path, 1, false);
                }
                WalkStep::Into
            }
            "qualified_type" => {
                if let Some(path) = facts.compact(node) {
                    facts.use_name(path, 0, false);
                }
                WalkStep::Over
            }
            "selector_expression" => {
                if let Some(path) = chain(node, "selector_expression", ["operand", "field"], facts) {
                    facts.use_name(path, 0, false);
                }
                WalkStep::Into
            }
            _ => WalkStep::Into,
        }
    }
}

fn add_go_import(node: Node<'_>, facts: &mut FactsBuilder<'_>) {
    let Some(path) = field_child(node, "path").and_then(|path| facts.literal(path)) else { return };
    let alias = field_child(node, "name").and_then(|name| facts.name(name));
    let binding = match alias.as_deref() {
        Some("_") => None,
        Some(".") => Some(Binding { name: "*".to_owned(), local: "*".to_owned() }),
        alias => Some(Binding { name: String::new(), local: alias.unwrap_or_default().to_owned() }),
    };
    facts.import(path, ImportKind::Static, binding.into_iter().collect());
}

/// Notes what a declaration at the top of a file defines for its package.
fn define(node: Node<'_>, facts: &mut FactsBuilder<'_>) {
    let named = match node.kind() {
        "function_declaration" => vec![node],
        "type_declaration" | "const_declaration" => named_children(node),
        "var_declaration" => named_children(node)
            .into_iter()
            .flat_map(|child| if child.kind() == "var_spec_list" { named_children(child) } else { vec![child] })
            .collect(),
        _ => return,
    };
    for node in named {
        let names: Vec<_> = node.children_by_field_name("name", &mut node.walk()).collect();
        for name in names {
            if let Some(name) = facts.name(name) {
                facts.definitions.insert(name);
            }
        }
    }
}
