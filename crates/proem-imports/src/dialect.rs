//! How definitions are told in a source that has no grammar here.
//!
//! A dialect is known by the file's name alone. It says which comments and quotes hide text ([`Lexis`]) and which reader
//! of `symbols/` finds what is left.

/// How the definitions of a source without a grammar are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Known by `.c`, `.h` and like endings.
    C,
    /// C++, also where it is embedded in other languages.
    Cpp,
    /// Known by `.cs`.
    CSharp,
    /// Known by `.dart`.
    Dart,
    /// A file of container images, whose stages are definitions.
    Dockerfile,
    /// Known by `.ex` and `.exs`.
    Elixir,
    /// Known by `.jl`.
    Julia,
    /// Known by `.kt` and `.kts`.
    Kotlin,
    /// Known by the ending `.lua`.
    Lua,
    /// A file of make, whose targets are definitions.
    Makefile,
    /// A notebook of Jupyter, as [`notebook_text`](crate::notebook_text) shows it.
    Notebook,
    /// Known by `.m` and `.mm`.
    ObjectiveC,
    /// Known by `.pl` and `.pm`.
    Perl,
    /// Known by the ending `.php`.
    Php,
    /// Known by the ending `.r`.
    R,
    /// Known by `.rb`, `.rake` and names such as `Gemfile`.
    Ruby,
    /// Known by `.scala` and `.sbt`.
    Scala,
    /// The shells that read what `sh` reads.
    Shell,
    /// SQL, whose `create` statements are definitions.
    Sql,
    /// Known by the ending `.swift`.
    Swift,
    /// Terraform, whose blocks are definitions by their addresses.
    Terraform,
    /// A component of Vue or Svelte: its scripts.
    Component,
    /// Another language whose comments begin with `//`.
    Slashes,
    /// Another language whose comments begin with `#`.
    Hash,
    /// Another language whose comments begin with `--`.
    Dashes,
}

/// Endings and dialects, sorted by ending.
const ENDINGS: [(&[u8], Dialect); 47] = [
    (b".bash", Dialect::Shell),
    (b".clj", Dialect::Slashes),
    (b".cs", Dialect::CSharp),
    (b".dart", Dialect::Dart),
    (b".dockerfile", Dialect::Dockerfile),
    (b".elm", Dialect::Dashes),
    (b".erl", Dialect::Slashes),
    (b".ex", Dialect::Elixir),
    (b".exs", Dialect::Elixir),
    (b".f90", Dialect::Slashes),
    (b".fs", Dialect::Slashes),
    (b".gradle", Dialect::Slashes),
    (b".groovy", Dialect::Slashes),
    (b".hcl", Dialect::Terraform),
    (b".hs", Dialect::Dashes),
    (b".ipynb", Dialect::Notebook),
    (b".jl", Dialect::Julia),
    (b".kt", Dialect::Kotlin),
    (b".kts", Dialect::Kotlin),
    (b".lua", Dialect::Lua),
    (b".m", Dialect::ObjectiveC),
    (b".mk", Dialect::Makefile),
    (b".ml", Dialect::Slashes),
    (b".mli", Dialect::Slashes),
    (b".mm", Dialect::ObjectiveC),
    (b".nim", Dialect::Hash),
    (b".php", Dialect::Php),
    (b".pl", Dialect::Perl),
    (b".pm", Dialect::Perl),
    (b".proto", Dialect::Slashes),
    (b".ps1", Dialect::Hash),
    (b".r", Dialect::R),
    (b".rake", Dialect::Ruby),
    (b".rb", Dialect::Ruby),
    (b".sbt", Dialect::Scala),
    (b".scala", Dialect::Scala),
    (b".sh", Dialect::Shell),
    (b".sql", Dialect::Sql),
    (b".svelte", Dialect::Component),
    (b".swift", Dialect::Swift),
    (b".tf", Dialect::Terraform),
    (b".vb", Dialect::Slashes),
    (b".vue", Dialect::Component),
    (b".y", Dialect::C),
    (b".zig", Dialect::Slashes),
    (b".zsh", Dialect::Shell),
    (b".zsh-theme", Dialect::Shell),
];

/// Names of files, or their beginnings before a dot, and dialects.
const NAMES: [(&[u8], Dialect); 8] = [
    (b"containerfile", Dialect::Dockerfile),
    (b"dockerfile", Dialect::Dockerfile),
    (b"gemfile", Dialect::Ruby),
    (b"gnumakefile", Dialect::Makefile),
    (b"jenkinsfile", Dialect::Slashes),
    (b"makefile", Dialect::Makefile),
    (b"rakefile", Dialect::Ruby),
    (b"vagrantfile", Dialect::Ruby),
];

