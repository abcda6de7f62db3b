//! Rust.

use tree_sitter::Node;

use crate::{
    extract::{
        Visitor, WalkStep,
        facts::{FactsBuilder, filled_lines},
        field_child, named_children,
    },
    source_facts::{Binding, Import, ImportKind, Module},
};

/// The state of the walk.
#[derive(Debug, Default)]
pub(super) struct Rust {
    /// The inline modules around the walk, outermost first: name and end.
    scopes: Vec<(String, usize)>,
    /// The end of the last item that only tests compile.
    test_end: usize,
    /// The end of the outermost item, except modules, that the walk has reached.
    inner_end: usize,
    /// The attributes before the next item.
    pending: RustAttributes,
}

#[derive(Debug, Default)]
struct RustAttributes {
    test: bool,
    file: Option<String>,
}

impl Visitor for Rust {
    fn visit(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        let kind = node.kind();
        match kind {
            "attribute_item" => {
                self.attribute(node, facts);
                return WalkStep::Over;
            }
            "line_comment" | "block_comment" | "string_literal" => return WalkStep::Over,
            _ => {}
        }
        let start = node.start_byte();
        while self.scopes.last().is_some_and(|(_, end)| start >= *end) {
            self.scopes.pop();
        }
        let attributes = core::mem::take(&mut self.pending);
        if attributes.test && start >= self.test_end {
            self.test_end = node.end_byte();
            facts.test_lines = facts.test_lines.saturating_add(filled_lines(facts.bytes(node)));
        }
        match kind {
            "mod_item" => self.module(node, attributes.file, facts),
            "use_declaration" => self.declaration(node, facts),
            "extern_crate_declaration" => self.extern_crate(node, facts),
            "scoped_identifier" | "scoped_type_identifier" => self.path(node, 0, facts),
            "call_expression" => {
                self.call(node, "function", facts);
                WalkStep::Into
            }
            "macro_invocation" => {
                self.call(node, "macro", facts);
                WalkStep::Into
            }
            _ => {
                self.define(node, facts);
                WalkStep::Into
            }
        }
    }
}

impl Rust {
    fn in_test(&self, node: Node<'_>) -> bool {
        node.start_byte() < self.test_end
    }

    fn scope(&self) -> String {
        let names: Vec<&str> = self.scopes.iter().map(|(name, _)| name.as_str()).collect();
        names.join("::")
    }

    fn attribute(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        let Some(text) = facts.compact(node) else { return };
        let Some(text) = text.strip_prefix("#[").and_then(|text| text.strip_suffix(']')) else { return };
        if let Some(condition) = text.strip_prefix("cfg(") {
            let mut words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
            self.pending.test |= words.any(|word| word == "test") && !condition.contains("not(test");
        } else if let Some(file) = text.strip_prefix("path=\"").and_then(|text| text.strip_suffix('"')) {
            self.pending.file = Some(file.to_owned());
        } else {
            // `#[test]`, `#[tokio::test]`, `#[tokio::test(…)]`.
            let name = text.split_once('(').map_or(text, |(name, _)| name);
            self.pending.test |= name == "test" || name.ends_with("::test");
        }
    }

    fn module(&mut self, node: Node<'_>, file: Option<String>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        let Some(name) = field_child(node, "name").and_then(|name| facts.name(name)) else { return WalkStep::Into };
        if field_child(node, "body").is_some() {
            self.scopes.push((name, node.end_byte()));
            return WalkStep::Into;
        }
        facts.modules.push(Module { name, scope: self.scope(), file, test: self.in_test(node) });
        WalkStep::Over
    }

    fn extern_crate(&self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        if let Some(path) = field_child(node, "name").and_then(|name| facts.name(name)) {
            let alias = field_child(node, "alias").and_then(|alias| facts.name(alias));
            let local = alias.unwrap_or_else(|| path.clone());
            self.push(format!("::{path}"), local, node, facts);
        }
        WalkStep::Over
    }

