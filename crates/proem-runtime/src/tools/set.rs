//! The tools of an agent with everything that their calls need.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use proem_agents::lisp::{AgentDefinition, CommandOutput, CommandTool, HttpTool, McpTool, ToolDefinition, ToolKind};
use proem_llm::secret::{Secret, SecretFinder};

use super::http::check_http;
use super::mcp::McpServers;
use super::recorded_results::RecordedResults;
use crate::Environment;

/// The place where tools run, and their environment.
#[derive(Debug, Clone, Copy)]
pub struct ToolPlace<'p> {
    /// The project's root, below which commands run.
    pub root: &'p Path,
    /// The variables that commands may see by name.
    pub environment: &'p Environment,
    /// Credentials, by name.
    pub secrets: &'p BTreeMap<String, Secret>,
    /// The texts of the files that tools name, by the name of the tool.
    pub files: &'p BTreeMap<String, String>,
}

/// The tools of an agent.
#[derive(Debug)]
pub struct ToolSet {
    tools: BTreeMap<String, ReadyTool>,
    secrets: Vec<Secret>,
    servers: McpServers,
}

/// A tool that can be called.
#[derive(Debug)]
pub(super) struct ReadyTool {
    pub(super) definition: ToolDefinition,
    pub(super) kind: ReadyKind,
}

#[derive(Debug)]
pub(super) enum ReadyKind {
    Command(ReadyCommand),
    Http(ReadyServer),
    /// A tool of one of the set's servers.
    Mcp(McpTool),
    Recorded(RecordedResults),
    /// A question, which the run's models have.
    Model,
    /// Another agent, which the run's children have.
    Agent,
}

/// A command with its program, folder and environment.
#[derive(Debug)]
pub(super) struct ReadyCommand {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(String, OsString)>,
    pub(super) secrets: Vec<(String, Secret)>,
    pub(super) output: CommandOutput,
}

/// A server with its credential.
#[derive(Debug)]
pub(super) struct ReadyServer {
    pub(super) tool: HttpTool,
    pub(super) credential: Option<Secret>,
}

impl ToolSet {
    /// The tools of an agent. `servers` are those that it may call by the Model Context Protocol.
    ///
    /// # Errors
    ///
    /// All that is missing, in words: programs, credentials, addresses that can't be asked, unreadable results.
    pub fn new(agent: &AgentDefinition, place: &ToolPlace<'_>, servers: McpServers) -> Result<Self, Vec<String>> {
        let (mut tools, mut problems) = (BTreeMap::new(), Vec::new());
        for (name, definition) in &agent.tools {
            match ready_kind(name, definition, place, &servers) {
                Ok(kind) => {
                    tools.insert(name.clone(), ReadyTool { definition: definition.clone(), kind });
                }
                Err(problem) => problems.push(format!("tool `{name}`: {problem}")),
            }
        }
        let secrets = place.secrets.values().cloned().collect();
        if problems.is_empty() { Ok(Self { tools, secrets, servers }) } else { Err(problems) }
    }

    pub(super) fn get(&self, name: &str) -> Option<&ReadyTool> {
        self.tools.get(name)
    }

    pub(super) const fn servers(&self) -> &McpServers {
        &self.servers
    }

    /// A text without the credentials that were loaded for these tools.
    pub(super) fn without_secrets(&self, text: String) -> String {
        SecretFinder::new(&self.secrets).redact(&text).unwrap_or(text)
    }
}

fn ready_kind(
    name: &str,
    definition: &ToolDefinition,
    place: &ToolPlace<'_>,
    servers: &McpServers,
) -> Result<ReadyKind, String> {
    match &definition.kind {
        ToolKind::Command(command) => ready_command(command, place).map(ReadyKind::Command),
        ToolKind::Http(http) => {
            check_http(http)?;
            let credential = http.credential.as_deref().map(|name| secret(name, place)).transpose()?;
            Ok(ReadyKind::Http(ReadyServer { tool: http.clone(), credential }))
        }
        ToolKind::Mcp(tool) => servers.check(tool).map(|()| ReadyKind::Mcp(tool.clone())),
        ToolKind::Recorded { file } => {
            let text = place.files.get(name).ok_or_else(|| format!("there is no file `{file}`"))?;
            RecordedResults::read(text).map(ReadyKind::Recorded).map_err(|why| format!("`{file}`: {why}"))
        }
        ToolKind::Model(_) => Ok(ReadyKind::Model),
        ToolKind::Agent { .. } => Ok(ReadyKind::Agent),
    }
}

fn secret(name: &str, place: &ToolPlace<'_>) -> Result<Secret, String> {
    let unset = || format!("no credential `{name}`; set `effects.credentials.{name}` in your configuration");
    place.secrets.get(name).cloned().ok_or_else(unset)
}

fn ready_command(command: &CommandTool, place: &ToolPlace<'_>) -> Result<ReadyCommand, String> {
    let (program, arguments) = command.argv.split_first().ok_or("it names no program")?;
    let folder = command.folder.as_ref().map_or_else(|| place.root.to_path_buf(), |folder| place.root.join(folder));
    if !folder.is_dir() {
        return Err(format!("there is no folder `{}`", command.folder.as_deref().unwrap_or(".")));
    }
    let named = Path::new(program);
    let found = if program.contains('/') {
        let path = if named.is_absolute() { named.to_path_buf() } else { folder.join(named) };
        path.is_file().then_some(path)
    } else {
        place.environment.candidates(program).into_iter().find(|path| path.is_file())
    };
    let program = found.ok_or_else(|| format!("there is no program `{program}`; install it, or name its path"))?;
    let variable = |name: &String| Some((name.clone(), place.environment.get(name)?.to_owned()));
    let secrets = command.secrets.iter().map(|(variable, name)| Ok((variable.clone(), secret(name, place)?)));
    Ok(ReadyCommand {
        program,
        arguments: arguments.to_vec(),
        folder,
        environment: command.environment.iter().filter_map(variable).collect(),
        secrets: secrets.collect::<Result<_, String>>()?,
        output: command.output,
    })
}
