//! The definitions of a source, with their places: functions, types and their members, each with its lines.
//!
//! By tree-sitter for the languages that have a grammar; for all others by their braces, by the words that begin a
//! line, or as blocks, behind a mask that hides comments and strings. Lines are counted from 1. Invariants: symbols
//! come in the order of the source, parents first. Nothing recurses along a syntax tree. A source has at most [`MOST`]
//! symbols, and what is beyond them is left out. The time grows with the length alone.

mod blocks;
mod braces;
mod component;
mod lines;
mod mask;
mod tree;

use crate::{
    Dialect, SourceLanguage,
    extract::{ExtractError, ParsedSource, SourceLimits},
    notebook::read_notebook,
};

/// The most symbols that are kept of one source.
pub const MOST: usize = 4_000;

/// The longest name that is kept, in bytes.
const LONGEST: usize = 200;

/// The sorts of things that a source defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A class, struct, enum, union or alias.
    Type,
    /// A trait, interface or protocol.
    Interface,
    /// A block of members for a type that is defined elsewhere: Rust's `impl`.
    Extension,
    /// A module or namespace with its own body.
    Module,
    /// A constant or static value.
    Constant,
    /// A macro that other code can use.
    Macro,
}

impl SymbolKind {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 8] = [
        Self::Function,
        Self::Method,
        Self::Type,
        Self::Interface,
        Self::Extension,
        Self::Module,
        Self::Constant,
        Self::Macro,
    ];

    /// Whether other symbols are inside it.
    #[must_use]
    pub const fn holds_others(self) -> bool {
        matches!(self, Self::Type | Self::Interface | Self::Extension | Self::Module)
    }

    /// Whether it is code that runs.
    #[must_use]
    pub const fn runs(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Macro)
    }
}

/// A definition in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, as it is written. Of Rust's `impl` the type that it is for.
    pub name: String,
    /// The sort of thing that it defines.
    pub kind: SymbolKind,
    /// The line on which its documentation begins, or it itself where it has none.
    pub first_line: u32,
    /// The line on which its name is, behind attributes, decorators and documentation.
    pub own_line: u32,
    /// The last line of its signature: what is before its body.
    pub signature_line: u32,
    /// Counted from 1; the line of its closing token.
    pub last_line: u32,
    /// How many symbols it is inside.
    pub depth: u8,
}

/// The definitions of a source, whose path tells its language. None of what is no source. `give_up` is asked now and
/// then, and ends the work by answering true.
///
/// # Errors
///
/// [`ExtractError`] if the source is too long, has no parser that fits, or `give_up` said so.
pub fn find_symbols(
    path: &[u8],
    source: &[u8],
    limits: &SourceLimits,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<Vec<Symbol>, ExtractError> {
    match (SourceLanguage::of_path(path), Dialect::of_path(path)) {
        (Some(language), _) => ParsedSource::new(language, source, limits, give_up)?.symbols(give_up),
        (None, Some(dialect)) => dialect_symbols(dialect, source, limits, give_up),
        (None, None) => Ok(Vec::new()),
    }
}

/// The definitions of a source in a language without a grammar here. `give_up` is asked now and then, and ends the work
/// by answering true. A notebook is given as it is, and its lines are those of [`notebook_text`](crate::notebook_text).
///
/// # Errors
///
/// [`ExtractError`] if the source is too long, or `give_up` said so.
pub fn dialect_symbols(
    dialect: Dialect,
    source: &[u8],
    limits: &SourceLimits,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<Vec<Symbol>, ExtractError> {
    if source.len() > limits.bytes {
        return Err(ExtractError::TooLarge);
    }
    match dialect {
        Dialect::Notebook => notebook_symbols(source, limits, give_up),
        Dialect::Component => component::read_component_symbols(source, limits, give_up),
        _ => Ok(masked_symbols(dialect, source)),
    }
}

impl ParsedSource<'_> {
    /// The definitions. `give_up` is asked now and then, and ends the work by answering true.
    ///
    /// # Errors
    ///
    /// [`ExtractError::TimedOut`] if `give_up` said so.
    pub fn symbols(&self, give_up: &mut dyn FnMut() -> bool) -> Result<Vec<Symbol>, ExtractError> {
        match &self.tree {
            Some(tree) => tree::read_tree_symbols((self.language, self.source), tree, give_up),
            None if self.language == SourceLanguage::C && !is_cpp(self.source) => {
                Ok(masked_symbols(Dialect::C, self.source))
            }
            None => Ok(masked_symbols(Dialect::Cpp, self.source)),
        }
    }
}

/// Whether what is called as C's headers are is written in C++: no line of C begins with these words.
fn is_cpp(source: &[u8]) -> bool {
    let words: [&[u8]; 6] = [b"class ", b"namespace ", b"template<", b"template <", b"public:", b"private:"];
    source
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_start)
        .any(|line| words.iter().any(|word| line.starts_with(word)))
}

