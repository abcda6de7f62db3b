//! Files that a person adds to what is found, or leaves out of it.

use std::path::{Component, Path};

use proem_guard::show;
use proem_risk::path::PathPattern;

use crate::error::Error;
use crate::words::count_with_noun;

/// How many paths an error lists.
const LISTED: usize = 3;

/// A person's wishes about single files.
#[derive(Debug, Clone, Default)]
pub struct FileChoice {
    /// Paths that were named, each with whether it has to be there.
    named: Vec<(String, Necessity)>,
    excluded: Vec<PathPattern>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Necessity {
    /// `--file`: a path that isn't there is an error.
    Needed,
    /// `@path` in the task: what is no path may be a decorator or somebody's name.
    IfThere,
}

impl FileChoice {
    /// The files that are named, those that the task names as `@path`, and patterns as in `.gitignore` for what is left out.
    ///
    /// # Errors
    ///
    /// A pattern that can match nothing.
    pub fn new(task: &str, files: &[String], excluded: &[String]) -> Result<Self, Error> {
        let needed = files.iter().map(|path| (path.clone(), Necessity::Needed));
        let mentioned = at_mentions(task).map(|path| (path.to_owned(), Necessity::IfThere));
        let pattern = |text: &String| {
            let whole = if text.ends_with('/') { format!("{text}**") } else { text.clone() };
            PathPattern::new(whole.as_bytes()).ok_or_else(|| {
                let shown = show::terminal_str(text);
                Error::invalid(format!(
                    "`{shown}` is no pattern of paths; write one as in .gitignore, such as `tests/**` or `*.md`"
                ))
            })
        };
        Ok(Self {
            named: needed.chain(mentioned).collect(),
            excluded: excluded.iter().map(pattern).collect::<Result<_, _>>()?,
        })
    }

    /// Whether a file is left out: its path or that of a folder above it fits a pattern.
    pub(super) fn excludes(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let mut parts = ends.filter_map(|end| path.get(..end));
        parts.any(|part| self.excluded.iter().any(|pattern| pattern.matches(part.as_bytes())))
    }

    /// Whether any file is left out.
    pub(super) const fn excludes_any(&self) -> bool {
        !self.excluded.is_empty()
    }

    /// The places of the files that were named among these paths, in the order of their names. `folder` is where the
    /// person is, from the root.
    ///
    /// # Errors
    ///
    /// A path that was named and isn't among them.
    pub(super) fn places(&self, paths: &[&str], folder: &str) -> Result<Vec<usize>, Error> {
        let mut places = Vec::new();
        for (name, necessity) in &self.named {
            match (named_file_place(name, paths, folder), necessity) {
                (Some(place), _) if !places.contains(&place) => places.push(place),
                (Some(_), _) | (None, Necessity::IfThere) => {}
                (None, Necessity::Needed) => return Err(unknown_file(name, paths)),
            }
        }
        Ok(places)
    }
}

/// The paths that a text names as `@path`.
pub(crate) fn at_mentions(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(|word| {
        let path = word.trim_start_matches(['(', '"', '`', '\'']).strip_prefix('@')?;
        let path = path.trim_end_matches([',', ';', ':', '!', '?', ')', '"', '`', '\'', '.']);
        (!path.is_empty()).then_some(path)
    })
}

/// The file of this name: from where the person is, from the root, or the only one whose path ends so.
fn named_file_place(name: &str, paths: &[&str], folder: &str) -> Option<usize> {
    let place_of = |path: &str| paths.iter().position(|other| *other == path);
    let from_here = path_from_root(folder, name);
    let from_root = path_from_root("", name);
    place_of(from_here.as_deref()?).or_else(|| place_of(from_root.as_deref()?)).or_else(|| {
        let mut ending = paths_ending_in(name, paths);
        ending.next().filter(|_| ending.next().is_none()).map(|(place, _)| place)
    })
}

/// The files whose paths end in these parts.
fn paths_ending_in<'p>(name: &str, paths: &'p [&'p str]) -> impl Iterator<Item = (usize, &'p str)> {
    let end = format!("/{name}");
    paths.iter().copied().enumerate().filter(move |(_, path)| path.ends_with(&end))
}

/// A path from the root, without `.` and `..`. `None` if it leads out of the root.
fn path_from_root(folder: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let path = Path::new(folder).join(name);
    for part in path.components() {
        match part {
            Component::Normal(_) => {}
            Component::CurDir => continue,
            Component::ParentDir => {
                _ = parts.pop()?;
                continue;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
        // Both parts of the path are UTF-8.
        parts.push(part.as_os_str().to_str()?);
    }
    Some(parts.join("/"))
}

fn unknown_file(name: &str, paths: &[&str]) -> Error {
    let shown = show::terminal_str(name);
    let like: Vec<&str> = paths_ending_in(name, paths).map(|(_, path)| path).collect();
    if like.is_empty() {
        return Error::invalid(format!(
            "`{shown}` is no file that is read here; name its path from this folder or from the root"
        ));
    }
    let first: Vec<String> = like.iter().take(LISTED).map(|path| format!("`{}`", show::terminal_str(path))).collect();
    let count = count_with_noun(u64::try_from(like.len()).unwrap_or(u64::MAX), "file");
    Error::invalid(format!("{count} end in `{shown}`; name one whole, such as {}", first.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 5] = ["README.md", "a/mod.rs", "b/mod.rs", "b/deep/clock.rs", "vendor/x/y.rs"];

    fn choice(task: &str, files: &[&str], excluded: &[&str]) -> FileChoice {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        FileChoice::new(task, &owned(files), &owned(excluded)).unwrap()
    }

    #[test]
    fn a_file_is_named_from_here_from_the_root_or_by_its_end() {
        for (task, files, folder, expected) in [
            ("fix", &["b/mod.rs"][..], "", Ok(vec![2])),
            ("fix", &["mod.rs"], "a", Ok(vec![1])),
            ("fix", &["../README.md", "./b/../README.md"], "b", Ok(vec![0])),
            ("fix", &["clock.rs"], "", Ok(vec![3])),
            ("fix @b/deep/clock.rs, please (@README.md).", &[], "", Ok(vec![3, 0])),
            ("fix @property and tell @sam", &[], "", Ok(vec![])),
            ("fix", &["mod.rs"], "", Err("2 files end in `mod.rs`; name one whole, such as `a/mod.rs`, `b/mod.rs`")),
            (
                "fix",
                &["../../etc/passwd"],
                "b",
                Err("`../../etc/passwd` is no file that is read here; name its path from this folder or from the root"),
            ),
        ] {
            let found = choice(task, files, &[]).places(&PATHS, folder).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{task} {files:?} {folder}");
        }
    }

    #[test]
    fn patterns_leave_out_files_and_folders() {
        for (pattern, expected) in [
            ("*.md", &["README.md"][..]),
            ("vendor", &["vendor/x/y.rs"]),
            ("vendor/", &["vendor/x/y.rs"]),
            ("b/**", &["b/mod.rs", "b/deep/clock.rs"]),
            ("mod.rs", &["a/mod.rs", "b/mod.rs"]),
            ("/b/mod.rs", &["b/mod.rs"]),
        ] {
            let choice = choice("", &[], &[pattern]);
            let out: Vec<&str> = PATHS.into_iter().filter(|path| choice.excludes(path)).collect();
            assert_eq!(out, expected, "{pattern}");
        }
        let error = FileChoice::new("", &[], &["[a".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("no pattern of paths"), "{error}");
    }
}
