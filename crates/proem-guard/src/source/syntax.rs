//! How families of languages mark comments and strings.

/// A family of languages that mark comments and strings alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LanguageFamily {
    /// `//`, `/* */`: C, C++, C#, Go, Java, Kotlin, Protocol Buffers, Scala, Swift, Zig.
    C,
    /// The same with strings in single quotes and backticks: CSS, Dart, Groovy, JavaScript, PHP, TypeScript.
    Script,
    /// The same with strings of several lines: Rust.
    Rust,
    /// `#` and strings in three quotes: Python, Starlark, Nim.
    Python,
    /// `#`: shells, Ruby, Perl, R, Tcl, Make, CMake, Docker, Elixir, TOML, properties.
    Hash,
    /// SQL of all dialects, with comments of `--` and `/* */`.
    Sql,
    /// Comments begin with `--` or stand between `--[[` and `]]`.
    Lua,
    /// `--`, `{- -}`: Haskell, Elm, Ada.
    Dashes,
    /// `;`: Lisps, assemblers, INI.
    Semicolon,
    /// `%`: TeX, Erlang, Prolog.
    Percent,
    /// Differences between files, whose lines begin with `+`, `-` or a blank.
    Patch,
    /// Code that no name tells the language of.
    Code,
    /// Prose with code in fences or indented: AsciiDoc, Markdown, reStructuredText.
    Document,
    /// Prose, or settings that hold it: plain text, YAML, XML.
    Plain,
}

/// One family's marks. Longer ones come first.
#[derive(Debug, Clone, Copy)]
pub(super) struct LexicalRules {
    /// The openings of a comment that ends with its line.
    pub(super) lines: &'static [&'static str],
    /// Whether that is at a line's start or behind a blank only.
    pub(super) apart: bool,
    /// The openings and ends of a comment.
    pub(super) blocks: &'static [(&'static str, &'static str)],
    pub(super) quotes: &'static [Quote],
}

/// How a string begins and ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether a backslash takes the meaning from the next character.
    pub(super) escapes: bool,
    pub(super) reach: StringExtent,
}

/// How far a string goes that isn't ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringExtent {
    /// To the line's end.
    Line,
    /// Nowhere: it is ended, or the mark means something else.
    Ended,
    /// One character; else the mark means something else, such as a lifetime.
    Character,
}

const fn escaping_quote(mark: &'static str, reach: StringExtent) -> Quote {
    Quote { open: mark, close: mark, escapes: true, reach }
}

const fn raw_quote(open: &'static str, close: &'static str) -> Quote {
    Quote { open, close, escapes: false, reach: StringExtent::Ended }
}

const NONE: LexicalRules = LexicalRules { lines: &[], apart: false, blocks: &[], quotes: &[] };
const SLASHES: LexicalRules = LexicalRules { lines: &["//"], blocks: &[("/*", "*/")], ..NONE };
const DOUBLE: Quote = escaping_quote("\"", StringExtent::Line);
const SINGLE: Quote = escaping_quote("'", StringExtent::Line);
const CHARACTER: Quote = escaping_quote("'", StringExtent::Character);
const THREE_DOUBLE: Quote = escaping_quote("\"\"\"", StringExtent::Ended);
const THREE_SINGLE: Quote = escaping_quote("'''", StringExtent::Ended);

impl LanguageFamily {
    /// How it marks comments and strings. `None` if it is prose with code in it.
    pub(super) const fn rules(self) -> Option<LexicalRules> {
        Some(match self {
            Self::Document | Self::Plain => return None,
            Self::C => {
                LexicalRules { quotes: const { &[THREE_DOUBLE, DOUBLE, raw_quote("`", "`"), CHARACTER] }, ..SLASHES }
            }
            Self::Script => LexicalRules {
                quotes: const { &[THREE_DOUBLE, THREE_SINGLE, DOUBLE, SINGLE, escaping_quote("`", StringExtent::Ended)] },
                ..SLASHES
            },
            Self::Rust => LexicalRules {
                quotes: const {
                    &[
                        raw_quote("r##\"", "\"##"),
                        raw_quote("r#\"", "\"#"),
                        escaping_quote("\"", StringExtent::Ended),
                        CHARACTER,
                    ]
                },
                ..SLASHES
            },
            Self::Python => {
                LexicalRules { lines: &["#"], quotes: const { &[THREE_DOUBLE, THREE_SINGLE, DOUBLE, SINGLE] }, ..NONE }
            }
            Self::Hash => LexicalRules {
                lines: &["#"],
                apart: true,
                blocks: const { &[("\n=begin", "\n=end"), ("\n=pod", "\n=cut"), ("\n=head", "\n=cut")] },
                quotes: const { &[THREE_DOUBLE, THREE_SINGLE, escaping_quote("\"", StringExtent::Ended), SINGLE] },
            },
            Self::Sql => LexicalRules { lines: &["--"], quotes: const { &[SINGLE, DOUBLE] }, ..SLASHES },
            Self::Lua => LexicalRules {
                lines: &["--"],
                blocks: const { &[("--[[", "]]")] },
                quotes: const { &[raw_quote("[[", "]]"), DOUBLE, SINGLE] },
                ..NONE
            },
            Self::Dashes => LexicalRules {
                lines: &["--"],
                blocks: const { &[("{-", "-}")] },
                quotes: const { &[DOUBLE, CHARACTER] },
                ..NONE
            },
            Self::Semicolon => LexicalRules {
                lines: &[";", "#"],
                apart: true,
                quotes: const { &[escaping_quote("\"", StringExtent::Ended)] },
                ..NONE
            },
            // Text that one of them takes for a comment or a string is read. Nobody knows which of them it is.
            Self::Patch | Self::Code => LexicalRules {
                lines: &["//", "#", "--"],
                apart: true,
                blocks: const { &[("/*", "*/")] },
                quotes: const { &[THREE_DOUBLE, THREE_SINGLE, DOUBLE, SINGLE, escaping_quote("`", StringExtent::Line)] },
            },
            Self::Percent => LexicalRules { lines: &["%"], quotes: const { &[DOUBLE] }, ..NONE },
        })
    }
}
