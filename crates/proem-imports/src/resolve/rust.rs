//! Rust's crates and modules.
//!
//! A crate's modules are found from its root along `mod` declarations, as the compiler finds them.
//! A path leads to the longest prefix that is a file; what remains is a name in it.

use std::collections::BTreeMap;

use crate::{
    SourceFacts, SourceLanguage,
    resolve::{
        FileImports, ImportEdgeKind, ImportTarget, Manifests, NamedTarget, index::PathIndex, manifest::Cargo, place,
    },
    source_facts::Module,
};

/// The most parts of a path that are looked at.
const PARTS: usize = 32;

/// The known crates of the repository.
#[derive(Debug)]
pub(super) struct Crates<'a> {
    index: &'a PathIndex<'a>,
    crates: Vec<Crate<'a>>,
    /// The crate and module that a file is in. Of several, the first.
    homes: BTreeMap<u32, Home>,
    /// The crates that are libraries, by their name in sources.
    libraries: BTreeMap<&'a str, Vec<usize>>,
    owned: BTreeMap<u32, Vec<u32>>,
}

#[derive(Debug)]
struct Crate<'a> {
    cargo: &'a Cargo,
    /// Files by the path of their module. The root's is empty.
    modules: BTreeMap<String, u32>,
}

#[derive(Debug, Clone)]
struct Home {
    crate_at: usize,
    module: String,
    test: bool,
}

