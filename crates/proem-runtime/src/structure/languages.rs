//! Languages that have no parser here, by the endings of their files.

/// Endings and languages, sorted by ending.
const ENDINGS: [(&[u8], &str); 41] = [
    (b".bash", "Shell"),
    (b".clj", "Clojure"),
    (b".cs", "C#"),
    (b".dart", "Dart"),
    (b".elm", "Elm"),
    (b".erl", "Erlang"),
    (b".ex", "Elixir"),
    (b".exs", "Elixir"),
    (b".f90", "Fortran"),
    (b".fs", "F#"),
    (b".groovy", "Groovy"),
    (b".hs", "Haskell"),
    (b".ipynb", "Jupyter"),
    (b".jl", "Julia"),
    (b".kt", "Kotlin"),
    (b".kts", "Kotlin"),
    (b".lua", "Lua"),
    (b".m", "Objective-C"),
    (b".ml", "OCaml"),
    (b".mli", "OCaml"),
    (b".mm", "Objective-C"),
    (b".nim", "Nim"),
    (b".php", "PHP"),
    (b".pl", "Perl"),
    (b".pm", "Perl"),
    (b".proto", "Protocol Buffers"),
    (b".ps1", "PowerShell"),
    (b".r", "R"),
    (b".rake", "Ruby"),
    (b".rb", "Ruby"),
    (b".sbt", "Scala"),
    (b".scala", "Scala"),
    (b".sh", "Shell"),
    (b".sql", "SQL"),
    (b".svelte", "Svelte"),
    (b".swift", "Swift"),
    (b".tf", "Terraform"),
    (b".vb", "Visual Basic"),
    (b".vue", "Vue"),
    (b".zig", "Zig"),
    (b".zsh", "Shell"),
];

/// The name of the language of a source that has no parser. `None` for one that has, and for what is no source.
pub(crate) fn without_parser(path: &[u8]) -> Option<&'static str> {
    let name = last_path_part(path);
    let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
    let ending = name.get(dot..)?.to_ascii_lowercase();
    let at = ENDINGS.binary_search_by(|(known, _)| (*known).cmp(ending.as_slice())).ok()?;
    ENDINGS.get(at).map(|(_, name)| *name)
}

fn last_path_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_found() {
        assert!(ENDINGS.is_sorted());
        for (path, expected) in [
            ("a/b.kt", Some("Kotlin")),
            ("B.KT", Some("Kotlin")),
            ("x.zsh", Some("Shell")),
            ("x.py", None),
            ("x.c", None),
            (".kt", None),
            ("kt", None),
            ("a.kt/readme", None),
        ] {
            assert_eq!(without_parser(path.as_bytes()), expected, "{path}");
        }
    }
}
