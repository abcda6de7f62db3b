//! Which MCP servers are configured, by name only.
//!
//! Such a file holds commands, arguments, environments and headers, and secrets among them. They
//! are passed over while parsing and never become values here; nor do messages quote the file.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::entry::{Origin, Parsed, SourceFile};
use super::jsonc;
use super::problem::{At, Problems};

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Server {
    /// Its name as configured, of any characters.
    pub name: String,
    /// Where it is configured.
    pub origin: Origin,
}

/// How a configuration file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// JSON; comments and trailing commas are taken everywhere, since several programs write them.
    Json,
    /// TOML.
    Toml,
}

/// Where a configuration file is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Below the project's root.
    Project,
    /// Below the user's home folder.
    Home,
    /// Below the user's configuration folder, `~/.config`.
    Config,
}

/// A file in which a program keeps its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Where its path starts.
    pub base: Base,
    /// Its path below that.
    pub path: &'static str,
    /// How it is written.
    pub syntax: Syntax,
    /// The table whose keys are the servers' names.
    pub key: &'static str,
}

const fn json(base: Base, path: &'static str, key: &'static str) -> Place {
    Place { base, path, syntax: Syntax::Json, key }
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
pub const PLACES: [Place; 22] = [
    json(Base::Project, ".mcp.json", "mcpServers"),
    json(Base::Project, ".cursor/mcp.json", "mcpServers"),
    json(Base::Project, ".vscode/mcp.json", "servers"),
    json(Base::Project, ".gemini/settings.json", "mcpServers"),
    json(Base::Project, ".roo/mcp.json", "mcpServers"),
    json(Base::Project, ".kiro/settings/mcp.json", "mcpServers"),
    json(Base::Project, ".amazonq/mcp.json", "mcpServers"),
    json(Base::Project, ".zed/settings.json", "context_servers"),
    json(Base::Project, "opencode.json", "mcp"),
    json(Base::Project, "opencode.jsonc", "mcp"),
    Place { base: Base::Project, path: ".codex/config.toml", syntax: Syntax::Toml, key: "mcp_servers" },
    json(Base::Home, ".claude.json", "mcpServers"),
    json(Base::Home, ".cursor/mcp.json", "mcpServers"),
    json(Base::Home, ".gemini/settings.json", "mcpServers"),
    json(Base::Home, ".kiro/settings/mcp.json", "mcpServers"),
    json(Base::Home, ".aws/amazonq/mcp.json", "mcpServers"),
    json(Base::Home, ".codeium/windsurf/mcp_config.json", "mcpServers"),
    Place { base: Base::Home, path: ".codex/config.toml", syntax: Syntax::Toml, key: "mcp_servers" },
    json(Base::Home, "Library/Application Support/Claude/claude_desktop_config.json", "mcpServers"),
    json(Base::Config, "Claude/claude_desktop_config.json", "mcpServers"),
    json(Base::Config, "zed/settings.json", "context_servers"),
    json(Base::Config, "opencode/opencode.json", "mcp"),
];

/// The longest name of a server, in bytes; a longer one is no name.
const MAX_NAME_BYTES: usize = 250;
/// The most servers of one file.
const MAX_SERVERS: usize = 1000;

/// Reads the names of the servers in one file.
#[must_use]
pub fn parse(file: &SourceFile, syntax: Syntax, key: &'static str) -> Parsed {
    let mut problems = Problems::of(&file.path);
    let found = match syntax {
        Syntax::Json => from_json(&file.text, key),
        Syntax::Toml => from_toml(&file.text, key),
    };
    let mut servers = Vec::new();
    match found {
        Err(at) => {
            problems.add(at, format!("not valid {}", syntax.name()), "correct the file; its servers are not listed");
        }
        Ok(Found::Absent) => {}
        Ok(Found::NotATable) => {
            let message = format!("`{key}` does not map the names of servers to servers");
            problems.add(At::Pointer(format!("/{key}")), message, "use the names of the servers as its keys");
        }
        Ok(Found::Names(names)) => {
            let count = names.len();
            for name in names {
                if !name.is_empty() && name.len() <= MAX_NAME_BYTES && servers.len() < MAX_SERVERS {
                    let origin = Origin { file: file.path.clone(), at: At::Pointer(format!("/{key}")) };
                    servers.push(Server { name, origin });
                }
            }
            let lost = count.saturating_sub(servers.len());
            if lost > 0 {
                let remedy = format!("keep at most {MAX_SERVERS} servers, with names of 1 to {MAX_NAME_BYTES} bytes");
                problems.add(At::Pointer(format!("/{key}")), format!("{lost} servers are left out"), remedy);
            }
        }
    }
    servers.sort();
    servers.dedup();
    Parsed { servers, problems: problems.into_list(), ..Parsed::default() }
}

impl Syntax {
    const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
        }
    }
}

fn from_json(text: &str, key: &'static str) -> Result<Found, At> {
    let plain = jsonc::plain(text);
    if plain.trim().is_empty() {
        return Ok(Found::Absent);
    }
    let mut deserializer = serde_json::Deserializer::from_str(&plain);
    let found = Table { key }.deserialize(&mut deserializer).and_then(|found| deserializer.end().map(|()| found));
    found.map_err(|error| At::Line { line: error.line().max(1), column: error.column().max(1) })
}

fn from_toml(text: &str, key: &'static str) -> Result<Found, At> {
    let place = |error: &toml::de::Error| match error.span() {
        Some(span) => {
            let (line, column) = proem_text::line_column(text, span.start);
            At::Line { line, column }
        }
        None => At::Whole,
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|error| place(&error))?;
    Table { key }.deserialize(deserializer).map_err(|error| place(&error))
}

/// What stands under the key.
#[derive(Debug)]
enum Found {
    Absent,
    NotATable,
    Names(Vec<String>),
}

/// Reads one table of the outermost one and passes over everything else.
struct Table {
    key: &'static str,
}

impl<'de> DeserializeSeed<'de> for Table {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The methods of a visitor that takes a table: anything else is passed over and is none.
macro_rules! nothing_but_a_table {
    () => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Found::NotATable)
        }

        fn visit_str<E>(self, _: &str) -> Result<Found, E> {
            Ok(Found::NotATable)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Found, E> {
            Ok(Found::NotATable)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Found, E> {
            Ok(Found::NotATable)
        }

        fn visit_u64<E>(self, _: u64) -> Result<Found, E> {
            Ok(Found::NotATable)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Found, E> {
            Ok(Found::NotATable)
        }
    };
}

impl<'de> Visitor<'de> for Table {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::Absent;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.key {
                found = map.next_value_seed(Names)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    nothing_but_a_table!();

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::NotATable)
    }
}

/// Reads the keys of a table and passes over their values.
struct Names;

impl<'de> DeserializeSeed<'de> for Names {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of servers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            names.push(name);
        }
        Ok(Found::Names(names))
    }

    nothing_but_a_table!();

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Absent)
    }
}
