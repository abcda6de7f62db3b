//! Which MCP servers are configured, by name only.
//!
//! Such a file holds commands, arguments, environments and headers, and secrets among them. They
//! are passed over while parsing and never become values here; nor do messages quote the file.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::entry::{CatalogueContents, EntryLocation, SourceFile};
use super::problem::{FilePosition, FileProblems};

pub use super::entry::McpServer;

/// How a configuration file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSyntax {
    /// JSON. Comments and trailing commas are taken everywhere, since several programs write them.
    Json,
    /// A configuration in TOML, as Codex writes it.
    Toml,
}

/// The root of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigRoot {
    /// Below the project's root.
    Project,
    /// Below the user's home folder.
    Home,
    /// Below the user's configuration folder, `~/.config`.
    Config,
}

/// A file in which a program keeps its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerConfigFile {
    /// The start of its path.
    pub base: ConfigRoot,
    /// Its path below that.
    pub path: &'static str,
    /// How it is written.
    pub syntax: ConfigSyntax,
    /// The table whose keys are the servers' names.
    pub key: &'static str,
}

const fn json_server_file(base: ConfigRoot, path: &'static str, key: &'static str) -> ServerConfigFile {
    ServerConfigFile { base, path, syntax: ConfigSyntax::Json, key }
}

