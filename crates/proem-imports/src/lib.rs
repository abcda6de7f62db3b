#![doc = include_str!("../README.md")]
//!
//! Import and call edges of source files, by tree-sitter. Of C and C++, what their preprocessor includes.
//!
//! - [`extract_facts`] reads one source: what it imports, defines and calls ([`SourceFacts`]).
//! - [`find_symbols`] lists what one source defines, and where ([`Symbol`]); without a grammar by its [`Dialect`].
//!   [`notebook_text`] makes a notebook readable as a source.
//! - [`resolve_imports`] takes the facts of all files of a repository and the project files of
//!   its languages ([`Manifests`]), and says which file imports which ([`Resolution`]).
//!
//! Bytes go in and facts come out: there is no file, clock or process here. A caller that wants to
//! give up after some time passes a callback. Paths are bytes, separated by `/` and relative to the
//! repository's root. Sources are written by anybody: nothing recurses along a syntax tree, every
//! name and list is bounded, and a source with errors gives what could be read of it.
//!
//! Unresolved imports are counted, as internal or as a third party's: a fan-in with an unknown share missing would be
//! worth nothing.

mod dialect;
mod encode;
pub mod extract;
mod language;
mod notebook;
pub mod resolve;
pub mod source_facts;
pub mod symbols;

pub use dialect::Dialect;
pub use encode::FactsDecodeError;
pub use extract::{ExtractError, ParsedSource, SourceLimits, extract_facts};
pub use language::SourceLanguage;
pub use notebook::notebook_text;
pub use resolve::{Manifests, Resolution, resolve_imports};
pub use source_facts::SourceFacts;
pub use symbols::{Symbol, SymbolKind, dialect_symbols, find_symbols};
