//! The references of one source file to others.

use crate::SourceLanguage;

/// The facts of one source file, without knowing any other file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacts {
    /// Its language.
    pub language: SourceLanguage,
    /// Its lines that are not blank, comments included.
    pub lines: u32,
    /// Those of them that only tests compile: in Rust, items under `#[cfg(test)]` and test functions. Elsewhere 0.
    pub inline_test_lines: u32,
    /// Whether something could not be read: a syntax error, or a name beyond the caps.
    pub errors: bool,
    /// The package that it declares itself to be in: in Go and Java, else `None`.
    pub package: Option<String>,
    /// Its imports, in the order of the source.
    pub imports: Vec<Import>,
    /// The modules whose source it says is elsewhere: in Rust, `mod name;`.
    pub modules: Vec<Module>,
    /// The names that it defines for others, sorted and distinct.
    pub definitions: Vec<String>,
    /// The qualified or imported names that it uses, sorted by name.
    pub uses: Vec<Use>,
}

/// One import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The import, as the language writes it: `..pkg.mod`, `./widget`, `crate::a::B`, `example.com/m/p`, `<a/b.h>`.
    pub path: String,
    /// How it is imported.
    pub kind: ImportKind,
    /// The names that it brings into the file.
    pub bindings: Vec<Binding>,
    /// Whether it is in code that only tests compile.
    pub test: bool,
    /// The module inside the file that it is in, empty for the file's own: in Rust, else empty.
    pub scope: String,
}

/// How something is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportKind {
    /// By a statement.
    Static,
    /// For types alone: nothing of it is left when the program runs.
    TypeOnly,
    /// By a call with a literal, when the program gets there.
    Dynamic,
    /// By handing it on to others: `export … from`, `pub use`.
    ReExport,
}

impl ImportKind {
    pub(crate) const ALL: [Self; 4] = [Self::Static, Self::TypeOnly, Self::Dynamic, Self::ReExport];
}

/// A name that an import brings into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Its name there: empty for the thing that the import's path names itself, `*` for everything in it.
    pub name: String,
    /// Its name here. Empty if the language derives it from elsewhere.
    pub local: String,
}

/// A module whose source is another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// The module inside the file that declares it, empty for the file's own.
    pub scope: String,
    /// The file that an attribute names.
    pub file: Option<String>,
    /// Whether only tests compile it.
    pub test: bool,
}

/// A name that is used, and how often it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The name with what qualifies it.
    pub path: String,
    /// How many calls name it.
    pub calls: u32,
    /// Whether every use is in code that only tests compile.
    pub test: bool,
}
