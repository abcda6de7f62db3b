//! Symbols by tree-sitter.

use tree_sitter::{Node, Tree, TreeCursor};

use super::{MOST, Symbol, SymbolKind, kept_name, line_number};
use crate::{
    SourceLanguage,
    extract::{ExtractError, NODES, WalkStep, field_child},
};

/// The state of the walk.
struct SymbolWalk<'s> {
    language: SourceLanguage,
    source: &'s [u8],
    found: Vec<Symbol>,
    /// The symbols around the walk, outermost first: kind and end in bytes.
    around: Vec<(SymbolKind, usize)>,
}

/// A definition as its node says it.
struct Definition<'t> {
    kind: SymbolKind,
    name: Node<'t>,
    /// The whole definition: with its decorators, and the statement around it.
    whole: Node<'t>,
    body: Option<Node<'t>>,
}

pub(super) fn read_tree_symbols(
    (language, source): (SourceLanguage, &[u8]),
    tree: &Tree,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<Vec<Symbol>, ExtractError> {
    let mut walk = SymbolWalk { language, source, found: Vec::new(), around: Vec::new() };
    let mut cursor = tree.walk();
    let mut seen: u32 = 0;
    loop {
        seen = seen.wrapping_add(1);
        if seen.is_multiple_of(NODES) && give_up() {
            return Err(ExtractError::TimedOut);
        }
        let step = walk.visit(cursor.node());
        if walk.found.len() >= MOST || !go_to_next(&mut cursor, step) {
            return Ok(walk.found);
        }
    }
}

/// Goes to the next node, parents first. False at the end.
fn go_to_next(cursor: &mut TreeCursor<'_>, step: WalkStep) -> bool {
    if step == WalkStep::Into && cursor.goto_first_child() {
        return true;
    }
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

impl SymbolWalk<'_> {
    fn visit(&mut self, node: Node<'_>) -> WalkStep {
        if !node.is_named() {
            return WalkStep::Into;
        }
        let start = node.start_byte();
        while self.around.last().is_some_and(|(_, end)| start >= *end) {
            self.around.pop();
        }
        let Some(definition) = self.definition(node) else { return WalkStep::Into };
        let name = self.source.get(definition.name.byte_range()).and_then(kept_name);
        let Some(name) = name else { return WalkStep::Into };
        let in_type = self
            .around
            .last()
            .is_some_and(|(kind, _)| matches!(kind, SymbolKind::Type | SymbolKind::Interface | SymbolKind::Extension));
        let kind = match definition.kind {
            SymbolKind::Function if in_type => SymbolKind::Method,
            other => other,
        };
        let own = leading(definition.whole, self.language, Lead::Attribute);
        // Attributes, decorators and annotations are before the line that a definition is known by.
        let own_row = definition.name.start_position().row;
        let signature = definition.body.map_or(definition.whole.end_position().row, |body| {
            let begins = body.start_position().row;
            // A block by indentation begins with its first statement, which is no part of what is before it.
            if self.language == SourceLanguage::Python { begins.saturating_sub(1) } else { begins }
        });
        self.found.push(Symbol {
            name,
            kind,
            first_line: line_number(leading(own, self.language, Lead::Any).start_position().row),
            own_line: line_number(own_row),
            signature_line: line_number(signature.max(own_row)),
            last_line: line_number(last_row(definition.whole)),
            depth: u8::try_from(self.around.len()).unwrap_or(u8::MAX),
        });
        self.around.push((kind, node.end_byte()));
        // A function's inner definitions are its own business.
        if kind.runs() { WalkStep::Over } else { WalkStep::Into }
    }

    fn definition<'t>(&self, node: Node<'t>) -> Option<Definition<'t>> {
        match self.language {
            SourceLanguage::Rust => rust(node),
            SourceLanguage::Python => python(node),
            SourceLanguage::Go => go(node),
            SourceLanguage::Java => java(node),
            SourceLanguage::JavaScript | SourceLanguage::TypeScript | SourceLanguage::Tsx => javascript(node),
            SourceLanguage::C | SourceLanguage::Cpp => None,
        }
    }
}

/// The last row that holds something of a node: one that ends with a line feed ends on the line before.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 { end.row.saturating_sub(1).max(node.start_position().row) } else { end.row }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// Attributes and decorators that are before it as nodes of their own.
    Attribute,
    /// These and comments.
    Any,
}

/// The first node of what is directly before a definition and belongs to it.
fn leading<'t>(node: Node<'t>, language: SourceLanguage, lead: Lead) -> Node<'t> {
    let mut first = node;
    // A definition has few lines of its own before it. A file of comments alone is not gone through for each.
    for _ in 0..200 {
        let Some(before) = first.prev_sibling() else { break };
        let belongs = match before.kind() {
            "attribute_item" => language == SourceLanguage::Rust,
            "line_comment" | "block_comment" | "comment" => lead == Lead::Any,
            _ => false,
        };
        let apart = first.start_position().row.saturating_sub(last_row(before));
        if !belongs || apart > 1 {
            break;
        }
        first = before;
    }
    first
}

fn named_definition<'t>(kind: SymbolKind, node: Node<'t>, name: &str) -> Option<Definition<'t>> {
    Some(Definition { kind, name: field_child(node, name)?, whole: node, body: field_child(node, "body") })
}