/// The files that are known, as their programs document them (seen 2026-11).
///
/// Claude Code and Claude Desktop: `.mcp.json`, `~/.claude.json` (code.claude.com/docs/en/mcp),
/// `claude_desktop_config.json` (modelcontextprotocol.io, quickstart). Cursor: docs.cursor.com, MCP.
/// VS Code: code.visualstudio.com/docs/copilot/chat/mcp-servers. Gemini CLI: docs/tools/mcp-server.md.
/// Roo Code: docs.roocode.com/features/mcp/using-mcp-in-roo. Kiro: kiro.dev/docs/mcp/configuration.
/// Amazon Q: docs.aws.amazon.com, qdeveloper-ug, MCP configuration. Zed: zed.dev/docs/ai/mcp.
/// OpenCode: opencode.ai/docs/mcp-servers. Codex: `[mcp_servers]` of config.toml.
/// Windsurf: `mcp_config.json`.
pub const PLACES: [ServerConfigFile; 22] = [
    json_server_file(ConfigRoot::Project, ".mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Project, ".cursor/mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Project, ".vscode/mcp.json", "servers"),
    json_server_file(ConfigRoot::Project, ".gemini/settings.json", "mcpServers"),
    json_server_file(ConfigRoot::Project, ".roo/mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Project, ".kiro/settings/mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Project, ".amazonq/mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Project, ".zed/settings.json", "context_servers"),
    json_server_file(ConfigRoot::Project, "opencode.json", "mcp"),
    json_server_file(ConfigRoot::Project, "opencode.jsonc", "mcp"),
    ServerConfigFile {
        base: ConfigRoot::Project,
        path: ".codex/config.toml",
        syntax: ConfigSyntax::Toml,
        key: "mcp_servers",
    },
    json_server_file(ConfigRoot::Home, ".claude.json", "mcpServers"),
    json_server_file(ConfigRoot::Home, ".cursor/mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Home, ".gemini/settings.json", "mcpServers"),
    json_server_file(ConfigRoot::Home, ".kiro/settings/mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Home, ".aws/amazonq/mcp.json", "mcpServers"),
    json_server_file(ConfigRoot::Home, ".codeium/windsurf/mcp_config.json", "mcpServers"),
    ServerConfigFile {
        base: ConfigRoot::Home,
        path: ".codex/config.toml",
        syntax: ConfigSyntax::Toml,
        key: "mcp_servers",
    },
    json_server_file(ConfigRoot::Home, "Library/Application Support/Claude/claude_desktop_config.json", "mcpServers"),
    json_server_file(ConfigRoot::Config, "Claude/claude_desktop_config.json", "mcpServers"),
    json_server_file(ConfigRoot::Config, "zed/settings.json", "context_servers"),
    json_server_file(ConfigRoot::Config, "opencode/opencode.json", "mcp"),
];

/// The longest name of a server, in bytes. A longer one is no name.
const MAX_NAME_BYTES: usize = 250;
/// The most servers of one file.
const MAX_SERVERS: usize = 1000;

/// Reads the names of the servers in one file.
#[must_use]
pub fn parse_server_names(file: &SourceFile, syntax: ConfigSyntax, key: &'static str) -> CatalogueContents {
    let mut problems = FileProblems::of(&file.path);
    let found = match syntax {
        ConfigSyntax::Json => servers_from_json(&file.text, key),
        ConfigSyntax::Toml => from_toml(&file.text, key),
    };
    let mut servers = Vec::new();
    match found {
        Err(at) => {
            problems.add(at, format!("not valid {}", syntax.name()), "correct the file; its servers are not listed");
        }
        Ok(ServersValue::Absent) => {}
        Ok(ServersValue::NotATable) => {
            let message = format!("`{key}` does not map the names of servers to servers");
            problems.add(FilePosition::Pointer(format!("/{key}")), message, "use the names of the servers as its keys");
        }
        Ok(ServersValue::Names(names)) => {
            let count = names.len();
            for name in names {
                if !name.is_empty() && name.len() <= MAX_NAME_BYTES && servers.len() < MAX_SERVERS {
                    let origin =
                        EntryLocation { file: file.path.clone(), at: FilePosition::Pointer(format!("/{key}")) };
                    servers.push(McpServer { name, origin });
                }
            }
            let lost = count.saturating_sub(servers.len());
            if lost > 0 {
                let remedy = format!("keep at most {MAX_SERVERS} servers, with names of 1 to {MAX_NAME_BYTES} bytes");
                problems.add(FilePosition::Pointer(format!("/{key}")), format!("{lost} servers are left out"), remedy);
            }
        }
    }
    servers.sort();
    servers.dedup();
    CatalogueContents { servers, problems: problems.into_list(), ..CatalogueContents::default() }
}

impl ConfigSyntax {
    const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
        }
    }
}

fn servers_from_json(text: &str, key: &'static str) -> Result<ServersValue, FilePosition> {
    let plain = proem_text::strip_json_comments(text);
    if plain.trim().is_empty() {
        return Ok(ServersValue::Absent);
    }
    let mut deserializer = serde_json::Deserializer::from_str(&plain);
    let found =
        ServerTableVisitor { key }.deserialize(&mut deserializer).and_then(|found| deserializer.end().map(|()| found));
    found.map_err(|error| FilePosition::Line { line: error.line().max(1), column: error.column().max(1) })
}

fn from_toml(text: &str, key: &'static str) -> Result<ServersValue, FilePosition> {
    let place = |error: &toml::de::Error| match error.span() {
        Some(span) => {
            let (line, column) = proem_text::line_column(text, span.start);
            FilePosition::Line { line, column }
        }
        None => FilePosition::Whole,
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|error| place(&error))?;
    ServerTableVisitor { key }.deserialize(deserializer).map_err(|error| place(&error))
}

/// The value under the key.
#[derive(Debug)]
enum ServersValue {
    Absent,
    NotATable,
    Names(Vec<String>),
}

/// Reads one table of the outermost one and passes over everything else.
struct ServerTableVisitor {
    key: &'static str,
}

impl<'de> DeserializeSeed<'de> for ServerTableVisitor {
    type Value = ServersValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ServersValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The methods of a visitor that takes a table: anything else is passed over and is none.
macro_rules! nothing_but_a_table {
    () => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ServersValue, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(ServersValue::NotATable)
        }

        fn visit_str<E>(self, _: &str) -> Result<ServersValue, E> {
            Ok(ServersValue::NotATable)
        }

        fn visit_bool<E>(self, _: bool) -> Result<ServersValue, E> {
            Ok(ServersValue::NotATable)
        }

        fn visit_i64<E>(self, _: i64) -> Result<ServersValue, E> {
            Ok(ServersValue::NotATable)
        }

        fn visit_u64<E>(self, _: u64) -> Result<ServersValue, E> {
            Ok(ServersValue::NotATable)
        }

        fn visit_f64<E>(self, _: f64) -> Result<ServersValue, E> {
            Ok(ServersValue::NotATable)
        }
    };
}

impl<'de> Visitor<'de> for ServerTableVisitor {
    type Value = ServersValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ServersValue, A::Error> {
        let mut found = ServersValue::Absent;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.key {
                found = map.next_value_seed(ServerNamesVisitor)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    nothing_but_a_table!();

    fn visit_unit<E>(self) -> Result<ServersValue, E> {
        Ok(ServersValue::NotATable)
    }
}

/// Reads the keys of a table and passes over their values.
struct ServerNamesVisitor;

impl<'de> DeserializeSeed<'de> for ServerNamesVisitor {
    type Value = ServersValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ServersValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ServerNamesVisitor {
    type Value = ServersValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of servers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ServersValue, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            names.push(name);
        }
        Ok(ServersValue::Names(names))
    }

    nothing_but_a_table!();

    fn visit_unit<E>(self) -> Result<ServersValue, E> {
        Ok(ServersValue::Absent)
    }
}
