//! Finds files by path, and uses by name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    SourceFacts, SourceLanguage,
    resolve::{NamedTarget, ResolvableFile, place},
};

/// The files of a repository.
#[derive(Debug)]
pub(super) struct PathIndex<'a> {
    files: &'a [ResolvableFile<'a>],
    by_path: BTreeMap<&'a [u8], u32>,
    folders: BTreeSet<&'a [u8]>,
}

impl<'a> PathIndex<'a> {
    pub(super) fn new(files: &'a [ResolvableFile<'a>]) -> Self {
        let by_path: BTreeMap<&[u8], u32> = (0..).zip(files).map(|(at, file)| (file.path, at)).collect();
        let mut folders = BTreeSet::new();
        for file in files {
            for folder in place::upwards(place::folder_of(file.path)) {
                if !folders.insert(folder) {
                    break;
                }
            }
        }
        Self { files, by_path, folders }
    }

    /// All files, those without facts as if they were empty.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &'a ResolvableFile<'a>)> {
        (0..).zip(self.files)
    }

    /// The files that have facts.
    pub(super) fn with_facts(&self) -> impl Iterator<Item = (u32, &'a [u8], &'a SourceFacts)> {
        self.all().filter_map(|(at, file)| Some((at, file.path, file.facts?)))
    }

    pub(super) fn find(&self, path: &[u8]) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    pub(super) fn has_folder(&self, path: &[u8]) -> bool {
        self.folders.contains(path)
    }

    pub(super) fn path(&self, file: u32) -> &'a [u8] {
        self.get(file).map_or(&[], |file| file.path)
    }

    pub(super) fn facts(&self, file: u32) -> Option<&'a SourceFacts> {
        self.get(file)?.facts
    }

    fn get(&self, file: u32) -> Option<&'a ResolvableFile<'a>> {
        self.files.get(usize::try_from(file).ok()?)
    }

    /// The name that a package declares itself, which is what its importers call it.
    pub(super) fn package_of(&self, places: &[NamedTarget]) -> Option<&'a str> {
        self.facts(places.first()?.file)?.package.as_deref()
    }

    /// Those of `called` that `file` defines, where a package is several files; else all.
    pub(super) fn defined_of(&self, file: u32, called: &[usize], uses: &Uses<'_>) -> Vec<usize> {
        let facts = self.facts(file).filter(|facts| facts.language == SourceLanguage::Go);
        let Some(facts) = facts else { return called.to_vec() };
        let defines = |at: &usize| uses.member(*at).is_some_and(|member| defines(facts, member));
        called.iter().copied().filter(defines).collect()
    }
}

/// Whether a file defines `name`.
pub(super) fn defines(facts: &SourceFacts, name: &str) -> bool {
    facts.definitions.binary_search_by(|definition| definition.as_str().cmp(name)).is_ok()
}

/// The names that a file uses.
#[derive(Debug)]
pub(super) struct Uses<'a> {
    facts: &'a SourceFacts,
}

impl<'a> Uses<'a> {
    pub(super) const fn new(facts: &'a SourceFacts) -> Self {
        Self { facts }
    }

    /// Whether a module's names are used as its members, so that they can be followed.
    pub(super) const fn by_member(&self) -> bool {
        !matches!(self.facts.language, SourceLanguage::Go | SourceLanguage::Java | SourceLanguage::Rust)
    }

    /// The uses of `local` and of what is in it, by their places. `package` replaces an empty name.
    pub(super) fn of(&self, local: &str, package: Option<&str>) -> Vec<usize> {
        let local = if local.is_empty() { package.unwrap_or_default() } else { local };
        if local.is_empty() {
            return Vec::new();
        }
        let uses = &self.facts.uses;
        // Sorted, so whatever begins with the name is together.
        let start = uses.partition_point(|used| used.path.as_str() < local);
        let near = uses.iter().enumerate().skip(start).take_while(|(_, used)| used.path.starts_with(local));
        let separator = self.facts.language.separator();
        let inside = |rest: &str| rest.is_empty() || rest.starts_with(separator);
        near.filter(|(_, used)| used.path.strip_prefix(local).is_some_and(inside)).map(|(at, _)| at).collect()
    }

    /// The last but not the only part of a used name: of `module.name`, the name.
    pub(super) fn member(&self, at: usize) -> Option<&'a str> {
        let path = self.facts.uses.get(at)?.path.as_str();
        let mut parts = path.split(self.facts.language.separator());
        parts.next()?;
        parts.next()
    }
}
