//! The facts that the visitors fill in.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::{
    SourceFacts, SourceLanguage,
    extract::SourceLimits,
    source_facts::{Binding, Import, ImportKind, Module, Use},
};

/// The facts of a source as they are found.
pub(super) struct FactsBuilder<'a> {
    language: SourceLanguage,
    source: &'a [u8],
    longest: usize,
    pub(super) errors: bool,
    pub(super) package: Option<String>,
    pub(super) imports: Vec<Import>,
    pub(super) modules: Vec<Module>,
    pub(super) definitions: BTreeSet<String>,
    /// Names that the source defines for itself alone.
    pub(super) own: BTreeSet<String>,
    pub(super) test_lines: u32,
    /// Calls, and whether all uses are in test code.
    uses: BTreeMap<String, (u32, bool)>,
}

impl<'a> FactsBuilder<'a> {
    pub(super) fn new(language: SourceLanguage, source: &'a [u8], limits: &SourceLimits) -> Self {
        Self {
            language,
            source,
            longest: limits.name,
            errors: false,
            package: None,
            imports: Vec::new(),
            modules: Vec::new(),
            definitions: BTreeSet::new(),
            own: BTreeSet::new(),
            test_lines: 0,
            uses: BTreeMap::new(),
        }
    }

    /// The longest name that is kept, in bytes.
    pub(super) const fn longest(&self) -> usize {
        self.longest
    }

    /// The bytes of a node.
    pub(super) fn bytes(&self, node: Node<'_>) -> &'a [u8] {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    /// A node's text as a name. `None` with [`Self::errors`] set if it is too long or not UTF-8.
    pub(super) fn name(&mut self, node: Node<'_>) -> Option<String> {
        let bytes = self.bytes(node);
        self.name_of(bytes)
    }

    /// Bytes as a name. `None` with [`Self::errors`] set if they are too many or not UTF-8.
    pub(super) fn name_of(&mut self, bytes: &[u8]) -> Option<String> {
        let short = Some(bytes).filter(|bytes| bytes.len() <= self.longest);
        let name = short.and_then(|bytes| core::str::from_utf8(bytes).ok());
        self.errors |= name.is_none();
        name.map(str::to_owned)
    }

    /// Like [`Self::name`], without white space.
    pub(super) fn compact(&mut self, node: Node<'_>) -> Option<String> {
        let name = self.name(node)?;
        Some(name.split_whitespace().collect())
    }

    /// The text of a string literal that holds no escape. `None` for any other node.
    pub(super) fn literal(&mut self, node: Node<'_>) -> Option<String> {
        let plain = match node.kind() {
            "string" | "interpreted_string_literal" | "raw_string_literal" | "string_literal" => true,
            "template_string" => node.named_children(&mut node.walk()).all(|child| child.kind() == "string_fragment"),
            _ => false,
        };
        let [open @ (b'"' | b'\'' | b'`'), text @ .., close] = self.bytes(node) else { return None };
        if !plain || open != close || text.contains(&b'\\') || text.is_empty() {
            return None;
        }
        self.name_of(text)
    }

    /// Adds a use of `path`, with so many calls.
    pub(super) fn use_name(&mut self, path: String, calls: u32, test: bool) {
        let entry = self.uses.entry(path).or_insert((0, true));
        entry.0 = entry.0.saturating_add(calls);
        entry.1 &= test;
    }

    /// Adds an import of a language without scopes and test code inside its files.
    pub(super) fn import(&mut self, path: String, kind: ImportKind, bindings: Vec<Binding>) {
        self.imports.push(Import { path, kind, bindings, test: false, scope: String::new() });
    }

    pub(super) fn finish(mut self) -> SourceFacts {
        let uses = core::mem::take(&mut self.uses);
        let heads = self.heads();
        let open = self.imports.iter().any(|import| import.bindings.iter().any(|b| b.name == "*" && b.local == "*"));
        let uses = uses.into_iter().filter(|(path, _)| self.matters(path, &heads, open));
        let uses = uses.map(|(path, (calls, test))| Use { path, calls, test }).collect();
        SourceFacts {
            language: self.language,
            lines: filled_lines(self.source),
            inline_test_lines: self.test_lines,
            errors: self.errors,
            package: self.package,
            imports: self.imports,
            modules: self.modules,
            definitions: self.definitions.into_iter().collect(),
            uses,
        }
    }

    /// The first parts of the names that imports bring in.
    fn heads(&self) -> BTreeSet<String> {
        let locals = self.imports.iter().flat_map(|import| &import.bindings).map(|binding| &binding.local);
        locals.map(|local| first_path_part(local, self.language).to_owned()).collect()
    }

    /// Whether a used name can lead to another file. `open` if an import brings in names that it doesn't list.
    fn matters(&self, path: &str, heads: &BTreeSet<String>, open: bool) -> bool {
        let first = first_path_part(path, self.language);
        let qualified = first.len() < path.len();
        match self.language {
            SourceLanguage::C | SourceLanguage::Cpp => false,
            // A package's name is not always the last part of its path, but usually is in it.
            SourceLanguage::Go => {
                qualified && (heads.contains(first) || self.imports.iter().any(|import| import.path.contains(first)))
            }
            SourceLanguage::Java => {
                first.starts_with(char::is_uppercase) && !self.definitions.contains(first) && !self.own.contains(first)
            }
            SourceLanguage::Rust => qualified || open || heads.contains(first),
            SourceLanguage::Python | SourceLanguage::JavaScript | SourceLanguage::Tsx | SourceLanguage::TypeScript => {
                heads.contains(first) || (open && !qualified)
            }
        }
    }
}

/// The part before the first separator.
fn first_path_part(path: &str, language: SourceLanguage) -> &str {
    path.split_once(language.separator()).map_or(path, |(first, _)| first)
}

/// How many lines of a source hold more than white space.
pub(super) fn filled_lines(source: &[u8]) -> u32 {
    let full = source.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    u32::try_from(full).unwrap_or(u32::MAX)
}
