//! Functions and structs, found by their lines.

use crate::tidy::{SourceTree, is_source, name_of_function, without_tests};

/// The purpose of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionRole {
    /// A function of a module.
    Free,
    /// A function of a type or trait.
    Method,
    /// A function that tests call.
    Helper,
    /// A test itself.
    Test,
}

/// A function where it is defined.
#[derive(Debug, Clone, Copy)]
pub(super) struct FunctionPlace<'t> {
    pub(super) path: &'t str,
    line: usize,
    pub(super) name: &'t str,
    pub(super) role: FunctionRole,
    /// Whether a trait or an attribute demands it, so that nothing need name it.
    pub(super) is_demanded: bool,
}

impl FunctionPlace<'_> {
    /// Path, line and name.
    pub(super) fn place(&self) -> String {
        format!("{}:{} {}", self.path, self.line, self.name)
    }
}

/// Every function of the crates in `crates/`, in the order of paths and lines.
pub(super) fn all_functions(tree: &SourceTree) -> Vec<FunctionPlace<'_>> {
    let sources = tree.files().filter(|(path, _)| path.starts_with("crates/") && path.ends_with(".rs"));
    sources.flat_map(|(path, text)| functions_in_file(path, text)).collect()
}

fn functions_in_file<'t>(path: &'t str, text: &'t str) -> Vec<FunctionPlace<'t>> {
    let last_source = if is_source(path) { without_tests(text).len() } else { 0 };
    let mut functions = Vec::new();
    // The indentation of the blocks of types and traits that are open, and whether a trait says what is in them.
    let mut blocks: Vec<(usize, bool)> = Vec::new();
    let (mut is_test, mut is_demanded, mut is_in_attribute) = (false, false, false);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len().saturating_sub(trimmed.len());
        if trimmed.starts_with('}') && blocks.last().is_some_and(|(outer, _)| *outer == indent) {
            blocks.pop();
        }
        if is_in_attribute || trimmed.starts_with("#[") {
            is_in_attribute = !trimmed.trim_end().ends_with(']');
            is_test |= trimmed.starts_with("#[test]") || trimmed.starts_with("#[tokio::test");
            is_demanded = true;
            continue;
        }
        let is_block =
            ["impl", "trait ", "pub trait ", "pub(crate) trait ", "pub(super) trait ", "unsafe impl", "macro_rules!"];
        if is_block.iter().any(|start| trimmed.starts_with(start)) && !line.ends_with('}') {
            blocks.push((indent, trimmed.contains(" for ") || !trimmed.contains("impl")));
        }
        if let Some(name) = name_of_function(trimmed) {
            let role = match (is_test, index < last_source, blocks.last()) {
                (true, _, _) => FunctionRole::Test,
                (_, _, Some(_)) => FunctionRole::Method,
                (_, true, None) => FunctionRole::Free,
                (_, false, None) => FunctionRole::Helper,
            };
            let is_demanded = is_demanded || blocks.last().is_some_and(|(_, is_trait)| *is_trait);
            functions.push(FunctionPlace { path, line: index.saturating_add(1), name, role, is_demanded });
        }
        if !trimmed.starts_with("//") && !trimmed.is_empty() {
            (is_test, is_demanded) = (false, false);
        }
    }
    functions
}

/// Structs with more fields than that.
pub(super) fn wide_structs(tree: &SourceTree, most: usize) -> Vec<String> {
    let mut wide = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_source(path)) {
        let lines = without_tests(text);
        for (index, line) in lines.iter().enumerate() {
            let Some(name) = struct_name(line) else { continue };
            let indent = line.len().saturating_sub(line.trim_start().len());
            let body = lines
                .iter()
                .skip(index.saturating_add(1))
                .take_while(|line| line.trim_end().len() != indent + 1 || !line.ends_with('}'));
            let fields = body.filter(|line| is_field(line, indent + 4)).count();
            if fields > most {
                wide.push(format!("{path}:{} {name} {fields}", index + 1));
            }
        }
    }
    wide
}

/// The name of the struct with named fields that a line begins.
fn struct_name(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let rest = rest
        .strip_prefix("pub ")
        .or_else(|| rest.strip_prefix("pub(crate) "))
        .or_else(|| rest.strip_prefix("pub(super) "))
        .unwrap_or(rest);
    let rest = rest.strip_prefix("struct ")?;
    line.ends_with('{').then_some(rest)?.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Whether a line with that indentation names a field.
fn is_field(line: &str, indent: usize) -> bool {
    let rest = line.trim_start();
    let name = rest.rsplit_once("pub").map_or(rest, |_| rest.split_once(' ').map_or(rest, |(_, name)| name));
    line.len().saturating_sub(rest.len()) == indent
        && !rest.starts_with(['/', '#'])
        && name.split_once(": ").is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_where_a_function_stands() {
        let text = "fn free() {}\nimpl A {\n    fn method(&self) {\n        fn inner() {}\n    }\n}\nimpl B for A {\n    fn demanded(&self) {}\n}\n\n#[cfg(test)]\nmod tests {\n    fn helper() {}\n\n    #[test]\n    fn works() {}\n}\n";
        let found: Vec<(&str, FunctionRole, bool)> =
            functions_in_file("crates/a/src/lib.rs", text).iter().map(|f| (f.name, f.role, f.is_demanded)).collect();
        assert_eq!(
            found,
            [
                ("free", FunctionRole::Free, false),
                ("method", FunctionRole::Method, false),
                ("inner", FunctionRole::Method, false),
                ("demanded", FunctionRole::Method, true),
                ("helper", FunctionRole::Helper, false),
                ("works", FunctionRole::Test, true),
            ]
        );
    }

    #[test]
    fn fields_are_counted_without_their_docs() {
        let fields: String = ('a'..='h').map(|name| format!("    /// Doc.\n    pub {name}: u8,\n")).collect();
        let tree = SourceTree::from([(
            "crates/a/src/lib.rs",
            &*format!("pub struct Wide {{\n{fields}}}\nstruct Short {{\n    a: u8,\n}}\n"),
        )]);
        assert_eq!(wide_structs(&tree, 7), ["crates/a/src/lib.rs:1 Wide 8"]);
        assert_eq!(wide_structs(&tree, 8), Vec::<String>::new());
    }
}
