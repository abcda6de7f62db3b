//! Java's packages: a type's qualified name leads to the file that defines it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    SourceFacts, SourceLanguage,
    resolve::{FileImports, ImportEdgeKind, ImportTarget, NamedTarget, index::PathIndex},
    source_facts::{Binding, Import},
};

/// The types of the repository.
#[derive(Debug)]
pub(super) struct JavaPackages<'a> {
    /// By package and name. Of two that have both, the first path's.
    types: BTreeMap<&'a str, BTreeMap<&'a str, u32>>,
}

impl<'a> JavaPackages<'a> {
    pub(super) fn new(index: &'a PathIndex<'a>) -> Self {
        let mut types: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
        for (at, _, facts) in index.with_facts().filter(|(_, _, facts)| facts.language == SourceLanguage::Java) {
            let package = types.entry(facts.package.as_deref().unwrap_or_default()).or_default();
            for name in &facts.definitions {
                package.entry(name).or_insert(at);
            }
        }
        Self { types }
    }

    pub(super) fn step(&self, facts: &SourceFacts, import: &Import, binding: Option<&Binding>) -> ImportTarget {
        let path = import.path.as_str();
        let all = binding.is_some_and(|binding| binding.name == "*");
        if all && let Some(package) = self.types.get(path) {
            let used: BTreeSet<u32> = self.used(package, facts).map(|(file, _)| file).collect();
            return ImportTarget::To(used.into_iter().map(NamedTarget::whole).collect());
        }
        // `a.b.C`, a type inside it, or what a static import takes from it.
        for (at, _) in path.match_indices('.').rev() {
            let Some((package, rest)) = path.split_at_checked(at) else { continue };
            let name = rest.split('.').nth(1).unwrap_or_default();
            if let Some(&file) = self.types.get(package).and_then(|types| types.get(name)) {
                return ImportTarget::To(vec![NamedTarget::whole(file)]);
            }
        }
        let inside = |package: &str| path.strip_prefix(package).is_some_and(|rest| rest.starts_with('.'));
        if self.types.keys().any(|package| !package.is_empty() && inside(package)) {
            ImportTarget::Missing
        } else {
            ImportTarget::External
        }
    }

    /// The types of a package that a file uses by their simple names, with the place of each use.
    fn used<'s>(
        &'s self,
        package: &'s BTreeMap<&'a str, u32>,
        facts: &'s SourceFacts,
    ) -> impl Iterator<Item = (u32, usize)> {
        facts.uses.iter().enumerate().filter_map(move |(at, used)| {
            let name = used.path.split('.').next().unwrap_or_default();
            package.get(name).filter(|_| !imports_type(facts, name)).map(|&file| (file, at))
        })
    }

    /// Adds what a file uses of its own package, which it needn't import, and what its wildcards bring in.
    pub(super) fn add_uses(&self, facts: &SourceFacts, found: &mut FileImports<'_>) {
        let own = facts.package.as_deref().unwrap_or_default();
        let wildcards = facts.imports.iter().filter(|import| import.bindings.iter().any(|binding| binding.name == "*"));
        let packages: BTreeSet<&str> = wildcards.map(|import| import.path.as_str()).chain([own]).collect();
        for package in packages.into_iter().filter_map(|package| self.types.get(package)) {
            for (file, at) in self.used(package, facts) {
                found.add(file, ImportEdgeKind::Import, &[at], true);
            }
        }
    }
}

/// Whether a file imports a type of that name from elsewhere.
fn imports_type(facts: &SourceFacts, name: &str) -> bool {
    facts.imports.iter().flat_map(|import| &import.bindings).any(|binding| binding.local == name)
}
