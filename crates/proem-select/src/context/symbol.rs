//! Definitions of a source, with their lines.

/// Lines from one to another, both included, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineSpan {
    /// The line it begins with, from 1.
    pub first: u32,
    /// The last. Not before the first.
    pub last: u32,
}

impl LineSpan {
    /// Whether a line is one of them.
    #[must_use]
    pub const fn holds(self, line: u32) -> bool {
        self.first <= line && line <= self.last
    }

    /// Whether all lines of another are among them.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// Whether they share a line with another.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// How many lines they are.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// Never: a span has at least its first line.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        false
    }
}

/// The kind of a definition.
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
    /// A block of members for a type that is defined elsewhere.
    Extension,
    /// A module or namespace with its own body.
    Module,
    /// A constant or static value.
    Constant,
    /// A macro that other code can use.
    Macro,
}

proem_text::word_table! {
    pub SymbolKind {
        Function = "function",
        Method = "method",
        Type = "type",
        Interface = "interface",
        Extension = "extension",
        Module = "module",
        Constant = "constant",
        Macro = "macro",
    }
}

impl SymbolKind {
    /// Whether other definitions are inside it.
    #[must_use]
    pub const fn holds_others(self) -> bool {
        matches!(self, Self::Type | Self::Interface | Self::Extension | Self::Module)
    }

    /// Whether it is code that runs.
    #[must_use]
    pub const fn runs(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Macro)
    }

    /// The number that represents it in records.
    #[must_use]
    pub fn code(self) -> u8 {
        Self::ALL.iter().position(|kind| *kind == self).and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
    }

    /// The kind with a number.
    #[must_use]
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// A definition in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSymbol {
    /// Its name, as it is written.
    pub name: String,
    /// The sort of thing that it defines.
    pub kind: SymbolKind,
    /// How many others it is inside.
    pub depth: u8,
    /// From the first line of its documentation to its last line.
    pub lines: LineSpan,
    /// The line on which its name is.
    pub own_line: u32,
    /// The last line of its signature.
    pub signature_line: u32,
}

impl CodeSymbol {
    /// Its name without what it belongs to: `get` of `Table::get`.
    #[must_use]
    pub fn last_name(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or(&self.name)
    }

    /// The owners in its own name, outermost first: `Table` of `Table::get`.
    pub(super) fn owners(&self) -> impl Iterator<Item = &str> {
        self.name.rsplit_once("::").into_iter().flat_map(|(owners, _)| owners.split("::"))
    }
}
