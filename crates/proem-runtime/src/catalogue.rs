//! Finds the files that a catalogue is made of, and reads them.
//!
//! No server is started, no process is run. Invariants: of a project nothing but regular files below its root is read,
//! and no link is followed. A file that can't be read is a problem, and the others still count. Below the user's own
//! folders links are followed: the user made them.

mod folder;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proem_select::catalogue::servers::{self, ConfigRoot, PLACES};
use proem_select::catalogue::{
    CatalogueContents, CatalogueName, CatalogueProblem, FilePosition, SourceFile, SourceTrust, lines, own, skill,
    tools_list,
};

use folder::Folder;

/// The folder of a project with a saved manifest for each server.
pub const MANIFESTS: &str = ".proem/catalogue";
/// The project's own entries.
pub const OWN: &str = ".proem/catalogue.toml";
/// The folder of manifests below Proem's configuration folder.
pub const USER_MANIFESTS: &str = "catalogue";

/// The places to look in.
#[derive(Debug, Clone, Default)]
pub struct CatalogueLocations {
    /// The project's root.
    pub root: Option<PathBuf>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The folder of all programs' configuration, `~/.config`.
    pub config: Option<PathBuf>,
    /// Proem's folder in it.
    pub own: Option<PathBuf>,
    /// The sources that the configuration names.
    pub named: Vec<NamedSource>,
}

/// A file or folder that configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSource {
    /// The owner of the configuration that names it.
    pub by: ConfigOwner,
    /// Absolute, with links followed.
    pub path: PathBuf,
    /// Its format.
    pub holds: SourceFormat,
}

/// The owner of the configuration that names a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigOwner {
    /// The project's: the path stays below its root.
    Project,
    /// The user's: the path starts at Proem's configuration folder, or is absolute.
    User,
}

/// The format of a named source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceFormat {
    /// A server's saved `tools/list`.
    Manifest {
        /// The server's name in the configuration.
        server: String,
    },
    /// A folder for each skill.
    Skills,
    /// A file with one entry a line, as JSON.
    Lines,
}

/// The discovered catalogue.
#[derive(Debug, Clone, Default)]
pub struct CatalogueDiscovery {
    /// The contents of the files.
    pub parsed: CatalogueContents,
    /// The file of each server's manifest, by the server's reduced name.
    pub manifests: BTreeMap<CatalogueName, String>,
}

/// The trust in a project's file, by its path below the root and its bytes.
pub type VouchCheck<'v> = &'v dyn Fn(&str, &[u8]) -> SourceTrust;

/// Reads everything that the sources hold.
#[must_use]
pub fn discover_catalogue(sources: &CatalogueLocations, vouching: VouchCheck<'_>) -> CatalogueDiscovery {
    let mut finder = CatalogueFinder { found: CatalogueDiscovery::default(), vouching, seen: BTreeSet::new() };
    let project = sources.root.as_deref().map(Folder::project);
    let home_path = sources.home.as_deref();
    let home = home_path.map(|path| Folder::user(path, home_path));
    let config = sources.config.as_deref().map(|path| Folder::user(path, home_path));
    let proem = sources.own.as_deref().map(|path| Folder::user(path, home_path));
    for place in PLACES {
        let folder = match place.base {
            ConfigRoot::Project => &project,
            ConfigRoot::Home => &home,
            ConfigRoot::Config => &config,
        };
        if let Some(folder) = folder {
            let parse = |file: &SourceFile| servers::parse_server_names(file, place.syntax, place.key);
            finder.file(folder, Path::new(place.path), SourceTrust::Outside, parse);
        }
    }
    // The user's own words come first: where both have a server's manifest, the user's counts.
    if let Some(proem) = &proem {
        finder.file(proem, Path::new(own::FILE), SourceTrust::Own, own::parse_own_catalogue);
        finder.manifests(proem, Path::new(USER_MANIFESTS));
    }
    for named in &sources.named {
        let folder = match named.by {
            ConfigOwner::Project => project.as_ref(),
            ConfigOwner::User => proem.as_ref(),
        };
        if let Some(folder) = folder {
            finder.named(folder, named);
        }
    }
    if let Some(project) = &project {
        finder.vouched(project, Path::new(OWN), own::parse_own_catalogue);
        finder.manifests(project, Path::new(MANIFESTS));
        for path in skill::FOLDERS {
            finder.skills(project, Path::new(path));
        }
    }
    if let Some(home) = &home {
        for path in skill::HOME_FOLDERS {
            finder.skills(home, Path::new(path));
        }
    }
    finder.found
}

struct CatalogueFinder<'v> {
    found: CatalogueDiscovery,
    vouching: VouchCheck<'v>,
    /// Files that were read, where they really are: a project below the home folder has some twice.
    seen: BTreeSet<PathBuf>,
}

