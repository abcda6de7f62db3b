//! Python.

use tree_sitter::Node;

use crate::{
    extract::{Visitor, WalkStep, chain, facts::FactsBuilder, field_child, named_children},
    source_facts::{Binding, ImportKind},
};

/// The state of the walk.
#[derive(Debug, Default)]
pub(super) struct Python {
    /// The end of the outermost function or class that the walk has reached.
    inner_end: usize,
    /// The end of the last block that only type checkers run.
    types_end: usize,
}

impl Visitor for Python {
    fn visit(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        match node.kind() {
            "import_statement" => self.import(node, facts),
            "import_from_statement" => self.import_from(node, facts),
            "future_import_statement" | "string" | "comment" => {}
            "if_statement" => {
                let condition = field_child(node, "condition").map(|condition| facts.bytes(condition));
                if let (Some(b"TYPE_CHECKING" | b"typing.TYPE_CHECKING"), Some(block)) =
                    (condition, field_child(node, "consequence"))
                {
                    self.types_end = self.types_end.max(block.end_byte());
                }
                return WalkStep::Into;
            }
            "function_definition" | "class_definition" => {
                self.define(node, field_child(node, "name"), facts);
                self.inner_end = self.inner_end.max(node.end_byte());
                return WalkStep::Into;
            }
            "assignment" => {
                self.assign(node, facts);
                return WalkStep::Into;
            }
            "call" => {
                note_python_call(node, facts);
                return WalkStep::Into;
            }
            _ => return WalkStep::Into,
        }
        WalkStep::Over
    }
}

impl Python {
    fn kind(&self, node: Node<'_>) -> ImportKind {
        if node.start_byte() < self.types_end { ImportKind::TypeOnly } else { ImportKind::Static }
    }

    fn import(&self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        for child in named_children(node) {
            let (path, alias) = match child.kind() {
                "aliased_import" => (field_child(child, "name"), field_child(child, "alias")),
                _ => (Some(child), None),
            };
            let Some(path) = path.and_then(|path| facts.compact(path)) else { continue };
            let local = alias.and_then(|alias| facts.name(alias)).unwrap_or_else(|| path.clone());
            facts.import(path, self.kind(node), vec![Binding { name: String::new(), local }]);
        }
    }

    fn import_from(&self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        let Some(module) = field_child(node, "module_name") else { return };
        let Some(path) = facts.compact(module) else { return };
        let mut bindings = Vec::new();
        for child in named_children(node).into_iter().filter(|child| child.id() != module.id()) {
            let binding = match child.kind() {
                "wildcard_import" => Some(Binding { name: "*".to_owned(), local: "*".to_owned() }),
                "aliased_import" => {
                    let name = field_child(child, "name").and_then(|name| facts.compact(name));
                    let local = field_child(child, "alias").and_then(|alias| facts.name(alias));
                    name.zip(local).map(|(name, local)| Binding { name, local })
                }
                "dotted_name" => facts.compact(child).map(|name| Binding { local: name.clone(), name }),
                _ => None,
            };
            bindings.extend(binding);
        }
        facts.import(path, self.kind(node), bindings);
    }

    /// Notes a name that the module has for others.
    fn define(&self, node: Node<'_>, name: Option<Node<'_>>, facts: &mut FactsBuilder<'_>) {
        if node.start_byte() >= self.inner_end
            && let Some(name) = name.filter(|name| name.kind() == "identifier").and_then(|name| facts.name(name))
        {
            facts.definitions.insert(name);
        }
    }

    fn assign(&self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        let Some(left) = field_child(node, "left") else { return };
        match left.kind() {
            "pattern_list" | "tuple_pattern" => {
                for name in named_children(left) {
                    self.define(node, Some(name), facts);
                }
            }
            _ => self.define(node, Some(left), facts),
        }
    }
}

fn note_python_call(node: Node<'_>, facts: &mut FactsBuilder<'_>) {
    let Some(function) = field_child(node, "function") else { return };
    let Some(path) = chain(function, "attribute", ["object", "attribute"], facts) else { return };
    if matches!(path.as_str(), "__import__" | "import_module" | "importlib.import_module") {
        let first = field_child(node, "arguments").and_then(|arguments| arguments.named_child(0));
        if let Some(module) = first.and_then(|first| facts.literal(first)) {
            facts.import(module, ImportKind::Dynamic, Vec::new());
        }
    }
    facts.use_name(path, 1, false);
}
