//! Go's packages: a folder is one, and a module's path names it.

use std::collections::BTreeMap;

use crate::{
    SourceLanguage,
    resolve::{ImportTarget, Manifests, NamedTarget, index::PathIndex, place},
    source_facts::Import,
};

/// The known packages of the repository.
#[derive(Debug)]
pub(super) struct GoPackages<'a> {
    index: &'a PathIndex<'a>,
    manifests: &'a Manifests,
    /// The files that importers of a folder get.
    folders: BTreeMap<&'a [u8], Vec<u32>>,
}

impl<'a> GoPackages<'a> {
    pub(super) fn new(index: &'a PathIndex<'a>, manifests: &'a Manifests) -> Self {
        let mut folders: BTreeMap<&[u8], Vec<u32>> = BTreeMap::new();
        for (at, path, facts) in index.with_facts() {
            if facts.language == SourceLanguage::Go && !path.ends_with(b"_test.go") {
                folders.entry(place::folder_of(path)).or_default().push(at);
            }
        }
        Self { index, manifests, folders }
    }

    pub(super) fn step(&self, from: u32, import: &Import) -> ImportTarget {
        let path = import.path.as_str();
        let importer = place::folder_of(self.index.path(from));
        if path.starts_with("./") || path.starts_with("../") {
            let folder = place::join_relative(importer, path.as_bytes());
            return folder.and_then(|folder| self.package(&folder)).unwrap_or(ImportTarget::Missing);
        }
        let modules =
            self.manifests.go.iter().filter_map(|module| Some((module, path_below_module(path, &module.path)?)));
        // The longest path is the innermost module. Of several with one path, the nearest.
        let module =
            modules.max_by_key(|(module, _)| (module.path.len(), place::shared_components(&module.folder, importer)));
        if let Some((module, below)) = module {
            let folder = place::join_relative(&module.folder, below.as_bytes());
            return folder.and_then(|folder| self.package(&folder)).unwrap_or(ImportTarget::Missing);
        }
        if self.manifests.go.is_empty() { self.in_workspace(path) } else { ImportTarget::External }
    }

    /// Without `go.mod`, a path that begins with a host's name ends with a folder of the repository.
    fn in_workspace(&self, path: &str) -> ImportTarget {
        if !path.split('/').next().is_some_and(|host| host.contains('.')) {
            return ImportTarget::External;
        }
        let tails = path.match_indices('/').filter_map(|(at, _)| path.get(at.saturating_add(1)..));
        tails.into_iter().find_map(|tail| self.package(tail.as_bytes())).unwrap_or(ImportTarget::External)
    }

    fn package(&self, folder: &[u8]) -> Option<ImportTarget> {
        let files = self.folders.get(folder)?;
        Some(ImportTarget::To(files.iter().map(|&file| NamedTarget::whole(file)).collect()))
    }
}

/// The path of a package behind `module`.
fn path_below_module<'p>(path: &'p str, module: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(module)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