impl Dialect {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 25] = [
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Dart,
        Self::Dockerfile,
        Self::Elixir,
        Self::Julia,
        Self::Kotlin,
        Self::Lua,
        Self::Makefile,
        Self::Notebook,
        Self::ObjectiveC,
        Self::Perl,
        Self::Php,
        Self::R,
        Self::Ruby,
        Self::Scala,
        Self::Shell,
        Self::Sql,
        Self::Swift,
        Self::Terraform,
        Self::Component,
        Self::Slashes,
        Self::Hash,
        Self::Dashes,
    ];

    /// The dialect of a file by its name, upper or lower case. `None` for what defines nothing, or has a grammar here.
    #[must_use]
    pub fn of_path(path: &[u8]) -> Option<Self> {
        let name = path.rsplit(|&byte| byte == b'/').next()?.to_ascii_lowercase();
        let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0);
        let ending = dot.and_then(|dot| name.get(dot..)).unwrap_or_default();
        let known = ENDINGS.binary_search_by(|(known, _)| (*known).cmp(ending)).ok();
        let stem = name.split(|&byte| byte == b'.').next().unwrap_or_default();
        let by_ending = known.and_then(|at| ENDINGS.get(at)).map(|(_, dialect)| *dialect);
        // `Dockerfile.dev` is one, and `makefile.py` is none.
        let is_open = crate::SourceLanguage::of_path(path).is_none();
        by_ending.or_else(|| NAMES.iter().find(|(known, _)| *known == stem && is_open).map(|(_, dialect)| *dialect))
    }

    /// Its comments and quotes.
    pub(crate) fn lexis(self) -> Lexis {
        let quotes: &[Quote] = match self {
            Self::C | Self::Cpp | Self::ObjectiveC | Self::Slashes | Self::Hash => &[DOUBLE, SINGLE],
            Self::CSharp => &[THREE, VERBATIM, DOUBLE, SINGLE],
            Self::Dart | Self::Elixir | Self::Notebook => &[THREE, THREE_SINGLE, DOUBLE, SINGLE],
            Self::Kotlin | Self::Scala => &[THREE, DOUBLE, SINGLE],
            Self::Swift | Self::Julia => &[THREE, DOUBLE],
            Self::Lua => &[DOUBLE, SINGLE, LONG_BRACKETS],
            Self::Perl | Self::R | Self::Ruby => &[DOUBLE, SINGLE],
            Self::Php | Self::Shell => &[LONG_DOUBLE, LONG_SINGLE],
            Self::Sql => &[DOUBLED],
            Self::Terraform => &[DOUBLE],
            Self::Makefile | Self::Dockerfile | Self::Component | Self::Dashes => &[],
        };
        let lines: &[&[u8]] = match self {
            Self::Elixir | Self::Hash | Self::Julia | Self::Makefile | Self::Notebook => &[b"#"],
            Self::Dockerfile | Self::Perl | Self::R | Self::Ruby | Self::Shell => &[b"#"],
            Self::Php | Self::Terraform => &[b"//", b"#"],
            Self::Lua | Self::Sql | Self::Dashes => &[b"--"],
            Self::Component => &[],
            _ => &[b"//"],
        };
        let block: Option<(&[u8], &[u8])> = match self {
            Self::C | Self::Cpp | Self::CSharp | Self::Dart | Self::Kotlin | Self::ObjectiveC | Self::Php => SLASH_STAR,
            Self::Scala | Self::Sql | Self::Swift | Self::Terraform | Self::Slashes => SLASH_STAR,
            Self::Julia => Some((b"#=", b"=#")),
            Self::Lua => Some((b"--[[", b"]]")),
            _ => None,
        };
        Lexis { lines, block, nests: matches!(self, Self::Kotlin | Self::Scala | Self::Swift), quotes, dialect: self }
    }
}

const SLASH_STAR: Option<(&[u8], &[u8])> = Some((b"/*", b"*/"));

/// The lexical rules that hide text from a search for definitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexis {
    /// The openings of a comment that ends with its line.
    pub(crate) lines: &'static [&'static [u8]],
    /// The opening and end of another comment.
    pub(crate) block: Option<(&'static [u8], &'static [u8])>,
    /// Whether such comments are in each other.
    pub(crate) nests: bool,
    /// Quotes. A longer one before what it begins with.
    pub(crate) quotes: &'static [Quote],
    pub(crate) dialect: Dialect,
}

/// How a string is quoted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quote {
    pub(crate) open: &'static [u8],
    pub(crate) close: &'static [u8],
    pub(crate) escape: Escape,
    /// Whether it goes on over lines.
    pub(crate) is_long: bool,
}

/// How a string holds its own quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    Backslash,
    Doubled,
    Never,
}

const fn quote_form(open: &'static [u8], close: &'static [u8], escape: Escape, is_long: bool) -> Quote {
    Quote { open, close, escape, is_long }
}

const DOUBLE: Quote = quote_form(b"\"", b"\"", Escape::Backslash, false);
const SINGLE: Quote = quote_form(b"'", b"'", Escape::Backslash, false);
const LONG_DOUBLE: Quote = quote_form(b"\"", b"\"", Escape::Backslash, true);
const LONG_SINGLE: Quote = quote_form(b"'", b"'", Escape::Backslash, true);
const THREE: Quote = quote_form(b"\"\"\"", b"\"\"\"", Escape::Never, true);
const THREE_SINGLE: Quote = quote_form(b"'''", b"'''", Escape::Never, true);
const VERBATIM: Quote = quote_form(b"@\"", b"\"", Escape::Doubled, true);
const DOUBLED: Quote = quote_form(b"'", b"'", Escape::Doubled, true);
const LONG_BRACKETS: Quote = quote_form(b"[[", b"]]", Escape::Never, true);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_its_dialect() {
        assert!(ENDINGS.is_sorted_by(|a, b| a.0 < b.0));
        for (path, expected) in [
            ("a/b.kt", Some(Dialect::Kotlin)),
            ("B.KT", Some(Dialect::Kotlin)),
            ("x/Makefile", Some(Dialect::Makefile)),
            ("rules.mk", Some(Dialect::Makefile)),
            ("Dockerfile.dev", Some(Dialect::Dockerfile)),
            ("web.dockerfile", Some(Dialect::Dockerfile)),
            ("a.ipynb", Some(Dialect::Notebook)),
            ("makefile.py", None),
            ("a.py", None),
            (".rb", None),
            ("", None),
        ] {
            assert_eq!(Dialect::of_path(path.as_bytes()), expected, "{path}");
        }
        for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
            assert_eq!(dialect as usize, at);
        }
    }
}
