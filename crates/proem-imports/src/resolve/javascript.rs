//! JavaScript's and TypeScript's modules.
//!
//! In this order: a path that begins with a dot counts from the importer's folder. A pattern of the nearest
//! `tsconfig.json` or `jsconfig.json`. The name of a package of the repository. The configuration's base folder.
//! Everything else comes from a registry or the runtime.

use std::collections::BTreeMap;

use crate::{
    resolve::{
        ImportTarget, Manifests, NamedTarget,
        index::PathIndex,
        manifest::{NodePackage, TsConfig, fill_star},
        place,
    },
    source_facts::{Binding, Import},
};

/// The endings added to a path that names no file, in this order.
const ENDINGS: [&str; 11] = [".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".d.mts", ".json"];

/// The possible sources of a path to compiled code.
const SOURCES: [(&str, [&str; 3]); 4] = [
    (".js", [".ts", ".tsx", ".d.ts"]),
    (".jsx", [".tsx", ".ts", ".d.ts"]),
    (".mjs", [".mts", ".ts", ".d.mts"]),
    (".cjs", [".cts", ".ts", ".d.cts"]),
];

/// The customary folders of compiled code, beside the `src` that it comes from.
const BUILT: [&[u8]; 5] = [b"dist/", b"lib/", b"build/", b"out/", b"esm/"];

/// How many configurations may extend one another.
const EXTENDS: usize = 8;

/// The known modules of the repository.
#[derive(Debug)]
pub(super) struct JavaScriptModules<'a> {
    index: &'a PathIndex<'a>,
    manifests: &'a Manifests,
    packages: BTreeMap<&'a str, &'a NodePackage>,
}

impl<'a> JavaScriptModules<'a> {
    pub(super) fn new(index: &'a PathIndex<'a>, manifests: &'a Manifests) -> Self {
        let mut packages = BTreeMap::new();
        for package in &manifests.packages {
            if let Some(name) = &package.name {
                packages.entry(name.as_str()).or_insert(package);
            }
        }
        Self { index, manifests, packages }
    }

    pub(super) fn step(&self, from: u32, import: &Import, binding: Option<&Binding>) -> ImportTarget {
        let written = import.path.split(['?', '\0']).next().unwrap_or_default();
        let written = written.rsplit_once('!').map_or(written, |(_, path)| path);
        let folder = place::folder_of(self.index.path(from));
        let file = match self.find(folder, written) {
            Ok(file) => file,
            Err(step) => return step,
        };
        let name = binding.map(|binding| binding.name.as_str()).filter(|name| *name != "*" && !name.is_empty());
        ImportTarget::To(vec![NamedTarget { file, name: name.map(str::to_owned) }])
    }

    fn find(&self, folder: &[u8], written: &str) -> Result<u32, ImportTarget> {
        if matches!(written, "." | "..") || written.starts_with("./") || written.starts_with("../") {
            let path = place::join_relative(folder, written.as_bytes());
            return path.and_then(|path| self.file_at(&path)).ok_or(ImportTarget::Missing);
        }
        let paths = self.paths_for(folder);
        for (paths, base) in &paths {
            if let Some(targets) = paths.matching(written) {
                let mut files =
                    targets.iter().filter_map(|target| self.file_at(&place::join_relative(base, target.as_bytes())?));
                return files.next().ok_or(ImportTarget::Missing);
            }
        }
        if let Some((package, below)) = self.package_of(written) {
            return self.in_package(package, below).ok_or(ImportTarget::Missing);
        }
        for (paths, base) in &paths {
            let path = paths.based.then(|| place::join_relative(base, written.as_bytes())).flatten();
            if let Some(file) = path.and_then(|path| self.file_at(&path)) {
                return Ok(file);
            }
        }
        // No package of a registry has such a name.
        let internal = ["@/", "~/", "#", "/"].iter().any(|start| written.starts_with(start));
        Err(if internal { ImportTarget::Missing } else { ImportTarget::External })
    }