fn rust(node: Node<'_>) -> Option<Definition<'_>> {
    match node.kind() {
        "function_item" | "function_signature_item" => named_definition(SymbolKind::Function, node, "name"),
        "struct_item" | "enum_item" | "union_item" | "type_item" => named_definition(SymbolKind::Type, node, "name"),
        "trait_item" => named_definition(SymbolKind::Interface, node, "name"),
        "impl_item" => {
            let name = bare_type(field_child(node, "type")?);
            Some(Definition { kind: SymbolKind::Extension, name, whole: node, body: field_child(node, "body") })
        }
        "mod_item" if field_child(node, "body").is_some() => named_definition(SymbolKind::Module, node, "name"),
        "const_item" | "static_item" => named_definition(SymbolKind::Constant, node, "name"),
        "macro_definition" => named_definition(SymbolKind::Macro, node, "name"),
        _ => None,
    }
}

/// The name of a type without its path and parameters.
fn bare_type(node: Node<'_>) -> Node<'_> {
    let mut bare = node;
    // A type has few layers.
    for _ in 0..8 {
        let inner = match bare.kind() {
            "generic_type" | "reference_type" => field_child(bare, "type"),
            "scoped_type_identifier" => field_child(bare, "name"),
            _ => None,
        };
        let Some(inner) = inner else { break };
        bare = inner;
    }
    bare
}

fn python(node: Node<'_>) -> Option<Definition<'_>> {
    let kind = match node.kind() {
        "function_definition" => SymbolKind::Function,
        "class_definition" => SymbolKind::Type,
        _ => return None,
    };
    let mut definition = named_definition(kind, node, "name")?;
    if let Some(decorated) = node.parent().filter(|parent| parent.kind() == "decorated_definition") {
        definition.whole = decorated;
    }
    Some(definition)
}

fn go(node: Node<'_>) -> Option<Definition<'_>> {
    match node.kind() {
        "function_declaration" => named_definition(SymbolKind::Function, node, "name"),
        "method_declaration" => named_definition(SymbolKind::Method, node, "name"),
        "type_spec" | "type_alias" => {
            let is_interface = field_child(node, "type").is_some_and(|node| node.kind() == "interface_type");
            let mut definition =
                named_definition(if is_interface { SymbolKind::Interface } else { SymbolKind::Type }, node, "name")?;
            // `type X struct` is a declaration around its only specification.
            if let Some(alone) = node.parent().filter(|parent| parent.named_child_count() == 1) {
                definition.whole = alone;
            }
            definition.body =
                field_child(node, "type").filter(|node| node.end_position().row > node.start_position().row);
            Some(definition)
        }
        "const_spec" => named_definition(SymbolKind::Constant, node, "name"),
        _ => None,
    }
}

fn java(node: Node<'_>) -> Option<Definition<'_>> {
    match node.kind() {
        "class_declaration" | "enum_declaration" | "record_declaration" => {
            named_definition(SymbolKind::Type, node, "name")
        }
        "interface_declaration" | "annotation_type_declaration" => {
            named_definition(SymbolKind::Interface, node, "name")
        }
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            named_definition(SymbolKind::Method, node, "name")
        }
        _ => None,
    }
}

fn javascript(node: Node<'_>) -> Option<Definition<'_>> {
    let is_function = |node: Node<'_>| {
        matches!(node.kind(), "arrow_function" | "function_expression" | "function" | "generator_function")
    };
    let mut definition = match node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            named_definition(SymbolKind::Function, node, "name")?
        }
        "class_declaration" | "abstract_class_declaration" | "type_alias_declaration" | "enum_declaration" => {
            named_definition(SymbolKind::Type, node, "name")?
        }
        "interface_declaration" => named_definition(SymbolKind::Interface, node, "name")?,
        "internal_module" | "module" => named_definition(SymbolKind::Module, node, "name")?,
        "method_definition" => named_definition(SymbolKind::Method, node, "name")?,
        "variable_declarator" | "public_field_definition" | "field_definition" => {
            let value = field_child(node, "value").filter(|value| is_function(*value))?;
            let name = field_child(node, "name").or_else(|| field_child(node, "property"))?;
            Definition { kind: SymbolKind::Function, name, whole: node, body: field_child(value, "body") }
        }
        "pair" => {
            let value = field_child(node, "value").filter(|value| is_function(*value))?;
            let name = field_child(node, "key")?;
            Definition { kind: SymbolKind::Method, name, whole: node, body: field_child(value, "body") }
        }
        // `Widget.prototype.draw = function () {}`.
        "assignment_expression" => {
            let value = field_child(node, "right").filter(|value| is_function(*value))?;
            let left = field_child(node, "left").filter(|left| left.kind() == "member_expression")?;
            let name = field_child(left, "property")?;
            Definition { kind: SymbolKind::Function, name, whole: node, body: field_child(value, "body") }
        }
        _ => return None,
    };
    // An exported or assigned definition begins with its statement.
    let statements = ["export_statement", "lexical_declaration", "variable_declaration", "expression_statement"];
    while let Some(parent) = definition.whole.parent() {
        if !statements.contains(&parent.kind()) || parent.start_position().row > definition.whole.start_position().row {
            break;
        }
        definition.whole = parent;
    }
    Some(definition)
}
