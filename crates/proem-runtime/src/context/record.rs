//! Makes the record of a source: its words by tree-sitter's and our own reading of it.

use std::borrow::Cow;

use proem_imports::{Dialect, ParsedSource, SourceLanguage, SourceLimits, dialect_symbols, notebook_text};
use proem_risk::path::FileRole;
use proem_select::context::words::Term;
use proem_select::context::{CodeSymbol, CommentStyle, FilePurpose, FileRecord, LineSpan, SymbolKind, import_terms};

use crate::readers::source_text;
use crate::structure::languages::without_parser;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordWant {
    /// A source in a language with a parser.
    Parsed(SourceLanguage),
    /// A source whose definitions are told without one.
    Defining(Dialect),
    /// Any other text.
    Text(CommentStyle),
}

/// Endings of text that is no source of a language, and how its comments are written.
const TEXTS: [(&str, CommentStyle); 24] = [
    ("adoc", CommentStyle::Prose),
    ("asciidoc", CommentStyle::Prose),
    ("cfg", CommentStyle::Hash),
    ("cmake", CommentStyle::Hash),
    ("conf", CommentStyle::Hash),
    ("css", CommentStyle::Slashes),
    ("graphql", CommentStyle::Hash),
    ("htm", CommentStyle::Prose),
    ("html", CommentStyle::Prose),
    ("ini", CommentStyle::Hash),
    ("json", CommentStyle::Slashes),
    ("jsonc", CommentStyle::Slashes),
    ("less", CommentStyle::Slashes),
    ("md", CommentStyle::Prose),
    ("mdx", CommentStyle::Prose),
    ("org", CommentStyle::Prose),
    ("properties", CommentStyle::Hash),
    ("rst", CommentStyle::Prose),
    ("scss", CommentStyle::Slashes),
    ("toml", CommentStyle::Hash),
    ("txt", CommentStyle::Prose),
    ("xml", CommentStyle::Prose),
    ("yaml", CommentStyle::Hash),
    ("yml", CommentStyle::Hash),
];

/// Names of text without an ending.
const NAMES: [&[u8]; 5] = [b"Justfile", b"justfile", b"README", b"CHANGELOG", b"Procfile"];

impl RecordWant {
    /// How the file at a path is read. `None` for what is no text.
    pub(crate) fn of_path(path: &[u8]) -> Option<Self> {
        if let Some(language) = SourceLanguage::of_path(path) {
            return Some(Self::Parsed(language));
        }
        if let Some(dialect) = Dialect::of_path(path) {
            return Some(Self::Defining(dialect));
        }
        let name = path.rsplit(|&byte| byte == b'/').next()?;
        if NAMES.contains(&name) {
            return Some(Self::Text(CommentStyle::Hash));
        }
        let dot = name.iter().rposition(|&byte| byte == b'.')?;
        let ending = core::str::from_utf8(name.get(dot.saturating_add(1)..)?).ok()?.to_ascii_lowercase();
        let at = TEXTS.binary_search_by(|(known, _)| (*known).cmp(ending.as_str())).ok()?;
        TEXTS.get(at).map(|(_, style)| Self::Text(*style))
    }

    /// Its byte in the keys of the cache.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Parsed(language) => {
                let at = SourceLanguage::ALL.iter().position(|known| *known == language);
                at.and_then(|at| u8::try_from(at).ok()).map_or(0xbf, |at| 0x80_u8.saturating_add(at))
            }
            Self::Defining(dialect) => {
                let at = Dialect::ALL.iter().position(|known| *known == dialect);
                at.and_then(|at| u8::try_from(at).ok()).map_or(0xff, |at| 0xc4_u8.saturating_add(at))
            }
            Self::Text(CommentStyle::Slashes) => 0xc0,
            Self::Text(CommentStyle::Hash) => 0xc1,
            Self::Text(CommentStyle::Dashes) => 0xc2,
            Self::Text(CommentStyle::Prose) => 0xc3,
        }
    }
}

/// How comments are written. Of what has none that are told, as in C.
const fn style_of(dialect: Dialect) -> CommentStyle {
    match dialect {
        Dialect::Shell | Dialect::Ruby | Dialect::Perl | Dialect::R | Dialect::Elixir | Dialect::Julia => {
            CommentStyle::Hash
        }
        Dialect::Terraform | Dialect::Makefile | Dialect::Dockerfile | Dialect::Notebook | Dialect::Hash => {
            CommentStyle::Hash
        }
        Dialect::Sql | Dialect::Lua | Dialect::Dashes => CommentStyle::Dashes,
        _ => CommentStyle::Slashes,
    }
}

