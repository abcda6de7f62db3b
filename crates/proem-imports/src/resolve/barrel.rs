//! Finds what a file hands on under a name.

use std::collections::BTreeSet;

use crate::{
    SourceFacts, SourceLanguage,
    resolve::{FileImports, ImportTarget, NamedTarget, index::defines},
    source_facts::{Binding, Import, ImportKind},
};

/// The most files that are looked at for one name. A longer chain is left where it is.
const LOOKS: usize = 64;

/// An import whose binding a file hands on to whoever imports the file.
#[derive(Debug, Clone, Copy)]
struct ReExport<'f> {
    import: &'f Import,
    binding: &'f Binding,
    /// Whether it names what is looked for. Otherwise it hands on all that another file has.
    certain: bool,
}

impl FileImports<'_> {
    /// The files that define `name` as `file` knows it, other than by the file itself alone.
    ///
    /// Empty if nothing but the file is known to have it.
    pub(super) fn definers(&self, file: u32, name: &str) -> BTreeSet<u32> {
        let mut definers = BTreeSet::new();
        let mut open = vec![(NamedTarget { file, name: Some(name.to_owned()) }, true)];
        let mut seen = BTreeSet::new();
        while let Some((place, certain)) = open.pop() {
            if seen.len() == LOOKS || !seen.insert(place.clone()) {
                continue;
            }
            let (Some(name), Some(facts)) = (&place.name, self.index.facts(place.file)) else {
                definers.extend(certain.then_some(place.file));
                continue;
            };
            let before = open.len();
            for export in handed_on(facts, name) {
                self.follow(&place, facts, export, &mut open);
            }
            if open.len() > before {
                continue;
            }
            if defines(facts, first_name_part(facts.language, name)) {
                definers.insert(place.file);
                continue;
            }
            for export in star_reexports(facts) {
                self.follow(&place, facts, export, &mut open);
            }
            if certain && open.len() == before && place.file != file {
                definers.insert(place.file);
            }
        }
        definers
    }

    /// Goes where what `place` hands on comes from.
    fn follow(
        &self,
        place: &NamedTarget,
        facts: &SourceFacts,
        export: ReExport<'_>,
        open: &mut Vec<(NamedTarget, bool)>,
    ) {
        let ReExport { import, binding, certain } = export;
        let ImportTarget::To(places) = self.languages.step(place.file, facts, import, Some(binding)) else { return };
        for mut next in places {
            if !certain {
                next.name.clone_from(&place.name);
            } else if facts.language == SourceLanguage::Rust {
                // `pub use a::B` hands on `B`, and `B::C` is looked for in it.
                let below = place.name.as_deref().and_then(|name| name.strip_prefix(binding.local.as_str()));
                let below = below.and_then(|below| below.strip_prefix("::"));
                next.name = match (next.name, below) {
                    (Some(name), _) => Some(name),
                    (None, below) => below.map(str::to_owned),
                };
            }
            open.push((next, certain));
        }
    }
}

/// The first part of a name, which is what a file defines.
fn first_name_part(language: SourceLanguage, name: &str) -> &str {
    name.split_once(language.separator()).map_or(name, |(first, _)| first)
}

/// The imports of a file that bring in `name` so that others can get it there.
fn handed_on<'f>(facts: &'f SourceFacts, name: &'f str) -> impl Iterator<Item = ReExport<'f>> {
    exports(facts, true).filter(move |ReExport { import, binding, .. }| match facts.language {
        SourceLanguage::Rust => rust_hands_on(import, binding, name),
        SourceLanguage::Python => binding.local == name && !import.test,
        SourceLanguage::JavaScript | SourceLanguage::Tsx | SourceLanguage::TypeScript => {
            binding.local == name && (import.kind == ImportKind::ReExport || defines(facts, name))
        }
        SourceLanguage::C | SourceLanguage::Cpp | SourceLanguage::Go | SourceLanguage::Java => false,
    })
}

/// Whether a `use` inside the module that it is in has the first part of `name`.
fn rust_hands_on(import: &Import, binding: &Binding, name: &str) -> bool {
    let below = if import.scope.is_empty() {
        Some(name)
    } else {
        name.strip_prefix(import.scope.as_str()).and_then(|rest| rest.strip_prefix("::"))
    };
    !import.test && below.is_some_and(|below| first_name_part(SourceLanguage::Rust, below) == binding.local)
}

/// The imports of a file that hand on all of another.
fn star_reexports(facts: &SourceFacts) -> impl Iterator<Item = ReExport<'_>> {
    exports(facts, false).filter(|ReExport { import, binding, .. }| {
        let public = matches!(import.kind, ImportKind::ReExport | ImportKind::TypeOnly);
        binding.name == "*"
            && binding.local == "*"
            && !import.test
            && (public || matches!(facts.language, SourceLanguage::Python))
    })
}

/// Every import of a file with each of its bindings, as if it were handed on.
fn exports(facts: &SourceFacts, certain: bool) -> impl Iterator<Item = ReExport<'_>> {
    let bindings = facts.imports.iter().flat_map(|import| import.bindings.iter().map(move |binding| (import, binding)));
    bindings.map(move |(import, binding)| ReExport { import, binding, certain })
}
