//! Says which file imports which.
//!
//! Invariants: an edge leads from one file to another one, never to itself. Of one pair there is one edge, of the
//! strongest kind. Edges are sorted. An import is resolved, unresolved or a third party's, and is counted as exactly
//! one of them.
//!
//! A name that the imported file only hands on (a barrel, an `__init__`, a `pub use`) makes an edge
//! to that file and to the one that defines the name: both can break the importer.

mod barrel;
mod c;
mod go;
mod index;
mod java;
mod javascript;
pub mod manifest;
mod place;
mod python;
mod rust;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    SourceFacts, SourceLanguage,
    resolve::index::{PathIndex, Uses},
    source_facts::{Binding, Import, ImportKind},
};

pub use manifest::Manifests;

/// One file of a repository.
#[derive(Debug, Clone, Copy)]
pub struct ResolvableFile<'a> {
    /// Its path from the repository's root.
    pub path: &'a [u8],
    /// Its facts. `None` if it has no parser or could not be read.
    pub facts: Option<&'a SourceFacts>,
}

/// How one file depends on another, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportEdgeKind {
    /// It imports it.
    Import,
    /// It imports types of it, of which nothing is left when the program runs.
    TypeOnly,
    /// Test code inside it imports it.
    Test,
    /// It declares it to be a part of its module, and imports nothing by that.
    Ownership,
}

/// A dependency of one file on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportEdge {
    /// The importer, by its place in the list of files.
    pub from: u32,
    /// The imported file.
    pub to: u32,
    /// How the one depends on the other.
    pub kind: ImportEdgeKind,
    /// How many calls in the importer name something of the imported file. `None` if the import doesn't say which names
    /// it brings in.
    pub calls: Option<u32>,
}

/// The counts of one file's imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportCounts {
    /// Imports that lead to a file of the repository.
    pub resolved: u32,
    /// Imports that look as if they should, and don't.
    pub unresolved: u32,
    /// Imports of the standard library or of third parties.
    pub external: u32,
    /// Whether the language's own declarations say that only tests compile it: in Rust, a module under `#[cfg(test)]`.
    pub test_module: bool,
}

/// Which file imports which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolution {
    /// The dependencies, sorted by importer and imported file.
    pub edges: Vec<ImportEdge>,
    /// The counts of each file's imports, in the order of the files.
    pub files: Vec<ImportCounts>,
}

/// Resolves the imports of `files`, which are all files of a repository. Paths are distinct.
#[must_use]
pub fn resolve_imports(files: &[ResolvableFile<'_>], manifests: &Manifests) -> Resolution {
    let index = PathIndex::new(files);
    let languages = Languages {
        c: c::HeaderIndex::new(&index),
        go: go::GoPackages::new(&index, manifests),
        java: java::JavaPackages::new(&index),
        javascript: javascript::JavaScriptModules::new(&index, manifests),
        python: python::PythonModules::new(&index),
        rust: rust::Crates::new(&index, manifests),
    };
    let mut resolution = Resolution::default();
    for (from, file) in index.all() {
        let Some(facts) = file.facts else {
            resolution.files.push(ImportCounts::default());
            continue;
        };
        let mut found = FileImports {
            from,
            index: &index,
            languages: &languages,
            edges: BTreeMap::new(),
            counts: ImportCounts::default(),
        };
        found.imports(facts);
        match facts.language {
            SourceLanguage::Rust => languages.rust.add_uses(facts, &mut found),
            SourceLanguage::Java => languages.java.add_uses(facts, &mut found),
            _ => {}
        }
        resolution.edges.extend(found.edges.iter().map(|(&to, link)| link.edge(from, to, facts)));
        resolution.files.push(found.counts);
    }
    resolution
}

/// The known modules of each language.
#[derive(Debug)]
struct Languages<'a> {
    c: c::HeaderIndex<'a>,
    go: go::GoPackages<'a>,
    java: java::JavaPackages<'a>,
    javascript: javascript::JavaScriptModules<'a>,
    python: python::PythonModules<'a>,
    rust: rust::Crates<'a>,
}

#[derive(Debug, PartialEq, Eq)]
enum ImportTarget {
    /// To files of the repository.
    To(Vec<NamedTarget>),
    /// To a name of the importing file itself.
    Own,
    /// To something that should be here and isn't.
    Missing,
    /// To a third party.
    External,
}

/// A file, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct NamedTarget {
    file: u32,
    /// A name that it may define or hand on. `None` for the file as a whole.
    name: Option<String>,
}

impl NamedTarget {
    const fn whole(file: u32) -> Self {
        Self { file, name: None }
    }
}

