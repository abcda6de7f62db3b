//! Reads a project's catalogue with what this user approved of it.

mod agent_tool;
mod approving;
mod fetching;
mod manifest_file;
mod refreshing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proem_engine::tokens::{OpenAi, TokenCounter as _};
use proem_guard::{Untrusted, show};
use proem_runtime::catalogue::{
    CatalogueLocations, ConfigOwner, MANIFESTS, NamedSource, SourceFormat, discover_catalogue,
};
use proem_runtime::files::{self, FileAccess};
use proem_select::catalogue::{Approvals, Capability, Catalogue, CatalogueName, Sha256Hash, SourceTrust};

use crate::config::CatalogueFiles;
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind};
use crate::places::Places;
use crate::project::{BookReading, OpenProject};
use crate::trust::{RepositoryTrust, TrustStore, sha256_hex};

pub use agent_tool::agent_tool_table;
pub use approving::{Approving, found_in, wanted_entries};
pub use fetching::{FetchedServer, fetch_servers};
pub use manifest_file::{embedded_manifest, read_manifest, write_manifest};
pub use refreshing::{CatalogueRefresh, refresh};

/// How many problems are told as notes.
const MAX_NOTES: usize = 8;

/// A catalogue, and what to say about it.
#[derive(Debug)]
pub struct LoadedCatalogue {
    /// Everything that may be selected.
    pub catalogue: Catalogue,
    /// The configured servers, and those that have a manifest.
    pub servers: Vec<ServerState>,
    /// One line each, for standard error.
    pub notes: Vec<Note>,
}

/// The known state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// Its name, as entries carry it.
    pub name: CatalogueName,
    /// The files that configure it.
    pub configured: Vec<String>,
    /// The file that its tools were read from.
    pub manifest: Option<String>,
}

/// Reads all files of the catalogue. Starts no server.
///
/// # Errors
///
/// If what was approved can't be read.
pub fn load_catalogue(project: &OpenProject) -> Result<LoadedCatalogue, Error> {
    let approvals = approved_definitions(project)?;
    let sources = catalogue_locations(project);
    let trust_of_file = |path: &str, bytes: &[u8]| {
        if project.trust.is_trusted(path, &sha256_hex(bytes)) { SourceTrust::Trusted } else { SourceTrust::Outside }
    };
    let mut found = discover_catalogue(&sources, &trust_of_file);
    let servers = servers(std::mem::take(&mut found.parsed.servers), found.manifests);
    let catalogue = Catalogue::new(found.parsed, &approvals);
    let notes = catalogue_notes(&catalogue, &servers);
    Ok(LoadedCatalogue { catalogue, servers, notes })
}