    /// The file that a path without or with another ending names, or that represents a folder.
    fn file_at(&self, path: &[u8]) -> Option<u32> {
        let with = |end: &str| self.index.find(&[path, end.as_bytes()].concat());
        let exact = self.index.find(path);
        let compiled = || {
            let (stem, ends) =
                SOURCES.iter().find_map(|(end, ends)| Some((path.strip_suffix(end.as_bytes())?, ends)))?;
            ends.iter().find_map(|end| self.index.find(&[stem, end.as_bytes()].concat()))
        };
        exact.or_else(compiled).or_else(|| ENDINGS.iter().find_map(|end| with(end))).or_else(|| self.folder_at(path))
    }

    fn folder_at(&self, path: &[u8]) -> Option<u32> {
        if !self.index.has_folder(path) {
            return None;
        }
        let package = self.manifests.packages.iter().find(|package| package.folder == path);
        let main = package.and_then(|package| self.main_of(package));
        main.or_else(|| self.index_of(path))
    }

    fn index_of(&self, folder: &[u8]) -> Option<u32> {
        ENDINGS.iter().find_map(|end| self.index.find(&place::join_relative(folder, format!("index{end}").as_bytes())?))
    }

    /// The file that a package's own name represents.
    fn main_of(&self, package: &NodePackage) -> Option<u32> {
        package.mains.iter().find_map(|main| self.entry(package, main))
    }

    /// A file that a package names, or the source that it is compiled from.
    fn entry(&self, package: &NodePackage, target: &str) -> Option<u32> {
        let target = target.strip_prefix("./").unwrap_or(target).as_bytes();
        let file = |path: &[u8]| {
            let path = place::join_relative(&package.folder, path)?;
            (path != package.folder).then(|| self.file_at(&path)).flatten()
        };
        let source = |built: &&[u8]| file(&[b"src/", target.strip_prefix(*built)?].concat());
        file(target).or_else(|| BUILT.iter().find_map(source))
    }

    /// The package of the repository that `written` begins with, and what follows its name.
    fn package_of<'w>(&self, written: &'w str) -> Option<(&'a NodePackage, &'w str)> {
        let parts = if written.starts_with('@') { 2 } else { 1 };
        let end = written.match_indices('/').nth(parts - 1).map_or(written.len(), |(at, _)| at);
        let (name, below) = written.split_at_checked(end)?;
        Some((*self.packages.get(name)?, below.strip_prefix('/').unwrap_or(below)))
    }

    fn in_package(&self, package: &NodePackage, below: &str) -> Option<u32> {
        if below.is_empty() {
            let source = || self.index_of(&place::join_relative(&package.folder, b"src")?);
            return self.main_of(package).or_else(source).or_else(|| self.index_of(&package.folder));
        }
        let exported = package.exports.iter().find_map(|(pattern, target)| {
            let below = format!("./{below}");
            let filled = fill_star(pattern, target, &below)?;
            self.entry(package, &filled)
        });
        let at =
            |folder: &str| self.file_at(&place::join_relative(&package.folder, format!("{folder}{below}").as_bytes())?);
        exported.or_else(|| self.entry(package, below)).or_else(|| at("src/"))
    }

    /// The configuration in force in `folder` and those that it extends, with the folders that their paths count from.
    fn paths_for(&self, folder: &[u8]) -> Vec<(&'a TsConfig, Vec<u8>)> {
        let nearest = place::upwards(folder).find_map(|folder| {
            let config = |name: &[u8]| self.manifests.paths.get(&place::join_relative(folder, name)?);
            config(b"tsconfig.json").or_else(|| config(b"jsconfig.json"))
        });
        let mut found = Vec::new();
        let mut open: Vec<&TsConfig> = nearest.into_iter().collect();
        while let Some(paths) = open.pop() {
            if found.len() == EXTENDS {
                break;
            }
            found.extend(paths.base_folder().map(|base| (paths, base)));
            for extended in paths.extends.iter().rev() {
                let path = place::join_relative(&paths.folder, extended.as_bytes()).unwrap_or_default();
                let with_end = [&path[..], b".json"].concat();
                open.extend(self.manifests.paths.get(&path).or_else(|| self.manifests.paths.get(&with_end)));
            }
        }
        found
    }
}
