//! Finds the family that a text belongs to: by its name, or by its lines if it has none.

use super::LanguageFamily;

/// How many lines are looked at for the kind of a text without a name.
const LINES: usize = 400;

/// The fewest of them that have to look like code.
const FEWEST: usize = 2;

impl LanguageFamily {
    /// The family that a file of this name is read as. `None` if its name doesn't say.
    ///
    /// A name decides without a look at the text: whoever wrote a file must not choose by its first line how little of
    /// it is read.
    #[must_use]
    pub fn of_name(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        family_by_ending(name).or_else(|| by_name(name))
    }

    /// The family that a text without a name is read as: [`Self::Patch`] if it is a difference between files,
    /// [`Self::Code`] if most of its lines are code, `None` if it is prose, a log or data.
    ///
    /// Rules read all of a text in either case, and so does the learned scorer with every comment, every string of
    /// words and every line that reads like a sentence. So a text that passes for code hides no sentence.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let lines = || text.lines().take(LINES).filter(|line| !line.trim().is_empty());
        if lines().any(|line| line.starts_with("diff --git ") || is_hunk(line)) {
            return Some(Self::Patch);
        }
        let (mut all, mut code) = (0_usize, 0_usize);
        for line in lines() {
            all = all.saturating_add(1);
            code = code.saturating_add(usize::from(is_code_line(line)));
        }
        (code >= FEWEST && code.saturating_mul(5) >= all.saturating_mul(2)).then_some(Self::Code)
    }
}

/// Whether a line begins a hunk of a unified difference: `@@ -1,4 +1,5 @@`.
fn is_hunk(line: &str) -> bool {
    let Some((ranges, _)) = line.strip_prefix("@@ -").and_then(|rest| rest.split_once(" @@")) else { return false };
    let is_range = |range: &str| !range.is_empty() && range.chars().all(|c| c.is_ascii_digit() || c == ',');
    ranges.split_once(" +").is_some_and(|(old, new)| is_range(old) && is_range(new))
}

/// Whether a line looks like one of a program: it ends as statements do, begins as comments or declarations do, or has
/// an operator that prose hasn't.
fn is_code_line(line: &str) -> bool {
    const STARTS: [&str; 30] = [
        "//",
        "/*",
        "*/",
        "#!",
        "#include",
        "#define",
        "#if",
        "#endif",
        "@",
        "import ",
        "from ",
        "use ",
        "pub ",
        "fn ",
        "def ",
        "func ",
        "function ",
        "class ",
        "const ",
        "let ",
        "var ",
        "static ",
        "return ",
        "return;",
        "type ",
        "struct ",
        "export ",
        "package ",
        "\"\"\"",
        "</",
    ];
    const INSIDE: [&str; 16] = [
        " = ", " == ", " != ", " := ", " += ", "->", "=>", "::", "()", "](", " && ", " || ", "();", "=\"", " % ", "<%",
    ];
    let bare = line.trim();
    let ends =
        bare.ends_with([';', '{', '}', '(', ')', '[', ']', '\\']) || bare.ends_with("):") || bare.ends_with("},");
    // A sentence may end in a bracket or name an arrow. Seven words and more that are followed by a full stop are one.
    let is_sentence = bare.ends_with(['.', '?', '!']) && bare.split_whitespace().nth(6).is_some();
    let begins = STARTS.iter().any(|start| bare.starts_with(start));
    !is_sentence && (ends || begins || INSIDE.iter().any(|inside| bare.contains(inside)))
}