/// The text of a file as it is read and shown: of a notebook its cells, of any other all of it. `None` for what is no text.
#[must_use]
pub fn shown_text<'b>(path: &[u8], bytes: &'b [u8]) -> Option<Cow<'b, str>> {
    let text = source_text(bytes)?;
    if Dialect::of_path(path) != Some(Dialect::Notebook) {
        return Some(text);
    }
    // A damaged notebook is shown as it is.
    Some(notebook_text(&text).map_or(text, Cow::Owned))
}

/// The purpose of a file. Code is a file whose language is known: the rules take any unknown file for code, which suits
/// a judgement of risk.
pub(super) fn use_of(role: FileRole, path: &[u8]) -> FilePurpose {
    let is_source = || SourceLanguage::of_path(path).is_some() || without_parser(path).is_some();
    // A judgement of risk takes these for configuration. Somebody who looks for a build step or a server looks for
    // them.
    let is_built_by =
        matches!(Dialect::of_path(path), Some(Dialect::Makefile | Dialect::Dockerfile | Dialect::Terraform));
    match role {
        FileRole::Configuration if is_built_by => FilePurpose::Code,
        FileRole::Code if is_source() => FilePurpose::Code,
        FileRole::Code | FileRole::Configuration => FilePurpose::Configuration,
        FileRole::Test => FilePurpose::Test,
        FileRole::Documentation => FilePurpose::Documentation,
        _ => FilePurpose::Foreign,
    }
}

/// How often a parser may ask whether to give up: tree-sitter asks after every hundred steps, and a source of 1 MiB that
/// people wrote takes some ten thousand of these.
const MOST_ASKED: u32 = 60_000;

/// The record of a source. A source that is too much work to parse has its words, and no definitions.
pub(crate) fn of_source(want: RecordWant, source: &[u8]) -> FileRecord {
    of_source_within(want, source, MOST_ASKED)
}

/// The record of a source with how often it has each of `terms`, which are sorted, and with nothing that it defines.
pub(super) fn of_words(want: RecordWant, source: &[u8], terms: &[Term]) -> FileRecord {
    let Some(source) = source_text(source) else { return without_words() };
    let cells = cells_of(want, &source);
    let source = cells.as_deref().unwrap_or(&source);
    FileRecord::of_words(source.as_bytes(), style_and_language(want).0, terms)
}

/// The cells of a notebook, which are read in its place.
fn cells_of(want: RecordWant, source: &str) -> Option<String> {
    if want == RecordWant::Defining(Dialect::Notebook) { notebook_text(source) } else { None }
}

/// A file that is no text has no words that anybody looks for.
fn without_words() -> FileRecord {
    FileRecord::new(&[], CommentStyle::Prose, Vec::new(), Vec::new())
}

const fn style_and_language(want: RecordWant) -> (CommentStyle, Option<SourceLanguage>) {
    match want {
        RecordWant::Parsed(SourceLanguage::Python) => (CommentStyle::Hash, Some(SourceLanguage::Python)),
        RecordWant::Parsed(language) => (CommentStyle::Slashes, Some(language)),
        RecordWant::Defining(dialect) => (style_of(dialect), None),
        RecordWant::Text(style) => (style, None),
    }
}

/// Work is counted and no clock is looked at: a record is kept, so a machine that is busy for once must not leave a source
/// without its definitions for good.
fn of_source_within(want: RecordWant, source: &[u8], most_asked: u32) -> FileRecord {
    let mut asked = 0_u32;
    let mut give_up = || {
        asked = asked.saturating_add(1);
        asked > most_asked
    };
    let limits = SourceLimits { bytes: usize::MAX, ..SourceLimits::default() };
    let Some(source) = source_text(source) else { return without_words() };
    let cells = cells_of(want, &source);
    let source = source.as_bytes();
    let (style, language) = style_and_language(want);
    // Parsed once for both questions.
    let parsed = language.and_then(|language| ParsedSource::new(language, source, &limits, &mut give_up).ok());
    let found = match (&parsed, want) {
        (Some(parsed), _) => parsed.symbols(&mut give_up).unwrap_or_default(),
        (None, RecordWant::Defining(dialect)) => {
            dialect_symbols(dialect, source, &limits, &mut give_up).unwrap_or_default()
        }
        (None, _) => Vec::new(),
    };
    let source = cells.as_deref().map_or(source, str::as_bytes);
    let facts = parsed.and_then(|parsed| parsed.facts(&limits, &mut give_up).ok());
    let imports = facts.map(|facts| import_terms(facts.imports.iter().map(|import| import.path.as_str())));
    FileRecord::new(source, style, found.into_iter().map(code_symbol).collect(), imports.unwrap_or_default())
}

