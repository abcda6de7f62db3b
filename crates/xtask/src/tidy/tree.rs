//! The project's files as text.

use std::{collections::BTreeMap, fs, path::Path};

/// Folders that hold no source of the project: build results, and inputs a fuzzer made.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", "fuzz/artifacts", "fuzz/corpus", "fuzz/coverage"];

/// Every file below the root, by its path with `/` between names. A file that isn't UTF-8 has an
/// empty text.
#[derive(Debug, Default)]
pub(crate) struct SourceTree {
    files: BTreeMap<String, String>,
}

impl SourceTree {
    /// Reads all files below `root`. Links are not followed.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), String> {
        let problem = |error| format!("could not read `{}`: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            let kind = entry.file_type().map_err(problem)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            // In a worktree `.git` is a file.
            if SKIPPED.contains(&path.as_str()) || SKIPPED.contains(&name.as_str()) {
                continue;
            }
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).map_err(|error| format!("could not read `{path}`: {error}"))?;
                self.files.insert(path, String::from_utf8(bytes).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Every path and text, in the order of the paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The paths below a folder, relative to it. `folder` ends in `/`.
    pub(crate) fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.keys().filter_map(move |path| path.strip_prefix(folder))
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is such a file or, if the path ends in `/`, such a folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        if path.ends_with('/') { self.below(path).next().is_some() } else { self.files.contains_key(path) }
    }

    /// The number of the first line of a file that fits.
    pub(crate) fn line_of(&self, path: &str, fits: impl Fn(&str) -> bool) -> Option<usize> {
        self.text(path)?.lines().position(fits).map(|index| index + 1)
    }

    /// The names of the folders in `crates/` that have a `Cargo.toml`.
    pub(crate) fn crates(&self) -> Vec<&str> {
        self.below("crates/")
            .filter_map(|path| path.strip_suffix("/Cargo.toml"))
            .filter(|name| !name.contains('/'))
            .collect()
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for SourceTree {
    fn from(files: [(&str, &str); N]) -> Self {
        Self { files: files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_from_paths() {
        let tree = SourceTree::from([
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/x/Cargo.toml", ""),
            ("b", ""),
        ]);
        assert_eq!(tree.crates(), ["a"]);
        assert!(tree.has("crates/a/") && tree.has("b") && !tree.has("c/") && !tree.has("crates"));
        assert_eq!(tree.line_of("crates/a/Cargo.toml", |line| line.starts_with("name")), Some(2));
        assert_eq!(tree.line_of("crates/a/Cargo.toml", |line| line.is_empty()), None);
    }

    #[test]
    fn reads_this_crate() {
        let tree = SourceTree::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(tree.has("src/tidy/tree.rs"));
        assert!(tree.text("Cargo.toml").is_some_and(|text| text.contains("xtask")));
    }
}
