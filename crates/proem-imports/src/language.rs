//! The languages whose sources are read here.

use core::fmt;

/// A language whose imports can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceLanguage {
    /// C, and headers that C and C++ share.
    C,
    /// C++.
    Cpp,
    /// Go, whose packages are folders below the path of a `go.mod`.
    Go,
    /// Java, whose packages are folders.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// Python, of any version that the grammar of version 3 reads.
    Python,
    /// Rust, whose modules are files.
    Rust,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript without JSX.
    TypeScript,
}

impl SourceLanguage {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Go,
        Self::Java,
        Self::JavaScript,
        Self::Python,
        Self::Rust,
        Self::Tsx,
        Self::TypeScript,
        Self::C,
        Self::Cpp,
    ];

    /// The language of a file, by the ending of its name. `None` if there is no parser for it.
    ///
    /// Letters are compared exactly: `Main.JAVA` is no file that a Java compiler takes, and `.C` is C++ to those
    /// that know it.
    #[must_use]
    pub fn of_path(path: &[u8]) -> Option<Self> {
        let name = path.rsplit(|&byte| byte == b'/').next()?;
        let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
        match name.get(dot..)? {
            b".c" | b".h" => Some(Self::C),
            b".cc" | b".cpp" | b".cxx" | b".c++" | b".hh" | b".hpp" | b".hxx" | b".h++" | b".inl" | b".ipp"
            | b".tpp" | b".C" | b".H" | b".CPP" | b".HPP" => Some(Self::Cpp),
            b".go" => Some(Self::Go),
            b".java" => Some(Self::Java),
            b".js" | b".jsx" | b".mjs" | b".cjs" => Some(Self::JavaScript),
            b".py" | b".pyi" => Some(Self::Python),
            b".rs" => Some(Self::Rust),
            b".tsx" => Some(Self::Tsx),
            b".ts" | b".mts" | b".cts" => Some(Self::TypeScript),
            _ => None,
        }
    }

    /// Its name as people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Tsx => "TSX",
            Self::TypeScript => "TypeScript",
        }
    }

    /// The separator of a qualified name's parts.
    pub(crate) const fn separator(self) -> &'static str {
        match self {
            Self::Rust => "::",
            _ => ".",
        }
    }

    /// The number that represents it in stored facts.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Go => 0,
            Self::Java => 1,
            Self::JavaScript => 2,
            Self::Python => 3,
            Self::Rust => 4,
            Self::Tsx => 5,
            Self::TypeScript => 6,
            Self::C => 7,
            Self::Cpp => 8,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Its grammar. `None` for those of which only the preprocessor's directives are read.
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        let grammar = match self {
            Self::C | Self::Cpp => return None,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        };
        Some(grammar.into())
    }
}

impl fmt::Display for SourceLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_language() {
        for (path, expected) in [
            ("a/b.py", Some(SourceLanguage::Python)),
            ("b.pyi", Some(SourceLanguage::Python)),
            ("a.d.ts", Some(SourceLanguage::TypeScript)),
            ("a.tsx", Some(SourceLanguage::Tsx)),
            ("x/y.mjs", Some(SourceLanguage::JavaScript)),
            ("lib.rs", Some(SourceLanguage::Rust)),
            ("a_test.go", Some(SourceLanguage::Go)),
            ("a/b.c", Some(SourceLanguage::C)),
            ("b.h", Some(SourceLanguage::C)),
            ("b.h++", Some(SourceLanguage::Cpp)),
            ("b.C", Some(SourceLanguage::Cpp)),
            ("A.java", Some(SourceLanguage::Java)),
            ("A.JAVA", None),
            (".py", None),
            ("a.py/readme", None),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(SourceLanguage::of_path(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn codes_read_back() {
        for language in SourceLanguage::ALL {
            assert_eq!(SourceLanguage::of_code(language.code()), Some(language));
        }
        assert_eq!(SourceLanguage::of_code(9), None);
    }
}