fn code_symbol(found: proem_imports::Symbol) -> CodeSymbol {
    use proem_imports::SymbolKind as Found;
    let kind = match found.kind {
        Found::Function => SymbolKind::Function,
        Found::Method => SymbolKind::Method,
        Found::Type => SymbolKind::Type,
        Found::Interface => SymbolKind::Interface,
        Found::Extension => SymbolKind::Extension,
        Found::Module => SymbolKind::Module,
        Found::Constant => SymbolKind::Constant,
        Found::Macro => SymbolKind::Macro,
    };
    CodeSymbol {
        name: found.name,
        kind,
        depth: found.depth,
        lines: LineSpan { first: found.first_line, last: found.last_line },
        own_line: found.own_line,
        signature_line: found.signature_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_is_read_and_shown_without_its_outputs() {
        let notebook = br#"{"cells": [{"cell_type": "code", "outputs": ["zebra"], "source": ["def price(): 1"]}], "metadata": {}}"#;
        assert_eq!(shown_text(b"a.ipynb", notebook).as_deref(), Some("def price(): 1\n"));
        assert_eq!(shown_text(b"a.ipynb", b"zebra").as_deref(), Some("zebra"));
        assert_eq!(shown_text(b"a.json", b"{\"cells\": []}").as_deref(), Some("{\"cells\": []}"));
        let record = of_source(RecordWant::Defining(Dialect::Notebook), notebook);
        let names: Vec<String> = record.symbols().into_iter().map(|symbol| symbol.name).collect();
        assert_eq!(names, ["cell 1", "price"]);
        let zebra = proem_select::context::words::distinct_words("zebra");
        assert!(zebra.into_iter().all(|term| record.count(term).is_none()));
    }

    #[test]
    fn a_source_that_is_too_much_work_has_its_words_and_no_definitions() {
        let source = b"fn a_name() {}\n".repeat(60_000);
        let rust = RecordWant::Parsed(SourceLanguage::Rust);
        let cut = of_source_within(rust, &source, 100);
        assert!(cut.symbols().is_empty() && cut.lines() == 60_000);
        let all = of_source_within(rust, &source, u32::MAX);
        assert!(of_source(rust, &source) == all && !all.symbols().is_empty(), "nearly a megabyte of ordinary source");
    }

    #[test]
    fn words_are_counted_as_in_the_whole_record() {
        let source = b"// replaces matches\nstruct Replacer { matches: u32 }\nfn matches() {}\n";
        let rust = RecordWant::Parsed(SourceLanguage::Rust);
        let terms = proem_select::context::words::distinct_words("replacer matches nothing");
        let (whole, words) = (of_source(rust, source), of_words(rust, source, &terms));
        for term in terms {
            assert_eq!(words.count(term), whole.count(term));
        }
        assert_eq!((words.length(), words.lines()), (whole.length(), whole.lines()));
        assert!(words.symbols().is_empty() && words.imports().next().is_none());
        assert_eq!(of_words(rust, b"\0\x01\x02matches", &[1]).length(), (0, 0));
    }

    #[test]
    fn endings_are_sorted_and_found() {
        assert!(TEXTS.is_sorted_by(|a, b| a.0 < b.0));
        for (path, expected) in [
            ("a/b.rs", Some(RecordWant::Parsed(SourceLanguage::Rust))),
            ("README.md", Some(RecordWant::Text(CommentStyle::Prose))),
            ("x/Makefile", Some(RecordWant::Defining(Dialect::Makefile))),
            ("a.lua", Some(RecordWant::Defining(Dialect::Lua))),
            ("a.css", Some(RecordWant::Text(CommentStyle::Slashes))),
            ("a.png", None),
            ("LICENSE", None),
        ] {
            assert_eq!(RecordWant::of_path(path.as_bytes()), expected, "{path}");
        }
    }
}
