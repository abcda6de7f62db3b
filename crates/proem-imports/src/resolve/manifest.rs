//! The project files that say what names represent.
//!
//! A file that can't be read as what it is says nothing, and the caller hears of it.

use std::collections::BTreeMap;

use core::fmt;

use serde_json::{Map, Value};

use crate::resolve::place;

/// The project files of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifests {
    pub(super) cargo: Vec<Cargo>,
    pub(super) go: Vec<GoModule>,
    pub(super) packages: Vec<NodePackage>,
    /// By the path of the configuration's file.
    pub(super) paths: BTreeMap<Vec<u8>, TsConfig>,
}

/// A project file that isn't what its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadManifest;

impl fmt::Display for BadManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the project file does not have the format that its name implies; imports that need it stay unresolved",
        )
    }
}

impl core::error::Error for BadManifest {}

/// A `Cargo.toml`'s targets and names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cargo {
    pub(super) folder: Vec<u8>,
    /// The name of its library in sources. `None` without a package.
    pub(super) library: Option<String>,
    pub(super) package: Option<String>,
    /// The sources that it names, from its folder.
    pub(super) library_path: Option<String>,
    pub(super) target_paths: Vec<String>,
    /// Dependencies under another name than their package's, both as in sources.
    pub(super) renamed: BTreeMap<String, String>,
}

/// The contents of a `go.mod`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoModule {
    pub(super) folder: Vec<u8>,
    pub(super) path: String,
}

/// The contents of a `package.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodePackage {
    pub(super) folder: Vec<u8>,
    pub(super) name: Option<String>,
    /// The candidates for its own name, of which the first existing one counts.
    pub(super) mains: Vec<String>,
    /// The candidates for paths below its name.
    pub(super) exports: Vec<(String, String)>,
}

/// The contents of a `tsconfig.json` or `jsconfig.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TsConfig {
    pub(super) folder: Vec<u8>,
    base: Option<String>,
    /// Whether bare names count from the base.
    pub(super) based: bool,
    patterns: Vec<(String, Vec<String>)>,
    pub(super) extends: Vec<String>,
}

impl TsConfig {
    /// The folder that its paths count from. `None` if it leaves the repository.
    pub(super) fn base_folder(&self) -> Option<Vec<u8>> {
        place::join_relative(&self.folder, self.base.as_deref().unwrap_or(".").as_bytes())
    }

    /// The candidates for a name that one of the patterns fits. The longest start wins.
    pub(super) fn matching(&self, written: &str) -> Option<Vec<String>> {
        let start = |pattern: &str| pattern.find('*').map_or(usize::MAX, |star| star);
        let fits = self.patterns.iter().filter(|(pattern, _)| fill_star(pattern, "", written).is_some());
        let (pattern, targets) = fits.max_by_key(|(pattern, _)| start(pattern))?;
        Some(targets.iter().filter_map(|target| fill_star(pattern, target, written)).collect())
    }
}

/// `target` with what the star of `pattern` represents in `text`. `None` if the pattern isn't its.
pub(super) fn fill_star(pattern: &str, target: &str, text: &str) -> Option<String> {
    let Some((start, end)) = pattern.split_once('*') else { return (pattern == text).then(|| target.to_owned()) };
    let middle = text.strip_prefix(start)?.strip_suffix(end)?;
    Some(target.replacen('*', middle, 1))
}

impl Manifests {
    /// Whether a file is one that [`Self::add`] reads, by its path. Those of installed packages are not.
    #[must_use]
    pub fn wanted(path: &[u8]) -> bool {
        if path.split(|&byte| byte == b'/').any(|part| part == b"node_modules") {
            return false;
        }
        let name = place::last_component(path);
        matches!(name, b"Cargo.toml" | b"go.mod" | b"package.json") || is_paths(name)
    }

    /// Reads a project file. A path that isn't [`Self::wanted`] says nothing.
    ///
    /// # Errors
    ///
    /// [`BadManifest`] if it isn't what its name says.
    pub fn add(&mut self, path: &[u8], bytes: &[u8]) -> Result<(), BadManifest> {
        let text = core::str::from_utf8(bytes).map_err(|_| BadManifest)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let folder = place::folder_of(path).to_vec();
        match place::last_component(path) {
            _ if !Self::wanted(path) => {}
            b"Cargo.toml" => self.cargo.push(parse_cargo_manifest(folder, text)?),
            b"go.mod" => self.go.push(go_module(folder, text)?),
            b"package.json" => {
                let object = serde_json::from_str::<Map<String, Value>>(text).map_err(|_| BadManifest)?;
                self.packages.push(package(folder, &object));
            }
            _ => {
                let object = serde_json::from_str::<Map<String, Value>>(&proem_text::strip_json_comments(text));
                let object = object.map_err(|_| BadManifest)?;
                self.paths.insert(path.to_vec(), tsconfig_paths(folder, &object));
            }
        }
        Ok(())
    }
}