impl<'a> Crates<'a> {
    pub(super) fn new(index: &'a PathIndex<'a>, manifests: &'a Manifests) -> Self {
        let (crates, homes, libraries, owned) = (Vec::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut all = Self { index, crates, homes, libraries, owned };
        // The innermost package first: a file below two is the inner one's.
        let mut packages: Vec<&Cargo> = manifests.cargo.iter().filter(|cargo| cargo.package.is_some()).collect();
        packages.sort_by_key(|cargo| core::cmp::Reverse(cargo.folder.len()));
        let targets = Targets::new(index, &packages);
        for (at, cargo) in packages.iter().enumerate() {
            if let Some(root) = library_root(index, cargo) {
                if let Some(name) = &cargo.library {
                    all.libraries.entry(name).or_default().push(all.crates.len());
                }
                all.add(cargo, root);
            }
            for root in targets.of(at, cargo, index) {
                all.add(cargo, root);
            }
        }
        all
    }

    /// Finds the modules of the crate whose root is `root`.
    fn add(&mut self, cargo: &'a Cargo, root: u32) {
        let crate_at = self.crates.len();
        let mut modules = BTreeMap::new();
        let mut open = vec![(root, Home { crate_at, module: String::new(), test: false })];
        while let Some((file, home)) = open.pop() {
            if modules.contains_key(&home.module) || home.module.split("::").count() > PARTS {
                continue;
            }
            modules.insert(home.module.clone(), file);
            for module in self.index.facts(file).map(|facts| facts.modules.as_slice()).unwrap_or_default() {
                let is_root = home.module.is_empty();
                let Some(below) = module_file(self.index, file, is_root, module) else { continue };
                let owned = self.owned.entry(file).or_default();
                if !owned.contains(&below) {
                    owned.push(below);
                }
                let parts = [home.module.as_str(), &module.scope, &module.name];
                let path = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("::");
                open.push((below, Home { crate_at, module: path, test: home.test || module.test }));
            }
            // A file that the crate itself compiles is no test's, whoever else includes it.
            let known = self.homes.entry(file).or_insert_with(|| home.clone());
            known.test &= home.test;
        }
        self.crates.push(Crate { cargo, modules });
    }

    pub(super) fn step(&self, from: u32, facts: &SourceFacts, path: &str) -> ImportTarget {
        let Some(home) = self.homes.get(&from) else {
            // Nothing compiles the file, so nothing says what its paths count from.
            return if is_internal(path) { ImportTarget::Missing } else { ImportTarget::External };
        };
        let mut parts = path.split("::").take(PARTS).peekable();
        let (crate_at, base) = match parts.next().unwrap_or_default() {
            "crate" => (home.crate_at, String::new()),
            "self" => (home.crate_at, home.module.clone()),
            "super" => {
                let mut base = parent(&home.module);
                while parts.next_if_eq(&"super").is_some() {
                    base = base.and_then(parent);
                }
                let Some(base) = base else { return ImportTarget::Missing };
                (home.crate_at, base.to_owned())
            }
            "" => {
                let name = parts.next().unwrap_or_default();
                let Some(library) = self.library(home, name) else { return ImportTarget::External };
                (library, String::new())
            }
            first => match self.bare(home, facts, first) {
                Ok(start) => start,
                Err(step) => return step,
            },
        };
        self.reach(from, crate_at, &base, &parts.collect::<Vec<_>>())
    }

    /// The beginning of a path whose first part is a plain name.
    fn bare(&self, home: &Home, facts: &SourceFacts, first: &str) -> Result<(usize, String), ImportTarget> {
        let child = if home.module.is_empty() { first.to_owned() } else { format!("{}::{first}", home.module) };
        let is_module = self.crates.get(home.crate_at).is_some_and(|found| found.modules.contains_key(&child));
        if is_module {
            return Ok((home.crate_at, child));
        }
        if let Some(library) = self.library(home, first) {
            return Ok((library, String::new()));
        }
        let own = first.starts_with(char::is_uppercase) || facts.definitions.iter().any(|name| name == first);
        let bound = || facts.imports.iter().flat_map(|import| &import.bindings).any(|binding| binding.local == first);
        Err(if own || bound() { ImportTarget::Own } else { ImportTarget::External })
    }

    /// The library that a name means in a crate. Of several, the nearest.
    fn library(&self, home: &Home, name: &str) -> Option<usize> {
        let cargo = self.crates.get(home.crate_at)?.cargo;
        let renamed = cargo.renamed.get(name).map(|package| package.replace('-', "_"));
        let candidates = self.libraries.get(renamed.as_deref().unwrap_or(name))?;
        let near = |at: &&usize| {
            self.crates
                .get(**at)
                .map(|found| place::shared_components(&found.cargo.folder, &cargo.folder))
                .unwrap_or_default()
        };
        candidates.iter().rev().max_by_key(near).copied()
    }

    /// The file of the longest module on the way from `base` along `parts`.
    fn reach(&self, from: u32, crate_at: usize, base: &str, parts: &[&str]) -> ImportTarget {
        let Some(modules) = self.crates.get(crate_at).map(|found| &found.modules) else { return ImportTarget::Missing };
        let mut path = base.to_owned();
        let mut found = modules.get(base).map(|&file| (file, parts));
        for (at, part) in parts.iter().enumerate() {
            if !path.is_empty() {
                path.push_str("::");
            }
            path.push_str(part);
            if let Some(&file) = modules.get(&path) {
                found = Some((file, parts.get(at.saturating_add(1)..).unwrap_or_default()));
            }
        }
        match found {
            None => ImportTarget::Missing,
            Some((file, rest)) if file == from && rest.is_empty() => ImportTarget::Own,
            Some((file, rest)) => {
                let name = (!rest.is_empty()).then(|| rest.join("::"));
                ImportTarget::To(vec![NamedTarget { file, name }])
            }
        }
    }

    /// Adds the modules that a file declares, and the paths that it writes out in expressions and types.
    pub(super) fn add_uses(&self, facts: &SourceFacts, found: &mut FileImports<'_>) {
        for &module in self.owned.get(&found.from).into_iter().flatten() {
            found.add(module, ImportEdgeKind::Ownership, &[], true);
        }
        found.counts.test_module = self.homes.get(&found.from).is_some_and(|home| home.test);
        let bound = |first: &str| facts.imports.iter().flat_map(|import| &import.bindings).any(|b| b.local == first);
        for (at, used) in facts.uses.iter().enumerate() {
            let Some((first, _)) = used.path.split_once("::").filter(|(first, _)| !bound(first)) else { continue };
            let step = self.step(found.from, facts, &used.path);
            let ImportTarget::To(places) = &step else {
                if step == ImportTarget::Missing && is_internal(first) {
                    found.count(&[step]);
                }
                continue;
            };
            let kind = if used.test { ImportEdgeKind::Test } else { ImportEdgeKind::Import };
            for place in places {
                found.add_path(place, kind, at);
            }
            found.count(&[step]);
        }
    }
}

impl FileImports<'_> {
    /// Adds what one path in the source leads to.
    fn add_path(&mut self, place: &NamedTarget, kind: ImportEdgeKind, at: usize) {
        let definers = place.name.as_deref().map(|name| self.definers(place.file, name)).unwrap_or_default();
        let direct = definers.is_empty() || definers.contains(&place.file);
        let own = if direct { vec![at] } else { Vec::new() };
        self.add(place.file, kind, &own, true);
        for definer in definers {
            self.add(definer, kind, &[at], true);
        }
    }
}