/// The store of what was approved, beside the trust store and of the same form: a path is a name,
/// its bytes what the entry's author wrote.
///
/// # Errors
///
/// If its folder can't be made private.
pub fn approval_store(places: &Places) -> Result<TrustStore, Error> {
    // The store's folder is made private from the first folder of ours on.
    if let (Some(parent), Some(name)) = (places.state.parent(), places.state.file_name()) {
        let lock = Path::new(name).join("catalogue/trust.lock");
        if places.state.join("catalogue").symlink_metadata().is_ok() {
            return Ok(TrustStore::new(places.state.join("catalogue")));
        }
        std::fs::create_dir_all(parent).map_err(|e| {
            let shown = show::terminal_str(&parent.display().to_string()).into_string();
            Error::outside(format!("could not create `{shown}`: {e}"))
        })?;
        match files::write_new(parent, &lock, b"", FileAccess::Private) {
            Ok(()) | Err(proem_runtime::Error::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(TrustStore::new(places.state.join("catalogue")))
}

/// The approvals in this project.
///
/// # Errors
///
/// If the store is there and can't be read.
pub fn approved_in_project(project: &OpenProject) -> Result<RepositoryTrust, Error> {
    TrustStore::new(project.places.state.join("catalogue")).trust_of(&project.key, "", 0, || Ok(None))
}

/// The definitions that this user approved in this project.
pub(crate) fn approved_definitions(project: &OpenProject) -> Result<Approvals, Error> {
    Ok(parse_approvals(&approved_in_project(project)?))
}

fn parse_approvals(trust: &RepositoryTrust) -> Approvals {
    let mut approvals = Approvals::default();
    for (name, hash) in trust.hashes() {
        if let Some(hash) = Sha256Hash::parse(hash) {
            approvals.insert(name, hash);
        }
    }
    approvals
}

fn catalogue_locations(project: &OpenProject) -> CatalogueLocations {
    let [user, own] = &project.catalogue;
    let mut all = named_sources(user, ConfigOwner::User);
    all.extend(named_sources(own, ConfigOwner::Project));
    CatalogueLocations {
        root: project.root.clone(),
        home: Some(project.places.home.clone()),
        config: Some(project.places.programs.clone()),
        own: Some(project.places.config.clone()),
        named: all,
    }
}

fn named_sources(files: &CatalogueFiles, by: ConfigOwner) -> Vec<NamedSource> {
    let source = |path: &String, holds: SourceFormat| NamedSource { by, path: PathBuf::from(path), holds };
    let server = |path: &String| {
        let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        SourceFormat::Manifest { server: stem.unwrap_or_default() }
    };
    let manifests = files.manifests.iter().map(|path| source(path, server(path)));
    let skills = files.skills.iter().map(|path| source(path, SourceFormat::Skills));
    manifests.chain(skills).chain(files.lines.iter().map(|path| source(path, SourceFormat::Lines))).collect()
}

fn servers(
    configured: Vec<proem_select::catalogue::servers::McpServer>,
    manifests: BTreeMap<CatalogueName, String>,
) -> Vec<ServerState> {
    let mut all: BTreeMap<CatalogueName, ServerState> = BTreeMap::new();
    let empty = |name: &CatalogueName| ServerState { name: name.clone(), configured: Vec::new(), manifest: None };
    for server in configured {
        let name = CatalogueName::server(&server.name);
        let state = all.entry(name.clone()).or_insert_with(|| empty(&name));
        if !state.configured.contains(&server.origin.file) {
            state.configured.push(server.origin.file);
        }
    }
    for (name, file) in manifests {
        all.entry(name.clone()).or_insert_with(|| empty(&name)).manifest = Some(file);
    }
    all.into_values().collect()
}

fn catalogue_notes(catalogue: &Catalogue, servers: &[ServerState]) -> Vec<Note> {
    let problems = catalogue.problems();
    let mut notes: Vec<Note> =
        problems.iter().take(MAX_NOTES).map(|problem| Note::new(NoteKind::Catalogue, problem.to_string())).collect();
    let more = problems.len().saturating_sub(MAX_NOTES);
    if more > 0 {
        notes.push(Note::hinting(NoteKind::Catalogue, format!("{more} more problems"), Hint::CheckCatalogue));
    }
    notes.extend(missing_tools_line(servers).map(|words| Note::new(NoteKind::Catalogue, words)));
    notes
}

/// One line about configured servers whose tools nobody saved.
pub fn missing_tools_line(servers: &[ServerState]) -> Option<String> {
    let all: Vec<&str> =
        servers.iter().filter(|server| server.manifest.is_none()).map(|server| server.name.as_str()).collect();
    if all.is_empty() {
        return None;
    }
    let names: Vec<&str> = all.iter().take(5).copied().collect();
    let more = all.len().saturating_sub(names.len());
    let and = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = names.join(", ");
    Some(format!(
        "there is no manifest for {names}{and}; configure a server as `[mcp.NAME]` and run `proem catalogue fetch`, or save \
         its answer to `tools/list` as `{MANIFESTS}/SERVER.json`"
    ))
}

/// Opens the project around a folder with its catalogue. Notes about the project go to `said`, also if the catalogue
/// can't be read.
///
/// # Errors
///
/// If the project or its catalogue can't be read.
pub fn open_with_catalogue(
    root: &Path,
    places: &Places,
    said: &mut Vec<Note>,
) -> Result<(OpenProject, LoadedCatalogue), Error> {
    let project = OpenProject::open(root, places, BookReading::Trusted)?;
    said.extend(project.all_notes());
    let loaded = load_catalogue(&project)?;
    Ok((project, loaded))
}

/// The tokens of an entry's definition as o200k counts them: name, description and parameters.
#[must_use]
pub fn definition_tokens(entry: &Capability) -> usize {
    let mut text = format!("{} {}", entry.name(), exact_text(&entry.definition().description));
    if let Some(parameters) = entry.parameters_text() {
        text.push(' ');
        text.push_str(&exact_text(&parameters));
    }
    OpenAi::O200k.count(&text)
}

/// The exact text, on its way to JSON, a counter or an escaping writer.
#[must_use]
pub fn exact_text(text: &Untrusted<String>) -> String {
    show::exact_json(text).as_str().unwrap_or_default().to_owned()
}
