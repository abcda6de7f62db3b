//! JavaScript and TypeScript, whose grammars name their nodes alike.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::{
    extract::{Visitor, WalkStep, chain, facts::FactsBuilder, field_child, named_children},
    source_facts::{Binding, ImportKind},
};

/// The state of the walk.
#[derive(Debug, Default)]
pub(super) struct JavaScript {
    /// The beginnings of calls whose import is noted with the names that it is assigned to.
    noted: BTreeSet<usize>,
}

impl Visitor for JavaScript {
    fn visit(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        match node.kind() {
            "import_statement" => add_js_import(node, facts),
            "comment" | "string" | "regex" => {}
            "export_statement" => {
                add_js_export(node, facts);
                return WalkStep::Into;
            }
            "variable_declarator" => {
                self.required(node, facts);
                return WalkStep::Into;
            }
            "call_expression" => {
                self.call(node, facts);
                return WalkStep::Into;
            }
            "new_expression" => {
                note_call(field_child(node, "constructor"), facts);
                return WalkStep::Into;
            }
            "jsx_opening_element" | "jsx_self_closing_element" => {
                note_call(field_child(node, "name"), facts);
                return WalkStep::Into;
            }
            _ => return WalkStep::Into,
        }
        WalkStep::Over
    }
}

impl JavaScript {
    /// `const { a, b: c } = require("literal")`, and the same with `await import`.
    fn required(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        let (Some(pattern), Some(mut value)) = (field_child(node, "name"), field_child(node, "value")) else { return };
        if value.kind() == "await_expression" {
            let Some(awaited) = value.named_child(0) else { return };
            value = awaited;
        }
        let Some(path) = required_literal(value, facts) else { return };
        self.noted.insert(value.start_byte());
        let bindings = pattern_bindings(pattern, facts);
        facts.import(path, ImportKind::Dynamic, bindings);
    }

    fn call(&self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        if !self.noted.contains(&node.start_byte())
            && let Some(path) = required_literal(node, facts)
        {
            facts.import(path, ImportKind::Dynamic, Vec::new());
        }
        note_call(field_child(node, "function"), facts);
    }
}

fn note_call(callee: Option<Node<'_>>, facts: &mut FactsBuilder<'_>) {
    let path = callee.and_then(|callee| chain(callee, "member_expression", ["object", "property"], facts));
    if let Some(path) = path {
        facts.use_name(path, 1, false);
    }
}

/// The literal that `require` or `import` is called with.
fn required_literal(call: Node<'_>, facts: &mut FactsBuilder<'_>) -> Option<String> {
    if call.kind() != "call_expression" {
        return None;
    }
    let function = field_child(call, "function")?;
    let imports = match function.kind() {
        "import" => true,
        "identifier" => facts.bytes(function) == b"require",
        _ => false,
    };
    let first = field_child(call, "arguments").filter(|_| imports)?.named_child(0)?;
    facts.literal(first)
}

fn pattern_bindings(pattern: Node<'_>, facts: &mut FactsBuilder<'_>) -> Vec<Binding> {
    if pattern.kind() == "identifier" {
        return facts.name(pattern).map(|local| Binding { name: "*".to_owned(), local }).into_iter().collect();
    }
    let mut bindings = Vec::new();
    for child in named_children(pattern) {
        let (name, local) = match child.kind() {
            "shorthand_property_identifier_pattern" => (Some(child), Some(child)),
            "pair_pattern" => (field_child(child, "key"), field_child(child, "value")),
            "object_assignment_pattern" => (field_child(child, "left"), field_child(child, "left")),
            _ => continue,
        };
        let local = local.filter(|local| local.kind() != "object_pattern");
        if let (Some(name), Some(local)) = (name, local)
            && let (Some(name), Some(local)) = (facts.name(name), facts.name(local))
        {
            bindings.push(Binding { name, local });
        }
    }
    bindings
}

/// Whether one of the words directly below `node` says that only types are meant.
fn for_types(node: Node<'_>) -> bool {
    node.children(&mut node.walk()).any(|child| !child.is_named() && matches!(child.kind(), "type" | "typeof"))
}