    /// Takes a `use` apart, whose groups may be nested.
    fn declaration(&self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep {
        let mut open: Vec<(Node<'_>, String)> = Vec::new();
        open.extend(field_child(node, "argument").map(|argument| (argument, String::new())));
        while let Some((part, prefix)) = open.pop() {
            match part.kind() {
                "use_list" => open.extend(named_children(part).into_iter().rev().map(|child| (child, prefix.clone()))),
                "scoped_use_list" => {
                    // `use ::{a, b}` has no path.
                    let path = match field_child(part, "path") {
                        Some(path) => self.joined(&prefix, path, facts),
                        None => Some(prefix),
                    };
                    open.extend(field_child(part, "list").zip(path));
                }
                "use_as_clause" => {
                    let path = field_child(part, "path").and_then(|path| self.joined(&prefix, path, facts));
                    let local = field_child(part, "alias").and_then(|alias| facts.name(alias));
                    if let (Some(path), Some(local)) = (path, local) {
                        let path = path.strip_suffix("::self").map(str::to_owned).unwrap_or(path);
                        self.push(path, local, node, facts);
                    }
                }
                "use_wildcard" => {
                    let path = match part.named_child(0) {
                        Some(path) => self.joined(&prefix, path, facts),
                        None => Some(prefix),
                    };
                    if let Some(path) = path {
                        self.push(path, "*".to_owned(), node, facts);
                    }
                }
                "identifier" | "scoped_identifier" | "self" | "crate" | "super" => {
                    let Some(path) = self.joined(&prefix, part, facts) else { continue };
                    let path = path.strip_suffix("::self").map(str::to_owned).unwrap_or(path);
                    let local = path.rsplit_once("::").map_or(path.as_str(), |(_, last)| last).to_owned();
                    self.push(path, local, node, facts);
                }
                _ => {}
            }
        }
        WalkStep::Over
    }

    /// `prefix` followed by the path of `node`. Nothing if that would be too long.
    fn joined(&self, prefix: &str, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> Option<String> {
        let path = facts.compact(node)?;
        let path = if prefix.is_empty() { path } else { format!("{prefix}::{path}") };
        let fits = path.len() <= facts.longest();
        facts.errors |= !fits;
        fits.then_some(path)
    }

    fn push(&self, path: String, local: String, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        let path = self.file_relative(path);
        let public = node.named_children(&mut node.walk()).any(|child| child.kind() == "visibility_modifier");
        let kind = if public { ImportKind::ReExport } else { ImportKind::Static };
        let name = if local == "*" { "*".to_owned() } else { String::new() };
        let bindings = vec![Binding { name, local }];
        facts.imports.push(Import { path, kind, bindings, test: self.in_test(node), scope: self.scope() });
    }

    /// A path as the file's own module would write it.
    fn file_relative(&self, path: String) -> String {
        let mut parts = path.split("::").peekable();
        if self.scopes.is_empty() || !matches!(parts.peek(), Some(&"self" | &"super")) {
            return path;
        }
        let mut depth = self.scopes.len();
        parts.next_if_eq(&"self");
        while depth > 0 && parts.next_if_eq(&"super").is_some() {
            depth = depth.saturating_sub(1);
        }
        let own = if parts.peek() == Some(&"super") { None } else { Some("self") };
        let scope = self.scopes.iter().take(depth).map(|(name, _)| name.as_str());
        own.into_iter().chain(scope).chain(parts).collect::<Vec<_>>().join("::")
    }

    /// Notes the use of a qualified name; what is in its generic arguments is walked.
    fn path(&self, node: Node<'_>, calls: u32, facts: &mut FactsBuilder<'_>) -> WalkStep {
        let Ok(text) = core::str::from_utf8(facts.bytes(node)) else { return WalkStep::Into };
        let plain = text.len() <= facts.longest() && text.chars().all(|c| c.is_alphanumeric() || "_:#".contains(c));
        if !plain {
            return WalkStep::Into;
        }
        facts.use_name(self.file_relative(text.to_owned()), calls, self.in_test(node));
        WalkStep::Over
    }

    fn call(&self, node: Node<'_>, name: &str, facts: &mut FactsBuilder<'_>) {
        let Some(mut callee) = field_child(node, name) else { return };
        if callee.kind() == "generic_function" {
            let Some(function) = field_child(callee, "function") else { return };
            callee = function;
        }
        if matches!(callee.kind(), "identifier" | "scoped_identifier") {
            self.path(callee, 1, facts);
        }
    }

    /// Notes what the file's own module defines.
    fn define(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) {
        if !node.kind().ends_with("_item") && node.kind() != "macro_definition" {
            return;
        }
        if node.start_byte() >= self.inner_end
            && self.scopes.is_empty()
            && let Some(name) = field_child(node, "name").and_then(|name| facts.name(name))
        {
            facts.definitions.insert(name);
        }
        self.inner_end = self.inner_end.max(node.end_byte());
    }
}