fn is_paths(name: &[u8]) -> bool {
    name.ends_with(b".json") && (name.starts_with(b"tsconfig") || name == b"jsconfig.json")
}

fn parse_cargo_manifest(folder: Vec<u8>, text: &str) -> Result<Cargo, BadManifest> {
    let table: toml::Table = toml::from_str(text).map_err(|_| BadManifest)?;
    let mut cargo = Cargo { folder, ..Cargo::default() };
    let text = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).map(str::to_owned);
    let inside = |key: &str| table.get(key).and_then(toml::Value::as_table);
    cargo.package = inside("package").and_then(|package| text(package.get("name")));
    let library = inside("lib");
    let named = library.and_then(|library| text(library.get("name")));
    cargo.library = named.or_else(|| cargo.package.clone()).map(|name| name.replace('-', "_"));
    cargo.library_path = library.and_then(|library| text(library.get("path")));
    for kind in ["bin", "test", "bench", "example"] {
        let targets = table.get(kind).and_then(toml::Value::as_array).into_iter().flatten();
        cargo.target_paths.extend(targets.filter_map(|target| text(target.get("path"))));
    }
    cargo.target_paths.extend(inside("package").and_then(|package| text(package.get("build"))));
    let mut open: Vec<&toml::Table> = vec![&table];
    open.extend(inside("workspace"));
    open.extend(inside("target").into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table));
    for table in open {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let entries = table.get(kind).and_then(toml::Value::as_table).into_iter().flatten();
            let renamed = entries.filter_map(|(name, entry)| Some((name, entry.get("package")?.as_str()?)));
            cargo.renamed.extend(renamed.map(|(name, package)| (name.replace('-', "_"), package.to_owned())));
        }
    }
    Ok(cargo)
}

fn go_module(folder: Vec<u8>, text: &str) -> Result<GoModule, BadManifest> {
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    let path = lines.find_map(|line| line.strip_prefix("module")?.strip_prefix([' ', '\t']));
    let path = path.ok_or(BadManifest)?.trim().trim_matches(['"', '`']);
    Ok(GoModule { folder, path: path.to_owned() })
}

fn package(folder: Vec<u8>, object: &Map<String, Value>) -> NodePackage {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut exports = Vec::new();
    match object.get("exports") {
        Some(Value::Object(entries)) if entries.keys().all(|key| key.starts_with('.')) => {
            let targets = entries.iter().filter_map(|(key, entry)| Some((key.clone(), export_target(entry)?)));
            exports.extend(targets);
        }
        Some(entry) => exports.extend(export_target(entry).map(|target| (".".to_owned(), target))),
        None => {}
    }
    let own = exports.iter().find(|(key, _)| key == ".").map(|(_, target)| target.clone());
    let mains = ["source", "module", "main", "types", "typings"].into_iter().filter_map(text);
    let mains = own.into_iter().chain(mains).collect();
    NodePackage { folder, name: text("name").filter(|name| !name.is_empty()), mains, exports }
}

/// How deep the conditions of an export are looked through.
const CONDITIONS: usize = 4;

/// The file that an export's conditions come to, sources and modules first.
fn export_target(entry: &Value) -> Option<String> {
    let mut at = entry;
    for _ in 0..CONDITIONS {
        match at {
            Value::String(path) => return Some(path.clone()),
            Value::Array(entries) => at = entries.first()?,
            Value::Object(conditions) => {
                let known = ["source", "import", "module", "default", "require", "node", "browser", "types"];
                at = known.iter().find_map(|key| conditions.get(*key))?;
            }
            _ => return None,
        }
    }
    None
}

fn tsconfig_paths(folder: Vec<u8>, object: &Map<String, Value>) -> TsConfig {
    let options = object.get("compilerOptions").and_then(Value::as_object);
    let base = options.and_then(|options| options.get("baseUrl")).and_then(Value::as_str).map(str::to_owned);
    let entries = options.and_then(|options| options.get("paths")).and_then(Value::as_object);
    let texts = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let patterns = entries.into_iter().flatten().map(|(pattern, targets)| (pattern.clone(), texts(targets))).collect();
    let extends = object.get("extends").map(texts).unwrap_or_default();
    // Configurations of installed packages are not in the repository.
    let extends = extends.into_iter().filter(|path| path.starts_with('.')).collect();
    TsConfig { folder, based: base.is_some(), base, patterns, extends }
}
