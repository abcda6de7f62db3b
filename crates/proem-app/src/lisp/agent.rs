//! Agents as files: found, trusted, and what their tools need.
//!
//! Invariants: an agent's file inside a project counts for nothing before this user has trusted exactly its bytes, and
//! those of each of the project's files that its tools run or answer with. A credential is loaded only for a tool that
//! names it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proem_agents::lisp::{
    AgentDefinition, MAX_AGENT_FILE, ToolKind, agent_findings, agent_sources, parse_agent, policy_hash,
};
use proem_engine::effect::PolicyHash;
use proem_engine::run::ToolPower;
use proem_guard::show;
use proem_lisp::Signature;
use proem_lisp::documentation::nearest_of;
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::files::{self, FileContent};
use proem_runtime::tools::{MAX_RESULT, McpServers, ToolPlace, ToolSet, check_http};
use proem_text::hex::encode_hex;

use super::tool_secrets::load_tool_secrets;
use crate::catalogue::approved_definitions;
use crate::error::Error;
use crate::mcp_servers::mcp_server;
use crate::message::Hint;
use crate::project::{OpenProject, plain_relative_path};
use crate::trust::{MAX_FILE_BYTES, sha256_hex};

/// The folder of a project's agents.
pub const AGENTS: &str = ".proem/agents";
/// How the names of agents' files end.
const ENDINGS: [&str; 2] = [".agent.toml", ".agent.json"];
/// The most levels of agents that call agents, that of the first included.
const MAX_DEPTH: usize = 3;
/// The most agents of a project that are looked at.
const MAX_AGENTS: usize = 200;

/// An agent that was read, with the texts that define it.
#[derive(Debug)]
pub struct LoadedAgent {
    /// Its file, as it was found.
    pub path: PathBuf,
    /// The declarations of its file, checked.
    pub definition: AgentDefinition,
    /// The content of the agent's file.
    pub text: String,
    /// The texts of the files that its tools answer with, by the name of the tool.
    pub results: BTreeMap<String, String>,
    /// The files of the agents that its tools call, by the name of the tool.
    pub agents: BTreeMap<String, PathBuf>,
    /// The hash of all that decides what its tools do.
    pub policy: PolicyHash,
}

impl LoadedAgent {
    /// The names in its file that lead nowhere, each as a warning with its place. `others` are sources of agents that
    /// may call it, beside those of its own folder that call agents.
    #[must_use]
    pub fn findings(&self, others: &BTreeSet<String>) -> Vec<String> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = agent_paths(folder).into_iter();
        let texts = beside.filter_map(|path| Some((files::read_text(&path, MAX_AGENT_FILE).ok()?, path)));
        // A file that is wrong calls nobody.
        let agents = texts.filter_map(|(text, path)| parse_agent(&path.display().to_string(), &text).ok());
        let calls =
            |agent: &AgentDefinition| agent.tools.values().any(|tool| matches!(tool.kind, ToolKind::Agent { .. }));
        let sources: BTreeSet<String> = agents.filter(calls).flat_map(|agent| agent_sources(&agent)).collect();
        let known = sources.union(others).cloned().collect();
        agent_findings(&self.path.display().to_string(), &self.text, &self.definition, &known)
    }
}

