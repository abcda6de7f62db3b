//! Circles of modules: files of a crate that use each other, directly or through others.
//!
//! An edge is a `use` of the crate's own paths. A re-export of a file is no use, and the crate's root is no part of a
//! circle: it names everything.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{SourceTree, is_source, without_tests};

/// The circles of more than `most` files, as lists of paths.
pub(super) fn wide_circles(tree: &SourceTree, most: usize) -> Vec<String> {
    let mut circles = Vec::new();
    for name in tree.crates() {
        let prefix = format!("crates/{name}/src/");
        let modules: BTreeMap<Vec<&str>, &str> = tree
            .files()
            .map(|(path, _)| path)
            .filter(|path| path.starts_with(&prefix) && is_source(path))
            .filter_map(|path| Some((module_path(path.strip_prefix(&prefix)?), path)))
            .filter(|(module, _)| !module.is_empty())
            .collect();
        let edges: BTreeMap<&str, BTreeSet<&str>> = modules
            .iter()
            .map(|(module, path)| (*path, used_files(module, tree.text(path).unwrap_or_default(), &modules)))
            .collect();
        circles.extend(
            mutual_files(&edges).into_iter().filter(|circle| circle.len() > most).map(|circle| circle.join(" ")),
        );
    }
    circles
}

/// The names that lead to a file's module from the crate's root.
fn module_path(path: &str) -> Vec<&str> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if matches!(stem, "lib" | "main" | "mod") { Vec::new() } else { stem.split('/').collect() }
}

/// The files that a file uses.
fn used_files<'t>(module: &[&str], text: &str, modules: &BTreeMap<Vec<&'t str>, &'t str>) -> BTreeSet<&'t str> {
    let source = without_tests(text).join("\n");
    let mut files = BTreeSet::new();
    for (at, _) in source.match_indices("use ") {
        let line = source.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
        if !line.trim().is_empty() {
            continue;
        }
        let statement = source.get(at + 4..).and_then(|rest| rest.split(';').next()).unwrap_or_default();
        for path in expanded_paths(statement) {
            files.extend(file_of_path(module, &path, modules));
        }
    }
    files
}

/// The paths of a `use`, with its braces taken apart.
fn expanded_paths(statement: &str) -> Vec<String> {
    let Some((head, rest)) = statement.split_once('{') else { return vec![statement.trim().to_owned()] };
    let Some(inner) = rest.trim_end().strip_suffix('}') else { return vec![head.trim().to_owned()] };
    let (mut depth, mut part, mut parts) = (0_usize, String::new(), Vec::new());
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    parts.push(part);
    let whole = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    whole.flat_map(|part| expanded_paths(&format!("{}{part}", head.trim()))).collect()
}

/// The file that the longest beginning of a path leads to.
fn file_of_path<'t>(module: &[&str], path: &str, modules: &BTreeMap<Vec<&'t str>, &'t str>) -> Option<&'t str> {
    let mut from: Vec<&str> = module.to_vec();
    let mut names = path.split("::").map(str::trim).peekable();
    match names.next()? {
        "crate" => from.clear(),
        "self" => {}
        "super" => {
            from.pop();
            while names.next_if_eq(&"super").is_some() {
                from.pop();
            }
        }
        _ => return None,
    }
    from.extend(names);
    while !from.is_empty() {
        if let Some(file) = modules.get(&from) {
            return (from != module).then_some(file);
        }
        from.pop();
    }
    None
}

/// The sets of files that reach each other.
fn mutual_files<'t>(edges: &BTreeMap<&'t str, BTreeSet<&'t str>>) -> Vec<Vec<&'t str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|file| (*file, reached_files(file, edges))).collect();
    let reaches = |from: &str, to: &str| reach.get(from).is_some_and(|reached| reached.contains(to));
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut circles = Vec::new();
    for file in edges.keys().copied() {
        if done.contains(file) || !reaches(file, file) {
            continue;
        }
        let circle: Vec<&str> =
            edges.keys().copied().filter(|other| reaches(file, other) && reaches(other, file)).collect();
        done.extend(&circle);
        circles.push(circle);
    }
    circles
}

/// Every file that one leads to.
fn reached_files<'t>(from: &str, edges: &BTreeMap<&'t str, BTreeSet<&'t str>>) -> BTreeSet<&'t str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = edges.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(edges.get(file).into_iter().flatten().copied());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let tree = SourceTree::from([
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod b;\nmod c;\nuse b::B;\n"),
            ("crates/a/src/b.rs", "use crate::{c::{C, d::D}, x};\n"),
            ("crates/a/src/c.rs", "mod d;\npub use self::d::D;\nuse super::b::B;\n"),
            ("crates/a/src/c/d.rs", "use std::fmt;\n"),
        ]);
        assert_eq!(wide_circles(&tree, 1), ["crates/a/src/b.rs crates/a/src/c.rs"]);
        assert_eq!(wide_circles(&tree, 2), Vec::<String>::new());
    }

    #[test]
    fn braces_are_taken_apart() {
        assert_eq!(expanded_paths("a::{b, c::{d, e}, self}"), ["a::b", "a::c::d", "a::c::e", "a::self"]);
    }
}