/// The definitions of what is left of a source without its comments and strings.
fn masked_symbols(dialect: Dialect, source: &[u8]) -> Vec<Symbol> {
    let masked = mask::mask_source(source, dialect);
    let mut found = match dialect {
        Dialect::C | Dialect::Cpp | Dialect::CSharp | Dialect::Dart | Dialect::ObjectiveC => {
            braces::read_brace_symbols(source, &masked, dialect)
        }
        Dialect::Makefile | Dialect::Dockerfile | Dialect::Terraform | Dialect::Sql => {
            blocks::read_block_symbols(source, &masked, dialect)
        }
        _ => lines::read_line_symbols(source, &masked, dialect),
    };
    with_leading_lines(&mut found, source, &masked);
    found
}

/// The most lines of comments and attributes that belong to a definition.
const MOST_LEADING: u32 = 200;

/// Begins each definition with the comments and attributes that are directly before it.
fn with_leading_lines(found: &mut [Symbol], source: &[u8], masked: &[u8]) {
    let lines = source.split(|&byte| byte == b'\n').zip(masked.split(|&byte| byte == b'\n'));
    // How many such lines end with each line.
    let mut leading: u32 = 0;
    let mut runs: Vec<u32> = Vec::new();
    for (line, masked) in lines {
        let code = masked.trim_ascii();
        let is_comment = code.is_empty() && !line.trim_ascii().is_empty() && !line.starts_with(b"#!");
        let is_attribute =
            code.starts_with(b"@") || ((code.starts_with(b"[") || code.starts_with(b"#[")) && code.ends_with(b"]"));
        leading = if is_comment || is_attribute { leading.saturating_add(1) } else { 0 };
        runs.push(leading);
    }
    for symbol in found {
        let before = usize::try_from(symbol.first_line).ok().and_then(|line| line.checked_sub(2));
        let run = before.and_then(|before| runs.get(before)).copied().unwrap_or_default();
        symbol.first_line = symbol.first_line.saturating_sub(run.min(MOST_LEADING)).max(1);
    }
}

/// The cells of a notebook, and what they define.
fn notebook_symbols(
    source: &[u8],
    limits: &SourceLimits,
    give_up: &mut dyn FnMut() -> bool,
) -> Result<Vec<Symbol>, ExtractError> {
    let Some(notebook) = core::str::from_utf8(source).ok().and_then(read_notebook) else { return Ok(Vec::new()) };
    let text = notebook.text.as_bytes();
    let defined = match notebook.language.as_str() {
        "python" | "" => ParsedSource::new(SourceLanguage::Python, text, limits, give_up)?.symbols(give_up)?,
        "r" => masked_symbols(Dialect::R, text),
        "julia" => masked_symbols(Dialect::Julia, text),
        _ => Vec::new(),
    };
    let mut defined = defined.into_iter().peekable();
    let mut found = Vec::new();
    for (number, cell) in (1_usize..).zip(&notebook.cells).take(MOST) {
        let at = found.len();
        found.push(Symbol {
            name: format!("cell {number}"),
            kind: SymbolKind::Function,
            first_line: cell.first,
            own_line: cell.first,
            signature_line: cell.first,
            last_line: cell.last,
            depth: 0,
        });
        while let Some(symbol) = defined.next_if(|symbol| symbol.own_line <= cell.last) {
            found.push(Symbol { depth: symbol.depth.saturating_add(1), ..symbol });
        }
        // A symbol that holds others is shown by its members.
        if found.len() > at.saturating_add(1)
            && let Some(cell) = found.get_mut(at)
        {
            cell.kind = SymbolKind::Module;
        }
    }
    found.truncate(MOST);
    Ok(found)
}

/// A row as a line counted from 1.
fn line_number(row: usize) -> u32 {
    u32::try_from(row.saturating_add(1)).unwrap_or(u32::MAX)
}

/// A name that is kept.
fn kept_name(bytes: &[u8]) -> Option<String> {
    let short = Some(bytes).filter(|bytes| !bytes.is_empty() && bytes.len() <= LONGEST);
    short.and_then(|bytes| core::str::from_utf8(bytes).ok()).map(str::to_owned)
}