fn add_js_import(node: Node<'_>, facts: &mut FactsBuilder<'_>) {
    let mut source = field_child(node, "source");
    let mut bindings = Vec::new();
    let mut values = false;
    for child in named_children(node) {
        match child.kind() {
            "import_clause" => values |= clause(child, facts, &mut bindings),
            "import_require_clause" => {
                source = field_child(child, "source");
                let local = child.named_child(0).and_then(|local| facts.name(local));
                bindings.extend(local.map(|local| Binding { name: "*".to_owned(), local }));
                values = true;
            }
            _ => {}
        }
    }
    let Some(path) = source.and_then(|source| facts.literal(source)) else { return };
    let types = for_types(node) || (!values && !bindings.is_empty());
    facts.import(path, if types { ImportKind::TypeOnly } else { ImportKind::Static }, bindings);
}

/// Reads what an import brings in. Whether any of it is more than a type.
fn clause(node: Node<'_>, facts: &mut FactsBuilder<'_>, bindings: &mut Vec<Binding>) -> bool {
    let mut values = false;
    for child in named_children(node) {
        match child.kind() {
            "identifier" => {
                let local = facts.name(child);
                bindings.extend(local.map(|local| Binding { name: "default".to_owned(), local }));
                values = true;
            }
            "namespace_import" => {
                let local = child.named_child(0).and_then(|local| facts.name(local));
                bindings.extend(local.map(|local| Binding { name: "*".to_owned(), local }));
                values = true;
            }
            "named_imports" => {
                for specifier in named_children(child).into_iter().filter(|child| child.kind() == "import_specifier") {
                    bindings.extend(renamed_binding(specifier, facts));
                    values |= !for_types(specifier);
                }
            }
            _ => {}
        }
    }
    values
}

/// `name` or `name as alias`.
fn renamed_binding(specifier: Node<'_>, facts: &mut FactsBuilder<'_>) -> Option<Binding> {
    let name = field_child(specifier, "name").and_then(|name| facts.name(name))?;
    let local = field_child(specifier, "alias").and_then(|alias| facts.name(alias)).unwrap_or_else(|| name.clone());
    Some(Binding { name, local })
}

fn add_js_export(node: Node<'_>, facts: &mut FactsBuilder<'_>) {
    let mut bindings = Vec::new();
    let mut all = true;
    for child in named_children(node) {
        match child.kind() {
            "export_clause" => {
                all = false;
                let specifiers = named_children(child).into_iter().filter(|child| child.kind() == "export_specifier");
                bindings.extend(specifiers.filter_map(|specifier| renamed_binding(specifier, facts)));
            }
            "namespace_export" => {
                all = false;
                let local = child.named_child(0).and_then(|local| facts.name(local));
                bindings.extend(local.map(|local| Binding { name: "*".to_owned(), local }));
            }
            _ => {}
        }
    }
    if let Some(source) = field_child(node, "source") {
        let Some(path) = facts.literal(source) else { return };
        if all {
            bindings.push(Binding { name: "*".to_owned(), local: "*".to_owned() });
        }
        let kind = if for_types(node) { ImportKind::TypeOnly } else { ImportKind::ReExport };
        return facts.import(path, kind, bindings);
    }
    // A thing imported under such a name is found through the import.
    facts.definitions.extend(bindings.into_iter().map(|binding| binding.local));
    if node.children(&mut node.walk()).any(|child| child.kind() == "default") {
        facts.definitions.insert("default".to_owned());
    }
    if let Some(declaration) = field_child(node, "declaration") {
        note_declared_exports(declaration, facts);
    }
}

/// Notes the names that a declaration exports.
fn note_declared_exports(declaration: Node<'_>, facts: &mut FactsBuilder<'_>) {
    if let Some(name) = field_child(declaration, "name").and_then(|name| facts.name(name)) {
        facts.definitions.insert(name);
        return;
    }
    for declarator in named_children(declaration).into_iter().filter(|child| child.kind() == "variable_declarator") {
        let Some(pattern) = field_child(declarator, "name") else { continue };
        let names = pattern_bindings(pattern, facts);
        facts.definitions.extend(names.into_iter().map(|binding| binding.local));
    }
}
