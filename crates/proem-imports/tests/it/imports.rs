//! Imports of each language, and the results of strange input.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod bounds;
mod c;
mod go;
mod java;
mod javascript;
mod python;
mod rust;

use std::fmt::Write as _;

use proem_imports::{
    Manifests, SourceFacts, SourceLanguage, SourceLimits, extract_facts,
    resolve::{ImportEdgeKind, ResolvableFile},
    resolve_imports,
};

/// Reads one source without bounds of time.
pub(crate) fn read(path: &str, source: &str) -> SourceFacts {
    let language = SourceLanguage::of_path(path.as_bytes()).unwrap();
    extract_facts(language, source.as_bytes(), &SourceLimits::default(), &mut || false).unwrap()
}

/// Resolves files, given as `(path, source)`, and says it line by line: `from -> to kind calls`, then the counts.
pub(crate) fn resolved(files: &[(&str, &str)]) -> Vec<String> {
    let mut manifests = Manifests::default();
    let mut facts = Vec::new();
    for (path, source) in files {
        if Manifests::wanted(path.as_bytes()) {
            manifests.add(path.as_bytes(), source.as_bytes()).unwrap();
        }
        facts.push(SourceLanguage::of_path(path.as_bytes()).map(|_| read(path, source)));
    }
    let list: Vec<ResolvableFile<'_>> = files
        .iter()
        .zip(&facts)
        .map(|((path, _), facts)| ResolvableFile { path: path.as_bytes(), facts: facts.as_ref() })
        .collect();
    let resolution = resolve_imports(&list, &manifests);
    assert_eq!(resolution.files.len(), files.len());
    let name = |at: u32| files[usize::try_from(at).unwrap()].0;
    let mut lines = Vec::new();
    for edge in &resolution.edges {
        assert_ne!(edge.from, edge.to);
        let mut line = format!("{} -> {}", name(edge.from), name(edge.to));
        match edge.kind {
            ImportEdgeKind::Import => {}
            ImportEdgeKind::TypeOnly => line.push_str(" types"),
            ImportEdgeKind::Test => line.push_str(" test"),
            ImportEdgeKind::Ownership => line.push_str(" owns"),
        }
        match edge.calls {
            None => line.push_str(" ?"),
            Some(0) => {}
            Some(calls) => write!(line, " {calls}").unwrap(),
        }
        lines.push(line);
    }
    for (at, counts) in (0..).zip(&resolution.files) {
        if counts.unresolved > 0 {
            lines.push(format!("{}: {} unresolved", name(at), counts.unresolved));
        }
        if counts.external > 0 {
            lines.push(format!("{}: {} external", name(at), counts.external));
        }
    }
    lines
}

/// Checks edges and counts. Edges from a file to its own parts, `owns`, are left out.
pub(crate) fn check(files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<String> = resolved(files).into_iter().filter(|line| !line.ends_with(" owns")).collect();
    assert_eq!(found, expected, "{files:#?}");
}
