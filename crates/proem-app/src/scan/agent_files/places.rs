//! The places that agents load files from.
//!
//! Sources, as of 2026-11: Claude Code <https://code.claude.com/docs/en/settings>, `/hooks`, `/skills`, `/mcp` and
//! `/sub-agents` there; Codex <https://developers.openai.com/codex/config-reference>; Gemini CLI
//! <https://geminicli.com/docs/reference/configuration.md>; VS Code
//! <https://code.visualstudio.com/docs/agent-customization/hooks> and `/docs/agents/run/approvals`; GitHub Copilot
//! <https://docs.github.com/en/copilot/reference/hooks-configuration>; Cursor <https://cursor.com/docs/agent/hooks>.

use std::path::Path;

use super::shell_text::referred_files;

/// Names that agents read wherever they are, in lower case.
const NAMES: [&str; 20] = [
    "agents.md",
    "agents.override.md",
    "agent.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "qwen.md",
    "skill.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".goosehints",
    ".mcp.json",
    "mcp.json",
    "mcp_config.json",
    "opencode.json",
    "opencode.jsonc",
    "hooks.json",
    "gemini-extension.json",
];

/// Names of saved lists of tools, in lower case.
const TOOL_LISTS: [&str; 4] = ["tools.json", "mcp-tools.json", "tools-list.json", "tools_list.json"];

/// Folders whose files agents read, in lower case.
const FOLDERS: [&str; 23] = [
    ".claude",
    ".claude-plugin",
    ".cursor",
    ".cursor-plugin",
    ".windsurf",
    ".clinerules",
    ".continue",
    ".roo",
    ".kiro",
    ".codex",
    ".gemini",
    ".qwen",
    ".amazonq",
    ".augment",
    ".junie",
    ".opencode",
    ".agents",
    ".proem",
    ".zed",
    ".github/prompts",
    ".github/instructions",
    ".github/hooks",
    ".github/agents",
];

/// Endings of files that are written for agents, in lower case.
const ENDINGS: [&str; 6] = [".prompt.md", ".instructions.md", ".chatmode.md", ".agent.md", ".mdc", ".tools.json"];

/// Names of settings that a program reads, in lower case.
const SETTINGS: [&str; 16] = [
    ".mcp.json",
    "mcp.json",
    "mcp_config.json",
    "settings.json",
    "settings.local.json",
    "hooks.json",
    "plugin.json",
    "marketplace.json",
    "cli.json",
    "cli-config.json",
    "tasks.json",
    "config.json",
    "config.toml",
    "opencode.json",
    "opencode.jsonc",
    "gemini-extension.json",
];

/// Endings of instructions and settings, in lower case.
const TEXTS: [&str; 9] = ["md", "mdc", "markdown", "txt", "json", "jsonc", "toml", "yaml", "yml"];

/// Endings of programs, in lower case.
const SCRIPTS: [&str; 14] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "ps1", "bat", "cmd"];

/// Whether an agent loads the file at `path`, which is relative to the root of a project.
#[must_use]
pub fn is_read_by_agents(path: &Path) -> bool {
    let path = format!("/{}", path.to_string_lossy().to_lowercase());
    let name = path.rsplit('/').next().unwrap_or_default();
    NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || FOLDERS.iter().any(|folder| path.contains(&format!("/{folder}/")))
        || path.contains("/.github/chatmodes/")
        || path.contains("/skills/")
        || path.ends_with("/.vscode/tasks.json")
        || path.ends_with("/.vscode/settings.json")
        || path.ends_with("/.vscode/mcp.json")
}

/// Whether a file is worth judging as an agent's: one that agents load, or a saved list of tools.
#[must_use]
pub fn is_agent_material(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    is_read_by_agents(path) || TOOL_LISTS.contains(&name.as_str())
}

/// Whether a file is a text by its name: instructions, settings or a program, and no picture.
#[must_use]
pub fn is_agent_text(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_none_or(|ending| TEXTS.contains(&ending.as_str()) || SCRIPTS.contains(&ending.as_str()))
}

/// The folder that the file at `path` is for, in which its commands run: the one before a hidden folder, or before a
/// plugin's hooks, skills, agents and commands.
pub(super) fn project_of(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_part = |part: &&str| part.starts_with('.') || matches!(*part, "hooks" | "skills" | "agents" | "commands");
    folder.split('/').take_while(|part| !is_part(part)).collect::<Vec<_>>().join("/")
}

/// Files that a command of the file at `path` names, from the root that the path starts from.
pub(super) fn files_from_root(path: &str, command: &str) -> Vec<String> {
    let project = project_of(path);
    let files = referred_files(command).into_iter();
    files.map(|file| if project.is_empty() { file } else { format!("{project}/{file}") }).collect()
}

