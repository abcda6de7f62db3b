//! Python's modules.
//!
//! A module's name counts from a root. The roots of a file are, in this order: the folder above
//! the outermost package that it is in (its own folder if it is in none), the folders above that,
//! and the roots of other packages that have the name, the nearest first. A module of the standard
//! library is never looked for elsewhere, unless the root is a copy of the standard library or the
//! whole of a name with two parts or more is found at the file's own root.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    SourceLanguage,
    resolve::{ImportTarget, NamedTarget, index::PathIndex, place},
    source_facts::{Binding, Import},
};

/// The modules of the standard library: `sys.stdlib_module_names` of Python 3.11, without those that
/// begin with an underscore and those that projects use as names of their own.
const STANDARD: &str = include_str!("../../data/python-stdlib.txt");

/// Folders that hold packages and are none themselves, by custom.
const SOURCES: [&[u8]; 3] = [b"src", b"lib", b"python"];

/// The known modules of the repository.
#[derive(Debug)]
pub(super) struct PythonModules<'a> {
    index: &'a PathIndex<'a>,
    standard: BTreeSet<&'static str>,
    /// The folders of each first part of a name.
    roots: BTreeMap<String, BTreeSet<&'a [u8]>>,
}

/// The target of a dotted name.
struct DottedTarget {
    /// The file that runs when it is imported. A folder without `__init__` has none.
    file: Option<u32>,
    /// The folder of its submodules. A module that is a file has none.
    folder: Option<Vec<u8>>,
}

impl<'a> PythonModules<'a> {
    pub(super) fn new(index: &'a PathIndex<'a>) -> Self {
        let mut modules = Self { index, standard: STANDARD.lines().collect(), roots: BTreeMap::new() };
        for (_, path, facts) in index.with_facts() {
            if facts.language == SourceLanguage::Python {
                modules.add_roots(path);
            }
        }
        modules
    }

    fn add_roots(&mut self, path: &'a [u8]) {
        let folder = place::folder_of(path);
        let root = self.root_of(folder);
        if root.len() < folder.len() {
            self.add_root(root, path);
        }
        self.add_root(b"", path);
        for source in place::upwards(folder).filter(|folder| SOURCES.contains(&place::last_component(folder))) {
            if !self.is_package(source) {
                self.add_root(source, path);
            }
        }
    }

    fn add_root(&mut self, root: &'a [u8], path: &[u8]) {
        let below = path.get(root.len()..).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        let first = below.split(|&byte| byte == b'/').next().unwrap_or_default();
        let first = if first.len() == below.len() { place::name_stem(first) } else { first };
        if let Ok(first) = core::str::from_utf8(first) {
            self.roots.entry(first.to_owned()).or_default().insert(root);
        }
    }

    fn is_package(&self, folder: &[u8]) -> bool {
        self.init_of(folder).is_some()
    }

    fn init_of(&self, folder: &[u8]) -> Option<u32> {
        [&b"__init__.py"[..], b"__init__.pyi"]
            .iter()
            .find_map(|name| self.index.find(&place::join_relative(folder, name)?))
    }

    /// The folder above the outermost package that `folder` is in, or `folder` itself.
    fn root_of<'p>(&self, folder: &'p [u8]) -> &'p [u8] {
        place::upwards(folder).find(|folder| folder.is_empty() || !self.is_package(folder)).unwrap_or(folder)
    }

    pub(super) fn step(&self, from: u32, import: &Import, binding: Option<&Binding>) -> ImportTarget {
        let path = self.index.path(from);
        let dots = import.path.bytes().take_while(|&byte| byte == b'.').count();
        let name = import.path.get(dots..).unwrap_or_default();
        let located = if dots > 0 {
            let base = place::upwards(place::folder_of(path)).nth(dots.saturating_sub(1));
            match base.and_then(|base| self.locate(base, name)) {
                Some(located) => located,
                None => return ImportTarget::Missing,
            }
        } else {
            match self.absolute(path, name) {
                Ok(located) => located,
                Err(step) => return step,
            }
        };
        self.within(&located, binding)
    }

    /// The place of what `binding` takes out of a module or package.
    fn within(&self, located: &DottedTarget, binding: Option<&Binding>) -> ImportTarget {
        let name = binding.map_or("", |binding| binding.name.as_str());
        if !name.is_empty()
            && name != "*"
            && let Some(folder) = &located.folder
            && let Some(DottedTarget { file: Some(module), .. }) = self.locate(folder, name)
        {
            return ImportTarget::To(vec![NamedTarget::whole(module)]);
        }
        match located.file {
            Some(file) if name.is_empty() || name == "*" => ImportTarget::To(vec![NamedTarget::whole(file)]),
            Some(file) => ImportTarget::To(vec![NamedTarget { file, name: Some(name.to_owned()) }]),
            // A folder without `__init__` is all that `import folder` needs.
            None if name.is_empty() => ImportTarget::Own,
            None => ImportTarget::Missing,
        }
    }

    fn absolute(&self, path: &[u8], name: &str) -> Result<DottedTarget, ImportTarget> {
        let folder = place::folder_of(path);
        let own = self.root_of(folder);
        let first = name.split('.').next().unwrap_or_default();
        if self.standard.contains(first) && !self.is_standard_library(own) {
            let deep = if name.contains('.') { self.locate(own, name) } else { None };
            return deep.ok_or(ImportTarget::External);
        }
        if let Some(located) = place::upwards(own).find_map(|root| self.locate(root, name)) {
            return Ok(located);
        }
        let Some(roots) = self.roots.get(first) else { return Err(ImportTarget::External) };
        let mut roots: Vec<&[u8]> = roots.iter().copied().collect();
        roots.sort_by_key(|root| core::cmp::Reverse(place::shared_components(root, folder)));
        roots.into_iter().find_map(|root| self.locate(root, name)).ok_or(ImportTarget::Missing)
    }

    /// Whether a folder has modules that only the standard library has side by side.
    fn is_standard_library(&self, root: &[u8]) -> bool {
        let has = |name: &[u8]| place::join_relative(root, name).is_some_and(|path| self.index.find(&path).is_some());
        has(b"os.py") && has(b"abc.py") && has(b"types.py")
    }

    /// The target of `name`, counted from the folder `root`. The empty name is the folder itself.
    fn locate(&self, root: &[u8], name: &str) -> Option<DottedTarget> {
        self.locate_once(root, name).or_else(|| {
            // `os.path` is a name in the file `os.py`: what is below a module that is a file is in it.
            let above = self.locate_once(root, name.rsplit_once('.')?.0)?;
            above.folder.is_none().then_some(above)
        })
    }

    fn locate_once(&self, root: &[u8], name: &str) -> Option<DottedTarget> {
        let folder = place::join_relative(root, name.replace('.', "/").as_bytes())?;
        if let Some(file) = self.init_of(&folder) {
            return Some(DottedTarget { file: Some(file), folder: Some(folder) });
        }
        let module = [&b".py"[..], b".pyi"].iter().find_map(|end| self.index.find(&[&folder, *end].concat()));
        if !name.is_empty()
            && let Some(file) = module
        {
            return Some(DottedTarget { file: Some(file), folder: None });
        }
        self.index.has_folder(&folder).then_some(DottedTarget { file: None, folder: Some(folder) })
    }
}