/// Whether a path of a project is an agent's.
#[must_use]
pub fn is_agent_file(path: &str) -> bool {
    let name = path.strip_prefix(AGENTS).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| !name.contains('/') && ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

/// The agents' files of a project, in order.
#[must_use]
pub fn agent_files(root: &Path) -> Vec<String> {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    if !is_folder(&root.join(".proem")) || !is_folder(&root.join(AGENTS)) {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(root.join(AGENTS)) else { return Vec::new() };
    let named = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut paths: Vec<String> =
        named.map(|name| format!("{AGENTS}/{name}")).filter(|path| is_agent_file(path)).take(MAX_AGENTS).collect();
    paths.sort();
    paths
}

/// The text of one of a project's files, if it has one.
#[must_use]
pub fn text_beneath(root: &Path, path: &str) -> Option<String> {
    match files::read_beneath(root, Path::new(path), MAX_FILE_BYTES) {
        Ok(Some(FileContent::Whole(bytes))) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// The files of the project that an agent's tools run or answer with, relative to its root.
#[must_use]
pub fn named_files(path: &str, text: &str, root: &Path) -> BTreeSet<String> {
    // A file that is wrong runs nothing.
    parse_agent(path, text).map_or_else(|_| BTreeSet::new(), |agent| project_files(&agent, Path::new(path), root))
}

/// The files beneath `root` that tools name. `file` is the agent's own, relative to the root.
fn project_files(agent: &AgentDefinition, file: &Path, root: &Path) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for tool in agent.tools.values() {
        match &tool.kind {
            ToolKind::Command(command) => {
                let folder = Path::new(command.folder.as_deref().unwrap_or(""));
                // An interpreter runs what its arguments name, so every argument that is a file counts.
                for word in command.argv.iter().filter(|word| !word.contains('{')) {
                    let candidates = [folder.join(word), PathBuf::from(word)];
                    named.extend(candidates.iter().filter_map(|path| file_of_project(path, root)));
                }
            }
            ToolKind::Recorded { file: results } => {
                let beside = file.parent().unwrap_or(Path::new("")).join(results);
                named.extend(file_of_project(&beside, root));
            }
            ToolKind::Agent { file: other } => {
                let beside = file.parent().unwrap_or(Path::new("")).join(other);
                named.extend(file_of_project(&beside, root));
            }
            ToolKind::Http(_) | ToolKind::Mcp(_) | ToolKind::Model(_) => {}
        }
    }
    named
}

/// A path as one of the project's files, if it is one.
fn file_of_project(path: &Path, root: &Path) -> Option<String> {
    let whole = std::fs::canonicalize(root.join(path)).ok()?;
    let inside = whole.strip_prefix(std::fs::canonicalize(root).ok()?).ok()?;
    whole.is_file().then(|| inside.to_str().and_then(plain_relative_path))?
}

/// Finds an agent: a path to its file, or the name of one in the project's folder or the user's.
///
/// # Errors
///
/// If there is none.
pub fn find_agent(project: &OpenProject, named: &Path) -> Result<PathBuf, Error> {
    if named.is_file() {
        return Ok(named.to_path_buf());
    }
    let own = project.root.iter().map(|root| root.join(AGENTS));
    let folders: Vec<PathBuf> = own.chain([project.places.config.join("agents")]).collect();
    let is_name = named.components().count() == 1;
    for folder in folders.iter().filter(|_| is_name) {
        for ending in ["", ENDINGS[0], ENDINGS[1]] {
            let path = folder.join(format!("{}{ending}", named.display()));
            if path.is_file() {
                return Ok(path);
            }
        }
    }
    let shown = show::terminal_str(&named.display().to_string()).into_string();
    let places: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
    let known: Vec<String> = folders
        .iter()
        .filter(|_| is_name)
        .flat_map(|folder| agent_paths(folder))
        .filter_map(|path| agent_name(&path))
        .collect();
    let near = nearest_of(&named.display().to_string(), known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{}`?", show::terminal_str(near)));
    let places = places.join(" or ");
    Err(Error::invalid(format!("there is no agent `{shown}`: neither a file nor a name in {places}{near}")))
}

/// The agents' files in a folder, in order.
fn agent_paths(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| agent_name(path).is_some());
    let mut paths: Vec<PathBuf> = paths.take(MAX_AGENTS).collect();
    paths.sort();
    paths
}

/// The name of the agent in a file, if it is called like an agent's.
fn agent_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)).map(str::to_owned)
}

/// Reads an agent's file with what its tools answer with. Nothing is trusted by that.
///
/// # Errors
///
/// If it can't be read, or all that is wrong with it.
pub fn read_agent(path: &Path) -> Result<LoadedAgent, Error> {
    let name = path.display().to_string();
    let shown = show::terminal_str(&name).into_string();
    let unread = |error: std::io::Error| Error::outside(format!("could not read `{shown}`: {error}"));
    let text = files::read_text(path, MAX_AGENT_FILE).map_err(unread)?;
    let mut definition = parse_agent(&name, &text)?;
    let mut results = BTreeMap::new();
    for (tool, of) in &definition.tools {
        match &of.kind {
            ToolKind::Http(http) => {
                check_http(http).map_err(|why| Error::invalid(format!("tool `{tool}` of `{shown}`: {why}")))?;
            }
            ToolKind::Recorded { file } => {
                let beside = path.parent().unwrap_or(Path::new("")).join(file);
                let text = files::read_text(&beside, MAX_RESULT).map_err(|error| {
                    let file = show::terminal_str(file);
                    Error::invalid(format!("could not read `{file}`, which the tool `{tool}` answers with: {error}"))
                })?;
                results.insert(tool.clone(), text);
            }
            ToolKind::Command(_) | ToolKind::Mcp(_) | ToolKind::Model(_) | ToolKind::Agent { .. } => {}
        }
    }
    let called = CalledAgents::read(path, &definition)?;
    for (name, called) in &called.tools {
        definition.describe_tool(name, &called.description);
        definition.tools.entry(name.clone()).and_modify(|tool| tool.power = called.power);
    }
    let texts: Vec<&str> = std::iter::once(text.as_str()).chain(results.values().map(String::as_str)).collect();
    let policy = called.policy(&texts);
    let agents = called.tools.into_iter().map(|(tool, of)| (tool, of.file)).collect();
    Ok(LoadedAgent { path: path.to_path_buf(), definition, text, results, agents, policy })
}

/// The agents that an agent's tools call, and those that these call.
struct CalledAgents {
    /// Those that the agent's own tools name, by the name of the tool.
    tools: BTreeMap<String, AgentOfTool>,
    /// The texts of all of them, in the order in which they are met.
    texts: Vec<String>,
}

/// An agent that a tool calls.
struct AgentOfTool {
    file: PathBuf,
    /// Its purpose, in its own words. Empty if it has none.
    description: String,
    /// The effects that a call of it may have, by all of its tools and those of the agents that it calls.
    power: ToolPower,
}

impl CalledAgents {
    /// Reads them all.
    fn read(path: &Path, definition: &AgentDefinition) -> Result<Self, Error> {
        let mut called = Self { tools: BTreeMap::new(), texts: Vec::new() };
        called.tools = called.read_below(definition, &mut vec![path.to_path_buf()])?;
        Ok(called)
    }

    /// Reads those of one agent. `line` leads from the first one to it.
    fn read_below(
        &mut self,
        definition: &AgentDefinition,
        line: &mut Vec<PathBuf>,
    ) -> Result<BTreeMap<String, AgentOfTool>, Error> {
        let mut tools = BTreeMap::new();
        for (name, tool) in &definition.tools {
            let ToolKind::Agent { file } = &tool.kind else { continue };
            let refused = |why: String| {
                let whose = line.last().map(|path| path.display().to_string()).unwrap_or_default();
                Error::invalid(format!("tool `{name}` of `{}`: {why}", show::terminal_str(&whose)))
            };
            let path = line.last().and_then(|path| path.parent()).unwrap_or(Path::new("")).join(file);
            let shown = show::terminal_str(&path.display().to_string()).into_string();
            let text = files::read_text(&path, MAX_AGENT_FILE)
                .map_err(|error| refused(format!("could not read the agent `{shown}`: {error}")))?;
            let own = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            if line.iter().any(|above| own(above) == own(&path)) {
                return Err(refused(format!("it calls `{shown}`, which calls it in turn; agents can't go in circles")));
            }
            if line.len() >= MAX_DEPTH {
                return Err(refused(format!("agents call agents on more than {MAX_DEPTH} levels")));
            }
            let agent = parse_agent(&path.display().to_string(), &text)?;
            let (wanted, found) = (form_of(&tool.signature), form_of(&agent.signature));
            if wanted != found {
                return Err(refused(format!("its signature is {wanted}, and that of `{shown}` is {found}")));
            }
            let description = agent.description_as_tool();
            if tool.description.is_empty() && description.is_empty() {
                let remedy = "write `description = \"…\"` here, or `purpose = \"…\"` there";
                return Err(refused(format!("it has no description, and `{shown}` has no purpose; {remedy}")));
            }
            line.push(path.clone());
            let below = self.read_below(&agent, line)?;
            line.pop();
            self.texts.push(text);
            let mut powers =
                agent.tools.iter().map(|(name, tool)| below.get(name).map_or(tool.power, |called| called.power));
            // A second call of one that may have effects goes on with the run that the first one began.
            let is_free = powers.all(|power| power == ToolPower::Free);
            let power = if is_free { ToolPower::Free } else { tool.power };
            tools.insert(name.clone(), AgentOfTool { file: path, description, power });
        }
        Ok(tools)
    }

    /// The hash of an agent's own texts and of those of the agents that it calls.
    fn policy(&self, own: &[&str]) -> PolicyHash {
        policy_hash(&[own.to_vec(), self.texts.iter().map(String::as_str).collect()].concat())
    }
}

/// A signature without its name.
fn form_of(signature: &Signature) -> String {
    let text = signature.to_string();
    text.find('(').and_then(|at| text.get(at..)).unwrap_or(&text).to_owned()
}

/// An agent that may be run: one of the project's own only as this user trusts it.
///
/// # Errors
///
/// As [`read_agent`]; if it is in the project and isn't trusted, or something that its tools run isn't.
pub fn load_agent(project: &OpenProject, path: &Path) -> Result<LoadedAgent, Error> {
    let mut agent = load_trusted_agent(project, path)?;
    // The program or the address behind a server's name decides what its tools do, as a tool's own file does.
    let named = agent.definition.tools.values().filter_map(|tool| match &tool.kind {
        ToolKind::Mcp(tool) => project.config.mcp.get_key_value(&tool.server),
        _ => None,
    });
    let servers: BTreeMap<_, _> = named.collect();
    if !servers.is_empty() {
        let configured =
            serde_json::to_string(&servers).map_err(|error| Error::bug("a server of the configuration", error))?;
        agent.policy = policy_hash(&[&encode_hex(agent.policy.0), &configured]);
    }
    Ok(agent)
}

fn load_trusted_agent(project: &OpenProject, path: &Path) -> Result<LoadedAgent, Error> {
    let mut agent = read_agent(path)?;
    let Some(root) = &project.root else { return Ok(agent) };
    let inside = std::fs::canonicalize(path).ok().zip(std::fs::canonicalize(root).ok());
    let inside = inside.and_then(|(path, root)| Some(path.strip_prefix(&root).ok()?.to_str()?.to_owned()));
    if let Some(inside) = &inside {
        if !is_agent_file(inside) {
            let shown = show::terminal_str(inside);
            return Err(Error::invalid(format!(
                "`{shown}` is part of this project, whose agents count only as you trust them; move it to `{AGENTS}/` \
                 under a name that ends in `{}`, or to your own folder `{}`",
                ENDINGS[0],
                project.places.config.join("agents").display()
            )));
        }
        must_be_trusted(project, inside, &agent.text)?;
    }
    let file = PathBuf::from(inside.unwrap_or_default());
    let mut texts = vec![agent.text.clone()];
    for named in project_files(&agent.definition, &file, root) {
        let text = text_beneath(root, &named).ok_or_else(|| {
            Error::invalid(format!(
                "`{}`, which a tool names, is no text that can be reviewed",
                show::terminal_str(&named)
            ))
        })?;
        must_be_trusted(project, &named, &text)?;
        texts.push(text);
    }
    texts.extend(agent.results.values().cloned());
    texts.extend(CalledAgents::read(path, &agent.definition)?.texts);
    for called in agent.agents.values() {
        // Before anything is asked: it counts only as this user trusts it, with what its own tools run.
        load_agent(project, called)?;
    }
    // The scripts of a tool decide its effects, as its definition does.
    agent.policy = policy_hash(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    Ok(agent)
}

/// Trust while a folder is edited is not enough: agents edit files, too.
fn must_be_trusted(project: &OpenProject, path: &str, text: &str) -> Result<(), Error> {
    if project.trust.is_trusted_by_hash(path, &sha256_hex(text.as_bytes())) {
        return Ok(());
    }
    let shown = show::terminal_str(path);
    let why = format!("`{shown}` is part of this project and decides what tools do, but you have not trusted it");
    Err(Error::invalid(why).hinting(Hint::ReviewTrust))
}

/// The tools of an agent, ready to be called, with the credentials that they name.
///
/// # Errors
///
/// All that is missing.
pub fn ready_tools(project: &OpenProject, agent: &LoadedAgent) -> Result<(ToolSet, Vec<Secret>), Error> {
    let environment = Environment::inherited();
    let mut loaded = load_tool_secrets(project, &environment, named_secrets(&agent.definition))?;
    let servers = tool_servers(project, &agent.definition, &environment, &mut loaded)?;
    let here = PathBuf::from(".");
    let root = project.root.as_deref().unwrap_or(&here);
    let place = ToolPlace { root, environment: &environment, secrets: &loaded, files: &agent.results };
    let set =
        ToolSet::new(&agent.definition, &place, servers).map_err(|problems| Error::invalid(problems.join("\n")))?;
    Ok((set, loaded.into_values().collect()))
}

/// The servers that an agent's tools name, and the definitions that this user approved in this project. Their credentials
/// join `loaded`, so that no result shows one.
fn tool_servers(
    project: &OpenProject,
    agent: &AgentDefinition,
    environment: &Environment,
    loaded: &mut BTreeMap<String, Secret>,
) -> Result<McpServers, Error> {
    let mut servers = BTreeMap::new();
    for tool in agent.tools.values() {
        let ToolKind::Mcp(tool) = &tool.kind else { continue };
        let Some(file) = project.config.mcp.get(&tool.server) else { continue };
        let (server, secrets) = mcp_server(project, environment, &tool.server, file)?;
        servers.insert(tool.server.clone(), server);
        loaded.extend(secrets);
    }
    if servers.is_empty() {
        return Ok(McpServers::default());
    }
    Ok(McpServers::new(servers, approved_definitions(project)?))
}

fn named_secrets(agent: &AgentDefinition) -> BTreeSet<String> {
    let of_tool = |kind: &ToolKind| -> Vec<String> {
        match kind {
            ToolKind::Command(command) => command.secrets.values().cloned().collect(),
            ToolKind::Http(http) => http.credential.iter().cloned().collect(),
            ToolKind::Mcp(_) | ToolKind::Recorded { .. } | ToolKind::Model(_) | ToolKind::Agent { .. } => Vec::new(),
        }
    };
    agent.tools.values().flat_map(|tool| of_tool(&tool.kind)).collect()
}
