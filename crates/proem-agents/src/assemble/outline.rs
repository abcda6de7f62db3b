//! The outline of a repository: its folders with how many files of which languages are below each.
//!
//! Invariants: its text depends on the set of paths alone. At most [`MAX_LINES`] lines. Every file is below exactly one
//! line.

use std::collections::{BTreeMap, BTreeSet};

/// The most folders that are named.
pub const MAX_LINES: usize = 28;

/// The most languages that are named for one folder.
const MAX_LANGUAGES: usize = 3;

/// The most folders of the root that have lines of their own. The smallest of more are counted with the root, so that
/// room is left for what is in the largest.
const MAX_OF_ROOT: usize = 18;

/// A folder with fewer files is not taken apart.
const FEW: usize = 8;

/// The languages of extensions, as far as it helps to know.
const LANGUAGES: [(&str, &str); 44] = [
    ("adoc", "AsciiDoc"),
    ("bash", "shell"),
    ("c", "C"),
    ("cc", "C++"),
    ("clj", "Clojure"),
    ("cpp", "C++"),
    ("cs", "C#"),
    ("css", "CSS"),
    ("dart", "Dart"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("go", "Go"),
    ("gradle", "Gradle"),
    ("groovy", "Groovy"),
    ("h", "C header"),
    ("hpp", "C++ header"),
    ("hs", "Haskell"),
    ("html", "HTML"),
    ("java", "Java"),
    ("js", "JavaScript"),
    ("json", "JSON"),
    ("jsx", "JavaScript"),
    ("kt", "Kotlin"),
    ("lua", "Lua"),
    ("md", "Markdown"),
    ("mjs", "JavaScript"),
    ("ml", "OCaml"),
    ("php", "PHP"),
    ("proto", "Protocol Buffers"),
    ("py", "Python"),
    ("rb", "Ruby"),
    ("rs", "Rust"),
    ("rst", "reStructuredText"),
    ("scala", "Scala"),
    ("sh", "shell"),
    ("sql", "SQL"),
    ("swift", "Swift"),
    ("toml", "TOML"),
    ("ts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("txt", "text"),
    ("vue", "Vue"),
    ("yaml", "YAML"),
    ("yml", "YAML"),
];

/// The language of a file's ending.
#[must_use]
pub fn language_by_ending(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    LANGUAGES.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
}

/// The lines of an outline, sorted by folder: `crates/core/ 45 files (40 Rust, 5 Markdown)`.
#[must_use]
pub fn folder_outline<'p>(paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    let mut tree = Folder::default();
    paths.into_iter().for_each(|path| tree.add(path, path));
    if tree.count == 0 {
        return Vec::new();
    }
    let small = tree.take_in_small(MAX_OF_ROOT);
    let mut lines: BTreeMap<String, &Folder> = BTreeMap::from([(String::new(), &tree)]);
    let mut apart: BTreeSet<String> = BTreeSet::new();
    // The largest folder is taken apart first, as long as its parts still have lines.
    loop {
        let room = MAX_LINES.saturating_sub(lines.len());
        let can = |(path, folder): &(&String, &&Folder)| {
            !apart.contains(*path)
                && !folder.folders.is_empty()
                && folder.folders.len() <= room.saturating_add(1)
                && (folder.count >= FEW || path.is_empty())
        };
        let largest =
            lines.iter().filter(can).max_by(|(a, one), (b, other)| one.count.cmp(&other.count).then(b.cmp(a)));
        let Some((path, folder)) = largest.map(|(path, folder)| (path.clone(), *folder)) else { break };
        for (name, below) in &folder.folders {
            lines.insert(format!("{path}{name}/"), below);
        }
        apart.insert(path.clone());
        if folder.own.is_empty() {
            lines.remove(&path);
        }
    }
    let line = |(path, folder): (&String, &&Folder)| {
        let of_itself = apart.contains(path);
        let languages = if of_itself { &folder.own } else { &folder.all };
        let count = if of_itself { folder.own_count } else { folder.count };
        let name = match (path.is_empty(), small) {
            (true, 0) => "./".to_owned(),
            (true, small) => format!("./ and {small} small folders:"),
            (false, _) => path.clone(),
        };
        format!("{name} {}", file_count_by_language(count, languages))
    };
    lines.iter().map(line).collect()
}

/// `45 files (40 Rust, 5 Markdown)`.
fn file_count_by_language(count: usize, languages: &BTreeMap<Option<&'static str>, usize>) -> String {
    let s = if count == 1 { "" } else { "s" };
    let mut known: Vec<(&str, usize)> =
        languages.iter().filter_map(|(language, count)| Some(((*language)?, *count))).collect();
    known.sort_by(|(a, one), (b, other)| other.cmp(one).then(a.cmp(b)));
    let known: Vec<String> = known.iter().take(MAX_LANGUAGES).map(|(language, n)| format!("{n} {language}")).collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    format!("{count} file{s}{known}")
}

/// A folder with what is below it.
#[derive(Debug, Default)]
struct Folder {
    folders: BTreeMap<String, Self>,
    /// Files below it, and those that are in it.
    count: usize,
    own_count: usize,
    /// Languages of all files below it, and of those that are in it.
    all: BTreeMap<Option<&'static str>, usize>,
    own: BTreeMap<Option<&'static str>, usize>,
}

impl Folder {
    fn add(&mut self, path: &str, rest: &str) {
        let mut folder = self;
        let mut rest = rest;
        let language = language_by_ending(path);
        loop {
            folder.count = folder.count.saturating_add(1);
            let all = folder.all.entry(language).or_default();
            *all = all.saturating_add(1);
            let Some((name, below)) = rest.split_once('/') else { break };
            rest = below;
            folder = folder.folders.entry(name.to_owned()).or_default();
        }
        folder.own_count = folder.own_count.saturating_add(1);
        let own = folder.own.entry(language).or_default();
        *own = own.saturating_add(1);
    }

    /// Counts what is below all folders but the `most` largest as its own. How many folders that were.
    fn take_in_small(&mut self, most: usize) -> usize {
        let mut names: Vec<(usize, String)> =
            self.folders.iter().map(|(name, below)| (below.count, name.clone())).collect();
        names.sort_by(|(a, one), (b, other)| b.cmp(a).then(one.cmp(other)));
        let small = names.split_off(names.len().min(most));
        for (_, name) in &small {
            let Some(below) = self.folders.remove(name) else { continue };
            self.own_count = self.own_count.saturating_add(below.count);
            for (language, count) in below.all {
                let own = self.own.entry(language).or_default();
                *own = own.saturating_add(count);
            }
        }
        small.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_folders_are_taken_apart_first() {
        let mut paths: Vec<String> = (0..20).map(|n| format!("crates/core/src/{n}.rs")).collect();
        paths.extend((0..3).map(|n| format!("crates/core/tests/{n}.rs")));
        paths.extend((0..6).map(|n| format!("docs/{n}.md")));
        paths.extend(["README.md", "Cargo.toml", "LICENSE"].map(str::to_owned));
        let lines = folder_outline(paths.iter().map(String::as_str));
        assert_eq!(
            lines,
            [
                "./ 3 files (1 Markdown, 1 TOML)",
                "crates/core/src/ 20 files (20 Rust)",
                "crates/core/tests/ 3 files (3 Rust)",
                "docs/ 6 files (6 Markdown)",
            ]
        );
        paths.reverse();
        assert_eq!(folder_outline(paths.iter().map(String::as_str)), lines, "the order of the paths says nothing");
    }

    #[test]
    fn wide_and_empty_repositories() {
        assert_eq!(folder_outline([]), Vec::<String>::new());
        let wide: Vec<String> = (0..300).map(|n| format!("packages/p{n:03}/index.js")).collect();
        assert_eq!(folder_outline(wide.iter().map(String::as_str)), ["packages/ 300 files (300 JavaScript)"]);
        assert_eq!(folder_outline(["a"]), ["./ 1 file"]);
        let mut many: Vec<String> = (0..40).map(|n| format!("part{n:02}/a.rs")).collect();
        many.extend((0..30).map(|n| format!("core/src/{n}.rs")));
        many.extend((0..20).map(|n| format!("core/tests/{n}.rs")));
        let lines = folder_outline(many.iter().map(String::as_str));
        assert_eq!(lines.first().map(String::as_str), Some("./ and 23 small folders: 23 files (23 Rust)"));
        assert!(lines.contains(&"core/src/ 30 files (30 Rust)".to_owned()), "{lines:?}");
        assert_eq!(lines.len(), 20, "{lines:?}");
    }
}