fn is_internal(path: &str) -> bool {
    matches!(path.split("::").next(), Some("crate" | "self" | "super"))
}

/// The path of the module around a module. `None` for a crate's root.
fn parent(module: &str) -> Option<&str> {
    if module.is_empty() { None } else { Some(module.rsplit_once("::").map_or("", |(parent, _)| parent)) }
}

fn library_root(index: &PathIndex<'_>, cargo: &Cargo) -> Option<u32> {
    let path = cargo.library_path.as_deref().unwrap_or("src/lib.rs");
    index.find(&place::join_relative(&cargo.folder, path.as_bytes())?)
}

/// The roots of executables, tests, examples and benches that packages have without naming them.
struct Targets {
    by_package: BTreeMap<usize, Vec<u32>>,
}

impl Targets {
    fn new(index: &PathIndex<'_>, packages: &[&Cargo]) -> Self {
        let folders: BTreeMap<&[u8], usize> =
            (0..).zip(packages).map(|(at, cargo)| (cargo.folder.as_slice(), at)).collect();
        let mut by_package: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (file, path, facts) in index.with_facts() {
            if facts.language != SourceLanguage::Rust {
                continue;
            }
            let package =
                place::upwards(place::folder_of(path)).find_map(|folder| Some((folder, *folders.get(folder)?)));
            let Some((folder, package)) = package else { continue };
            let below = path.get(folder.len()..).unwrap_or_default();
            if is_root(below.strip_prefix(b"/").unwrap_or(below)) {
                by_package.entry(package).or_default().push(file);
            }
        }
        Self { by_package }
    }

    fn of(&self, package: usize, cargo: &Cargo, index: &PathIndex<'_>) -> Vec<u32> {
        let mut roots = self.by_package.get(&package).cloned().unwrap_or_default();
        let named = cargo
            .target_paths
            .iter()
            .filter_map(|path| index.find(&place::join_relative(&cargo.folder, path.as_bytes())?));
        for root in named {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }
}

/// Whether a path from a package's folder is one that Cargo takes for a target's root by itself.
fn is_root(path: &[u8]) -> bool {
    let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    match parts.as_slice() {
        [b"build.rs"] | [b"src", b"main.rs"] => true,
        [b"src", b"bin", rest @ ..] | [b"tests" | b"examples" | b"benches", rest @ ..] => {
            matches!(rest, [_] | [_, b"main.rs"])
        }
        _ => false,
    }
}

/// The file of a module that `file` declares.
fn module_file(index: &PathIndex<'_>, file: u32, is_root: bool, module: &Module) -> Option<u32> {
    let path = index.path(file);
    let folder = place::folder_of(path);
    let scope = module.scope.replace("::", "/");
    // A file that is its folder's own declares modules beside it, any other one in a folder of its name.
    let inside = if is_root || place::last_component(path) == b"mod.rs" {
        folder.to_vec()
    } else {
        place::join_relative(folder, place::name_stem(path))?
    };
    if let Some(named) = &module.file {
        let base = if scope.is_empty() { folder.to_vec() } else { place::join_relative(&inside, scope.as_bytes())? };
        return index.find(&place::join_relative(&base, named.as_bytes())?);
    }
    let base = place::join_relative(&inside, scope.as_bytes())?;
    let beside = place::join_relative(&base, format!("{}.rs", module.name).as_bytes())?;
    let within = place::join_relative(&base, format!("{}/mod.rs", module.name).as_bytes())?;
    index.find(&beside).or_else(|| index.find(&within))
}