/// Whether a program takes the file at `path` for its settings. Others, such as examples beside them, only hold text.
pub(super) fn is_loaded_settings(path: &str) -> bool {
    let path = format!("/{}", path.to_lowercase());
    let name = path.rsplit('/').next().unwrap_or_default();
    SETTINGS.contains(&name)
        || path.contains("/.github/hooks/")
        || path.contains("-agents/")
        || path.contains("/agents/")
}

/// How an agent uses a file that it loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentFileUse {
    /// It runs, if a hook, a skill or the agent starts it.
    Script,
    /// It sets up an agent or its tools.
    Settings,
    /// Somebody calls it by its name, such as `/review`.
    Command,
    /// The agent reads it when a task seems to need it.
    Skill,
    /// It tells another agent, which the first one calls, what to do.
    Subagent,
    /// The agent reads it when a session starts, or when it works on files that the rule names.
    Rule,
    /// The agent reads it when a session starts.
    Instructions,
}

impl AgentFileUse {
    /// The use of the file at `path`, by its name and folders.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        let path = format!("/{}", path.to_lowercase());
        let name = path.rsplit('/').next().unwrap_or_default();
        let has = |part: &str| path.contains(part);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
        if SCRIPTS.contains(&ending) {
            Self::Script
        } else if matches!(ending, "json" | "jsonc") || (ending == "toml" && !has("/commands/")) {
            Self::Settings
        } else if name.ends_with(".prompt.md") || has("/commands/") || has("/prompts/") || has("/workflows/") {
            Self::Command
        } else if name == "skill.md" || has("/skills/") {
            Self::Skill
        } else if name.ends_with(".agent.md") || name.ends_with(".chatmode.md") || has("/agents/") {
            Self::Subagent
        } else if has("/rules/") || name.ends_with(".mdc") || name.ends_with(".instructions.md") {
            Self::Rule
        } else {
            Self::Instructions
        }
    }

    /// When an agent meets a text of the file, as a sentence.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Script => "The text is in a program that a hook, a skill or the agent may run.",
            Self::Settings => "The text is in settings that are read when an agent is opened in this folder.",
            Self::Command => "An agent follows this text when somebody calls the command.",
            Self::Skill => "An agent reads this text, and may follow it, when a task seems to need the skill.",
            Self::Subagent => "An agent follows this text as its own instructions when it is called.",
            Self::Rule => "An agent follows this text as a rule in every session, or for the files that it names.",
            Self::Instructions => "An agent follows this text from the start of every session in this folder.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_path() {
        for path in ["AGENTS.md", "sub/CLAUDE.md", ".claude/settings.json", ".github/hooks/a.json", "p/skills/x/run.sh"]
        {
            assert!(is_read_by_agents(Path::new(path)), "{path}");
        }
        for path in ["README.md", "src/tools.json", "docs/agents.rst", ".github/workflows/ci.yml"] {
            assert!(!is_read_by_agents(Path::new(path)), "{path}");
        }
        assert!(is_agent_material(Path::new("src/tools.json")));
    }

    #[test]
    fn the_files_of_a_command_are_those_of_its_project() {
        assert_eq!(project_of(".claude/settings.json"), "");
        assert_eq!(files_from_root("a/b/.claude/settings.json", "sh x.sh"), ["a/b/x.sh"]);
        assert_eq!(files_from_root("plugins/p/hooks/hooks.json", "${CLAUDE_PLUGIN_ROOT}/run.sh"), ["plugins/p/run.sh"]);
        assert!(is_loaded_settings(".claude/settings.json") && is_loaded_settings(".github/hooks/any.json"));
        assert!(!is_loaded_settings(".claude/hooks/examples/settings-team.json"));
    }

    #[test]
    fn the_use_of_a_file_follows_from_its_path() {
        for (path, expected) in [
            ("AGENTS.md", AgentFileUse::Instructions),
            (".claude/hooks/a.sh", AgentFileUse::Script),
            (".claude/settings.json", AgentFileUse::Settings),
            (".claude/commands/deploy.md", AgentFileUse::Command),
            (".gemini/commands/deploy.toml", AgentFileUse::Command),
            ("skills/pdf/SKILL.md", AgentFileUse::Skill),
            ("skills/pdf/scripts/a.py", AgentFileUse::Script),
            (".claude/agents/reviewer.md", AgentFileUse::Subagent),
            (".cursor/rules/a.mdc", AgentFileUse::Rule),
        ] {
            assert_eq!(AgentFileUse::of_path(path), expected, "{path}");
        }
    }
}