impl CatalogueFinder<'_> {
    /// Reads a file whose standing is known.
    fn file(
        &mut self,
        folder: &Folder<'_>,
        path: &Path,
        standing: SourceTrust,
        parse: impl Fn(&SourceFile) -> CatalogueContents,
    ) {
        if let Some((shown, bytes)) = self.read(folder, path) {
            self.parse(shown, bytes, standing, parse);
        }
    }

    /// Reads a project's file, which the user may have vouched for.
    fn vouched(&mut self, folder: &Folder<'_>, path: &Path, parse: impl Fn(&SourceFile) -> CatalogueContents) {
        let Some((shown, bytes)) = self.read(folder, path) else { return };
        let standing = match path.to_str() {
            Some(path) if folder.is_project() => (self.vouching)(path, &bytes),
            _ => SourceTrust::Outside,
        };
        self.parse(shown, bytes, standing, parse);
    }

    fn read(&mut self, folder: &Folder<'_>, path: &Path) -> Option<(String, Vec<u8>)> {
        let shown = folder.shown(path);
        match folder.read(path) {
            Ok(Some((real, bytes))) => self.seen.insert(real).then_some((shown, bytes)),
            Ok(None) => None,
            Err((why, remedy)) => {
                self.problem(shown, why, remedy);
                None
            }
        }
    }

    fn parse(
        &mut self,
        path: String,
        bytes: Vec<u8>,
        standing: SourceTrust,
        parse: impl Fn(&SourceFile) -> CatalogueContents,
    ) {
        match String::from_utf8(bytes) {
            Ok(text) => self.found.parsed.add(parse(&SourceFile { path, standing, text })),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                self.problem(path, format!("not UTF-8 from byte {at} on"), "save it as UTF-8");
            }
        }
    }

    fn problem(&mut self, file: String, message: String, remedy: impl Into<String>) {
        self.found.parsed.problems.push(CatalogueProblem {
            file,
            at: FilePosition::Whole,
            message,
            remedy: remedy.into(),
        });
    }

    /// A folder of `SERVER.json`.
    fn manifests(&mut self, folder: &Folder<'_>, path: &Path) {
        for name in self.list(folder, path) {
            if let Some(server) = name.strip_suffix(".json").filter(|server| !server.is_empty()) {
                self.manifest(folder, &path.join(&name), server);
            }
        }
    }

    fn manifest(&mut self, folder: &Folder<'_>, path: &Path, server: &str) {
        let name = CatalogueName::server(server);
        let shown = folder.shown(path);
        if let Some(other) = self.found.manifests.get(&name) {
            let message = format!("not used: server `{name}` already has the manifest `{other}`");
            self.problem(shown, message, "remove one of them");
            return;
        }
        let read = self.read(folder, path);
        if let Some((shown, bytes)) = read {
            self.found.manifests.insert(name, shown.clone());
            // A server's answer is the server's words, wherever the user keeps it.
            self.parse(shown, bytes, SourceTrust::Outside, |file| tools_list::parse_tools_list(file, server));
        }
    }

    /// A folder with a folder for each skill.
    fn skills(&mut self, folder: &Folder<'_>, path: &Path) {
        for name in self.list(folder, path) {
            let below = path.join(&name);
            match folder.holds_folder(&below) {
                Ok(true) => self.vouched(folder, &below.join(skill::FILE), |file| skill::parse_skill(file, &name)),
                Ok(false) => {}
                Err((why, remedy)) => self.problem(folder.shown(&below), why, remedy),
            }
        }
    }

    fn list(&mut self, folder: &Folder<'_>, path: &Path) -> Vec<String> {
        match folder.list(path) {
            Ok(listed) => {
                if listed.over > 0 {
                    let message =
                        format!("{} entries beyond the limit of {} are ignored", listed.over, listed.names.len());
                    self.problem(folder.shown(path), message, "remove unused entries");
                }
                if listed.unnamed > 0 {
                    let message = format!("{} file names in it are not UTF-8 and are ignored", listed.unnamed);
                    self.problem(folder.shown(path), message, "rename them");
                }
                listed.names
            }
            Err((why, remedy)) => {
                self.problem(folder.shown(path), why, remedy);
                Vec::new()
            }
        }
    }

    fn named(&mut self, folder: &Folder<'_>, named: &NamedSource) {
        let there = match folder.holds(&named.path) {
            Ok(there) => there,
            Err((why, remedy)) => return self.problem(folder.shown(&named.path), why, remedy),
        };
        if !there {
            let remedy = "correct the path under `[catalogue]`, or remove it";
            return self.problem(folder.shown(&named.path), "not there".into(), remedy);
        }
        match &named.holds {
            SourceFormat::Manifest { server } => self.manifest(folder, &named.path, server),
            SourceFormat::Skills => self.skills(folder, &named.path),
            SourceFormat::Lines => self.file(folder, &named.path, SourceTrust::Outside, lines::parse_json_lines),
        }
    }
}