fn family_by_ending(name: &str) -> Option<LanguageFamily> {
    let (stem, ending) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    let ending = ending.to_ascii_lowercase();
    Some(match ending.as_str() {
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "m" | "mm" | "ino" | "java" | "kt" | "kts"
        | "scala" | "cs" | "fs" | "go" | "swift" | "zig" | "proto" | "thrift" | "v" | "sv" | "cu" | "glsl" | "wgsl" => {
            LanguageFamily::C
        }
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" | "dart" | "groovy"
        | "gradle" | "php" | "css" | "scss" | "sass" | "less" | "json" | "json5" | "jsonc" | "arb" | "ipynb"
        | "styl" => LanguageFamily::Script,
        "rs" => LanguageFamily::Rust,
        "py" | "pyi" | "pyx" | "bzl" | "star" | "nim" | "gd" => LanguageFamily::Python,
        "sh" | "bash" | "zsh" | "fish" | "ksh" | "ps1" | "rb" | "rake" | "gemspec" | "pl" | "pm" | "t" | "r"
        | "tcl" | "ex" | "exs" | "jl" | "awk" | "mk" | "cmake" | "toml" | "tf" | "nix" | "coffee" | "cr"
        | "feature" | "po" | "pot" => LanguageFamily::Hash,
        "sql" => LanguageFamily::Sql,
        "lua" => LanguageFamily::Lua,
        "hs" | "elm" | "adb" | "ads" | "vhd" | "vhdl" | "agda" => LanguageFamily::Dashes,
        "lisp" | "el" | "clj" | "cljs" | "edn" | "scm" | "rkt" | "asm" | "s" | "ini" => LanguageFamily::Semicolon,
        "tex" | "sty" | "cls" | "bib" | "erl" | "hrl" => LanguageFamily::Percent,
        "diff" | "patch" => LanguageFamily::Patch,
        "md" | "markdown" | "mdx" | "rst" | "adoc" | "asciidoc" | "textile" | "org" => LanguageFamily::Document,
        "txt" | "text" | "log" | "csv" | "tsv" | "ics" | "jsonl" | "ndjson" | "yaml" | "yml" | "xml" | "svg"
        | "properties" | "cfg" | "conf" | "html" | "htm" | "xhtml" | "xliff" | "xlf" | "resx" | "xsd" | "rdf" => {
            LanguageFamily::Plain
        }
        _ => return None,
    })
}

fn by_name(name: &str) -> Option<LanguageFamily> {
    Some(match name {
        "Makefile" | "GNUmakefile" | "Dockerfile" | "Containerfile" | "Gemfile" | "Rakefile" | "Vagrantfile"
        | "Procfile" | "Brewfile" | ".gitignore" | ".gitattributes" | ".dockerignore" | ".editorconfig" => {
            LanguageFamily::Hash
        }
        "Jenkinsfile" => LanguageFamily::Script,
        "README" | "LICENSE" | "LICENCE" | "COPYING" | "NOTICE" | "AUTHORS" | "CONTRIBUTORS" | "CHANGELOG"
        | "CHANGES" | "NEWS" | "TODO" | "INSTALL" | "THANKS" | "HACKING" => LanguageFamily::Plain,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_family() {
        for (name, expected) in [
            ("src/a.RS", Some(LanguageFamily::Rust)),
            ("a.test.tsx", Some(LanguageFamily::Script)),
            ("lib/a.h", Some(LanguageFamily::C)),
            ("setup.py", Some(LanguageFamily::Python)),
            ("Makefile", Some(LanguageFamily::Hash)),
            ("docs/a.rst", Some(LanguageFamily::Document)),
            ("LICENSE", Some(LanguageFamily::Plain)),
            ("fix.patch", Some(LanguageFamily::Patch)),
            ("a.eml", None),
            ("a.html", Some(LanguageFamily::Plain)),
            ("a.json", Some(LanguageFamily::Script)),
            ("de.po", Some(LanguageFamily::Hash)),
            ("de.xliff", Some(LanguageFamily::Plain)),
            ("a.ipynb", Some(LanguageFamily::Script)),
            ("configure", None),
            (".rs", None),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(LanguageFamily::of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn lines_say_the_family_of_a_text_without_a_name() {
        for (text, expected) in [
            ("fn main() {\n    println!(\"hi\");\n}\n", Some(LanguageFamily::Code)),
            ("def f(x):\n    return x + 1\n", Some(LanguageFamily::Code)),
            ("// Adds.\nint add(int a, int b);\n", Some(LanguageFamily::Code)),
            ("diff --git a/x b/x\n--- a/x\n+++ b/x\n", Some(LanguageFamily::Patch)),
            ("commit 1\n\n    A message.\n\n@@ -1,2 +1 @@ fn f()\n-a\n", Some(LanguageFamily::Patch)),
            ("@@ -x +y @@\n", None),
            ("Dear all,\n\nthe release is late (see below).\nPlease tell the customers.\n\nSam\n", None),
            ("Use `f()` for it. Then call g() -> h and tell me what you think of it.\nThank you!\n", None),
            ("12:00:01 INFO started\n12:00:02 WARN slow\n", None),
            ("name,age\nZoë,7\n", None),
            ("", None),
        ] {
            assert_eq!(LanguageFamily::of_text(text), expected, "{text:?}");
        }
    }
}
