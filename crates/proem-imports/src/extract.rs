//! Reads one source: what it imports, defines and calls.
//!
//! Invariants: the tree is walked along a cursor, so no nesting overflows the stack. A name longer than the cap is left
//! out and marks the facts as having errors. Nothing is looked up in other files.
//!
//! Calls are counted by the name they are made through: `module.f()`, `f()`, `Type::new()`. A call of a method through
//! a value names no import and is not counted. Neither is one inside a macro.

mod c;
mod facts;
mod go;
mod java;
mod javascript;
mod python;
mod rust;

use core::{fmt, ops::ControlFlow};

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Tree};

use crate::{SourceFacts, SourceLanguage, extract::facts::FactsBuilder};

/// Bounds on reading one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLimits {
    /// The longest source that is read, in bytes.
    pub bytes: usize,
    /// The longest name that is kept, in bytes.
    pub name: usize,
}

impl Default for SourceLimits {
    /// 1 MiB, which hand-written sources stay far below, and 512 bytes.
    fn default() -> Self {
        Self { bytes: 1024 * 1024, name: 512 }
    }
}

/// Why a source gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtractError {
    /// It is longer than [`SourceLimits::bytes`].
    TooLarge,
    /// The caller gave up before it was read.
    TimedOut,
    /// The grammar doesn't fit the parser that this program was built with.
    NoParser,
}

impl fmt::Display for ExtractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "it is larger than the limit for source files",
            Self::TimedOut => "reading it took too long",
            Self::NoParser => "its language's parser can't be used",
        })
    }
}

/// Whether the walk goes on below a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkStep {
    Into,
    Over,
}

/// A language's reading of the nodes of its tree, which come in the order of the source, parents first.
trait Visitor {
    fn visit(&mut self, node: Node<'_>, facts: &mut FactsBuilder<'_>) -> WalkStep;
}

/// How many nodes or lines are walked between two looks at the caller's wish to give up.
pub(crate) const NODES: u32 = 1024;

/// Reads `source`. `give_up` is asked now and then, and ends the work by answering true.
///
/// A source with syntax errors gives what could be read of it.
///
/// # Errors
///
/// [`ExtractError`] if it is too long, or if `give_up` said so.
pub fn extract_facts(
    language: SourceLanguage,
    source: &[u8],
    limits: &SourceLimits,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<SourceFacts, ExtractError> {
    ParsedSource::new(language, source, limits, give_up)?.facts(limits, give_up)
}

/// A source with its syntax, for whoever asks more than one thing about it: to parse it is most of the work.
#[derive(Debug)]
pub struct ParsedSource<'s> {
    pub(crate) language: SourceLanguage,
    /// Without a byte order mark.
    pub(crate) source: &'s [u8],
    /// `None` for a language without a grammar here, which is read line by line.
    pub(crate) tree: Option<Tree>,
}

impl<'s> ParsedSource<'s> {
    /// Parses `source`. `give_up` is asked now and then, and ends the work by answering true.
    ///
    /// # Errors
    ///
    /// [`ExtractError`] if it is too long, or if `give_up` said so.
    pub fn new(
        language: SourceLanguage,
        source: &'s [u8],
        limits: &SourceLimits,
        give_up: &mut dyn FnMut() -> bool,
    ) -> Result<Self, ExtractError> {
        if source.len() > limits.bytes {
            return Err(ExtractError::TooLarge);
        }
        let source = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
        let tree = language.grammar().map(|grammar| parse_source_tree(&grammar, source, give_up)).transpose()?;
        Ok(Self { language, source, tree })
    }

    /// Its imports, definitions and calls; as far as it could be read, if it has syntax errors.
    ///
    /// # Errors
    ///
    /// [`ExtractError::TimedOut`] if `give_up` said so.
    pub fn facts(&self, limits: &SourceLimits, give_up: &mut dyn FnMut() -> bool) -> Result<SourceFacts, ExtractError> {
        let mut facts = FactsBuilder::new(self.language, self.source, limits);
        let mut visitor: Box<dyn Visitor> = match self.language {
            SourceLanguage::C | SourceLanguage::Cpp => {
                c::read_includes(self.source, &mut facts, give_up)?;
                return Ok(facts.finish());
            }
            SourceLanguage::Go => Box::new(go::Go),
            SourceLanguage::Java => Box::new(java::Java::default()),
            SourceLanguage::JavaScript | SourceLanguage::Tsx | SourceLanguage::TypeScript => {
                Box::new(javascript::JavaScript::default())
            }
            SourceLanguage::Python => Box::new(python::Python::default()),
            SourceLanguage::Rust => Box::new(rust::Rust::default()),
        };
        let tree = self.tree.as_ref().ok_or(ExtractError::NoParser)?;
        facts.errors = tree.root_node().has_error();
        walk_tree(tree, visitor.as_mut(), &mut facts, give_up)?;
        Ok(facts.finish())
    }
}

fn parse_source_tree(
    grammar: &Language,
    source: &[u8],
    give_up: &mut dyn FnMut() -> bool,
) -> Result<Tree, ExtractError> {
    let mut parser = Parser::new();
    parser.set_language(grammar).map_err(|_| ExtractError::NoParser)?;
    let mut progress = |_: &ParseState| if give_up() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut input = |offset: usize, _| source.get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut input, None, Some(options)).ok_or(ExtractError::TimedOut)
}

fn walk_tree(
    tree: &Tree,
    visitor: &mut dyn Visitor,
    facts: &mut FactsBuilder<'_>,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<(), ExtractError> {
    let mut cursor = tree.walk();
    let mut seen: u32 = 0;
    loop {
        seen = seen.wrapping_add(1);
        if seen.is_multiple_of(NODES) && give_up() {
            return Err(ExtractError::TimedOut);
        }
        if visitor.visit(cursor.node(), facts) == WalkStep::Into && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
        }
    }
}

/// The child of `node` in its field `name`.
pub(crate) fn field_child<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// The named children of `node`.
fn named_children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).collect()
}

/// The most parts of a qualified name that is read. A longer chain is an expression, not a name.
const PARTS: usize = 16;

/// The name that a chain of member accesses spells, from its innermost object. `None` if that is an expression.
///
/// `object` and `member` are the fields of a node of kind `access`.
fn chain(node: Node<'_>, access: &str, fields: [&str; 2], facts: &mut FactsBuilder<'_>) -> Option<String> {
    let [object, member] = fields;
    let mut parts = Vec::new();
    let mut at = node;
    while at.kind() == access {
        if parts.len() == PARTS {
            return None;
        }
        parts.push(facts.name(field_child(at, member)?)?);
        at = field_child(at, object)?;
    }
    if !matches!(at.kind(), "identifier" | "this" | "self") {
        return None;
    }
    parts.push(facts.name(at)?);
    parts.reverse();
    Some(parts.join("."))
}