impl Languages<'_> {
    /// The target of one binding of an import, seen from the file with `facts`.
    fn step(&self, from: u32, facts: &SourceFacts, import: &Import, binding: Option<&Binding>) -> ImportTarget {
        match facts.language {
            SourceLanguage::C | SourceLanguage::Cpp => self.c.step(from, import),
            SourceLanguage::Go => self.go.step(from, import),
            SourceLanguage::Java => self.java.step(facts, import, binding),
            SourceLanguage::JavaScript | SourceLanguage::Tsx | SourceLanguage::TypeScript => {
                self.javascript.step(from, import, binding)
            }
            SourceLanguage::Python => self.python.step(from, import, binding),
            SourceLanguage::Rust => self.rust.step(from, facts, &import.path),
        }
    }
}

/// A dependency as it is put together.
#[derive(Debug)]
struct EdgeDraft {
    kind: ImportEdgeKind,
    /// The uses that belong to it, by their place in the facts.
    uses: BTreeSet<usize>,
    /// Whether all names that it brings in are known.
    named: bool,
}

impl EdgeDraft {
    fn edge(&self, from: u32, to: u32, facts: &SourceFacts) -> ImportEdge {
        let calls = self.uses.iter().filter_map(|&at| facts.uses.get(at)).map(|used| used.calls);
        let calls = self.named.then(|| calls.fold(0, u32::saturating_add));
        ImportEdge { from, to, kind: self.kind, calls }
    }
}

/// The imports of one file.
struct FileImports<'a> {
    from: u32,
    index: &'a PathIndex<'a>,
    languages: &'a Languages<'a>,
    edges: BTreeMap<u32, EdgeDraft>,
    counts: ImportCounts,
}

impl FileImports<'_> {
    fn imports(&mut self, facts: &SourceFacts) {
        let uses = Uses::new(facts);
        for import in &facts.imports {
            let kind = match (import.test, import.kind) {
                (true, _) => ImportEdgeKind::Test,
                (false, ImportKind::TypeOnly) => ImportEdgeKind::TypeOnly,
                (false, _) => ImportEdgeKind::Import,
            };
            let mut steps = Vec::new();
            for binding in &import.bindings {
                let step = self.languages.step(self.from, facts, import, Some(binding));
                if let ImportTarget::To(places) = &step {
                    self.bind(kind, binding, places, &uses);
                }
                steps.push(step);
            }
            if import.bindings.is_empty() {
                let step = self.languages.step(self.from, facts, import, None);
                if let ImportTarget::To(places) = &step {
                    places.iter().for_each(|place| self.add(place.file, kind, &[], false));
                }
                steps.push(step);
            }
            self.count(&steps);
        }
    }

    /// Adds what one binding of an import leads to.
    fn bind(&mut self, kind: ImportEdgeKind, binding: &Binding, places: &[NamedTarget], uses: &Uses<'_>) {
        let called = uses.of(&binding.local, self.index.package_of(places));
        for place in places {
            let definers = place.name.as_deref().map(|name| self.definers(place.file, name)).unwrap_or_default();
            let direct = definers.is_empty() || definers.contains(&place.file);
            let named = binding.local != "*";
            let own = if direct { self.index.defined_of(place.file, &called, uses) } else { Vec::new() };
            self.add(place.file, kind, &own, named);
            for definer in definers {
                self.add(definer, kind, &called, named);
            }
            if place.name.is_none() && uses.by_member() {
                self.bind_members(kind, place.file, &called, uses);
            }
        }
    }

    /// Follows the names that a module is used by, `module.name()`, to where they are defined.
    fn bind_members(&mut self, kind: ImportEdgeKind, module: u32, called: &[usize], uses: &Uses<'_>) {
        for &at in called {
            let Some(member) = uses.member(at) else { continue };
            for definer in self.definers(module, member) {
                self.add(definer, kind, &[at], true);
            }
        }
    }

    fn count(&mut self, steps: &[ImportTarget]) {
        let counter = if steps.contains(&ImportTarget::Missing) {
            &mut self.counts.unresolved
        } else if steps.iter().any(|step| matches!(step, ImportTarget::To(_))) {
            &mut self.counts.resolved
        } else if steps.contains(&ImportTarget::External) {
            &mut self.counts.external
        } else {
            return;
        };
        *counter = counter.saturating_add(1);
    }

    fn add(&mut self, to: u32, kind: ImportEdgeKind, uses: &[usize], named: bool) {
        if to == self.from {
            return;
        }
        let link = self.edges.entry(to).or_insert_with(|| EdgeDraft { kind, uses: BTreeSet::new(), named });
        link.kind = link.kind.min(kind);
        link.named &= named;
        link.uses.extend(uses);
    }
}
