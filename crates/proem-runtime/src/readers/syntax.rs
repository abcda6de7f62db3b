//! How a file marks what people write in it, by its name.

use std::path::Path;

use proem_guard::LanguageFamily;

/// The family that a file of this name is read as; `None` if its name doesn't say.
///
/// Names say it, never contents: whoever wrote a file must not choose how little of it is read by its
/// first line.
#[must_use]
pub fn syntax(name: &Path) -> Option<LanguageFamily> {
    by_ending(name).or_else(|| by_name(name))
}

fn by_ending(name: &Path) -> Option<LanguageFamily> {
    let ending = name.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "m" | "mm" | "ino" | "java" | "kt" | "kts"
        | "scala" | "cs" | "fs" | "go" | "swift" | "zig" | "proto" | "thrift" | "v" | "sv" | "cu" | "glsl" | "wgsl" => {
            LanguageFamily::C
        }
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" | "dart" | "groovy"
        | "gradle" | "php" | "css" | "scss" | "sass" | "less" | "json5" | "jsonc" | "styl" => LanguageFamily::Script,
        "rs" => LanguageFamily::Rust,
        "py" | "pyi" | "pyx" | "bzl" | "star" | "nim" | "gd" => LanguageFamily::Python,
        "sh" | "bash" | "zsh" | "fish" | "ksh" | "ps1" | "rb" | "rake" | "gemspec" | "pl" | "pm" | "t" | "r"
        | "tcl" | "ex" | "exs" | "jl" | "awk" | "mk" | "cmake" | "toml" | "tf" | "nix" | "coffee" | "cr"
        | "feature" => LanguageFamily::Hash,
        "sql" => LanguageFamily::Sql,
        "lua" => LanguageFamily::Lua,
        "hs" | "elm" | "adb" | "ads" | "vhd" | "vhdl" | "agda" => LanguageFamily::Dashes,
        "lisp" | "el" | "clj" | "cljs" | "edn" | "scm" | "rkt" | "asm" | "s" | "ini" => LanguageFamily::Semicolon,
        "tex" | "sty" | "cls" | "bib" | "erl" | "hrl" => LanguageFamily::Percent,
        "md" | "markdown" | "mdx" | "rst" | "adoc" | "asciidoc" | "textile" | "org" => LanguageFamily::Document,
        "txt" | "text" | "log" | "csv" | "tsv" | "ics" | "jsonl" | "ndjson" | "yaml" | "yml" | "xml" | "svg"
        | "properties" | "cfg" | "conf" => LanguageFamily::Plain,
        _ => return None,
    })
}

fn by_name(name: &Path) -> Option<LanguageFamily> {
    let name = name.file_name()?.to_str()?;
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
    fn the_name_says_it() {
        for (name, expected) in [
            ("src/a.RS", Some(LanguageFamily::Rust)),
            ("a.test.tsx", Some(LanguageFamily::Script)),
            ("lib/a.h", Some(LanguageFamily::C)),
            ("setup.py", Some(LanguageFamily::Python)),
            ("Makefile", Some(LanguageFamily::Hash)),
            ("docs/a.rst", Some(LanguageFamily::Document)),
            ("LICENSE", Some(LanguageFamily::Plain)),
            ("a.eml", None),
            ("a.html", None),
            ("configure", None),
            ("a", None),
        ] {
            assert_eq!(syntax(Path::new(name)), expected, "{name}");
        }
    }
}
