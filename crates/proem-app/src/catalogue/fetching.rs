//! Asks configured servers for their tools, and keeps their answers as manifests of the user's.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proem_guard::{Untrusted, show};
use proem_runtime::Environment;
use proem_runtime::catalogue::USER_MANIFESTS;
use proem_runtime::files::{self, FileAccess};
use proem_runtime::mcp::{McpFailure, McpSession};
use proem_runtime::tools::server_definitions;
use proem_select::catalogue::{Approvals, Catalogue, CatalogueName, MAX_FILE_BYTES, Sha256Hash};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::mcp_servers::mcp_server;
use crate::project::OpenProject;

/// How long a server may take to start and to list its tools: the first start of a program may download it.
const LIMIT: Duration = Duration::from_mins(2);

/// The tools of a server, as it listed them, beside those of the manifest that was there.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FetchedServer {
    /// The server, by its name in the configuration.
    pub server: String,
    /// How many tools it has. Null if it failed.
    pub tools: Option<usize>,
    /// The tools that are new, by their names in the catalogue.
    pub new: Vec<String>,
    /// The tools whose definition changed.
    pub changed: Vec<String>,
    /// The tools that it has no more.
    pub gone: Vec<String>,
    /// Why there is no answer. Null if there is one.
    pub failure: Option<String>,
    /// The last that a program that failed wrote to standard error.
    #[serde(skip)]
    #[schemars(skip)]
    pub wrote: Option<Untrusted<String>>,
}

impl FetchedServer {
    fn failed(server: &str, failure: McpFailure) -> Self {
        let McpFailure { message, wrote, .. } = failure;
        Self {
            server: server.to_owned(),
            tools: None,
            new: Vec::new(),
            changed: Vec::new(),
            gone: Vec::new(),
            failure: Some(message),
            wrote,
        }
    }
}

/// Asks servers for their tools and writes each answer as `catalogue/SERVER.json` of the user's configuration. Without
/// names, all configured ones are asked. `tell` hears of each server before it is asked.
///
/// # Errors
///
/// If a server is not configured, its configuration is wrong, or a manifest can't be written. A server that fails is in
/// the result.
pub async fn fetch_servers(
    project: &OpenProject,
    names: &[String],
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<FetchedServer>, Error> {
    let configured = &project.config.mcp;
    let names: Vec<&str> = match names {
        [] => configured.keys().map(String::as_str).collect(),
        names => names.iter().map(String::as_str).collect(),
    };
    if names.is_empty() {
        return Err(Error::invalid("no server is configured; add one to your configuration as `[mcp.NAME]`"));
    }
    let environment = Environment::inherited();
    let mut fetched = Vec::new();
    for name in names {
        let shown = show::terminal_str(name);
        let Some(file) = configured.get(name) else {
            return Err(Error::invalid(format!("no server `{shown}` is configured; add it as `[mcp.{shown}]`")));
        };
        if CatalogueName::new(name).is_none() {
            return Err(Error::invalid(format!(
                "`mcp.{shown}` can't name tools; use 1 to 64 letters, digits, `_` and `-`"
            )));
        }
        let (server, _) = mcp_server(project, &environment, name, file)?;
        tell(name);
        let listed = async {
            let session = McpSession::open(&server, LIMIT).await?;
            session.tools(LIMIT).await
        };
        fetched.push(match listed.await {
            Ok(answer) => keep_answer(project, name, answer)?,
            Err(failure) => FetchedServer::failed(name, failure),
        });
    }
    Ok(fetched)
}

fn keep_answer(project: &OpenProject, name: &str, answer: String) -> Result<FetchedServer, Error> {
    let file = Path::new(USER_MANIFESTS).join(format!("{name}.json"));
    let before = files::read_text(&project.places.config.join(&file), MAX_FILE_BYTES).unwrap_or_default();
    if answer.len() > MAX_FILE_BYTES {
        return Err(Error::outside(format!("the tools of `{name}` have more than {} MiB", MAX_FILE_BYTES >> 20)));
    }
    files::replace_file(&project.places.config, &file, answer.as_bytes(), FileAccess::Private)?;
    let (before, after) = (definition_hashes(name, before), definition_hashes(name, answer));
    let names = |wanted: &dyn Fn(&String, &Sha256Hash) -> bool| {
        after.iter().filter(|(name, hash)| wanted(name, hash)).map(|(name, _)| name.clone()).collect()
    };
    Ok(FetchedServer {
        server: name.to_owned(),
        tools: Some(after.len()),
        new: names(&|name, _| !before.contains_key(name)),
        changed: names(&|name, hash| before.get(name).is_some_and(|before| before != hash)),
        gone: before.keys().filter(|name| !after.contains_key(*name)).cloned().collect(),
        failure: None,
        wrote: None,
    })
}

/// The hash of each definition in a server's answer, by the tool's name in the catalogue.
fn definition_hashes(server: &str, answer: String) -> BTreeMap<String, Sha256Hash> {
    if answer.is_empty() {
        return BTreeMap::new();
    }
    let catalogue = Catalogue::new(server_definitions(server, answer), &Approvals::default());
    catalogue.entries().iter().map(|entry| (entry.name().as_str().to_owned(), *entry.hash())).collect()
}
